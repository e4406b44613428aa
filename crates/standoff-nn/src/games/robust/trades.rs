//! TRADES: `CE(x) + beta KL(f(x) || f(x'))`, with the gradient through both arguments of the divergence.
//!
//! With `p = softmax(z)` at the clean image and `q = softmax(z')` at the attacked one,
//! `dKL/dz'_k = q_k - p_k` and `dKL/dz_k = p_k (log p_k - log q_k - KL)`.

use super::frozen::{AttackStep, Frozen};
use crate::{Ask, Error, Loss};

/// Buffers of the objective.
#[derive(Debug, Default)]
pub(super) struct Trades {
    /// `softmax(z)` of the clean images, `[image][output]`, and its logarithm.
    probabilities: Vec<f32>,
    log_clean: Vec<f64>,
    log_moved: Vec<f64>,
    coefficients: Vec<f32>,
    rows: Vec<u32>,
    weights: Vec<f32>,
}

impl Trades {
    /// Attacks the images of a step; returns the objective, and its gradient if asked.
    pub(super) fn fix(
        &mut self,
        frozen: &mut Frozen,
        step: &AttackStep<'_>,
        beta: f64,
        (ask, gradient): (Ask, &mut Vec<f32>),
    ) -> Result<f64, Error> {
        let (n, outputs) = (step.len(), step.input.engine.model().outputs());
        frozen.begin(step);
        self.take_rows(0, n);
        frozen.pass(step.input.engine, &self.rows, Loss::CrossEntropy, (Ask::Values, None))?;
        self.take_clean(frozen, outputs);
        frozen.prepare_starts(step)?;
        for image in 0..n {
            frozen.add(image, frozen.labels[image], step.width());
        }
        self.take_rows(n, n);
        frozen.climb_on(step, &self.rows, Loss::Kl(&self.probabilities), step.attack.steps)?;
        if step.input.draw().is_some() {
            // The attack used population statistics; the objective uses those of the batch.
            self.take_rows(0, n);
            frozen.train(&step.input, &self.rows, Loss::CrossEntropy, (Ask::Values, None))?;
            self.take_clean(frozen, outputs);
            self.take_rows(n, n);
        }
        let natural: f64 = frozen.losses[..n].iter().map(|&l| f64::from(l)).sum();
        self.weights.clear();
        self.weights.resize(n, (beta / n as f64) as f32);
        let asked = (ask, Some(&self.weights[..]));
        frozen.train(&step.input, &self.rows, Loss::Kl(&self.probabilities), asked)?;
        log_softmax(&mut self.log_moved, &frozen.outcome.logits, outputs);
        let divergence = self.differentiate(step, beta, outputs);
        if ask == Ask::Gradients {
            gradient.clear();
            gradient.extend_from_slice(&frozen.outcome.gradients[0]);
            self.take_rows(0, n);
            self.weights.fill((1.0 / n as f64) as f32);
            let asked = (ask, Some(&self.weights[..]));
            frozen.train(&step.input, &self.rows, Loss::Linear(&self.coefficients), asked)?;
            gradient.iter_mut().zip(&frozen.outcome.gradients[0]).for_each(|(g, clean)| *g += clean);
        }
        Ok((natural + beta * divergence) / n as f64)
    }

    /// Keeps the probabilities of the clean images, which the last pass computed.
    fn take_clean(&mut self, frozen: &Frozen, outputs: usize) {
        log_softmax(&mut self.log_clean, &frozen.outcome.logits, outputs);
        self.probabilities.clear();
        self.probabilities.extend(self.log_clean.iter().map(|l| libm::exp(*l) as f32));
    }

    fn take_rows(&mut self, first: usize, count: usize) {
        self.rows.clear();
        self.rows.extend(first as u32..(first + count) as u32);
    }

    /// The slope of the objective in the logits of the clean images; returns the sum of the divergences.
    fn differentiate(&mut self, step: &AttackStep<'_>, beta: f64, outputs: usize) -> f64 {
        self.coefficients.clear();
        let mut total = 0.0;
        for image in 0..step.len() {
            let at = image * outputs..(image + 1) * outputs;
            let (clean, moved) = (&self.log_clean[at.clone()], &self.log_moved[at]);
            let divergence: f64 = clean.iter().zip(moved).map(|(p, q)| libm::exp(*p) * (p - q)).sum();
            for (k, (p, q)) in clean.iter().zip(moved).enumerate() {
                let own = if k == step.label(image) { 1.0 } else { 0.0 };
                let share = libm::exp(*p);
                self.coefficients.push((share - own + beta * share * (p - q - divergence)) as f32);
            }
            total += divergence;
        }
        total
    }
}

/// `z - log sum exp(z)` of every row of logits.
fn log_softmax(out: &mut Vec<f64>, logits: &[f32], outputs: usize) {
    out.clear();
    for z in logits.chunks_exact(outputs) {
        let top = z.iter().fold(f64::NEG_INFINITY, |a, &b| if f64::from(b) > a { f64::from(b) } else { a });
        let sum: f64 = z.iter().map(|&z| libm::exp(f64::from(z) - top)).sum();
        let lse = top + libm::log(sum);
        out.extend(z.iter().map(|&z| f64::from(z) - lse));
    }
}

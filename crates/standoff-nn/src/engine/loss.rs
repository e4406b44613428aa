//! Losses of the logits `z` with label `y`, and their gradients, one sample at a time in `f64`. Cross-entropy is also a kernel.

use crate::Error;
use crate::kernels::cross_entropy::CrossEntropy;
use crate::kernels::{Isa, LANES, RunKernel};

/// The loss that is minimised in training, or maximised by an attack. Per-sample arguments are in the order of the batch.
#[derive(Debug, Clone, Copy)]
pub enum Loss<'a> {
    /// `-log softmax(z)_y`.
    CrossEntropy,
    /// `z_j - z_y` for a target j of each sample; zero when the target is the label.
    Margin(&'a [u16]),
    /// `max over j != y of z_j - z_y` (Carlini and Wagner).
    Cw,
    /// `-(z_y - max over j != y of z_j) / (z_(1) - z_(3))`, the difference-of-logits ratio; with two classes, where there is no
    /// third logit, it is the margin divided by `1 + |margin|`.
    Dlr,
    /// `-(z_y - z_j) / (z_(1) - (z_(3) + z_(4)) / 2)` for a target j of each sample; with three classes the
    /// third-largest logit replaces the fourth, with two classes it is as `Dlr`.
    DlrTargeted(&'a [u16]),
    /// `KL(p || softmax(z))` for probabilities p of each sample, `[sample][output]`.
    Kl(&'a [f32]),
    /// `sum of c_k z_k` for coefficients c of each sample, `[sample][output]`. With c the gradient of a function of the logits, the
    /// pass computes the gradient of that function.
    Linear(&'a [f32]),
}

impl Loss<'_> {
    /// Checks per-sample arguments against the batch and the model.
    pub(crate) fn check(&self, samples: usize, outputs: usize) -> Result<(), Error> {
        let mismatch = |why: String| Err(Error::Mismatch(why));
        match self {
            Loss::Margin(targets) | Loss::DlrTargeted(targets) => {
                if targets.len() != samples {
                    return mismatch(format!("got {} targets for {samples} samples", targets.len()));
                }
                if let Some(i) = targets.iter().position(|&t| usize::from(t) >= outputs) {
                    return mismatch(format!("target {} of sample {i}: the model has {outputs} outputs", targets[i]));
                }
            }
            Loss::Kl(p) => {
                if p.len() != samples * outputs {
                    return mismatch(format!("got {} probabilities, want {samples} x {outputs}", p.len()));
                }
                if let Some(i) = p.iter().position(|v| !(*v >= 0.0 && *v <= 1.0)) {
                    let (sample, class) = (i / outputs, i % outputs);
                    return mismatch(format!("probability {} of sample {sample}, class {class}: want 0 to 1", p[i]));
                }
            }
            Loss::Linear(c) => {
                if c.len() != samples * outputs {
                    return mismatch(format!("got {} coefficients, want {samples} x {outputs}", c.len()));
                }
                if let Some(i) = c.iter().position(|v| !v.is_finite()) {
                    let (sample, class) = (i / outputs, i % outputs);
                    return Err(Error::NonFinite(format!("coefficient {} of sample {sample}, class {class}", c[i])));
                }
            }
            Loss::CrossEntropy | Loss::Cw | Loss::Dlr => {}
        }
        if outputs < 2 && !matches!(self, Loss::CrossEntropy | Loss::Kl(_) | Loss::Margin(_) | Loss::Linear(_)) {
            return mismatch("a margin between classes needs at least 2 outputs".into());
        }
        Ok(())
    }

    /// The loss of the sample at a place of the batch, from its logits and label; its gradient is written to `dz`.
    pub fn sample(&self, dz: &mut [f64], z: &[f64], label: usize, sample: usize) -> f64 {
        dz.fill(0.0);
        match *self {
            Loss::CrossEntropy => {
                let lse = softmax(dz, z);
                dz[label] -= 1.0;
                lse - z[label]
            }
            Loss::Margin(targets) => margin(dz, z, label, usize::from(targets[sample])),
            Loss::Cw => margin(dz, z, label, runner_up(z, label)),
            Loss::Dlr => dlr(dz, z, label, runner_up(z, label), false),
            Loss::DlrTargeted(targets) => dlr(dz, z, label, usize::from(targets[sample]), true),
            Loss::Kl(p) => {
                let p = &p[sample * z.len()..(sample + 1) * z.len()];
                let total: f64 = p.iter().map(|&v| f64::from(v)).sum();
                let lse = softmax(dz, z);
                let mut loss = total * lse;
                for ((d, &z), &p) in dz.iter_mut().zip(z).zip(p) {
                    let p = f64::from(p);
                    *d = total * *d - p;
                    loss -= p * z;
                    if p > 0.0 {
                        loss += p * libm::log(p);
                    }
                }
                loss
            }
            Loss::Linear(c) => {
                let c = &c[sample * z.len()..(sample + 1) * z.len()];
                dz.iter_mut().zip(c).for_each(|(d, &c)| *d = f64::from(c));
                z.iter().zip(&*dz).map(|(z, c)| z * c).sum()
            }
        }
    }
}

/// Writes `softmax(z)`, returns `log sum exp(z)`.
fn softmax(out: &mut [f64], z: &[f64]) -> f64 {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a });
    let mut sum = 0.0;
    for (o, &z) in out.iter_mut().zip(z) {
        *o = libm::exp(z - top);
        sum += *o;
    }
    for o in out.iter_mut() {
        *o /= sum;
    }
    top + libm::log(sum)
}

/// The largest logit that is not the label's; ties go to the first.
fn runner_up(z: &[f64], label: usize) -> usize {
    let mut best = usize::from(label == 0);
    for j in 0..z.len() {
        if j != label && z[j] > z[best] {
            best = j;
        }
    }
    best
}

fn margin(dz: &mut [f64], z: &[f64], label: usize, target: usize) -> f64 {
    dz[target] += 1.0;
    dz[label] -= 1.0;
    z[target] - z[label]
}

/// The margin over a spread of the sorted logits, plus 1e-12 as in AutoAttack.
fn dlr(dz: &mut [f64], z: &[f64], label: usize, target: usize, targeted: bool) -> f64 {
    let top = margin(dz, z, label, target);
    if z.len() < 3 {
        // m / (1 + |m|) is bounded, and independent of the scale for large m, as the ratio is.
        let d = 1.0 + top.abs();
        dz.iter_mut().for_each(|v| *v /= d * d);
        return top / d;
    }
    let first = rank(z, 0);
    let (third, fourth) = (rank(z, 2), if targeted { rank(z, 3.min(z.len() - 1)) } else { rank(z, 2) });
    let spread = z[first] - 0.5 * (z[third] + z[fourth]) + 1e-12;
    let ratio = top / spread;
    dz.iter_mut().for_each(|v| *v /= spread);
    dz[first] -= ratio / spread;
    dz[third] += 0.5 * ratio / spread;
    dz[fourth] += 0.5 * ratio / spread;
    ratio
}

/// The index of the r-th largest logit, from 0; ties go to the first.
fn rank(z: &[f64], r: usize) -> usize {
    (0..z.len()).find(|&i| (0..z.len()).filter(|&j| z[j] > z[i] || (z[j] == z[i] && j < i)).count() == r).unwrap_or(0)
}

/// The losses of one unit, and `weight *` their gradients, `[output][lane]`, unless `dz` is empty. Lanes from `count` on hold
/// no image; their gradients are zero.
pub(crate) struct Unit<'a> {
    pub losses: &'a mut [f32; LANES],
    pub dz: &'a mut [f32],
    pub z: &'a [f32],
    pub labels: &'a [u16; LANES],
    pub weights: &'a [f32; LANES],
    /// The place of the first image in the batch, and the number of images.
    pub first: usize,
    pub count: usize,
}

impl Unit<'_> {
    pub(crate) fn run(self, loss: &Loss<'_>, isa: Isa) {
        let Self { losses, dz, z, labels, weights, first, count } = self;
        if let Loss::CrossEntropy = loss {
            isa.run(CrossEntropy { losses, dz, z, labels, weights });
            return;
        }
        let n = z.len() / LANES;
        dz.fill(0.0);
        LOGITS.with_borrow_mut(|(logits, gradient)| {
            logits.resize(n, 0.0);
            gradient.resize(n, 0.0);
            for i in 0..count {
                for j in 0..n {
                    logits[j] = f64::from(z[j * LANES + i]);
                }
                losses[i] = loss.sample(gradient, logits, usize::from(labels[i]), first + i) as f32;
                for (d, g) in dz.iter_mut().skip(i).step_by(LANES).zip(&*gradient) {
                    *d = (g * f64::from(weights[i])) as f32;
                }
            }
        });
    }
}

thread_local! {
    /// One sample's logits and gradient.
    static LOGITS: std::cell::RefCell<(Vec<f64>, Vec<f64>)> = const { std::cell::RefCell::new((Vec::new(), Vec::new())) };
}

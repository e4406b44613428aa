//! Random models and batches, and their results by the plain reference.
#![allow(dead_code)] // each test uses its part

use standoff_nn::{Loss, Model, reference};

/// Numbers from a seed, good enough for tests.
pub(crate) struct Stream(u64);

impl Stream {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Uniform on [-1, 1).
    pub(crate) fn signed(&mut self) -> f32 {
        ((self.next() >> 40) as f32) / (1u64 << 23) as f32 - 1.0
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Weights of a size that keeps activations near 1.
pub(crate) fn weights(model: &Model, stream: &mut Stream) -> Vec<f32> {
    let mut params = vec![0.0; model.size()];
    for view in model.views() {
        let fan: usize = view.shape[1..].iter().product();
        let scale = if view.shape.len() == 1 { 0.2 } else { 1.7 / (fan as f32).sqrt() };
        for p in &mut params[view.range.clone()] {
            *p = scale * stream.signed();
        }
    }
    params
}

pub(crate) struct Plain {
    pub(crate) losses: Vec<f64>,
    pub(crate) predictions: Vec<usize>,
    pub(crate) group_losses: Vec<f64>,
    pub(crate) gradients: Vec<Vec<f64>>,
    pub(crate) input_gradients: Vec<Vec<f64>>,
}

/// The reference's answer for samples in order, groups ending at `ends`; weights as in a batch.
pub(crate) fn plain(
    model: &Model,
    params: &[f32],
    rows: &[Vec<f64>],
    labels: &[u16],
    ends: &[usize],
    weights: Option<&[f32]>,
    loss: Loss<'_>,
) -> Plain {
    let params: Vec<f64> = params.iter().map(|&v| f64::from(v)).collect();
    let mut out =
        Plain { losses: vec![], predictions: vec![], group_losses: vec![], gradients: vec![], input_gradients: vec![] };
    let mut start = 0;
    for &end in ends {
        let (mut total, mut gradient) = (0.0, vec![0.0; model.size()]);
        for i in start..end {
            let weight = weights.map_or(1.0 / (end - start) as f64, |w| f64::from(w[i]));
            let values = reference::forward(model, &params, &rows[i]);
            let z = values.last().expect("logits");
            let mut dz = vec![0.0; z.len()];
            let l = loss.sample(&mut dz, z, usize::from(labels[i]), i);
            let mut best = 0;
            for j in 0..z.len() {
                if z[j] > z[best] {
                    best = j;
                }
            }
            let (g, dx) = reference::backward(model, &params, &values, &dz);
            total += weight * l;
            gradient.iter_mut().zip(&g).for_each(|(a, b)| *a += weight * b);
            out.losses.push(l);
            out.predictions.push(best);
            let own = if weights.is_some() { weight } else { 1.0 };
            out.input_gradients.push(dx.iter().map(|v| v * own).collect());
        }
        out.group_losses.push(total);
        out.gradients.push(gradient);
        start = end;
    }
    out
}

/// `|a - b| / |b|` in the Euclidean norm. Where b is what is left of sums that cancel, it is judged by the whole it is part of:
/// a hundredth of that counts at least.
pub(crate) fn apart(a: &[f32], b: &[f64], whole: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| f64::from(*a) - b).collect();
    norm(&difference) / norm(b).max(1e-2 * norm(whole)).max(1e-12)
}

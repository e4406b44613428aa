//! The weights of one pass: checked, and in the order in which the kernels read them.

use super::plan::{Stage, StageKind, sparse};
use crate::kernels::activation::Activation;
use crate::kernels::{dense, pack, pooled_grad};
use crate::{Error, Model};

/// Larger inputs than this are refused, so that nothing can overflow on the way (see [`Packed::set`]).
pub(crate) const LARGEST_INPUT: f32 = 1e6;

/// A flat parameter vector, and the packed copies of each stage.
#[derive(Debug)]
pub(crate) struct Packed {
    pub flat: Vec<f32>,
    /// Per stage, for going forward; empty where the flat layout serves.
    pub forward: Vec<Vec<f32>>,
    /// Per stage, for going back to the input.
    pub backward: Vec<Vec<f32>>,
}

impl Packed {
    pub(crate) fn new(model: &Model, stages: &[Stage]) -> Self {
        let room = |stage: &Stage, forward: bool| match &stage.kind {
            StageKind::Conv { shape, pool, .. } if !forward && sparse(*shape, *pool) => {
                vec![0.0; pooled_grad::packed_input(*shape)]
            }
            StageKind::Conv { weight, .. } => vec![0.0; weight.len()],
            StageKind::Dense { weight, .. } if !forward => vec![0.0; weight.len()],
            _ => Vec::new(),
        };
        Self {
            flat: vec![0.0; model.size()],
            forward: stages.iter().map(|stage| room(stage, true)).collect(),
            backward: stages.iter().map(|stage| room(stage, false)).collect(),
        }
    }

    /// Takes new parameters. A number that is not finite is refused with its name; so are weights so large that a sum could
    /// overflow on some input, which rules out NaN anywhere in a pass.
    pub(crate) fn set(&mut self, params: &[f32], model: &Model, stages: &[Stage]) -> Result<(), Error> {
        if params.len() != model.size() {
            let why = format!("got {} parameters, the model has {}", params.len(), model.size());
            return Err(Error::Mismatch(why));
        }
        if let Some(i) = params.iter().position(|v| !v.is_finite()) {
            return Err(Error::NonFinite(format!("parameter {} is {}", model.entry(i), params[i])));
        }
        check_overflow(params, model, stages)?;
        self.flat.copy_from_slice(params);
        for (i, stage) in stages.iter().enumerate() {
            match &stage.kind {
                StageKind::Conv { shape, pool, weight, .. } => {
                    let weights = &params[weight.clone()];
                    pack::conv(&mut self.forward[i], weights, *shape);
                    if sparse(*shape, *pool) {
                        pooled_grad::pack_input(&mut self.backward[i], weights, *shape);
                    } else {
                        pack::conv_transposed(&mut self.backward[i], weights, *shape);
                    }
                }
                StageKind::Dense { k, weight, .. } => {
                    pack::dense_transposed(&mut self.backward[i], &params[weight.clone()], *k, dense::ROWS);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Bounds every sum by the row norms of the weights: `|W x + b| <= max_row |W|_1 * max|x| + |b|`.
fn check_overflow(params: &[f32], model: &Model, stages: &[Stage]) -> Result<(), Error> {
    let mut bound = f64::from(LARGEST_INPUT);
    for stage in stages {
        let act = match &stage.kind {
            StageKind::Conv { act, weight, bias, .. } | StageKind::Dense { act, weight, bias, .. } => {
                let row = weight.len() / bias.len();
                let mut largest = 0.0f64;
                for (w, b) in params[weight.clone()].chunks_exact(row).zip(&params[bias.clone()]) {
                    let norm: f64 = lanes_sum(w);
                    largest = largest.max(norm * bound + f64::from(b.abs()));
                }
                bound = largest;
                *act
            }
            StageKind::Act(act) => *act,
            StageKind::Pool { .. } => Activation::Identity,
        };
        // Half the range of f32 on a logarithmic scale is left to the gradients.
        if !(bound < 1e30) {
            let layer = model.layers()[stage.layer];
            let why = format!(
                "the outputs of layer {} ({layer}) could reach {bound:.1e}: its weights are too large",
                stage.layer + 1
            );
            return Err(Error::NonFinite(why));
        }
        if act == Activation::Tanh {
            bound = 1.0;
        }
    }
    Ok(())
}

/// `sum |w|` in eight partial sums.
fn lanes_sum(w: &[f32]) -> f64 {
    let mut sums = [0.0f32; 8];
    let chunks = w.chunks_exact(8);
    let rest: f32 = chunks.remainder().iter().map(|v| v.abs()).sum();
    for chunk in chunks {
        for i in 0..8 {
            sums[i] += chunk[i].abs();
        }
    }
    f64::from(rest) + sums.iter().map(|&v| f64::from(v)).sum::<f64>()
}

//! The weights of a pass: checked, and packed in the order in which the kernels read them.

use super::plan::{ConvStage, DenseStage, Stage, StageKind};
use crate::kernels::activation::Activation;
use crate::kernels::{dense, pack, pooled_grad};
use crate::{Error, Model};

/// The largest magnitude of an input. Larger ones are refused, so that no sum can overflow (see [`Packed::set`]).
pub(crate) const LARGEST_INPUT: f32 = 1e6;

/// A flat parameter vector, and the packed copies of each stage.
#[derive(Debug)]
pub(crate) struct Packed {
    pub flat: Vec<f32>,
    /// Per stage, for the forward pass; empty if the kernel reads `flat`.
    pub forward: Vec<Vec<f32>>,
    /// Per stage, for the gradient with respect to its input.
    pub backward: Vec<Vec<f32>>,
}

impl Packed {
    pub(crate) fn new(size: usize, stages: &[Stage]) -> Self {
        let forward = |stage: &Stage| match &stage.kind {
            StageKind::Conv(conv) => vec![0.0; conv.weight.len()],
            _ => Vec::new(),
        };
        let backward = |stage: &Stage| match &stage.kind {
            StageKind::Conv(conv) if conv.sparse() => vec![0.0; pooled_grad::packed_input(conv.shape)],
            StageKind::Conv(ConvStage { weight, .. }) | StageKind::Dense(DenseStage { weight, .. }) => {
                vec![0.0; weight.len()]
            }
            _ => Vec::new(),
        };
        Self {
            flat: vec![0.0; size],
            forward: stages.iter().map(forward).collect(),
            backward: stages.iter().map(backward).collect(),
        }
    }

    /// Takes new parameters. An entry that is not finite is refused with its name. Weights so large that a sum could overflow for
    /// some input are refused too, so no pass can produce a NaN.
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
        self.pack(stages);
        Ok(())
    }

    /// Takes the absolute values of checked parameters.
    pub(crate) fn set_absolute(&mut self, params: &[f32], stages: &[Stage]) {
        for (a, w) in self.flat.iter_mut().zip(params) {
            *a = w.abs();
        }
        self.pack(stages);
    }

    /// Makes the packed copies of `flat`.
    fn pack(&mut self, stages: &[Stage]) {
        for (i, stage) in stages.iter().enumerate() {
            match &stage.kind {
                StageKind::Conv(conv) => {
                    let weights = &self.flat[conv.weight.clone()];
                    pack::conv(&mut self.forward[i], weights, conv.shape);
                    if conv.sparse() {
                        pooled_grad::pack_input(&mut self.backward[i], weights, conv.shape);
                    } else {
                        pack::conv_transposed(&mut self.backward[i], weights, conv.shape);
                    }
                }
                StageKind::Dense(DenseStage { k, weight, .. }) => {
                    pack::dense_transposed(&mut self.backward[i], &self.flat[weight.clone()], *k, dense::ROWS);
                }
                _ => {}
            }
        }
    }
}

/// Bounds every sum by the row norms of the weights: `|W x + b| <= max_row |W|_1 * max|x| + |b|`.
fn check_overflow(params: &[f32], model: &Model, stages: &[Stage]) -> Result<(), Error> {
    let mut bound = f64::from(LARGEST_INPUT);
    for stage in stages {
        let act = match &stage.kind {
            StageKind::Conv(ConvStage { act, weight, bias, .. })
            | StageKind::Dense(DenseStage { act, weight, bias, .. }) => {
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
        // 1e30 leaves a factor of 3e8 below the largest f32, for the gradients.
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

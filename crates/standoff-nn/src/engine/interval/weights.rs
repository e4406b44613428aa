//! The weights that bounds need beside those of a pass: `|W|`, and both without the layouts of fused pooling.

use super::super::packed::Packed;
use super::super::plan::{Stage, StageKind, sparse};
use crate::kernels::{dense, pack, pooled_grad};

/// Weights in the order in which the kernels read them: `[0]` for the centre, W; `[1]` for the radius, |W|.
#[derive(Debug)]
pub(crate) struct Weights {
    pub flat: [Vec<f32>; 2],
    /// Per stage; empty where the flat layout serves.
    pub forward: Vec<[Vec<f32>; 2]>,
    /// Per stage.
    pub backward: Vec<[Vec<f32>; 2]>,
}

impl Weights {
    pub(crate) fn new(size: usize, stages: &[Stage]) -> Self {
        let room = |stage: &Stage, forward: bool| {
            let n = match &stage.kind {
                StageKind::Conv { shape, pool, .. } if !forward && sparse(*shape, *pool) => {
                    pooled_grad::packed_input(*shape)
                }
                StageKind::Conv { weight, .. } => weight.len(),
                StageKind::Dense { weight, .. } if !forward => weight.len(),
                _ => 0,
            };
            [vec![0.0; n], vec![0.0; n]]
        };
        Self {
            flat: [vec![0.0; size], vec![0.0; size]],
            forward: stages.iter().map(|stage| room(stage, true)).collect(),
            backward: stages.iter().map(|stage| room(stage, false)).collect(),
        }
    }

    /// Takes the weights of a pass, which are checked.
    pub(crate) fn set(&mut self, weights: &Packed, stages: &[Stage]) {
        self.flat[0].copy_from_slice(&weights.flat);
        for (a, w) in self.flat[1].iter_mut().zip(&weights.flat) {
            *a = w.abs();
        }
        for (i, stage) in stages.iter().enumerate() {
            for e in 0..2 {
                let flat = &self.flat[e];
                match &stage.kind {
                    StageKind::Conv { shape, pool, weight, .. } => {
                        let weights = &flat[weight.clone()];
                        pack::conv(&mut self.forward[i][e], weights, *shape);
                        if sparse(*shape, *pool) {
                            pooled_grad::pack_input(&mut self.backward[i][e], weights, *shape);
                        } else {
                            pack::conv_transposed(&mut self.backward[i][e], weights, *shape);
                        }
                    }
                    StageKind::Dense { k, weight, .. } => {
                        pack::dense_transposed(&mut self.backward[i][e], &flat[weight.clone()], *k, dense::ROWS);
                    }
                    _ => {}
                }
            }
        }
    }
}

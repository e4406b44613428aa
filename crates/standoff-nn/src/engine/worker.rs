//! One thread's scratch, and the passes over a leaf of the batch: a few units, resident in the cache from the input to the
//! gradient.

use super::packed::Packed;
use super::plan::{Stage, StageKind, sparse};
use crate::kernels::pooled_grad::{PooledGrad, SparseTerms};
use crate::kernels::{
    Isa, LANES, RunKernel, activation, channels_last, conv, conv_grad, dense, pool, pooled_grad, transpose,
};
use std::ops::Range;

/// Everything a thread needs for up to `units` units; nothing is allocated after it is built.
#[derive(Debug)]
pub(crate) struct Worker {
    isa: Isa,
    /// `[unit][input][lane]`.
    pub x: Vec<f32>,
    /// Per stage, `[unit][output][lane]`.
    outputs: Vec<Vec<f32>>,
    winners: Vec<Vec<u8>>,
    /// Gradients with respect to the output and the input of a stage, `[unit][size][lane]`; they change places.
    pub g: Vec<f32>,
    next: Vec<f32>,
    /// Per other convolution, one unit's gradient of the output within its border.
    bordered: Vec<Vec<f32>>,
    /// Per convolution whose gradient is sparse, the gradient of its weights with channels last.
    channels_last_grad: Vec<Vec<f32>>,
    /// Per such convolution, the gradients that are not zero.
    terms: Vec<SparseTerms>,
    /// One unit with channels last.
    channels_last: Vec<f32>,
    /// Activations and gradients with images in rows, for dense layers.
    rows_x: Vec<f32>,
    rows_g: Vec<f32>,
}

/// What to compute on the way back.
pub(crate) struct GradientTargets<'a> {
    /// Where to add the gradient with respect to the parameters.
    pub params: Option<&'a mut [f32]>,
    /// Whether the gradient with respect to the input is wanted, in `worker.g`.
    pub input: bool,
}

impl Worker {
    pub(crate) fn new(isa: Isa, stages: &[Stage], units: usize) -> Self {
        let largest = stages.iter().map(|s| s.input.max(s.output)).max().unwrap_or(0);
        let (mut n_most, mut k_most) = (0, 0);
        for stage in stages {
            if let StageKind::Dense { n, k, .. } = stage.kind {
                (n_most, k_most) = (n_most.max(dense::stride(n)), k_most.max(dense::stride(k)));
            }
        }
        let most_images = stages.iter().map(|s| match s.kind {
            StageKind::Conv { shape: s, pool, .. } if sparse(s, pool) => channels_last::stride(s.h * s.w, s.cin),
            _ => 0,
        });
        let most_images = most_images.max().unwrap_or(0);
        Self {
            isa,
            x: vec![0.0; units * stages.first().map_or(0, |s| s.input) * LANES],
            outputs: stages.iter().map(|s| vec![0.0; units * s.output * LANES]).collect(),
            winners: stages
                .iter()
                .map(|s| match s.kind {
                    StageKind::Conv { pool: true, .. } | StageKind::Pool { .. } => vec![0; units * s.output * LANES],
                    _ => Vec::new(),
                })
                .collect(),
            g: vec![0.0; units * largest * LANES],
            next: vec![0.0; units * largest * LANES],
            bordered: stages
                .iter()
                .map(|s| match s.kind {
                    StageKind::Conv { shape, pool, .. } if !sparse(shape, pool) => {
                        let t = shape.transposed();
                        vec![0.0; t.cin * t.h * t.w * LANES]
                    }
                    _ => Vec::new(),
                })
                .collect(),
            channels_last_grad: stages
                .iter()
                .map(|s| match s.kind {
                    StageKind::Conv { shape: s, pool, .. } if sparse(s, pool) => {
                        vec![0.0; s.cout * s.k * pooled_grad::kernel_vectors(s) * LANES]
                    }
                    _ => Vec::new(),
                })
                .collect(),
            terms: stages
                .iter()
                .map(|s| match s.kind {
                    StageKind::Conv { shape, pool, .. } if sparse(shape, pool) => SparseTerms::new(shape, 1),
                    _ => SparseTerms::default(),
                })
                .collect(),
            channels_last: vec![0.0; LANES * most_images],
            rows_x: vec![0.0; units * LANES * k_most],
            rows_g: vec![0.0; units * LANES * n_most],
        }
    }

    /// Logits, and where their gradient goes, both `[unit][output][lane]`.
    pub(crate) fn logits_and_gradient(&mut self, at: Range<usize>) -> (&[f32], &mut [f32]) {
        (self.outputs.last().map_or(&[], |v| &v[at.clone()]), &mut self.g[at])
    }

    /// Runs the first `units` units of `x` through the network.
    pub(crate) fn forward(&mut self, weights: &Packed, stages: &[Stage], units: usize) {
        for i in 0..stages.len() {
            self.forward_stage(weights, stages, i, units);
        }
    }

    /// One stage forward.
    pub(super) fn forward_stage(&mut self, weights: &Packed, stages: &[Stage], i: usize, units: usize) {
        {
            let stage = &stages[i];
            let (before, after) = self.outputs.split_at_mut(i);
            let x = &before.last().unwrap_or(&self.x)[..units * stage.input * LANES];
            let out = &mut after[0][..units * stage.output * LANES];
            let winners = &mut self.winners[i];
            match &stage.kind {
                StageKind::Conv { shape, pool, act, bias, .. } => {
                    for (u, (x, out)) in each(x, stage.input).zip(each_mut(out, stage.output)).enumerate() {
                        let at = if *pool { u * stage.output * LANES..(u + 1) * stage.output * LANES } else { 0..0 };
                        self.isa.run(conv::ConvForward {
                            out,
                            winners: &mut winners[at],
                            x,
                            weights: &weights.forward[i],
                            bias: &weights.flat[bias.clone()],
                            pool: *pool,
                            act: *act,
                            shape: *shape,
                        });
                    }
                }
                StageKind::Dense { n, k, act, weight, bias } => self.isa.run(dense::DenseForward {
                    out,
                    x,
                    weights: &weights.flat[weight.clone()],
                    bias: &weights.flat[bias.clone()],
                    act: *act,
                    packed: false,
                    n: *n,
                    k: *k,
                }),
                StageKind::Pool { shape, side } => {
                    for ((x, out), winners) in each(x, stage.input)
                        .zip(each_mut(out, stage.output))
                        .zip(winners.chunks_exact_mut(stage.output * LANES))
                    {
                        self.isa.run(pool::PoolForward { out, winners, x, side: *side, shape: *shape });
                    }
                }
                StageKind::Act(act) => {
                    out.copy_from_slice(x);
                    self.isa.run(activation::Activate { x: out, act: *act });
                }
            }
        }
    }

    /// Takes the gradient with respect to the logits, in `g`, back through the network.
    pub(crate) fn backward(&mut self, weights: &Packed, stages: &[Stage], units: usize, mut want: GradientTargets<'_>) {
        for i in (0..stages.len()).rev() {
            let deeper = want.input || (want.params.is_some() && has_parameters(&stages[..i]));
            if !deeper && want.params.is_none() {
                return;
            }
            self.backward_stage(weights, stages, i, units, &mut want, deeper);
        }
    }

    /// One stage back; `deeper` if the gradient with respect to its input is wanted.
    pub(super) fn backward_stage(
        &mut self,
        weights: &Packed,
        stages: &[Stage],
        i: usize,
        units: usize,
        want: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let stage = &stages[i];
        {
            match &stage.kind {
                StageKind::Conv { .. } => self.conv_backward(weights, stages, i, units, want, deeper),
                StageKind::Dense { .. } => self.dense_backward(weights, stages, i, units, want, deeper),
                StageKind::Pool { shape, side } => {
                    let size = stage.output * LANES;
                    for u in 0..units {
                        self.isa.run(pool::PoolBackward {
                            dx: &mut self.next[u * stage.input * LANES..(u + 1) * stage.input * LANES],
                            g: &self.g[u * size..(u + 1) * size],
                            winners: &self.winners[i][u * size..(u + 1) * size],
                            side: *side,
                            shape: *shape,
                        });
                    }
                    std::mem::swap(&mut self.g, &mut self.next);
                }
                StageKind::Act(act) => {
                    let size = units * stage.output * LANES;
                    let (g, a) = (&mut self.g[..size], &self.outputs[i][..size]);
                    self.isa.run(activation::ActivateBackward { g, a, act: *act });
                }
            }
        }
    }

    fn conv_backward(
        &mut self,
        weights: &Packed,
        stages: &[Stage],
        i: usize,
        units: usize,
        want: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let stage = &stages[i];
        let StageKind::Conv { shape, pool, act, weight, bias } = &stage.kind else { return };
        let (size_in, size_out) = (stage.input * LANES, stage.output * LANES);
        let inputs = if i == 0 { &self.x } else { &self.outputs[i - 1] };
        let all = units * size_out;
        self.isa.run(activation::ActivateBackward { g: &mut self.g[..all], a: &self.outputs[i][..all], act: *act });
        if let Some(params) = want.params.as_deref_mut() {
            let per_channel = size_out / shape.cout;
            for (j, plane) in self.g[..all].chunks_exact(per_channel).enumerate() {
                params[bias.start + j % shape.cout] += self.isa.run(activation::SumOf(plane));
            }
        }
        self.channels_last_grad[i].fill(0.0);
        for u in 0..units {
            let at = u * size_out..(u + 1) * size_out;
            let x = &inputs[u * size_in..(u + 1) * size_in];
            let dx = &mut self.next[u * size_in..(u + 1) * size_in];
            if sparse(*shape, *pool) {
                let images = &mut self.channels_last[..LANES * channels_last::stride(shape.h * shape.w, shape.cin)];
                let pooled = PooledGrad { g: &self.g[at.clone()], winners: &self.winners[i][at], scale: 1.0 };
                if want.params.is_some() {
                    self.isa.run(channels_last::LanesToChannelsLast { out: images, x, channels: shape.cin });
                    self.terms[i].for_weights([pooled], *shape);
                    let (grad, terms) = (&mut self.channels_last_grad[i], &self.terms[i]);
                    self.isa.run(pooled_grad::SparseWeightGrad { grad, x: images, terms, shape: *shape });
                }
                if deeper {
                    self.terms[i].for_input([pooled], *shape);
                    let (weights, terms) = (&weights.backward[i], &self.terms[i]);
                    self.isa.run(pooled_grad::SparseInputGrad { dx: images, terms, weights, shape: *shape });
                    self.isa.run(channels_last::ChannelsLastToLanes { out: dx, x: images, channels: shape.cin });
                }
                continue;
            }
            if let (true, false, Some(params)) =
                (*pool && conv_grad::PooledWeightGrad::fits(*shape), deeper, want.params.as_deref_mut())
            {
                let (g, winners, grad) = (&self.g[at.clone()], &self.winners[i][at], &mut params[weight.clone()]);
                self.isa.run(conv_grad::PooledWeightGrad { grad, x, g, winners, shape: *shape });
                continue;
            }
            let dy = &mut self.bordered[i];
            let winners = if *pool { &self.winners[i][at.clone()] } else { &[] };
            self.isa.run(conv_grad::Unpool { dy, g: &self.g[at], winners, shape: *shape });
            if let Some(params) = want.params.as_deref_mut() {
                self.isa.run(conv_grad::ConvWeightGrad { grad: &mut params[weight.clone()], x, dy, shape: *shape });
            }
            if deeper {
                self.isa.run(conv::ConvForward {
                    out: dx,
                    winners: &mut [],
                    x: dy,
                    weights: &weights.backward[i],
                    bias: &[],
                    pool: false,
                    act: activation::Activation::Identity,
                    shape: shape.transposed(),
                });
            }
        }
        if let (true, Some(params)) = (sparse(*shape, *pool), want.params.as_deref_mut()) {
            pooled_grad::unpack_weights(&mut params[weight.clone()], &self.channels_last_grad[i], *shape);
        }
        if deeper {
            std::mem::swap(&mut self.g, &mut self.next);
        }
    }

    fn dense_backward(
        &mut self,
        weights: &Packed,
        stages: &[Stage],
        i: usize,
        units: usize,
        want: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let stage = &stages[i];
        let StageKind::Dense { n, k, act, weight, bias } = &stage.kind else { return };
        let (n, k) = (*n, *k);
        let g = &mut self.g[..units * n * LANES];
        self.isa.run(activation::ActivateBackward { g, a: &self.outputs[i][..units * n * LANES], act: *act });
        if let Some(params) = want.params.as_deref_mut() {
            let inputs = if i == 0 { &self.x } else { &self.outputs[i - 1] };
            let (gs, ks) = (dense::stride(n), dense::stride(k));
            for u in 0..units {
                let g = &self.g[u * n * LANES..(u + 1) * n * LANES];
                let x = &inputs[u * k * LANES..(u + 1) * k * LANES];
                let (out_g, out_x) = (&mut self.rows_g[u * LANES * gs..], &mut self.rows_x[u * LANES * ks..]);
                self.isa.run(transpose::LanesToRows { out: out_g, stride: gs, x: g });
                self.isa.run(transpose::LanesToRows { out: out_x, stride: ks, x });
            }
            let images = units * LANES;
            for row in self.rows_g[..images * gs].chunks_exact(gs) {
                for (b, v) in params[bias.clone()].iter_mut().zip(row) {
                    *b += v;
                }
            }
            let grad = &mut params[weight.clone()];
            self.isa.run(dense::DenseWeightGrad { grad, g: &self.rows_g, x: &self.rows_x, n, k, images });
        }
        if deeper {
            self.isa.run(dense::DenseForward {
                out: &mut self.next[..units * k * LANES],
                x: &self.g[..units * n * LANES],
                weights: &weights.backward[i],
                bias: &[],
                act: activation::Activation::Identity,
                packed: true,
                n: k,
                k: n,
            });
            std::mem::swap(&mut self.g, &mut self.next);
        }
    }
}

pub(super) fn has_parameters(stages: &[Stage]) -> bool {
    stages.iter().any(|stage| matches!(stage.kind, StageKind::Conv { .. } | StageKind::Dense { .. }))
}

fn each(v: &[f32], size: usize) -> std::slice::ChunksExact<'_, f32> {
    v.chunks_exact(size * LANES)
}

fn each_mut(v: &mut [f32], size: usize) -> std::slice::ChunksExactMut<'_, f32> {
    v.chunks_exact_mut(size * LANES)
}

//! Backward through a convolution that 2x2 max-pooling follows, skipping the positions that pooling did not select.
//!
//! With (a, b) the winner of window (R, C), 0 or 1 each, the gradient before pooling is `g[o][2R + a][2C + b] = h[o][R][C]`, where h
//! is the gradient of the pooled output, and zero at the other three positions of the window. The sums of `linear.rs` then have one
//! term per window and channel instead of four:
//!
//! ```text
//! dw[o][i][p][q]                   = sum over R, C of h[o][R][C] x[i][2R + a + p][2C + b + q]
//! dx[i][2R + a + p][2C + b + q]   += h[o][R][C] w[o][i][p][q]
//! ```
//!
//! Terms with `h = 0`, where ReLU is off, are left out as well. `kernels/pooled_grad.rs` describes how a term is computed.

use crate::kernels::pooled_grad::{self, PooledShape};
use crate::kernels::pooled_terms::SparseTerms;
use crate::kernels::{AlignedFloats, ConvShape, Isa, LANES, RunKernel, channels_last};

/// Scratch of one sparse convolution.
#[derive(Debug, Default)]
pub(super) struct SparseScratch {
    /// Per matrix, the gradient of the weights with channels last.
    weight_grads: Vec<AlignedFloats>,
    /// Lists of the gradients that are not zero: one for a pass, one for each end of an interval for bounds.
    terms: Vec<SparseTerms>,
}

impl SparseScratch {
    /// Scratch for 1 or 2 matrices. With two, the first list has room for the gradients of both ends of an interval.
    pub(super) fn new(isa: Isa, shape: ConvShape, matrices: usize) -> Self {
        let size = PooledShape::for_weights(isa, shape).gradient();
        Self {
            weight_grads: vec![AlignedFloats::zeros(size); matrices],
            terms: (1..=matrices).rev().map(|parts| SparseTerms::new(isa, shape, parts)).collect(),
        }
    }
}

/// A sparse convolution with its scratch.
pub(super) struct SparseConv<'a> {
    pub isa: Isa,
    pub shape: ConvShape,
    /// Room for one unit with channels last.
    pub images: &'a mut [f32],
    pub scratch: &'a mut SparseScratch,
}

impl SparseConv<'_> {
    /// List number `list` of the terms.
    pub(super) fn terms(&mut self, list: usize) -> &mut SparseTerms {
        &mut self.scratch.terms[list]
    }

    /// Sets the gradients of all matrices to zero.
    pub(super) fn clear(&mut self) {
        self.scratch.weight_grads.iter_mut().for_each(|grad| grad.fill(0.0));
    }

    /// Adds the terms of all lists, from `SparseTerms::for_weights`, to the gradient of a matrix; x is the input of one unit.
    pub(super) fn add_weights(&mut self, matrix: usize, x: &[f32]) {
        let (isa, shape) = (self.isa, self.shape);
        let pooled = PooledShape::for_weights(isa, shape);
        let (channels, padded) = (shape.cin, pooled.channels);
        let images = &mut self.images[..LANES * pooled.stride()];
        isa.run(channels_last::LanesToChannelsLast { out: images, x, channels, padded });
        let (grad, x) = (&mut self.scratch.weight_grads[matrix], &*images);
        for terms in &self.scratch.terms {
            isa.run(pooled_grad::SparseWeightGrad { grad, x, terms, shape: pooled });
        }
    }

    /// Adds the gradient of a matrix to that of the parameters.
    pub(super) fn unpack_weights(&self, matrix: usize, grad: &mut [f32]) {
        let shape = PooledShape::for_weights(self.isa, self.shape);
        pooled_grad::unpack_weights(grad, &self.scratch.weight_grads[matrix], shape);
    }

    /// Writes the gradient with respect to the input of one unit, from the terms of the first list, by `SparseTerms::for_input`.
    pub(super) fn input(&mut self, dx: &mut [f32], weights: &[f32]) {
        let (isa, shape) = (self.isa, PooledShape::for_input(self.isa, self.shape));
        let terms = &self.scratch.terms[0];
        let images = &mut self.images[..LANES * shape.stride()];
        isa.run(pooled_grad::SparseInputGrad { dx: images, terms, weights, shape });
        let (channels, padded) = (self.shape.cin, shape.channels);
        isa.run(channels_last::ChannelsLastToLanes { out: dx, x: images, channels, padded });
    }
}

//! Backward through linear stages, written once: passes use it with the matrix W, interval bounds with W and with |W|.
//!
//! A dense layer is `y = W x + b` for every image. With g the gradient with respect to y,
//!
//! ```text
//! db = sum over images of g        dW = sum over images of g x'        dx = W' g
//! ```
//!
//! A convolution is `y[o][r][c] = b[o] + sum over i, p, q of w[o][i][p][q] x[i][r + p][c + q]`, so
//!
//! ```text
//! db[o]          = sum over r, c    of g[o][r][c]
//! dw[o][i][p][q] = sum over r, c    of g[o][r][c] x[i][r + p][c + q]
//! dx[i][r][c]    = sum over o, p, q of w[o][i][p][q] g[o][r - p][c - q],       g = 0 outside its range.
//! ```
//!
//! Write the last sum with `p' = k - 1 - p`, `q' = k - 1 - q`, and G for g inside a border of k - 1 zeros, `G[o][r][c] =
//! g[o][r - (k - 1)][c - (k - 1)]`:
//!
//! ```text
//! dx[i][r][c]    = sum over o, p', q' of w[o][i][k - 1 - p'][k - 1 - q'] G[o][r + p'][c + q'].
//! ```
//!
//! This is a forward convolution of G, by the kernel turned by 180 degrees with its input and output channels exchanged, which is
//! how [`Packed::backward`](super::packed::Packed) stores it, so the kernel of `conv.rs` computes it.

use super::plan::{ConvStage, DenseStage, Stage, StageKind};
use super::sparse_conv::{SparseConv, SparseScratch};
use crate::kernels::activation::{Activation, SumOf};
use crate::kernels::pooled_grad::PooledShape;
use crate::kernels::{AlignedFloats, ConvShape, Isa, LANES, RunKernel, conv, conv_grad, dense, transpose};

/// The gradients of one linear map `y = W x + b`. All vectors are `[unit][entry][lane]`.
pub(super) struct LinearGrad<'a> {
    /// The gradient with respect to y.
    pub g: &'a [f32],
    pub x: &'a [f32],
    /// W as `Packed::backward` holds it.
    pub weights: &'a [f32],
    /// The gradient with respect to W is added to it; `None` if it is not wanted.
    pub d_weights: Option<&'a mut [f32]>,
    /// The gradient with respect to x is written to it; `None` if it is not wanted.
    pub dx: Option<&'a mut [f32]>,
}

/// One thread's scratch for the gradients of linear stages; nothing is allocated after it is built.
#[derive(Debug)]
pub(super) struct LinearScratch {
    isa: Isa,
    /// Activations and gradients with images in rows, for dense layers.
    rows_x: Vec<f32>,
    rows_g: Vec<f32>,
    /// Per convolution that is not sparse, one unit's gradient of the output inside its border of zeros.
    bordered: Vec<Vec<f32>>,
    /// Per sparse convolution.
    sparse: Vec<SparseScratch>,
    /// One unit with channels last, for sparse convolutions.
    channels_last: AlignedFloats,
}

impl LinearScratch {
    /// Scratch for so many units, and so many matrices per stage: 1 for W, 2 for W and |W|.
    pub(super) fn new(isa: Isa, stages: &[Stage], units: usize, matrices: usize) -> Self {
        let (mut rows_x, mut rows_g, mut channels_last) = (0, 0, 0);
        for stage in stages {
            match &stage.kind {
                StageKind::Dense(DenseStage { n, k, .. }) => {
                    (rows_x, rows_g) = (rows_x.max(dense::stride(*k)), rows_g.max(dense::stride(*n)));
                }
                StageKind::Conv(conv) if conv.sparse() => channels_last = channels_last.max(unit_size(isa, conv.shape)),
                _ => {}
            }
        }
        let bordered = |stage: &Stage| match &stage.kind {
            StageKind::Conv(conv) if !conv.sparse() => {
                let t = conv.shape.transposed();
                vec![0.0; t.cin * t.h * t.w * LANES]
            }
            _ => Vec::new(),
        };
        let sparse = |stage: &Stage| match &stage.kind {
            StageKind::Conv(conv) if conv.sparse() => SparseScratch::new(isa, conv.shape, matrices),
            _ => SparseScratch::default(),
        };
        Self {
            isa,
            rows_x: vec![0.0; units * LANES * rows_x],
            rows_g: vec![0.0; units * LANES * rows_g],
            bordered: stages.iter().map(bordered).collect(),
            sparse: stages.iter().map(sparse).collect(),
            channels_last: AlignedFloats::zeros(channels_last),
        }
    }

    /// Gradients of a dense layer over all units; that of the bias is added to `d_bias` if there is one.
    pub(super) fn dense_backward(&mut self, dense: &DenseStage, map: LinearGrad<'_>, d_bias: Option<&mut [f32]>) {
        let (n, k, isa) = (dense.n, dense.k, self.isa);
        if let Some(grad) = map.d_weights {
            let images = self.images_to_rows(dense, map.g, map.x);
            if let Some(d_bias) = d_bias {
                let stride = dense::stride(n);
                for row in self.rows_g[..images * stride].chunks_exact(stride) {
                    for (b, v) in d_bias.iter_mut().zip(row) {
                        *b += v;
                    }
                }
            }
            isa.run(dense::DenseWeightGrad { grad, g: &self.rows_g, x: &self.rows_x, n, k, images });
        }
        if let Some(out) = map.dx {
            isa.run(dense::DenseForward {
                out,
                x: map.g,
                weights: map.weights,
                bias: &[],
                act: Activation::Identity,
                packed: true,
                n: k,
                k: n,
            });
        }
    }

    /// Puts the gradient and the input of a dense layer into rows, one per image; returns the number of images.
    fn images_to_rows(&mut self, dense: &DenseStage, g: &[f32], x: &[f32]) -> usize {
        let (n, k) = (dense.n * LANES, dense.k * LANES);
        let (gs, ks) = (dense::stride(dense.n), dense::stride(dense.k));
        let units = g.len() / n;
        for u in 0..units {
            let (rows_g, rows_x) = (&mut self.rows_g[u * LANES * gs..], &mut self.rows_x[u * LANES * ks..]);
            self.isa.run(transpose::LanesToRows { out: rows_g, stride: gs, x: &g[u * n..(u + 1) * n] });
            self.isa.run(transpose::LanesToRows { out: rows_x, stride: ks, x: &x[u * k..(u + 1) * k] });
        }
        units * LANES
    }

    /// Gradients of the weights and the input of one unit of convolution stage i, over all positions. `winners` are those of the
    /// pooling behind it; empty if g is the gradient of the output before pooling.
    pub(super) fn conv_backward(&mut self, i: usize, conv: &ConvStage, winners: &[u8], map: LinearGrad<'_>) {
        let (dy, shape) = (&mut self.bordered[i], conv.shape);
        self.isa.run(conv_grad::Unpool { dy, g: map.g, winners, shape });
        if let Some(grad) = map.d_weights {
            self.isa.run(conv_grad::ConvWeightGrad { grad, x: map.x, dy, shape });
        }
        if let Some(out) = map.dx {
            self.isa.run(conv::ConvForward {
                out,
                winners: &mut [],
                x: dy,
                weights: map.weights,
                bias: &[],
                pool: false,
                act: Activation::Identity,
                shape: shape.transposed(),
            });
        }
    }

    /// The scratch of sparse convolution stage i.
    pub(super) fn sparse_conv(&mut self, i: usize, shape: ConvShape) -> SparseConv<'_> {
        let images = &mut self.channels_last[..unit_size(self.isa, shape)];
        SparseConv { isa: self.isa, shape, images, scratch: &mut self.sparse[i] }
    }
}

/// Entries of the input of one unit with channels last.
fn unit_size(isa: Isa, shape: ConvShape) -> usize {
    LANES * PooledShape::for_weights(isa, shape).stride().max(PooledShape::for_input(isa, shape).stride())
}

/// Adds the gradient of a convolution's bias: g, `[unit][channel][position][lane]`, summed over all but the channels.
pub(super) fn conv_bias(isa: Isa, d_bias: &mut [f32], g: &[f32], channel: usize) {
    let channels = d_bias.len();
    for (j, plane) in g.chunks_exact(channel).enumerate() {
        d_bias[j % channels] += isa.run(SumOf(plane));
    }
}

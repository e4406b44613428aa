//! The SIMD kernels of the networks, one per file, and the only `unsafe` code of the crate. `reference.rs` has a plain version of
//! each.
//!
//! Conventions of all kernels:
//! - A *unit* is 8 images, one in each lane. A tensor of a unit is `[channel][row][column][lane]`, a vector `[entry][lane]`.
//!   Flattening an image moves no data.
//! - Fields are in this order: outputs, inputs, shape. Forward kernels and gradients with respect to activations overwrite their
//!   output; gradients with respect to parameters are added to it.
//! - Weights and gradients have PyTorch's layout. `pack.rs` reorders weights once per pass for the kernels that need it.
//! - Lanes without an image hold zeros in the input and zero gradients, so they add nothing to a sum.
//! - The order of a sum does not depend on the number of threads. AVX2 and AVX-512 have the same bits; the portable level, which
//!   may not fuse multiply and add, rounds differently.
//! - Every kernel is generic over [`Lanes`], and [`Isa`] is the only code that chooses an instruction set. If `L::PAIRED`, a kernel may
//!   compute with [pairs](LanePair) of vectors, but every lane must have the same operations in the same order.
#![allow(unsafe_op_in_unsafe_fn)] // The body of every unsafe function here is a kernel.

pub(crate) mod activation;
mod aligned;
pub(crate) mod ascent_step;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod batch_norm;
pub(crate) mod channels;
pub(crate) mod channels_last;
pub(crate) mod conv;
pub(crate) mod conv_grad;
mod conv_pairs;
pub(crate) mod cross_entropy;
pub(crate) mod curves;
pub(crate) mod dense;
pub(crate) mod double;
pub(crate) mod interval_ends;
pub(crate) mod interval_margin;
mod isa;
mod lanes;
pub(crate) mod linear_loss;
pub(crate) mod linear_rows;
pub(crate) mod lines;
pub(crate) mod matmul;
pub(crate) mod pack;
mod pairs;
pub(crate) mod peak;
pub(crate) mod pool;
pub(crate) mod pooled_grad;
pub(crate) mod pooled_terms;
pub(crate) mod taps;
mod taps_pairs;
pub(crate) mod transpose;
pub(crate) mod windows;

pub(crate) use aligned::AlignedFloats;
pub use isa::Isa;
pub(crate) use isa::{Kernel, RunKernel};
pub(crate) use lanes::{Floats, LANES, Lanes};
pub(crate) use pairs::{LanePair, PAIR};

/// A convolution without padding, stride 1: `[cin][h][w]` to `[cout][h - k + 1][w - k + 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConvShape {
    pub cin: usize,
    pub cout: usize,
    pub k: usize,
    pub h: usize,
    pub w: usize,
}

impl ConvShape {
    pub(crate) fn ho(self) -> usize {
        self.h + 1 - self.k
    }

    pub(crate) fn wo(self) -> usize {
        self.w + 1 - self.k
    }

    /// Weights per output channel.
    pub(crate) fn taps(self) -> usize {
        self.cin * self.k * self.k
    }

    /// The convolution that computes the gradient of the input from the padded gradient of the output.
    pub(crate) fn transposed(self) -> Self {
        let pad = self.k - 1;
        Self { cin: self.cout, cout: self.cin, k: self.k, h: self.ho() + 2 * pad, w: self.wo() + 2 * pad }
    }
}

/// Splits n channels into tiles of 3 and 2, and of 1 only if n = 1: a tile of one channel has too few independent sums.
pub(crate) fn tiles(n: usize) -> impl Iterator<Item = usize> {
    let mut left = n;
    std::iter::from_fn(move || {
        let take = match left {
            0 => return None,
            1 => 1,
            2 | 4 => 2,
            _ => 3,
        };
        left -= take;
        Some(take)
    })
}

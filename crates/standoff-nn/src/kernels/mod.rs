//! What runs the networks: one file per kernel, the plain reference of all of them in `reference.rs`.
//!
//! Conventions, stated once:
//! - A *unit* is 8 images side by side, one in each lane. A tensor of a unit is `[channel][row][column][lane]`, a vector
//!   `[entry][lane]`; flattening an image is no work. A block of 16 images, the grain of all sums over a batch, is two units.
//! - Outputs come first, inputs next, the shape last. Forward kernels and gradients with respect to activations overwrite;
//!   gradients with respect to parameters are added.
//! - Weights and gradients have PyTorch's layout; `pack.rs` reorders weights once per pass for the kernels that want it.
//! - Lanes without an image hold zeros going in and zero gradients coming back, so that they add nothing.
//! - Every sum has one order, whatever the number of threads; instruction sets may differ in rounding.
#![allow(unsafe_op_in_unsafe_fn)] // Every unsafe function here is wholly a kernel.

pub(crate) mod activation;
pub(crate) mod ascent_step;
#[cfg(target_arch = "x86_64")]
mod avx2;
pub(crate) mod channels_last;
pub(crate) mod conv;
pub(crate) mod conv_grad;
pub(crate) mod cross_entropy;
pub(crate) mod dense;
pub(crate) mod double;
pub(crate) mod interval_ends;
pub(crate) mod interval_margin;
mod isa;
mod lanes;
pub(crate) mod pack;
pub(crate) mod peak;
pub(crate) mod pool;
pub(crate) mod pooled_grad;
pub(crate) mod transpose;

pub use isa::Isa;
pub(crate) use isa::{Kernel, RunKernel};
pub(crate) use lanes::{LANES, Lanes};

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

    /// The convolution that takes the padded gradient of the output back to the input.
    pub(crate) fn transposed(self) -> Self {
        let pad = self.k - 1;
        Self { cin: self.cout, cout: self.cin, k: self.k, h: self.ho() + 2 * pad, w: self.wo() + 2 * pad }
    }
}

/// Splits n channels into tiles of 3 and 2, and of 1 only if n = 1: a single channel leaves the machine waiting.
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

//! Kernels written over `L: Lanes`, handed to the workspace's one dispatcher of instruction sets, [`standoff::simd`].

use super::lanes::{Lanes, Portable};
use standoff::simd::Dispatch;
pub use standoff::simd::Isa;

/// A kernel and its arguments. `run` must be `#[inline(always)]`, or it is not compiled for the set that calls it.
pub(crate) trait Kernel {
    type Output;
    /// # Safety
    /// The machine has the instruction set of `L`.
    unsafe fn run<L: Lanes>(self) -> Self::Output;
}

/// Runs kernels: implemented by [`Isa`] alone, whose home is another crate.
pub(crate) trait RunKernel {
    /// Runs a kernel.
    fn run<K: Kernel>(self, kernel: K) -> K::Output;
}

impl RunKernel for Isa {
    fn run<K: Kernel>(self, kernel: K) -> K::Output {
        self.dispatch(OverLanes(kernel))
    }
}

/// A kernel with the lanes of each level.
struct OverLanes<K>(K);

impl<K: Kernel> Dispatch for OverLanes<K> {
    type Output = K::Output;

    #[inline(always)]
    fn portable(self) -> K::Output {
        // SAFETY: arrays need no instruction set.
        unsafe { self.0.run::<Portable>() }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2(self) -> K::Output {
        // SAFETY: the caller's promise.
        unsafe { self.0.run::<super::avx2::Avx2>() }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    unsafe fn avx2(self) -> K::Output {
        self.portable()
    }
}

//! Runs kernels, which are generic over `L: Lanes`, through the dispatcher of the workspace, [`standoff::simd`].

use super::lanes::{Lanes, Portable, PortablePairs};
pub use standoff::simd::Isa;
use standoff::simd::{Dispatch, Level};

/// A kernel and its arguments. `run` must be `#[inline(always)]`; otherwise it is compiled without the instruction set of its caller.
pub(crate) trait Kernel {
    type Output;
    /// # Safety
    /// The machine has the instruction set of `L`.
    unsafe fn run<L: Lanes>(self) -> Self::Output;
}

/// Runs kernels. A trait because [`Isa`], its only implementation, is of another crate.
pub(crate) trait RunKernel {
    /// Runs a kernel.
    fn run<K: Kernel>(self, kernel: K) -> K::Output;
    /// True if kernels compute with pairs of vectors.
    fn paired(self) -> bool;
}

impl RunKernel for Isa {
    fn run<K: Kernel>(self, kernel: K) -> K::Output {
        self.dispatch(OverLanes(kernel))
    }

    fn paired(self) -> bool {
        matches!(self.level(), Level::PortablePairs | Level::Avx512)
    }
}

/// Calls a kernel with the lanes of each level.
struct OverLanes<K>(K);

impl<K: Kernel> Dispatch for OverLanes<K> {
    type Output = K::Output;

    #[inline(always)]
    fn portable(self) -> K::Output {
        // SAFETY: portable lanes are arrays, which need no instruction set.
        unsafe { self.0.run::<Portable>() }
    }

    #[inline(always)]
    fn portable_pairs(self) -> K::Output {
        // SAFETY: as above.
        unsafe { self.0.run::<PortablePairs>() }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx512(self) -> K::Output {
        // SAFETY: the caller guarantees AVX2, FMA and AVX-512 F, BW, DQ and VL.
        unsafe { self.0.run::<super::avx2::Avx512>() }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2(self) -> K::Output {
        // SAFETY: the caller guarantees AVX2 and FMA.
        unsafe { self.0.run::<super::avx2::Avx2>() }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    unsafe fn avx2(self) -> K::Output {
        self.portable()
    }
}

//! Which instruction set the kernels run on: asked of the machine once, or forced by `STANDOFF_ISA`.

use super::lanes::{Lanes, Portable};
use crate::Error;

/// An instruction set that this program has kernels for and this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isa(Set);

// Private, so that no value exists that the machine was not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    /// Plain arrays: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// AVX2 with FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

/// A kernel and its arguments. `run` must be `#[inline(always)]`, or it is not compiled for the set that calls it.
pub(crate) trait Kernel {
    type Output;
    /// # Safety
    /// The machine has the instruction set of `L`.
    unsafe fn run<L: Lanes>(self) -> Self::Output;
}

impl Isa {
    /// The best set of this machine.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            return Self(Set::Avx2);
        }
        Self(Set::Portable)
    }

    /// The set of that name, if this machine has it: `portable`, `avx2`, or `auto` for the best.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            "auto" | "" => Ok(Self::detect()),
            "portable" => Ok(Self(Set::Portable)),
            #[cfg(target_arch = "x86_64")]
            "avx2" if Self::detect() == Self(Set::Avx2) => Ok(Self(Set::Avx2)),
            "avx2" => {
                Err(Error::Mismatch("STANDOFF_ISA=avx2, but this machine lacks AVX2 or FMA; use portable".into()))
            }
            other => Err(Error::Mismatch(format!("STANDOFF_ISA={other} is not known; use auto, avx2 or portable"))),
        }
    }

    /// Its name, as in `STANDOFF_ISA`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
        }
    }

    /// Runs a kernel.
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            // SAFETY: arrays need no instruction set.
            Set::Portable => unsafe { portable(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this value exists only after `detect` found AVX2 and FMA.
            Set::Avx2 => unsafe { avx2(kernel) },
        }
    }
}

#[inline(never)]
unsafe fn portable<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<Portable>() }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<super::avx2::Avx2>() }
}

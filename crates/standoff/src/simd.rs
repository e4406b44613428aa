//! Instruction sets: one dispatcher for the whole workspace. The same source is compiled for several [`Level`]s, and [`Isa`] calls the
//! version for the machine at hand.
//!
//! In this crate wider registers change no result: sums run in a fixed number of lanes, and Rust never contracts `a * b + c`.
#![allow(unsafe_code)] // Calling a function that needs a CPU feature is unsafe; only an `Isa`, which has asked the machine, can do it.

use crate::Error;
use std::sync::OnceLock;

/// What a machine can do, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// What every machine of the architecture has: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, besides AVX2 and FMA.
    Avx512,
}

/// The widest level that code is compiled for. Raising it takes an `avx512` in [`Dispatch`] and its caller in [`Isa::dispatch`].
const WIDEST: Level = Level::Avx2;

impl Level {
    /// The level of this machine; asked once.
    #[inline]
    pub fn of_machine() -> Self {
        static FOUND: OnceLock<Level> = OnceLock::new();
        *FOUND.get_or_init(Self::ask)
    }

    #[cfg(target_arch = "x86_64")]
    fn ask() -> Self {
        use std::arch::is_x86_feature_detected;
        if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
            Self::Portable
        } else if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            Self::Avx512
        } else {
            Self::Avx2
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn ask() -> Self {
        Self::Portable
    }

    /// In lower case, as in `STANDOFF_ISA`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

/// A level that this machine has and that code is compiled for. Its field is private: a value is the proof that the machine was asked.
///
/// ```
/// use standoff::simd::Isa;
///
/// let portable = Isa::named("portable")?;
/// assert!(portable.level() <= Isa::detect().level());
/// assert!(Isa::named("sse9").is_err());
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isa(Level);

impl Isa {
    /// What every machine has.
    pub const PORTABLE: Self = Self(Level::Portable);

    /// The best level of this machine that code is compiled for.
    #[inline]
    pub fn detect() -> Self {
        let machine = Level::of_machine();
        Self(if machine < WIDEST { machine } else { WIDEST })
    }

    /// The level of that name, if this machine has it: `portable`, `avx2`, or `auto` (or nothing) for the best.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            "auto" | "" => Ok(Self::detect()),
            "portable" => Ok(Self::PORTABLE),
            "avx2" if Self::detect().0 >= Level::Avx2 => Ok(Self(Level::Avx2)),
            "avx2" => Err(Error::Isa("STANDOFF_ISA=avx2, but this machine lacks AVX2 or FMA; use portable".into())),
            other => Err(Error::Isa(format!("STANDOFF_ISA={other} is not known; use auto, avx2 or portable"))),
        }
    }

    /// The level.
    pub fn level(self) -> Level {
        self.0
    }

    /// Its name, as in `STANDOFF_ISA`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Calls the version of `work` for this level.
    #[inline]
    pub fn dispatch<D: Dispatch>(self, work: D) -> D::Output {
        match self.0 {
            Level::Portable => portable(work),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this value exists only after the machine was found to have AVX2 and FMA.
            Level::Avx2 | Level::Avx512 => unsafe { avx2(work) },
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 | Level::Avx512 => portable(work),
        }
    }
}

/// Work with a version per level. Every method must be `#[inline(always)]`, or it is compiled for any machine only.
pub trait Dispatch {
    /// The result.
    type Output;
    /// The version for every machine.
    fn portable(self) -> Self::Output;
    /// The version for AVX2 and FMA.
    ///
    /// # Safety
    /// The machine has AVX2 and FMA.
    unsafe fn avx2(self) -> Self::Output;
}

// Neither is inlined: next to other loops the compiler gives up on keeping the lanes in registers.
#[inline(never)]
fn portable<D: Dispatch>(work: D) -> D::Output {
    work.portable()
}

/// # Safety
/// The machine has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<D: Dispatch>(work: D) -> D::Output {
    // SAFETY: the caller's promise.
    unsafe { work.avx2() }
}

/// One pass over a vector, written once for all levels. `run` must be `#[inline(always)]`.
pub(crate) trait Pass {
    /// What the pass returns.
    type Output;
    /// The pass.
    fn run(self) -> Self::Output;
}

struct Same<P>(P);

impl<P: Pass> Dispatch for Same<P> {
    type Output = P::Output;

    #[inline(always)]
    fn portable(self) -> P::Output {
        self.0.run()
    }

    #[inline(always)]
    unsafe fn avx2(self) -> P::Output {
        self.0.run()
    }
}

/// Runs a pass with the widest registers at hand.
pub(crate) fn run<P: Pass>(pass: P) -> P::Output {
    Isa::detect().dispatch(Same(pass))
}

/// Asks for numbers that will be read soon, from `start` on; a place beyond the end is ignored. It changes no result.
#[inline(always)]
#[cfg(feature = "formula")]
pub(crate) fn fetch_ahead(numbers: &[f64], start: usize, count: usize) {
    /// Numbers per line of the cache.
    const LINE: usize = 8;
    let Some(soon) = numbers.get(start..numbers.len().min(start + count)) else { return };
    for line in soon.chunks(LINE) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the address is one of a slice, every x86-64 has the instruction, and it only touches the cache.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}

/// Runs a pass with the registers that every machine has.
#[cfg(test)]
pub(crate) fn narrow<P: Pass>(pass: P) -> P::Output {
    Isa::PORTABLE.dispatch(Same(pass))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_no_level_without_code_is_chosen() {
        assert!(Level::Portable < Level::Avx2 && Level::Avx2 < Level::Avx512);
        assert!(Isa::detect().level() <= Level::of_machine());
        assert!(Isa::detect().level() <= WIDEST);
        assert!(Isa::named("avx512").is_err());
        assert_eq!(Isa::named("").unwrap(), Isa::detect());
    }
}

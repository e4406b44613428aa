//! Instruction sets: one dispatcher for the whole workspace. The same source is compiled for several [`Level`]s, and
//! [`Isa`] calls the version for the current machine.
//!
//! In this crate wider registers change no result: sums have a fixed number of lanes, and Rust never contracts `a * b + c`.
#![allow(unsafe_code)] // Calling a function that needs a CPU feature is unsafe. Only `Isa`, which has checked the machine, does it.

use crate::Error;
use std::sync::OnceLock;

/// Instruction sets of a machine, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The baseline of the architecture: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// The baseline, with the loops over pairs of vectors that AVX-512 uses: the same bits as `Portable`. Never chosen by itself; it
    /// tests those loops on machines without AVX-512.
    PortablePairs,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, in addition to AVX2 and FMA.
    Avx512,
}

impl Level {
    /// The level of this machine; detected once.
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
            && is_x86_feature_detected!("popcnt")
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

    /// The name in lower case, as in `STANDOFF_ISA`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::PortablePairs => "portable-pairs",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

/// A level that this machine supports. The field is private, so a value proves that the
/// machine was checked.
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
    /// The level that every machine supports.
    pub const PORTABLE: Self = Self(Level::Portable);

    /// The best level that this machine supports.
    #[inline]
    pub fn detect() -> Self {
        Self(Level::of_machine())
    }

    /// The level with this name, if this machine supports it: `portable`, `portable-pairs`, `avx2`, `avx512`, or `auto` (or an
    /// empty name) for the best.
    pub fn named(name: &str) -> Result<Self, Error> {
        let level = match name {
            "auto" | "" => return Ok(Self::detect()),
            "portable" => Level::Portable,
            "portable-pairs" => Level::PortablePairs,
            "avx2" => Level::Avx2,
            "avx512" => Level::Avx512,
            other => {
                let known = "auto, avx512, avx2, portable or portable-pairs";
                return Err(Error::Isa(format!("STANDOFF_ISA={other} is unknown; use {known}")));
            }
        };
        Self::all().find(|isa| isa.0 == level).ok_or_else(|| {
            let (lacks, instead) = match level {
                Level::Avx512 => ("AVX-512 F, BW, DQ or VL", "avx2 or portable"),
                _ => ("AVX2 or FMA", "portable"),
            };
            Error::Isa(format!("STANDOFF_ISA={name}, but this machine lacks {lacks}; use {instead}"))
        })
    }

    /// Every level that this machine supports, from the smallest to the largest.
    pub fn all() -> impl Iterator<Item = Self> {
        let levels = [Level::Portable, Level::PortablePairs, Level::Avx2, Level::Avx512];
        levels.into_iter().filter(|&level| level <= Level::PortablePairs || level <= Self::detect().0).map(Self)
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
            Level::PortablePairs => portable_pairs(work),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this value exists only if the machine has AVX2 and FMA.
            Level::Avx2 => unsafe { avx2(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this value exists only if the machine has all that `avx512` enables.
            Level::Avx512 => unsafe { avx512(work) },
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 | Level::Avx512 => portable(work),
        }
    }
}

/// Code with one version per level. Every method must be `#[inline(always)]`; otherwise it is compiled for the baseline
/// only.
pub trait Dispatch {
    /// The type of the result.
    type Output;
    /// The version for every machine.
    fn portable(self) -> Self::Output;
    /// The version for AVX2 and FMA.
    ///
    /// # Safety
    /// The machine has AVX2 and FMA.
    unsafe fn avx2(self) -> Self::Output;
    /// The version for every machine with loops over pairs of vectors.
    #[inline(always)]
    fn portable_pairs(self) -> Self::Output
    where
        Self: Sized,
    {
        self.portable()
    }
    /// The version for AVX-512; by default that for AVX2, compiled with wider registers.
    ///
    /// # Safety
    /// The machine has AVX2, FMA, and AVX-512 F, BW, DQ and VL.
    #[inline(always)]
    unsafe fn avx512(self) -> Self::Output
    where
        Self: Sized,
    {
        // SAFETY: guaranteed by the caller.
        unsafe { self.avx2() }
    }
}

// None is inlined: next to other loops the compiler does not keep the lanes in registers.
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
    // SAFETY: guaranteed by the caller.
    unsafe { work.avx2() }
}

#[inline(never)]
fn portable_pairs<D: Dispatch>(work: D) -> D::Output {
    work.portable_pairs()
}

/// # Safety
/// The machine has AVX2, FMA, and AVX-512 F, BW, DQ and VL.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<D: Dispatch>(work: D) -> D::Output {
    // SAFETY: guaranteed by the caller.
    unsafe { work.avx512() }
}

/// A loop over vectors, written once for all levels. `run` must be `#[inline(always)]`.
pub(crate) trait Pass {
    /// The type of the result.
    type Output;
    /// Runs the loop.
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

/// Runs a pass with the widest registers of this machine.
pub(crate) fn run<P: Pass>(pass: P) -> P::Output {
    Isa::detect().dispatch(Same(pass))
}

/// Prefetches numbers from `start` on that will be read soon; positions beyond the end are ignored. Changes no result.
#[inline(always)]
#[cfg(feature = "formula")]
pub(crate) fn fetch_ahead(numbers: &[f64], start: usize, count: usize) {
    /// Numbers per cache line.
    const LINE: usize = 8;
    let Some(soon) = numbers.get(start..numbers.len().min(start + count)) else { return };
    for line in soon.chunks(LINE) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the address is inside a slice, every x86-64 has the instruction, and it only touches the cache.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}

/// Asks for huge pages for a large array that is not written yet: a pass over it then takes fewer address translations.
/// Changes no result; a system without huge pages ignores it.
#[cfg(feature = "formula")]
pub(crate) fn use_huge_pages(numbers: &mut [f64]) {
    /// Size of a huge page, a multiple of every smaller page size.
    const PAGE: usize = 1 << 21;
    let bytes = numbers.as_mut_ptr_range();
    let (start, end) = (bytes.start.addr().next_multiple_of(PAGE), bytes.end.addr() / PAGE * PAGE);
    if end <= start {
        return;
    }
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        use std::ffi::{c_int, c_void};
        const MADV_HUGEPAGE: c_int = 14;
        unsafe extern "C" {
            fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        // SAFETY: whole pages inside a slice that is borrowed mutably; this advice changes none of their contents. It may fail, and
        // then the pages stay small.
        unsafe { madvise(bytes.start.with_addr(start).cast(), end - start, MADV_HUGEPAGE) };
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
        assert_eq!(Isa::detect().level(), Level::of_machine());
        assert_eq!(Isa::named("avx512").is_ok(), Level::of_machine() == Level::Avx512);
        assert_eq!(Isa::named("avx2").is_ok(), Level::of_machine() >= Level::Avx2);
        assert!(Isa::all().any(|isa| isa == Isa::detect()));
        for isa in Isa::all() {
            assert_eq!(Isa::named(isa.name()).unwrap(), isa);
        }
        assert_eq!(Isa::named("").unwrap(), Isa::detect());
    }
}

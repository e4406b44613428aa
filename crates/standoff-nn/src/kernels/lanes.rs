//! Eight numbers, one of each of eight images: the vector type of the kernels, implemented once per instruction set.
//!
//! A kernel is written once, over `L: Lanes`, and compiled for each set by [`Isa::run`](super::Isa::run). Portable lanes are a
//! plain array; on aarch64 the compiler turns them into NEON, which every such machine has.

use super::pairs::{LanePair, TwoVectors};
use super::pooled_terms::SparseTerm;

/// Lanes of one vector. A block of 16 images is two units of 8.
pub(crate) const LANES: usize = 8;

/// `f32` lanes: eight, or sixteen in a [`LanePair`](super::LanePair). Masks are lanes whose bits are all ones or all zeros.
///
/// # Safety
/// Pointers must be valid for all entries read or written; they need not be aligned. The methods of an instruction set may
/// run only on a machine that has it, which [`Isa::run`](super::Isa::run) ensures.
#[allow(clippy::missing_safety_doc)] // stated above for all methods
pub(crate) unsafe trait Floats: Copy {
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(p: *const f32) -> Self;
    unsafe fn store(self, p: *mut f32);
    /// Loads bytes as numbers.
    unsafe fn load_u8(p: *const u8) -> Self;
    /// Stores lanes that hold integers from 0 to 255 as bytes.
    unsafe fn store_u8(self, p: *mut u8);
    unsafe fn add(self, b: Self) -> Self;
    unsafe fn sub(self, b: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    unsafe fn div(self, b: Self) -> Self;
    /// `self * b + c`, rounded once if the machine has the instruction.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// The larger number; b if one is NaN.
    unsafe fn max(self, b: Self) -> Self;
    /// The smaller number; b if one is NaN.
    unsafe fn min(self, b: Self) -> Self;
    /// `self > b`, as a mask.
    unsafe fn gt(self, b: Self) -> Self;
    /// `self == b`, as a mask.
    unsafe fn eq(self, b: Self) -> Self;
    unsafe fn and(self, b: Self) -> Self;
    /// `self` where the mask is set, else `b`.
    unsafe fn select(self, mask: Self, b: Self) -> Self;
    /// `2^self` for integers from -126 to 127.
    unsafe fn exp2(self) -> Self;

    unsafe fn zero() -> Self {
        // SAFETY: as for `splat`.
        unsafe { Self::splat(0.0) }
    }
}

/// Eight lanes, one register of AVX2.
///
/// # Safety
/// As for [`Floats`].
#[allow(clippy::missing_safety_doc)]
pub(crate) unsafe trait Lanes: Floats {
    /// Two vectors in one register.
    type Pair: LanePair<Self>;
    /// True if kernels should compute with pairs where they can. It changes no result.
    const PAIRED: bool;
    /// The sum, always in the order ((0+4)+(2+6)) + ((1+5)+(3+7)).
    unsafe fn sum(self) -> f32;
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES];

    /// Writes the terms of the lanes that are not zero, in order: the index `base[i] + shift[winners[i]]` and `scale` times the lane.
    /// Returns their number; all eight entries of `out` may be written.
    #[inline(always)]
    unsafe fn append_terms(
        self,
        scale: f32,
        winners: *const u8,
        base: *const u32,
        shift: [u32; 4],
        out: *mut SparseTerm,
    ) -> usize {
        let (mut lanes, mut n) = ([0.0; LANES], 0);
        // SAFETY: the caller guarantees eight entries behind each pointer.
        unsafe {
            self.store(lanes.as_mut_ptr());
            for (i, g) in lanes.into_iter().enumerate() {
                let at = *base.add(i) + shift[usize::from(*winners.add(i) & 3)];
                *out.add(n) = SparseTerm { at, g: scale * g };
                n += usize::from(g != 0.0);
            }
        }
        n
    }
}

/// Lanes for any machine. With `PAIRED`, kernels compute with pairs of them, as with AVX-512.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Plain<const PAIRED: bool>([f32; LANES]);

/// Lanes of the portable level.
pub(crate) type Portable = Plain<false>;
/// Portable lanes that test the loops over pairs.
pub(crate) type PortablePairs = Plain<true>;

/// True if `mul_add` is one instruction. Otherwise it would be a function call, and `fma` rounds the product first.
const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

impl<const PAIRED: bool> Plain<PAIRED> {
    #[inline(always)]
    fn map(self, b: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut out = self;
        for i in 0..LANES {
            out.0[i] = f(self.0[i], b.0[i]);
        }
        out
    }

    #[inline(always)]
    fn bits(self, b: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        self.map(b, |a, b| f32::from_bits(f(a.to_bits(), b.to_bits())))
    }
}

fn mask(on: bool) -> f32 {
    f32::from_bits(if on { u32::MAX } else { 0 })
}

// SAFETY: plain arithmetic on arrays; the caller guarantees valid pointers.
#[allow(unsafe_op_in_unsafe_fn)]
unsafe impl<const PAIRED: bool> Floats for Plain<PAIRED> {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; LANES])
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Self(p.cast::<[f32; LANES]>().read_unaligned())
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        p.cast::<[f32; LANES]>().write_unaligned(self.0);
    }
    #[inline(always)]
    unsafe fn load_u8(p: *const u8) -> Self {
        Self(p.cast::<[u8; LANES]>().read_unaligned().map(f32::from))
    }
    #[inline(always)]
    unsafe fn store_u8(self, p: *mut u8) {
        p.cast::<[u8; LANES]>().write_unaligned(self.0.map(|x| x as u8));
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        self.map(b, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        self.map(b, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        self.map(b, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        self.map(b, |a, b| a / b)
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        let mut out = c;
        for i in 0..LANES {
            out.0[i] = if FUSED { self.0[i].mul_add(b.0[i], c.0[i]) } else { self.0[i] * b.0[i] + c.0[i] };
        }
        out
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        self.map(b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        self.map(b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    unsafe fn gt(self, b: Self) -> Self {
        self.map(b, |a, b| mask(a > b))
    }
    #[inline(always)]
    unsafe fn eq(self, b: Self) -> Self {
        self.map(b, |a, b| mask(a == b))
    }
    #[inline(always)]
    unsafe fn and(self, b: Self) -> Self {
        self.bits(b, |a, b| a & b)
    }
    #[inline(always)]
    unsafe fn select(self, mask: Self, b: Self) -> Self {
        let mut out = b;
        for i in 0..LANES {
            let m = mask.0[i].to_bits();
            out.0[i] = f32::from_bits((self.0[i].to_bits() & m) | (b.0[i].to_bits() & !m));
        }
        out
    }
    #[inline(always)]
    unsafe fn exp2(self) -> Self {
        self.map(self, |a, _| f32::from_bits(((a as i32 + 127) << 23) as u32))
    }
}

// SAFETY: as above.
#[allow(unsafe_op_in_unsafe_fn)]
unsafe impl<const PAIRED: bool> Lanes for Plain<PAIRED> {
    type Pair = TwoVectors<Self>;
    const PAIRED: bool = PAIRED;
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let v = self.0;
        ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
    }
    #[inline(always)]
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        std::array::from_fn(|i| Self(std::array::from_fn(|j| rows[j].0[i])))
    }
}

//! Two vectors that are computed with as one: the 512-bit registers of AVX-512, or two vectors of any other level.
//!
//! A pair holds two columns, two units, two channels or two vectors of weights. Every lane has the same operations in the same order as
//! without pairs, so the results have the same bits.

use super::lanes::{Floats, LANES, Lanes};

/// Lanes of a pair.
pub(crate) const PAIR: usize = 2 * LANES;

/// Two vectors as one. A pair is loaded and stored like sixteen consecutive lanes.
///
/// # Safety
/// As for [`Floats`].
#[allow(clippy::missing_safety_doc)]
pub(crate) unsafe trait LanePair<L: Lanes>: Floats {
    /// Eight lanes from p, then eight from q.
    unsafe fn load_two(p: *const f32, q: *const f32) -> Self;
    /// The same, from bytes.
    unsafe fn load_two_u8(p: *const u8, q: *const u8) -> Self;
    /// The first and the second vector.
    unsafe fn halves(self) -> [L; 2];
    /// The first vectors of two pairs, and the second ones.
    unsafe fn unzip(a: Self, b: Self) -> [Self; 2];

    /// The same eight lanes twice.
    #[inline(always)]
    unsafe fn load_twice(p: *const f32) -> Self {
        // SAFETY: as for `load_two`.
        unsafe { Self::load_two(p, p) }
    }
}

/// A pair of vectors of a level whose registers hold one.
#[derive(Clone, Copy)]
pub(crate) struct TwoVectors<L>(L, L);

/// Applies a method to both vectors.
macro_rules! both {
    ($($name:ident($($arg:ident),*);)*) => {
        $(
            #[inline(always)]
            unsafe fn $name(self $(, $arg: Self)*) -> Self {
                Self(self.0.$name($($arg.0),*), self.1.$name($($arg.1),*))
            }
        )*
    };
}

// SAFETY: two vectors, each of which is sound.
unsafe impl<L: Lanes> Floats for TwoVectors<L> {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self(L::splat(x), L::splat(x))
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Self(L::load(p), L::load(p.add(LANES)))
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        self.0.store(p);
        self.1.store(p.add(LANES));
    }
    #[inline(always)]
    unsafe fn load_u8(p: *const u8) -> Self {
        Self(L::load_u8(p), L::load_u8(p.add(LANES)))
    }
    #[inline(always)]
    unsafe fn store_u8(self, p: *mut u8) {
        self.0.store_u8(p);
        self.1.store_u8(p.add(LANES));
    }
    both! {
        add(b);
        sub(b);
        mul(b);
        div(b);
        fma(b, c);
        max(b);
        min(b);
        gt(b);
        eq(b);
        and(b);
        select(mask, b);
        exp2();
    }
}

// SAFETY: as above.
unsafe impl<L: Lanes> LanePair<L> for TwoVectors<L> {
    #[inline(always)]
    unsafe fn load_two(p: *const f32, q: *const f32) -> Self {
        Self(L::load(p), L::load(q))
    }
    #[inline(always)]
    unsafe fn load_two_u8(p: *const u8, q: *const u8) -> Self {
        Self(L::load_u8(p), L::load_u8(q))
    }
    #[inline(always)]
    unsafe fn halves(self) -> [L; 2] {
        [self.0, self.1]
    }
    #[inline(always)]
    unsafe fn unzip(a: Self, b: Self) -> [Self; 2] {
        [Self(a.0, b.0), Self(a.1, b.1)]
    }
}

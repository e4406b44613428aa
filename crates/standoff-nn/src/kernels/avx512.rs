//! Pairs of vectors for AVX-512: one register of 512 bits.

use super::avx2::{Avx512, Ymm};
use super::lanes::Floats;
use super::pairs::LanePair;
use std::arch::x86_64::*;

/// Sixteen lanes in a `zmm` register.
#[derive(Clone, Copy)]
pub(crate) struct Zmm(__m512);

#[inline(always)]
unsafe fn mask(lanes: __mmask16) -> Zmm {
    Zmm(_mm512_castsi512_ps(_mm512_movm_epi32(lanes)))
}

// SAFETY: every method is one or a few instructions of AVX-512 F or DQ, and `Isa::run` has checked that the machine has them.
unsafe impl Floats for Zmm {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self(_mm512_set1_ps(x))
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Self(_mm512_loadu_ps(p))
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        _mm512_storeu_ps(p, self.0);
    }
    #[inline(always)]
    unsafe fn load_u8(p: *const u8) -> Self {
        Self(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(p.cast()))))
    }
    #[inline(always)]
    unsafe fn store_u8(self, p: *mut u8) {
        _mm_storeu_si128(p.cast(), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(self.0)));
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        Self(_mm512_add_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        Self(_mm512_sub_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        Self(_mm512_mul_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        Self(_mm512_div_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        Self(_mm512_fmadd_ps(self.0, b.0, c.0))
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        Self(_mm512_max_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        Self(_mm512_min_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn gt(self, b: Self) -> Self {
        mask(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn eq(self, b: Self) -> Self {
        mask(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn and(self, b: Self) -> Self {
        Self(_mm512_and_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn select(self, mask: Self, b: Self) -> Self {
        Self(_mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(mask.0)), b.0, self.0))
    }
    #[inline(always)]
    unsafe fn exp2(self) -> Self {
        let exponent = _mm512_add_epi32(_mm512_cvttps_epi32(self.0), _mm512_set1_epi32(127));
        Self(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent)))
    }
}

// SAFETY: as above.
unsafe impl LanePair<Avx512> for Zmm {
    #[inline(always)]
    unsafe fn load_two(p: *const f32, q: *const f32) -> Self {
        Self(_mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm256_loadu_ps(p)), _mm256_loadu_ps(q)))
    }
    #[inline(always)]
    unsafe fn load_two_u8(p: *const u8, q: *const u8) -> Self {
        let bytes = _mm_unpacklo_epi64(_mm_loadl_epi64(p.cast()), _mm_loadl_epi64(q.cast()));
        Self(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)))
    }
    #[inline(always)]
    unsafe fn halves(self) -> [Avx512; 2] {
        [Ymm(_mm512_castps512_ps256(self.0)), Ymm(_mm512_extractf32x8_ps::<1>(self.0))]
    }
    #[inline(always)]
    unsafe fn unzip(a: Self, b: Self) -> [Self; 2] {
        [Self(_mm512_shuffle_f32x4::<0x44>(a.0, b.0)), Self(_mm512_shuffle_f32x4::<0xee>(a.0, b.0))]
    }
    #[inline(always)]
    unsafe fn load_twice(p: *const f32) -> Self {
        Self(_mm512_broadcast_f32x8(_mm256_loadu_ps(p)))
    }
}

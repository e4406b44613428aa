//! Lanes for AVX2 and FMA: one register.

use super::lanes::{LANES, Lanes};
use std::arch::x86_64::*;

/// Eight lanes in a `ymm` register.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256);

// SAFETY: every method is one or a few instructions of AVX2 or FMA, and `Isa::run` has checked that the machine has them.
#[allow(unsafe_op_in_unsafe_fn)]
unsafe impl Lanes for Avx2 {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self(_mm256_set1_ps(x))
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Self(_mm256_loadu_ps(p))
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        _mm256_storeu_ps(p, self.0);
    }
    #[inline(always)]
    unsafe fn load_u8(p: *const u8) -> Self {
        Self(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(p.cast()))))
    }
    #[inline(always)]
    unsafe fn store_u8(self, p: *mut u8) {
        let v = _mm256_cvttps_epi32(self.0);
        let words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
        _mm_storel_epi64(p.cast(), _mm_packus_epi16(words, words));
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        Self(_mm256_add_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        Self(_mm256_sub_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        Self(_mm256_mul_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        Self(_mm256_div_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        Self(_mm256_fmadd_ps(self.0, b.0, c.0))
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        Self(_mm256_max_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        Self(_mm256_min_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn gt(self, b: Self) -> Self {
        Self(_mm256_cmp_ps::<_CMP_GT_OQ>(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn eq(self, b: Self) -> Self {
        Self(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn and(self, b: Self) -> Self {
        Self(_mm256_and_ps(self.0, b.0))
    }
    #[inline(always)]
    unsafe fn select(self, mask: Self, b: Self) -> Self {
        Self(_mm256_blendv_ps(b.0, self.0, mask.0))
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let half = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
        let pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
        _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)))
    }
    #[inline(always)]
    unsafe fn exp2(self) -> Self {
        let exponent = _mm256_add_epi32(_mm256_cvttps_epi32(self.0), _mm256_set1_epi32(127));
        Self(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
    }
    #[inline(always)]
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        let [a, b, c, d, e, f, g, h] = rows.map(|r| r.0);
        let (ab0, ab1) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd0, cd1) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let (ef0, ef1) = (_mm256_unpacklo_ps(e, f), _mm256_unpackhi_ps(e, f));
        let (gh0, gh1) = (_mm256_unpacklo_ps(g, h), _mm256_unpackhi_ps(g, h));
        let (p0, p1) = (_mm256_shuffle_ps::<0x44>(ab0, cd0), _mm256_shuffle_ps::<0xee>(ab0, cd0));
        let (p2, p3) = (_mm256_shuffle_ps::<0x44>(ab1, cd1), _mm256_shuffle_ps::<0xee>(ab1, cd1));
        let (q0, q1) = (_mm256_shuffle_ps::<0x44>(ef0, gh0), _mm256_shuffle_ps::<0xee>(ef0, gh0));
        let (q2, q3) = (_mm256_shuffle_ps::<0x44>(ef1, gh1), _mm256_shuffle_ps::<0xee>(ef1, gh1));
        [
            Self(_mm256_permute2f128_ps::<0x20>(p0, q0)),
            Self(_mm256_permute2f128_ps::<0x20>(p1, q1)),
            Self(_mm256_permute2f128_ps::<0x20>(p2, q2)),
            Self(_mm256_permute2f128_ps::<0x20>(p3, q3)),
            Self(_mm256_permute2f128_ps::<0x31>(p0, q0)),
            Self(_mm256_permute2f128_ps::<0x31>(p1, q1)),
            Self(_mm256_permute2f128_ps::<0x31>(p2, q2)),
            Self(_mm256_permute2f128_ps::<0x31>(p3, q3)),
        ]
    }
}

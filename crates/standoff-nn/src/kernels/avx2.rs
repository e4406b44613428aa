//! Lanes for AVX2 and FMA, and the single vectors of AVX-512: one register of 256 bits.

use super::avx512::Zmm;
use super::lanes::{Floats, LANES, Lanes};
use super::pairs::TwoVectors;
use super::pooled_terms::SparseTerm;
use std::arch::x86_64::*;

/// Eight lanes in a `ymm` register. With `WIDE` the machine has AVX-512, and pairs are one register too.
#[derive(Clone, Copy)]
pub(crate) struct Ymm<const WIDE: bool>(pub(super) __m256);

/// Lanes for AVX2.
pub(crate) type Avx2 = Ymm<false>;
/// Lanes for AVX-512.
pub(crate) type Avx512 = Ymm<true>;

// SAFETY: every method is one or a few instructions of AVX2 or FMA, and `Isa::run` has checked that the machine has them.
unsafe impl<const WIDE: bool> Floats for Ymm<WIDE> {
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
    unsafe fn exp2(self) -> Self {
        let exponent = _mm256_add_epi32(_mm256_cvttps_epi32(self.0), _mm256_set1_epi32(127));
        Self(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
    }
}

// SAFETY: as above; the vectors of both levels are the same.
unsafe impl Lanes for Avx2 {
    type Pair = TwoVectors<Self>;
    const PAIRED: bool = false;
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        sum(self.0)
    }
    #[inline(always)]
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        transpose(rows.map(|r| r.0)).map(Self)
    }
}

// SAFETY: as above.
unsafe impl Lanes for Avx512 {
    type Pair = Zmm;
    const PAIRED: bool = true;
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        sum(self.0)
    }
    #[inline(always)]
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        transpose(rows.map(|r| r.0)).map(Self)
    }
    #[inline(always)]
    unsafe fn append_terms(
        self,
        scale: f32,
        winners: *const u8,
        base: *const u32,
        shift: [u32; 4],
        out: *mut SparseTerm,
    ) -> usize {
        let keep = _mm256_cmp_ps_mask::<_CMP_NEQ_UQ>(self.0, _mm256_setzero_ps());
        let winners = _mm256_cvtepu8_epi32(_mm_loadl_epi64(winners.cast()));
        let winners = _mm256_and_si256(winners, _mm256_set1_epi32(3));
        let shift = _mm256_broadcastsi128_si256(_mm_loadu_si128(shift.as_ptr().cast()));
        let at = _mm256_add_epi32(_mm256_loadu_si256(base.cast()), _mm256_permutevar8x32_epi32(shift, winners));
        let g = _mm256_castps_si256(_mm256_mul_ps(self.0, _mm256_set1_ps(scale)));
        let high = _mm512_slli_epi64::<32>(_mm512_cvtepu32_epi64(g));
        let terms = _mm512_or_si512(_mm512_cvtepu32_epi64(at), high);
        _mm512_storeu_si512(out.cast(), _mm512_maskz_compress_epi64(keep, terms));
        keep.count_ones() as usize
    }
}

#[inline(always)]
unsafe fn sum(v: __m256) -> f32 {
    let half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
    let pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
    _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)))
}

#[inline(always)]
unsafe fn transpose([a, b, c, d, e, f, g, h]: [__m256; LANES]) -> [__m256; LANES] {
    let (ab0, ab1) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    let (cd0, cd1) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
    let (ef0, ef1) = (_mm256_unpacklo_ps(e, f), _mm256_unpackhi_ps(e, f));
    let (gh0, gh1) = (_mm256_unpacklo_ps(g, h), _mm256_unpackhi_ps(g, h));
    let (p0, p1) = (_mm256_shuffle_ps::<0x44>(ab0, cd0), _mm256_shuffle_ps::<0xee>(ab0, cd0));
    let (p2, p3) = (_mm256_shuffle_ps::<0x44>(ab1, cd1), _mm256_shuffle_ps::<0xee>(ab1, cd1));
    let (q0, q1) = (_mm256_shuffle_ps::<0x44>(ef0, gh0), _mm256_shuffle_ps::<0xee>(ef0, gh0));
    let (q2, q3) = (_mm256_shuffle_ps::<0x44>(ef1, gh1), _mm256_shuffle_ps::<0xee>(ef1, gh1));
    [
        _mm256_permute2f128_ps::<0x20>(p0, q0),
        _mm256_permute2f128_ps::<0x20>(p1, q1),
        _mm256_permute2f128_ps::<0x20>(p2, q2),
        _mm256_permute2f128_ps::<0x20>(p3, q3),
        _mm256_permute2f128_ps::<0x31>(p0, q0),
        _mm256_permute2f128_ps::<0x31>(p1, q1),
        _mm256_permute2f128_ps::<0x31>(p2, q2),
        _mm256_permute2f128_ps::<0x31>(p3, q3),
    ]
}

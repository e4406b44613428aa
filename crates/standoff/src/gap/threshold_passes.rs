//! Vectorised loops over the entries of a [`ThresholdPart`](super::threshold::ThresholdPart): loading a simplex, and
//! dropping entries that stay inactive.

use super::newton::Threshold;
use super::rule::ThresholdRule;
use super::sums;
use crate::Real;
use crate::simd::Pass;

/// Number of entries tested before any of them is copied.
pub(super) const CHUNK: usize = 64;

/// `x` or 0. Unlike a branch around several sums, it runs in all lanes at once.
#[inline(always)]
pub(super) fn pick(wanted: bool, x: f64) -> f64 {
    if wanted { x } else { 0.0 }
}

/// `max(x, 0)`, but NaN stays NaN.
#[inline(always)]
pub(super) fn not_negative(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// Loads a gradient, times a factor, and a point of the simplex: see `ThresholdPart::weigh`.
pub(super) struct LoadSimplex<'a, R> {
    pub(super) grad: &'a [R],
    pub(super) factor: f64,
    /// The smallest entry of the gradient, times the factor.
    pub(super) least: f64,
    pub(super) point: &'a [R],
    pub(super) w: &'a mut [f64],
    pub(super) base: &'a mut [f64],
}

impl<R: Real> Pass for LoadSimplex<'_, R> {
    type Output = [f64; 8];

    #[inline(always)]
    fn run(self) -> [f64; 8] {
        let Self { factor, least, w, base, .. } = self;
        let mut total = [0.0; 8];
        let blocks = self.grad.chunks(CHUNK).zip(self.point.chunks(CHUNK));
        for ((grad, point), (w, base)) in blocks.zip(w.chunks_mut(CHUNK).zip(base.chunks_mut(CHUNK))) {
            for (wi, g) in w.iter_mut().zip(grad) {
                *wi = g.to_f64() * factor - least;
            }
            for (bi, p) in base.iter_mut().zip(point) {
                *bi = not_negative(p.to_f64());
            }
            let [all, squares, ties, lost, square, moment] = sums::inline_sum(w, base, |w, p| {
                let off = pick(w != 0.0, p);
                [w, w * w, pick(w == 0.0, 1.0), off, off * off, w * p]
            });
            let [sum, below] = sums::inline_sum(base, point, |b, p| [b, b - p]);
            for (t, part) in total.iter_mut().zip([all, squares, sum, below, ties, lost, square, moment]) {
                *t += part;
            }
        }
        total
    }
}

/// Copies the entries that may still be active to the front and sums the others.
pub(super) struct PruneInactive<'a, K> {
    pub(super) rule: K,
    pub(super) level: Threshold,
    /// Source of the entries, if it differs from the destination.
    pub(super) source: Option<(&'a [f64], &'a [f64])>,
    pub(super) w: &'a mut [f64],
    pub(super) base: &'a mut [f64],
    pub(super) count: usize,
}

impl<K: ThresholdRule> Pass for PruneInactive<'_, K> {
    type Output = (usize, [f64; 4]);

    #[inline(always)]
    fn run(self) -> (usize, [f64; 4]) {
        let Self { rule, level, source, w, base, count } = self;
        let (mut kept, mut total) = (0, [0.0; 4]);
        let (mut buffer_w, mut buffer_base) = ([0.0; CHUNK], [0.0; CHUNK]);
        let stays_inactive = |g: f64, p: f64| {
            let e = rule.entry(level.tau, g, p);
            (!e.is_active(level.height) && rule.stays_inactive(&e, level.slope), e)
        };
        for start in (0..count).step_by(CHUNK) {
            let chunk = start..CHUNK.min(count - start) + start;
            let (chunk_w, chunk_base) = match source {
                Some((w, base)) => (&w[chunk.clone()], &base[chunk]),
                None => {
                    buffer_w[..chunk.len()].copy_from_slice(&w[chunk.clone()]);
                    buffer_base[..chunk.len()].copy_from_slice(&base[chunk.clone()]);
                    (&buffer_w[..chunk.len()], &buffer_base[..chunk.len()])
                }
            };
            let [left, sums @ ..] = sums::inline_sum(chunk_w, chunk_base, |g, p| {
                let (dropped, e) = stays_inactive(g, p);
                let weight = pick(dropped, e.weight);
                [pick(!dropped, 1.0), weight, weight * weight, -weight * e.pull, pick(dropped, -e.start * e.slope)]
            });
            for (t, sum) in total.iter_mut().zip::<[f64; 4]>(sums) {
                *t += sum;
            }
            if left > 0.0 {
                for (&g, &p) in chunk_w.iter().zip(chunk_base) {
                    (w[kept], base[kept]) = (g, p);
                    kept += usize::from(!stays_inactive(g, p).0);
                }
            }
        }
        (kept, total)
    }
}

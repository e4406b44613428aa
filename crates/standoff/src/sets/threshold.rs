//! Projection onto the simplex and the l1 ball: `z_i = max(v_i - tau, 0)` with the one `tau` that makes the sum right.

use crate::Real;

/// Which of the two sets: what stands in for an entry while the threshold is sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// The entry itself: the simplex `z >= 0, sum z = scale`.
    Keep,
    /// Its absolute value: the l1 ball `sum |z| <= scale`.
    Absolute,
}

impl Fold {
    #[inline(always)]
    fn of<R: Real>(self, v: R) -> f64 {
        match self {
            Self::Keep => v.to_f64(),
            Self::Absolute => v.to_f64().abs(),
        }
    }
}

/// Replaces `v` by its projection. A NaN anywhere makes every entry NaN.
pub(super) fn project<R: Real>(v: &mut [R], scale: f64, fold: Fold) {
    let sum = crate::ops::sum_of(v.len(), |i| fold.of(v[i]));
    if fold == Fold::Absolute && sum <= scale {
        return;
    }
    let tau = threshold(v, scale, fold, sum);
    for vi in v.iter_mut() {
        let rest = fold.of(*vi) - tau;
        let kept = if rest < 0.0 { 0.0 } else { rest };
        *vi = R::from_f64(if fold == Fold::Absolute { kept.copysign(vi.to_f64()) } else { kept });
    }
}

/// The `tau` with `sum_i max(v_i - tau, 0) = scale`, by Newton's method on this convex decreasing function of tau:
/// from the left of the root it only moves right, the entries above tau only become fewer, and once their number stays
/// the same tau is exact.
fn threshold<R: Real>(v: &[R], scale: f64, fold: Fold, sum: f64) -> f64 {
    let mut tau = (sum - scale) / v.len() as f64;
    let mut count = v.len();
    loop {
        let above = v.iter().filter(|vi| fold.of(**vi) > tau).count();
        if above == 0 || above == count {
            return tau;
        }
        count = above;
        // In residual form: the sum of differences is small near the root, so nothing cancels.
        let excess = crate::ops::sum_of(v.len(), |i| {
            let d = fold.of(v[i]) - tau;
            if d > 0.0 { d } else { 0.0 }
        });
        tau += (excess - scale) / count as f64;
    }
}

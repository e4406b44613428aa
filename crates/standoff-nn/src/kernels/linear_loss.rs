//! Losses of linear models in `f64`, with their first and second derivatives in the margin, for a block of rows.
//!
//! `exp` and `log1p` are polynomials without branches, so that the loops over rows vectorise; additions and multiplications are not
//! fused, so every instruction set gives the same bits.

use super::{Kernel, Lanes};

/// Derivatives of a block: in the margins by `slopes`, and twice by `curvatures` if it is not empty.
pub(crate) struct MarginLoss<'a> {
    /// One per row.
    pub losses: &'a mut [f64],
    /// `[output][row]`: margins in, derivatives out.
    pub margins: &'a mut [f64],
    /// The second derivative of a loss with one output; empty if it is not wanted.
    pub curvatures: &'a mut [f64],
    /// The class as a number, or the target of a regression.
    pub targets: &'a [f64],
    pub loss: RowLoss,
}

/// The loss of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RowLoss {
    /// Cross-entropy of one logit; the target is 0 or 1.
    Logistic,
    /// Cross-entropy of several logits; the target is the class.
    Softmax,
    /// Half the squared residual.
    Squared,
    /// Half the squared residual up to `delta`, linear beyond it.
    Huber { delta: f64 },
    /// [`Huber`](Self::Huber) divided by `delta`: at most `delta / 2` below the absolute residual.
    Absolute { delta: f64 },
}

impl Kernel for MarginLoss<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let rows = self.losses.len();
        assert_eq!(self.targets.len(), rows);
        match self.loss {
            RowLoss::Softmax => softmax(&mut self),
            RowLoss::Logistic => each(self, logistic),
            RowLoss::Squared => each(self, |z, t| (0.5 * (z - t) * (z - t), z - t, 1.0)),
            RowLoss::Huber { delta } => each(self, |z, t| huber(z - t, delta)),
            RowLoss::Absolute { delta } => each(self, |z, t| {
                let (loss, slope, curvature) = huber(z - t, delta);
                (loss / delta, slope / delta, curvature / delta)
            }),
        }
    }
}

#[inline(always)]
fn each(k: MarginLoss<'_>, f: impl Fn(f64, f64) -> (f64, f64, f64)) {
    assert_eq!(k.margins.len(), k.losses.len());
    if k.curvatures.is_empty() {
        for ((z, l), t) in k.margins.iter_mut().zip(k.losses).zip(k.targets) {
            (*l, *z, _) = f(*z, *t);
        }
        return;
    }
    assert_eq!(k.curvatures.len(), k.losses.len());
    for (((z, l), t), c) in k.margins.iter_mut().zip(k.losses).zip(k.targets).zip(k.curvatures) {
        (*l, *z, *c) = f(*z, *t);
    }
}

/// With the margin m of the true class and e = exp(-|m|): the loss is log(1 + e) + max(-m, 0).
#[inline(always)]
fn logistic(z: f64, target: f64) -> (f64, f64, f64) {
    let sign = 2.0 * target - 1.0;
    let m = sign * z;
    let e = exp_nonpositive(-m.abs());
    let share = 1.0 / (1.0 + e);
    let wrong = if m < 0.0 { share } else { e * share };
    let behind = if m < 0.0 { -m } else { 0.0 };
    (log1p_unit(e) + behind, -sign * wrong, e * share * share)
}

#[inline(always)]
fn huber(r: f64, delta: f64) -> (f64, f64, f64) {
    let size = r.abs();
    let inside = size <= delta;
    let linear = delta * (size - 0.5 * delta);
    let slope = if r < 0.0 { -delta } else { delta };
    (
        if inside { 0.5 * r * r } else { linear },
        if inside { r } else { slope + 0.0 * r },
        if inside { 1.0 } else { 0.0 },
    )
}

/// Probabilities replace the margins, then the class of each row loses 1.
#[inline(always)]
fn softmax(k: &mut MarginLoss<'_>) {
    let rows = k.losses.len();
    let outputs = k.margins.len() / rows.max(1);
    assert_eq!(k.margins.len(), outputs * rows);
    for row in 0..rows {
        let target = k.targets[row] as usize;
        let mut top = k.margins[row];
        for output in 1..outputs {
            let z = k.margins[output * rows + row];
            top = if z > top || z.is_nan() { z } else { top };
        }
        let own = k.margins[target * rows + row] - top;
        let mut sum = 0.0;
        for output in 0..outputs {
            let z = &mut k.margins[output * rows + row];
            *z = exp_nonpositive(*z - top);
            sum += *z;
        }
        for output in 0..outputs {
            k.margins[output * rows + row] /= sum;
        }
        k.losses[row] = libm::log(sum) - own;
        k.margins[target * rows + row] -= 1.0;
    }
}

/// `exp(x)` for x at most 0, within 2 units in the last place; below -708 it is `exp(-708)`, about 3e-308. NaN stays NaN.
#[inline(always)]
pub(crate) fn exp_nonpositive(x: f64) -> f64 {
    // x = k ln 2 + r with |r| at most 0.347. Adding 1.5 * 2^52 rounds to an integer, which the low bits then hold.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
    let x = if x < -708.0 { -708.0 } else { x };
    let rounded = x * std::f64::consts::LOG2_E + MAGIC;
    let k = rounded - MAGIC;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let mut p = 1.0 / 6_227_020_800.0;
    for factorial in
        [479_001_600.0, 39_916_800.0, 3_628_800.0, 362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0]
    {
        p = p * r + 1.0 / factorial;
    }
    p * f64::from_bits((rounded.to_bits() << 52).wrapping_add(1023 << 52))
}

/// `log(1 + u)` for u from 0 to 1: twice the series of artanh at s = u / (2 + u), whose terms shrink by 9.
#[inline(always)]
pub(crate) fn log1p_unit(u: f64) -> f64 {
    let s = u / (2.0 + u);
    let q = s * s;
    let mut p = 1.0 / 35.0;
    for n in [33.0, 31.0, 29.0, 27.0, 25.0, 23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        p = p * q + 1.0 / n;
    }
    2.0 * s + 2.0 * s * (q * p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polynomials_agree_with_the_library() {
        for i in 0..200_000 {
            let x = -708.0 * (f64::from(i) / 200_000.0).powi(3);
            let want = libm::exp(x);
            assert!((exp_nonpositive(x) - want).abs() <= 4.5e-16 * want, "exp({x})");
            let u = f64::from(i) / 200_000.0;
            let want = libm::log1p(u);
            assert!((log1p_unit(u) - want).abs() <= 4.5e-16 * want, "log1p({u})");
        }
        assert_eq!(exp_nonpositive(0.0), 1.0);
        assert!(exp_nonpositive(f64::NEG_INFINITY) < 1e-300);
        assert!(exp_nonpositive(f64::NAN).is_nan());
    }

    #[test]
    fn a_nan_margin_is_a_nan_loss() {
        use super::super::{Isa, RunKernel};
        for loss in [
            RowLoss::Logistic,
            RowLoss::Softmax,
            RowLoss::Squared,
            RowLoss::Huber { delta: 1.0 },
            RowLoss::Absolute { delta: 1.0 },
        ] {
            let mut losses = [0.0; 2];
            let mut margins = [1.0, f64::NAN, 0.5, 0.5];
            let outputs = if loss == RowLoss::Softmax { 2 } else { 1 };
            let kernel = MarginLoss {
                losses: &mut losses,
                margins: &mut margins[..2 * outputs],
                curvatures: &mut [],
                targets: &[0.0, 0.0],
                loss,
            };
            Isa::detect().run(kernel);
            assert!(losses[0].is_finite() && losses[1].is_nan() && margins[1].is_nan(), "{loss:?}");
        }
    }
}

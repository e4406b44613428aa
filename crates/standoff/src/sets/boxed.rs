//! A box: per coordinate a lower and an upper bound, either of which may be infinite.

use super::{ConvexSet, refuse, refuse_dim_zero};
use crate::{Error, Real};

/// The box `lower <= z <= upper`.
#[derive(Debug, Clone)]
pub struct BoxSet<R> {
    lower: Vec<R>,
    upper: Vec<R>,
}

impl<R: Real> BoxSet<R> {
    pub(crate) fn new(lower: Vec<R>, upper: Vec<R>) -> Result<Self, Error> {
        if lower.len() != upper.len() {
            return Err(refuse(
                "box",
                format!("lower has {} entries, upper has {}; make them equal", lower.len(), upper.len()),
            ));
        }
        refuse_dim_zero("box", lower.len())?;
        for (i, (l, u)) in lower.iter().zip(&upper).enumerate() {
            let (l, u) = (l.to_f64(), u.to_f64());
            if l.is_nan() || u.is_nan() {
                return Err(refuse("box", format!("a bound of coordinate {i} is NaN; use an infinite bound for none")));
            }
            if l > u || l == f64::INFINITY || u == f64::NEG_INFINITY {
                return Err(refuse(
                    "box",
                    format!("coordinate {i} has lower = {l} and upper = {u}: no number lies between"),
                ));
            }
        }
        Ok(Self { lower, upper })
    }

    /// The lower bounds.
    pub fn lower(&self) -> &[R] {
        &self.lower
    }

    /// The upper bounds.
    pub fn upper(&self) -> &[R] {
        &self.upper
    }
}

impl<R: Real> ConvexSet<R> for BoxSet<R> {
    fn dim(&self) -> usize {
        self.lower.len()
    }

    fn project(&self, v: &mut [R]) {
        assert_eq!(v.len(), self.lower.len());
        for (vi, (l, u)) in v.iter_mut().zip(self.lower.iter().zip(&self.upper)) {
            // NaN fails both comparisons and stays NaN.
            if *vi < *l {
                *vi = *l;
            } else if *vi > *u {
                *vi = *u;
            }
        }
    }

    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        self.centre(out);
        for i in 0..g.len() {
            let gi = g[i].to_f64();
            if gi.is_nan() {
                out[i] = g[i];
            } else if gi != 0.0 {
                out[i] = if gi > 0.0 { self.lower[i] } else { self.upper[i] };
            }
        }
        crate::ops::all_finite(out)
    }

    fn centre(&self, out: &mut [R]) {
        for i in 0..out.len() {
            let (l, u) = (self.lower[i].to_f64(), self.upper[i].to_f64());
            out[i] = R::from_f64(if l.is_finite() && u.is_finite() { 0.5 * l + 0.5 * u } else { 0.0_f64.clamp(l, u) });
        }
    }

    fn radius_around(&self, from: &[R]) -> f64 {
        assert_eq!(from.len(), self.lower.len());
        crate::ops::sum_of(from.len(), |i| {
            let c = from[i].to_f64();
            let far = (c - self.lower[i].to_f64()).abs().max((self.upper[i].to_f64() - c).abs());
            far * far
        })
        .sqrt()
    }

    fn diameter(&self) -> f64 {
        crate::ops::distance(&self.lower, &self.upper)
    }
}

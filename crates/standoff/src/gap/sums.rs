//! Sums over coordinates at one value of the path parameter, which add up over the factors of a product, and the
//! vectorised loops that compute them.

use crate::Real;
use crate::simd::{self, Pass};

/// Number of partial sums per quantity. It is fixed because the order of additions is part of the result.
const LANES: usize = 8;
/// Number of terms computed before they are added.
const CHUNK: usize = 32;
/// Relative error of the differences of gradients, and of distances, in a bound.
pub(super) const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Quantities at the path's point `s = s(tau)`, with the vector `n` that proves the upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sums {
    /// `||s||^2`.
    pub(super) length2: f64,
    /// `-<g, s>`.
    pub(super) gain: f64,
    /// `||g + n||^2`.
    pub(super) residual2: f64,
    /// `sup { <n, z - x> : z in C }`.
    pub(super) support: f64,
    /// `<s, s'>`, where `s'` is the derivative in tau; NaN if unknown.
    pub(super) along: f64,
    /// `||s'||^2`; NaN if unknown.
    pub(super) speed2: f64,
    /// Bound of the rounding error of the upper bound.
    pub(super) doubt: f64,
}

impl Sums {
    /// Sums where no constraint is active: `s = -tau g`, `n = 0`.
    pub(super) fn straight(tau: f64, norm2: f64) -> Self {
        if norm2 == 0.0 {
            return Self::default();
        }
        Self {
            length2: tau * tau * norm2,
            gain: tau * norm2,
            residual2: norm2,
            along: tau * norm2,
            speed2: norm2,
            ..Self::default()
        }
    }

    /// Sums without a limit for `tau` to infinity: the gain is unbounded.
    pub(super) fn endless() -> Self {
        Self { length2: f64::INFINITY, support: f64::INFINITY, ..Self::default() }
    }

    /// The upper bound that `n` proves, plus its rounding error.
    pub(super) fn bound(&self, radius: f64) -> f64 {
        radius * self.residual2.sqrt() + self.support + self.doubt
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.length2 += other.length2;
        self.gain += other.gain;
        self.residual2 += other.residual2;
        self.support += other.support;
        self.along += other.along;
        self.speed2 += other.speed2;
        self.doubt += other.doubt;
    }
}

/// `sum_i term(a_i, b_i)` for `K` quantities in one pass.
pub(super) fn sum<A: Real, B: Real, const K: usize>(a: &[A], b: &[B], term: impl Fn(f64, f64) -> [f64; K]) -> [f64; K] {
    assert_eq!(a.len(), b.len());
    simd::run(Sum { a, b, term })
}

/// Same as [`sum`], for use inside another pass.
#[inline(always)]
pub(super) fn inline_sum<A: Real, B: Real, const K: usize>(
    a: &[A],
    b: &[B],
    term: impl Fn(f64, f64) -> [f64; K],
) -> [f64; K] {
    Sum { a, b, term }.run()
}

struct Sum<'a, A, B, F> {
    a: &'a [A],
    b: &'a [B],
    term: F,
}

impl<A: Real, B: Real, const K: usize, F: Fn(f64, f64) -> [f64; K]> Pass for Sum<'_, A, B, F> {
    type Output = [f64; K];

    #[inline(always)]
    fn run(self) -> [f64; K] {
        let mut lanes = [[0.0; LANES]; K];
        // First compute all terms of a chunk, then add them: the compiler vectorises each of the two loops.
        let mut terms = [[0.0; CHUNK]; K];
        let (a, rest_a) = self.a.as_chunks::<CHUNK>();
        let (b, rest_b) = self.b.as_chunks::<CHUNK>();
        for (a, b) in a.iter().zip(b) {
            for i in 0..CHUNK {
                let term = (self.term)(a[i].to_f64(), b[i].to_f64());
                for k in 0..K {
                    terms[k][i] = term[k];
                }
            }
            for k in 0..K {
                let (rows, _) = terms[k].as_chunks::<LANES>();
                for row in rows {
                    for lane in 0..LANES {
                        lanes[k][lane] += row[lane];
                    }
                }
            }
        }
        for i in 0..rest_a.len() {
            let term = (self.term)(rest_a[i].to_f64(), rest_b[i].to_f64());
            for k in 0..K {
                lanes[k][i % LANES] += term[k];
            }
        }
        lanes.map(tree)
    }
}

/// Pairwise sum of the partial sums.
#[inline(always)]
fn tree(l: [f64; LANES]) -> f64 {
    ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]))
}

/// Writes `out_i = map(a_i, b_i)`.
pub(super) fn fill<A: Real, B: Real, R: Real>(out: &mut [R], a: &[A], b: &[B], map: impl Fn(f64, f64) -> f64) {
    assert_eq!(a.len(), out.len());
    assert_eq!(b.len(), out.len());
    simd::run(Fill { out, a, b, map });
}

struct Fill<'a, A, B, R, F> {
    out: &'a mut [R],
    a: &'a [A],
    b: &'a [B],
    map: F,
}

impl<A: Real, B: Real, R: Real, F: Fn(f64, f64) -> f64> Pass for Fill<'_, A, B, R, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, (a, b)) in self.out.iter_mut().zip(self.a.iter().zip(self.b)) {
            *out = R::from_f64((self.map)(a.to_f64(), b.to_f64()));
        }
    }
}

/// True if every entry is finite.
pub(super) fn is_finite<R: Real>(v: &[R]) -> bool {
    // vi * 0 is 0 for finite numbers and NaN for all others.
    sum(v, v, |vi, _| [vi * 0.0])[0] == 0.0
}

/// Statistics of a vector from one pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Survey {
    pub(super) least: f64,
    pub(super) most: f64,
    squares: f64,
    /// 0, or NaN if an entry is NaN or infinite.
    flaw: f64,
}

impl Survey {
    /// `max |v_i|`; 0 for an empty vector, NaN if an entry is NaN or infinite.
    pub(super) fn largest(&self) -> f64 {
        let largest = if -self.least > self.most { -self.least } else { self.most };
        self.flaw + if largest > 0.0 { largest } else { 0.0 }
    }

    /// `||factor v||` of the vector `v` of this survey.
    pub(super) fn length<R: Real>(&self, v: &[R], factor: f64) -> f64 {
        if (1e-280..=f64::MAX).contains(&self.squares) {
            return factor.abs() * self.squares.sqrt();
        }
        sum(v, v, |vi, _| [(factor * vi) * (factor * vi)])[0].sqrt()
    }
}

/// Computes the survey of a vector.
pub(super) fn survey<R: Real>(v: &[R]) -> Survey {
    simd::run(SurveyPass(v))
}

struct SurveyPass<'a, R>(&'a [R]);

impl<R: Real> Pass for SurveyPass<'_, R> {
    type Output = Survey;

    #[inline(always)]
    fn run(self) -> Survey {
        let (mut most, mut least) = ([f64::NEG_INFINITY; LANES], [f64::INFINITY; LANES]);
        let (mut squares, mut flaw) = ([0.0; LANES], [0.0; LANES]);
        let mut look = |lane: usize, v: f64| {
            most[lane] = if v > most[lane] { v } else { most[lane] };
            least[lane] = if v < least[lane] { v } else { least[lane] };
            squares[lane] += v * v;
            flaw[lane] += v * 0.0;
        };
        let (chunks, rest) = self.0.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                look(lane, chunk[lane].to_f64());
            }
        }
        for (lane, v) in rest.iter().enumerate() {
            look(lane, v.to_f64());
        }
        Survey {
            least: least.into_iter().fold(f64::INFINITY, |a, b| if b < a { b } else { a }),
            most: most.into_iter().fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a }),
            squares: tree(squares),
            flaw: tree(flaw),
        }
    }
}

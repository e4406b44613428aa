//! Two lines that enclose an activation over an interval: `a x + b <= f(x) <= c x + d` for l <= x <= u.
//!
//! Slopes may be any numbers; the offsets are then computed so that the lines enclose f in spite of rounding.

use super::enclose::WIDE_CURVE;
use super::graph::ActivationKind;
use crate::kernels::matmul::MatrixNumber;

/// The lines of all entries of an activation, `[problem][entry]`.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeLines<T> {
    pub lower_slope: Vec<T>,
    pub lower_offset: Vec<T>,
    pub upper_slope: Vec<T>,
    pub upper_offset: Vec<T>,
}

impl<T: MatrixNumber> NodeLines<T> {
    pub(crate) fn push(&mut self, lines: LinePair) {
        self.lower_slope.push(T::from_f64(lines.lower.0));
        self.lower_offset.push(T::from_f64(lines.lower.1));
        self.upper_slope.push(T::from_f64(lines.upper.0));
        self.upper_offset.push(T::from_f64(lines.upper.1));
    }

    /// Replaces the lines of an entry.
    pub(crate) fn set(&mut self, place: usize, lines: LinePair) {
        self.lower_slope[place] = T::from_f64(lines.lower.0);
        self.lower_offset[place] = T::from_f64(lines.lower.1);
        self.upper_slope[place] = T::from_f64(lines.upper.0);
        self.upper_offset[place] = T::from_f64(lines.upper.1);
    }
}

/// Slope and offset of the lower and of the upper line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LinePair {
    pub lower: (f64, f64),
    pub upper: (f64, f64),
}

impl LinePair {
    pub(crate) const IDENTITY: Self = Self { lower: (1.0, 0.0), upper: (1.0, 0.0) };

    /// `slope x` on both sides.
    pub(crate) fn through_zero(slope: f64) -> Self {
        Self { lower: (slope, 0.0), upper: (slope, 0.0) }
    }

    fn constants(low: f64, high: f64) -> Self {
        Self { lower: (0.0, low), upper: (0.0, high) }
    }
}

/// The lines of an activation over `[l, u]`, with the slope that leaves the smallest area.
pub(crate) fn enclose(kind: ActivationKind, l: f64, u: f64) -> LinePair {
    match kind {
        ActivationKind::Relu { leak } => {
            // CROWN's choice: the lower line is the side that is longer.
            let slope = if u > -l { 1.0 } else { leak };
            relu(leak, l, u, slope)
        }
        ActivationKind::Sigmoid | ActivationKind::Tanh => curve(kind, l, u),
        ActivationKind::Clip { low, high } => clip((low, high), l, u),
    }
}

/// The lines of `max(x, leak x)` with a lower line of this slope, from leak to 1.
pub(crate) fn relu(leak: f64, l: f64, u: f64, slope: f64) -> LinePair {
    if l >= 0.0 {
        return LinePair::IDENTITY;
    }
    if u <= 0.0 {
        return LinePair::through_zero(leak);
    }
    // The chord, and the offset by which it is above both ends.
    let chord = ((u - leak * l) / (u - l)).clamp(leak, 1.0);
    let (left, right) = ((leak - chord) * l, (1.0 - chord) * u);
    let offset = if left >= right { left } else { right };
    let room = 4.0 * f64::EPSILON * (u - l + offset);
    LinePair { lower: (slope.clamp(leak, 1.0), 0.0), upper: (chord, offset + room) }
}

/// LinePair of `min(max(x, low), high)`.
fn clip((low, high): (f64, f64), l: f64, u: f64) -> LinePair {
    if l >= low && u <= high {
        return LinePair::IDENTITY;
    }
    if u <= low || l >= high || !(low > f64::MIN / 4.0 || high < f64::MAX / 4.0) {
        return LinePair::constants(l.clamp(low, high), u.clamp(low, high));
    }
    // Each line runs through a corner and stays on its side of the other one; its offset pays for the rounding.
    let upper = if l < low { (u.clamp(low, high) - low) / (u.clamp(low, high) - l) } else { 0.0 };
    let lower = if u > high { (high - l.clamp(low, high)) / (u - l.clamp(low, high)) } else { 0.0 };
    let room = 16.0 * f64::EPSILON * (l.abs() + u.abs() + l.clamp(low, high).abs() + u.clamp(low, high).abs());
    let corner = u.clamp(low, high);
    let upper = if l < low { (upper, corner - upper * corner + room) } else { (0.0, corner) };
    let corner = l.clamp(low, high);
    let lower = if u > high { (lower, corner - lower * corner - room) } else { (0.0, corner) };
    LinePair { lower, upper }
}

/// LinePair of sigmoid and tanh, which are convex below zero and concave above. f' is smallest at an end, so a line with at most that
/// slope through the lower end stays below f, and through the upper end above f; a chord encloses f where f has one curvature.
fn curve(kind: ActivationKind, l: f64, u: f64) -> LinePair {
    let (low, high) = (kind.value(l), kind.value(u));
    let room = 2.0 * WIDE_CURVE + 16.0 * f64::EPSILON * (1.0 + l.abs() + u.abs());
    if !(u - l > 1e-6) {
        return LinePair::constants(low - room, high + room);
    }
    let (at_low, at_high) = (kind.slope(l), kind.slope(u));
    let least = (if at_low <= at_high { at_low } else { at_high } * (1.0 - 1e-9) - 1e-15).max(0.0);
    let chord = (high - low) / (u - l);
    // The error of the chord's slope, times the width of the interval, is a few roundings of the values.
    let lower = if l >= 0.0 { chord } else { least };
    let upper = if u <= 0.0 { chord } else { least };
    LinePair { lower: (lower, low - lower * l - 4.0 * room), upper: (upper, high - upper * u + 4.0 * room) }
}

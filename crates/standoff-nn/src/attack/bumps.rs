//! The square attack in the Euclidean and the L1 ball: bumps of both signs with the length of the windows that they replace.

use super::ball::distance;
use super::pgd::scale_to;
use super::random::Stream;
use super::square::{Plane, Window};
use super::{Ball, Norm, l1};

/// The least side of a window: a smaller one has no bump.
const LEAST: f64 = 3.0;

/// Scratch for the proposals of one plane.
pub(super) struct Bumps {
    plane: Plane,
    /// The change of the image, and one window of new change.
    delta: Vec<f32>,
    fresh: Vec<f32>,
    bump: Vec<f32>,
}

impl Bumps {
    pub(super) fn new(plane: Plane) -> Self {
        let area = plane.height * plane.width;
        Self { plane, delta: vec![0.0; plane.channels * area], fresh: vec![0.0; area], bump: vec![0.0; area] }
    }

    /// Five by five tiles (as many as fit), each a bump of a random sign, as long as the ball allows.
    pub(super) fn tiles(&mut self, ball: &Ball, x: &mut [f32], origin: &[f32], stream: &mut Stream) {
        let plane = self.plane;
        let (height, width) = (plane.height.div_ceil(5), plane.width.div_ceil(5));
        self.delta.fill(0.0);
        for top in (0..plane.height).step_by(height) {
            for left in (0..plane.width).step_by(width) {
                let window =
                    Window { top, left, height: height.min(plane.height - top), width: width.min(plane.width - left) };
                for channel in 0..plane.channels {
                    self.make_bump(window, stream);
                    let sign = stream.sign();
                    for (row, bump) in plane.rows(channel, window).zip(self.bump.chunks_exact(window.width)) {
                        for (d, &b) in self.delta[row].iter_mut().zip(bump) {
                            *d = sign * b;
                        }
                    }
                }
            }
        }
        self.write(ball, x, origin);
    }

    /// Moves length from one window, which becomes zero, to a bump in another.
    pub(super) fn propose(&mut self, ball: &Ball, x: &mut [f32], origin: &[f32], share: f64, stream: &mut Stream) {
        let plane = self.plane;
        for ((d, &x), &o) in self.delta.iter_mut().zip(&*x).zip(origin) {
            *d = x - o;
        }
        let pixels = (share * (plane.height * plane.width) as f64).max(LEAST * LEAST);
        let (gain, loss) = (plane.window(pixels, stream), plane.window(pixels, stream));
        let total = match ball.norm {
            Norm::L1 => ball.eps - l1::distance(x, origin),
            _ => ball.eps * ball.eps - distance(x, origin).powi(2),
        };
        // Squares of lengths, or lengths in L1, add up over windows and channels.
        let unused = total.max(0.0) / plane.channels as f64;
        for channel in 0..plane.channels {
            let here = self.power(ball.norm, channel, gain);
            let before = here + self.power(ball.norm, channel, loss);
            for row in plane.rows(channel, loss) {
                // The overlap of both windows is counted once; it is replaced below.
                self.delta[row].fill(0.0);
            }
            self.make_bump(gain, stream);
            if ball.norm == Norm::L1 {
                let scale = scale_in(Norm::L1, &self.bump[..gain.height * gain.width], 1.0) as f32;
                self.bump.iter_mut().for_each(|b| *b *= scale);
            }
            let sign = stream.sign();
            let area = gain.height * gain.width;
            let old = if here > 0.0 { (1.0 / root(ball.norm, here)) as f32 } else { 0.0 };
            for (i, row) in plane.rows(channel, gain).enumerate() {
                for (j, k) in row.enumerate() {
                    let at = i * gain.width + j;
                    self.fresh[at] = sign * self.bump[at] + old * (x[k] - origin[k]);
                }
            }
            let length = root(ball.norm, unused + before) as f32;
            let scale = scale_in(ball.norm, &self.fresh[..area], length) as f32;
            for (i, row) in plane.rows(channel, gain).enumerate() {
                let fresh = &self.fresh[i * gain.width..(i + 1) * gain.width];
                for (d, &f) in self.delta[row].iter_mut().zip(fresh) {
                    *d = scale * f;
                }
            }
        }
        self.write(ball, x, origin);
    }

    /// The change, made as long as the ball allows.
    fn write(&self, ball: &Ball, x: &mut [f32], origin: &[f32]) {
        let scale = scale_in(ball.norm, &self.delta, ball.radius()) as f32;
        for ((x, &d), &o) in x.iter_mut().zip(&self.delta).zip(origin) {
            *x = o + scale * d;
        }
        ball.project(x, origin);
    }

    /// The square of the length of a window, or its L1 length.
    fn power(&self, norm: Norm, channel: usize, window: Window) -> f64 {
        let of = |d: f32| if norm == Norm::L1 { f64::from(d.abs()) } else { f64::from(d).powi(2) };
        self.plane.rows(channel, window).flatten().map(|i| of(self.delta[i])).sum()
    }

    /// A hill beside a valley, of length 1: the first and the second half of the window, by rows or by columns.
    fn make_bump(&mut self, window: Window, stream: &mut Stream) {
        let across = stream.sign() > 0.0;
        let (long, wide) = if across { (window.width, window.height) } else { (window.height, window.width) };
        let half = long / 2;
        for row in 0..window.height {
            for column in 0..window.width {
                let (along, beside) = if across { (column, row) } else { (row, column) };
                let value = if along < half {
                    hill(along, half, beside, wide)
                } else {
                    -hill(along - half, long - half, beside, wide)
                };
                self.bump[row * window.width + column] = value;
            }
        }
        let bump = &mut self.bump[..window.height * window.width];
        let scale = scale_to(bump, 1.0) as f32;
        bump.iter_mut().for_each(|b| *b *= scale);
    }
}

/// The length from what [`Bumps::power`] returns.
fn root(norm: Norm, power: f64) -> f64 {
    if norm == Norm::L1 { power } else { power.sqrt() }
}

/// The factor that gives a vector this length in the norm; 0 for a zero vector.
fn scale_in(norm: Norm, v: &[f32], length: f32) -> f64 {
    if norm != Norm::L1 {
        return scale_to(v, length);
    }
    let sum: f64 = v.iter().map(|v| f64::from(v.abs())).sum();
    if sum > 0.0 { f64::from(length) / sum } else { 0.0 }
}

/// Rings of 1, 1/4, 1/9, ... on top of each other: high in the middle of a rectangle, low at its border.
fn hill(i: usize, height: usize, j: usize, width: usize) -> f32 {
    let rings = height.max(width) / 2 + 1;
    let from_middle = i.abs_diff(height / 2).max(j.abs_diff(width / 2));
    (from_middle..rings.max(from_middle + 1)).map(|ring| 1.0 / ((ring + 1) * (ring + 1)) as f32).sum()
}

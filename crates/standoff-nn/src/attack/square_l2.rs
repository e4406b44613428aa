//! The square attack in the Euclidean ball: bumps of both signs with the length of the windows that they replace.

use super::Ball;
use super::ball::distance;
use super::pgd::scale_to;
use super::random::Stream;
use super::square::{Plane, Window};

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
        let unused = (ball.eps * ball.eps - distance(x, origin).powi(2)).max(0.0) / plane.channels as f64;
        for channel in 0..plane.channels {
            let here = self.square(channel, gain);
            let before = here + self.square(channel, loss);
            for row in plane.rows(channel, loss) {
                // The overlap of both windows is counted once; it is replaced below.
                self.delta[row].fill(0.0);
            }
            self.make_bump(gain, stream);
            let sign = stream.sign();
            let area = gain.height * gain.width;
            let old = if here > 0.0 { (1.0 / here.sqrt()) as f32 } else { 0.0 };
            for (i, row) in plane.rows(channel, gain).enumerate() {
                for (j, k) in row.enumerate() {
                    let at = i * gain.width + j;
                    self.fresh[at] = sign * self.bump[at] + old * (x[k] - origin[k]);
                }
            }
            let length = (unused + before).sqrt() as f32;
            let scale = scale_to(&self.fresh[..area], length) as f32;
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
        let scale = scale_to(&self.delta, ball.radius()) as f32;
        for ((x, &d), &o) in x.iter_mut().zip(&self.delta).zip(origin) {
            *x = o + scale * d;
        }
        ball.project(x, origin);
    }

    fn square(&self, channel: usize, window: Window) -> f64 {
        self.plane.rows(channel, window).flatten().map(|i| f64::from(self.delta[i]).powi(2)).sum()
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

/// Rings of 1, 1/4, 1/9, ... on top of each other: high in the middle of a rectangle, low at its border.
fn hill(i: usize, height: usize, j: usize, width: usize) -> f32 {
    let rings = height.max(width) / 2 + 1;
    let from_middle = i.abs_diff(height / 2).max(j.abs_diff(width / 2));
    (from_middle..rings.max(from_middle + 1)).map(|ring| 1.0 / ((ring + 1) * (ring + 1)) as f32).sum()
}

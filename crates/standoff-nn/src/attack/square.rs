//! The square attack: random search that sets one square after the other to an extreme, without gradients
//! (Andriushchenko et al. 2020). It works also where gradients are masked.

use super::batch::{AttackBatch, Goal};
use super::bumps::Bumps;
use super::random::Stream;
use super::{AttackLoss, Ball, Norm};
use crate::{Ask, Error, Shape};

/// The share of pixels that the first squares cover.
const LARGEST: f64 = 0.8;

/// One run of `queries` evaluations, the first on stripes.
pub(super) fn square(batch: &mut AttackBatch<'_>, queries: usize) -> Result<(), Error> {
    batch.evaluations = queries + 1;
    let plane = Plane::new(batch.set.network.input());
    let mut bumps = Bumps::new(plane);
    let mut kept = batch.origin.clone();
    let mut margins = vec![f32::NEG_INFINITY; batch.slots()];
    for query in 0..queries {
        let share = share(query, queries);
        for i in 0..batch.active.len() {
            let slot = batch.active[i] as usize;
            let at = batch.at(slot);
            let mut stream = batch.stream(0, slot, query);
            let (x, origin, ball) = (&mut batch.x[at.clone()], &batch.origin[at.clone()], &batch.set.ball);
            x.copy_from_slice(&kept[at]);
            match (ball.norm, query) {
                (Norm::Linf, 0) => plane.stripes(ball, x, origin, &mut stream),
                (Norm::Linf, _) => plane.propose(ball, x, origin, share, &mut stream),
                (Norm::L2 | Norm::L1, 0) => bumps.tiles(ball, x, origin, &mut stream),
                (Norm::L2 | Norm::L1, _) => bumps.propose(ball, x, origin, share, &mut stream),
            }
        }
        if !batch.evaluate(Goal::Untargeted(AttackLoss::Margin), Ask::Values)? {
            break;
        }
        for (&slot, &margin) in batch.active.iter().zip(&batch.out.losses) {
            let slot = slot as usize;
            if margin > margins[slot] {
                margins[slot] = margin;
                let at = slot * batch.width..(slot + 1) * batch.width;
                kept[at.clone()].copy_from_slice(&batch.x[at]);
            }
        }
    }
    batch.x.copy_from_slice(&kept);
    batch.finish()
}

/// The share of pixels of a square: halved ever more seldom, on the paper's schedule for 10,000 queries.
fn share(query: usize, queries: usize) -> f64 {
    let at = query as f64 / queries as f64 * 10_000.0;
    let halvings =
        [10.0, 50.0, 200.0, 500.0, 1000.0, 2000.0, 4000.0, 6000.0, 8000.0].iter().filter(|&&t| at > t).count();
    LARGEST * 0.5f64.powi(halvings as i32)
}

/// The input as channels of rows and columns. A vector is one row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

/// A rectangle in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub top: usize,
    pub left: usize,
    pub height: usize,
    pub width: usize,
}

impl Plane {
    fn new(shape: Shape) -> Self {
        if shape.height * shape.width == 1 {
            return Self { channels: 1, height: 1, width: shape.channels };
        }
        Self { channels: shape.channels, height: shape.height, width: shape.width }
    }

    /// A window of about that many pixels of a channel, as square as the plane allows, anywhere.
    pub(super) fn window(self, pixels: f64, stream: &mut Stream) -> Window {
        let height = (pixels.sqrt().round() as usize).clamp(1, self.height);
        let width = ((pixels / height as f64).round() as usize).clamp(1, self.width);
        Window {
            top: stream.below(self.height + 1 - height),
            left: stream.below(self.width + 1 - width),
            height,
            width,
        }
    }

    /// Where the rows of a window lie in a channel of an image.
    pub(super) fn rows(self, channel: usize, window: Window) -> impl Iterator<Item = std::ops::Range<usize>> {
        (window.top..window.top + window.height).map(move |row| {
            let start = (channel * self.height + row) * self.width + window.left;
            start..start + window.width
        })
    }

    /// Columns of one sign each.
    fn stripes(self, ball: &Ball, x: &mut [f32], origin: &[f32], stream: &mut Stream) {
        let r = ball.radius();
        for channel in 0..self.channels {
            for column in 0..self.width {
                let sign = stream.sign();
                for row in 0..self.height {
                    let i = (channel * self.height + row) * self.width + column;
                    x[i] = origin[i] + sign * r;
                }
            }
        }
        ball.project(x, origin);
    }

    /// A square at an end of the ball, by a sign per channel; the other end where that would change nothing.
    fn propose(self, ball: &Ball, x: &mut [f32], origin: &[f32], share: f64, stream: &mut Stream) {
        let window = self.window(share * (self.height * self.width) as f64, stream);
        for channel in 0..self.channels {
            let move_by = ball.radius() * stream.sign();
            if !self.set(ball, x, origin, (channel, window, move_by)) {
                self.set(ball, x, origin, (channel, window, -move_by));
            }
        }
    }

    /// Sets a window to one end of the ball; whether that changed anything.
    fn set(self, ball: &Ball, x: &mut [f32], origin: &[f32], (channel, window, by): (usize, Window, f32)) -> bool {
        let mut changed = false;
        for row in self.rows(channel, window) {
            for (x, &o) in x[row.clone()].iter_mut().zip(&origin[row]) {
                // The same operations as in the projection, so that equal numbers compare equal.
                let end = ball.clip.map_or(o + by, |(low, high)| (o + by).clamp(low, high));
                changed |= *x != end;
                *x = end;
            }
        }
        changed
    }
}

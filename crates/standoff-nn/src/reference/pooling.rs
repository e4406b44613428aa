//! Pooling of the reference network.

use super::linear::at;
use crate::{Model, Pool2d, PoolKind, Shape};

/// A pooling layer between two shapes.
#[derive(Clone, Copy)]
pub(crate) struct PlainPool {
    pool: Pool2d,
    from: Shape,
    to: Shape,
}

impl PlainPool {
    /// The pooling of layer i, which must be one.
    pub(crate) fn new(model: &Model, i: usize) -> Self {
        let from = model.shape(model.reads(i).0);
        let identity = Pool2d::square(PoolKind::Max, 1);
        Self { pool: model.layers()[i].pool2d(from).unwrap_or(identity), from, to: model.shape(i + 1) }
    }

    /// The places of the window of an output, row by row; padding is left out.
    fn window(self, out: usize) -> impl Iterator<Item = usize> {
        let Self { pool, from, to } = self;
        let (channel, row, column) = (out / (to.height * to.width), out / to.width % to.height, out % to.width);
        let [height, width] = pool.window;
        (0..height * width).filter_map(move |i| {
            let y = (row * pool.stride[0] + i / width).checked_sub(pool.padding[0])?;
            let x = (column * pool.stride[1] + i % width).checked_sub(pool.padding[1])?;
            (y < from.height && x < from.width).then(|| at(from, channel, y, x))
        })
    }

    /// The place of the maximum of a window; ties go to the first in row-major order.
    fn winner(self, x: &[f64], out: usize) -> usize {
        let mut best = None;
        for place in self.window(out) {
            if best.is_none_or(|b: usize| x[place] > x[b]) {
                best = Some(place);
            }
        }
        best.unwrap_or(0)
    }

    pub(crate) fn forward(self, x: &[f64]) -> Vec<f64> {
        let area = (self.pool.window[0] * self.pool.window[1]) as f64;
        let value = |out: usize| match self.pool.kind {
            PoolKind::Max => x[self.winner(x, out)],
            PoolKind::Average => self.window(out).map(|place| x[place]).sum::<f64>() / area,
        };
        (0..self.to.size()).map(value).collect()
    }

    pub(crate) fn backward(self, g: &[f64], x: &[f64]) -> Vec<f64> {
        let area = (self.pool.window[0] * self.pool.window[1]) as f64;
        let mut dx = vec![0.0; x.len()];
        for (out, g) in g.iter().enumerate() {
            match self.pool.kind {
                PoolKind::Max => dx[self.winner(x, out)] += g,
                PoolKind::Average => self.window(out).for_each(|place| dx[place] += g / area),
            }
        }
        dx
    }
}

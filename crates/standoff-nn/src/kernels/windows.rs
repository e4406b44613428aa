//! Pooling with any window, stride and padding, of one unit: maximum and average.

use super::{Kernel, LANES, Lanes};
use crate::{Pool2d, Shape};

/// A pooling layer between two shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Windows {
    pub pool: Pool2d,
    pub from: Shape,
    pub to: Shape,
}

impl Windows {
    /// The rows and columns of the window of an output, without padding: first and end.
    #[inline(always)]
    fn window(self, r: usize, c: usize) -> [(usize, usize); 2] {
        let side = |i: usize, at: usize, size: usize| {
            let begin = at * self.pool.stride[i];
            let (pad, end) = (self.pool.padding[i], begin + self.pool.window[i]);
            (begin.saturating_sub(pad), end.saturating_sub(pad).min(size))
        };
        [side(0, r, self.from.height), side(1, c, self.from.width)]
    }

    /// Calls f with the place of every output and its window.
    #[inline(always)]
    fn each(self, mut f: impl FnMut(usize, usize, [(usize, usize); 2])) {
        let (from, to) = (self.from, self.to);
        for channel in 0..to.channels {
            for r in 0..to.height {
                for c in 0..to.width {
                    let place = ((channel * to.height + r) * to.width + c) * LANES;
                    f(place, channel * from.height * from.width * LANES, self.window(r, c));
                }
            }
        }
    }

    fn check(self, x: usize, out: usize) {
        assert!(x == self.from.size() * LANES && out == self.to.size() * LANES);
    }
}

/// `out := max over windows`; ties go to the first in row-major order, padding never wins. A window with a NaN gives NaN.
pub(crate) struct MaxForward<'a> {
    pub out: &'a mut [f32],
    /// The number of the maximum among the entries of its window.
    pub winners: &'a mut [u8],
    pub x: &'a [f32],
    pub windows: Windows,
}

impl Kernel for MaxForward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { out, winners, x, windows } = self;
        windows.check(x.len(), out.len());
        assert_eq!(winners.len(), out.len());
        let width = windows.from.width;
        windows.each(|place, plane, [rows, columns]| {
            let x = x.as_ptr().add(plane);
            let (mut best, mut index) = (L::splat(f32::NEG_INFINITY), L::zero());
            // NaN if an entry is not finite, else 0.
            let mut taint = L::zero();
            let mut i = 0.0;
            for r in rows.0..rows.1 {
                for c in columns.0..columns.1 {
                    let v = L::load(x.add((r * width + c) * LANES));
                    let wins = v.gt(best);
                    index = L::splat(i).select(wins, index);
                    best = v.select(wins, best);
                    taint = taint.add(v.sub(v));
                    i += 1.0;
                }
            }
            best.add(taint).store(out.as_mut_ptr().add(place));
            index.store_u8(winners.as_mut_ptr().add(place));
        });
    }
}

/// The gradient of the input of [`MaxForward`].
pub(crate) struct MaxBackward<'a> {
    pub dx: &'a mut [f32],
    pub g: &'a [f32],
    pub winners: &'a [u8],
    pub windows: Windows,
}

impl Kernel for MaxBackward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { dx, g, winners, windows } = self;
        windows.check(dx.len(), g.len());
        assert_eq!(winners.len(), g.len());
        dx.fill(0.0);
        let width = windows.from.width;
        windows.each(|place, plane, [rows, columns]| {
            let to = dx.as_mut_ptr().add(plane);
            let (g, index) = (L::load(g.as_ptr().add(place)), L::load_u8(winners.as_ptr().add(place)));
            let mut i = 0.0;
            for r in rows.0..rows.1 {
                for c in columns.0..columns.1 {
                    let to = to.add((r * width + c) * LANES);
                    L::load(to).add(g.and(index.eq(L::splat(i)))).store(to);
                    i += 1.0;
                }
            }
        });
    }
}

/// `out := average of windows`.
pub(crate) struct AverageForward<'a> {
    pub out: &'a mut [f32],
    pub x: &'a [f32],
    pub windows: Windows,
}

impl Kernel for AverageForward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { out, x, windows } = self;
        windows.check(x.len(), out.len());
        let scale = L::splat(1.0 / (windows.pool.window[0] * windows.pool.window[1]) as f32);
        let width = windows.from.width;
        windows.each(|place, plane, [rows, columns]| {
            let x = x.as_ptr().add(plane);
            let mut sum = L::zero();
            for r in rows.0..rows.1 {
                for c in columns.0..columns.1 {
                    sum = sum.add(L::load(x.add((r * width + c) * LANES)));
                }
            }
            sum.mul(scale).store(out.as_mut_ptr().add(place));
        });
    }
}

/// The gradient of the input of [`AverageForward`].
pub(crate) struct AverageBackward<'a> {
    pub dx: &'a mut [f32],
    pub g: &'a [f32],
    pub windows: Windows,
}

impl Kernel for AverageBackward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { dx, g, windows } = self;
        windows.check(dx.len(), g.len());
        dx.fill(0.0);
        let scale = L::splat(1.0 / (windows.pool.window[0] * windows.pool.window[1]) as f32);
        let width = windows.from.width;
        windows.each(|place, plane, [rows, columns]| {
            let to = dx.as_mut_ptr().add(plane);
            let g = L::load(g.as_ptr().add(place)).mul(scale);
            for r in rows.0..rows.1 {
                for c in columns.0..columns.1 {
                    let to = to.add((r * width + c) * LANES);
                    L::load(to).add(g).store(to);
                }
            }
        });
    }
}

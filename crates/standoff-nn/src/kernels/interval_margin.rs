//! Upper bounds of the margins `z_j - z_y` in the last layer, by the rows `W_j - W_y`: tighter than the difference of two bounds.
//!
//! `m_j = (W_j - W_y) centre + (b_j - b_y) + |W_j - W_y| radius`. The first two terms are a difference of two logits of the centre;
//! these kernels compute the last one. Every lane has its own label y, so the rows `W_y` are stored in lanes: `own` is `[k][lane]`.

use super::{Kernel, LANES, Lanes};
use std::array::from_fn;

/// `spread_j := |W_j - W_y| radius` of one unit, and `size_j := |W_j - W_y| (|centre| + radius)`, from which the rounding error is
/// estimated.
pub(crate) struct Spread<'a> {
    /// `[n][lane]`, both.
    pub spread: &'a mut [f32],
    pub size: &'a mut [f32],
    /// `[k][lane]`, all three.
    pub centre: &'a [f32],
    pub radius: &'a [f32],
    pub own: &'a [f32],
    /// `[n][k]`.
    pub weights: &'a [f32],
}

impl Kernel for Spread<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let (n, k) = (self.spread.len() / LANES, self.radius.len() / LANES);
        assert!(self.spread.len() == n * LANES && self.size.len() == n * LANES);
        assert!(self.centre.len() == k * LANES && self.radius.len() == k * LANES && self.own.len() == k * LANES);
        assert_eq!(self.weights.len(), n * k);
        for row in (0..n).step_by(4) {
            match n - row {
                1 => spread::<L, 1>(&mut self, row, k),
                2 => spread::<L, 2>(&mut self, row, k),
                3 => spread::<L, 3>(&mut self, row, k),
                _ => spread::<L, 4>(&mut self, row, k),
            }
        }
    }
}

#[inline(always)]
unsafe fn abs<L: Lanes>(x: L) -> L {
    x.max(L::zero().sub(x))
}

#[inline(always)]
unsafe fn spread<L: Lanes, const N: usize>(s: &mut Spread<'_>, row: usize, k: usize) {
    let w = s.weights.as_ptr().add(row * k);
    let (mut spread, mut size) = ([L::zero(); N], [L::zero(); N]);
    for j in 0..k {
        let own = L::load(s.own.as_ptr().add(j * LANES));
        let radius = L::load(s.radius.as_ptr().add(j * LANES));
        let reach = abs(L::load(s.centre.as_ptr().add(j * LANES))).add(radius);
        for i in 0..N {
            let d = abs(L::splat(*w.add(i * k + j)).sub(own));
            spread[i] = d.fma(radius, spread[i]);
            size[i] = d.fma(reach, size[i]);
        }
    }
    for i in 0..N {
        spread[i].store(s.spread.as_mut_ptr().add((row + i) * LANES));
        size[i].store(s.size.as_mut_ptr().add((row + i) * LANES));
    }
}

/// The gradients of `sum_j g_j spread_j` of one unit: with respect to the radius, which is overwritten, and to the weights, which is
/// added. At the label `W_j - W_y` is zero, so `g_y` has no effect.
pub(crate) struct SpreadBackward<'a> {
    /// `[k][lane]`; empty if not wanted.
    pub d_radius: &'a mut [f32],
    /// `[n][k]`; empty if not wanted.
    pub d_weights: &'a mut [f32],
    /// `[n][lane]`.
    pub g: &'a [f32],
    pub radius: &'a [f32],
    pub own: &'a [f32],
    pub weights: &'a [f32],
    pub labels: &'a [u16; LANES],
}

impl Kernel for SpreadBackward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (n, k) = (self.g.len() / LANES, self.radius.len() / LANES);
        assert!(self.g.len() == n * LANES && self.radius.len() == k * LANES && self.own.len() == k * LANES);
        assert!(self.weights.len() == n * k && self.labels.iter().all(|&y| usize::from(y) < n));
        assert!(self.d_radius.is_empty() || self.d_radius.len() == k * LANES);
        assert!(self.d_weights.is_empty() || self.d_weights.len() == n * k);
        let g: *const f32 = self.g.as_ptr();
        for j in 0..k {
            let own = L::load(self.own.as_ptr().add(j * LANES));
            if !self.d_radius.is_empty() {
                let mut sum = L::zero();
                for i in 0..n {
                    let d = L::splat(self.weights[i * k + j]).sub(own);
                    sum = abs(d).fma(L::load(g.add(i * LANES)), sum);
                }
                sum.store(self.d_radius.as_mut_ptr().add(j * LANES));
            }
            if !self.d_weights.is_empty() {
                let radius = L::load(self.radius.as_ptr().add(j * LANES));
                let mut back = L::zero();
                for i in 0..n {
                    let d = L::splat(self.weights[i * k + j]).sub(own);
                    let t = radius.mul(L::load(g.add(i * LANES)));
                    let t = t.and(d.gt(L::zero())).sub(t.and(L::zero().gt(d)));
                    self.d_weights[i * k + j] += t.sum();
                    back = back.add(t);
                }
                let mut backs = [0.0; LANES];
                back.store(backs.as_mut_ptr());
                let back: [(usize, f32); LANES] = from_fn(|i| (usize::from(self.labels[i]), backs[i]));
                for (label, v) in back {
                    self.d_weights[label * k + j] -= v;
                }
            }
        }
    }
}

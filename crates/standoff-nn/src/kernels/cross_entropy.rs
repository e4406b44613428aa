//! Cross-entropy of the logits of one unit, and its gradient.

use super::activation::exp;
use super::{Kernel, LANES, Lanes};

/// Cross-entropy of one unit: `losses` per lane, and `dz := weight * (softmax(z) - e_y)`, both `[output][lane]`.
pub(crate) struct CrossEntropy<'a> {
    pub losses: &'a mut [f32; LANES],
    /// Empty if it is not wanted.
    pub dz: &'a mut [f32],
    pub z: &'a [f32],
    pub labels: &'a [u16; LANES],
    pub weights: &'a [f32; LANES],
}

impl Kernel for CrossEntropy<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let n = self.z.len() / LANES;
        assert_eq!(n * LANES, self.z.len());
        assert!(self.dz.is_empty() || self.dz.len() == self.z.len());
        assert!(self.labels.iter().all(|&y| usize::from(y) < n));
        let z = self.z.as_ptr();
        let mut top = L::load(z);
        for j in 1..n {
            top = L::load(z.add(j * LANES)).max(top);
        }
        let mut sum = L::zero();
        for j in 0..n {
            let e = exp(L::load(z.add(j * LANES)).sub(top));
            sum = sum.add(e);
            if !self.dz.is_empty() {
                e.store(self.dz.as_mut_ptr().add(j * LANES));
            }
        }
        let (mut tops, mut sums) = ([0.0; LANES], [0.0; LANES]);
        top.store(tops.as_mut_ptr());
        sum.store(sums.as_mut_ptr());
        for i in 0..LANES {
            // In f64, so that a loss near zero keeps its digits.
            let correct = f64::from(self.z[usize::from(self.labels[i]) * LANES + i]) - f64::from(tops[i]);
            self.losses[i] = (libm::log(f64::from(sums[i])) - correct) as f32;
        }
        if self.dz.is_empty() {
            return;
        }
        let weights = L::load(self.weights.as_ptr());
        let scale = weights.div(sum);
        for j in 0..n {
            let d = self.dz.as_mut_ptr().add(j * LANES);
            L::load(d).mul(scale).store(d);
        }
        for i in 0..LANES {
            self.dz[usize::from(self.labels[i]) * LANES + i] -= self.weights[i];
        }
    }
}

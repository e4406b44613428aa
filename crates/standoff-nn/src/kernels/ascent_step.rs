//! One step of an attack: along the gradient, then back into the box around the clean sample.

use super::{Kernel, LANES, Lanes};

/// The step of an attack from the gradient `g` of a sample's loss with respect to its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// `size * sign(g)`, with `sign(0) = 0`.
    Sign,
    /// `size * g`.
    Plain,
    /// `size * g / mean|g|`: the direction of `Plain`, with a length that does not depend on the scale of the network. Entries move
    /// by `size` on average.
    Scaled,
}

/// `x := clip(x0 + clamp(x + step - x0, -eps, eps))` for one unit. Returns whether all gradients were finite.
pub(crate) struct AscentStep<'a> {
    /// The samples, `[entry][lane]`, as are the next two.
    pub x: &'a mut [f32],
    /// Gradients of the losses.
    pub g: &'a [f32],
    /// The clean samples.
    pub x0: &'a [f32],
    pub kind: StepKind,
    pub size: f32,
    pub eps: f32,
    /// The smallest and the largest value of an entry; `None` for no limits.
    pub clip: Option<(f32, f32)>,
}

impl Kernel for AscentStep<'_> {
    type Output = bool;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> bool {
        let n = self.x.len();
        assert!(n.is_multiple_of(LANES) && self.g.len() == n && self.x0.len() == n);
        let (x, g, x0) = (self.x.as_mut_ptr(), self.g.as_ptr(), self.x0.as_ptr());
        let (low, high) = self.clip.unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
        let (low, high) = (L::splat(low), L::splat(high));
        let (eps, back) = (L::splat(self.eps), L::splat(-self.eps));
        let (zero, one) = (L::zero(), L::splat(1.0));
        let mut size = L::splat(self.size);
        if self.kind == StepKind::Scaled {
            let mut sum = zero;
            for k in (0..n).step_by(LANES) {
                let g = L::load(g.add(k));
                sum = sum.add(g.max(zero.sub(g)));
            }
            // If all gradients are zero, so is the step. A sum that is not finite is detected below.
            let entries = L::splat((n / LANES) as f32);
            size = zero.select(sum.eq(zero), size.mul(entries).div(sum));
        }
        // `0 * g` is 0 for a finite g and NaN otherwise.
        let mut not_finite = zero;
        for k in (0..n).step_by(LANES) {
            let g = L::load(g.add(k));
            not_finite = not_finite.add(g.mul(zero));
            let direction = match self.kind {
                StepKind::Sign => g.gt(zero).and(one).sub(zero.gt(g).and(one)),
                _ => g,
            };
            let centre = L::load(x0.add(k));
            let away = L::load(x.add(k)).add(size.mul(direction)).sub(centre);
            let to = centre.add(away.max(back).min(eps));
            to.max(low).min(high).store(x.add(k));
        }
        not_finite.sum() == 0.0
    }
}

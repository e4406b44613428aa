//! Fused multiply-adds without memory accesses, to measure the peak of the machine.

use super::{Kernel, Lanes};

/// Chains that do not depend on each other: enough to keep both multipliers busy.
pub(crate) const CHAINS: usize = 12;

/// Runs this many rounds of one fused multiply-add per chain. Returns the sum, so that the compiler cannot remove the loop.
pub(crate) struct Peak(pub usize);

impl Kernel for Peak {
    type Output = f32;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> f32 {
        let (a, b) = (L::splat(std::hint::black_box(0.999)), L::splat(std::hint::black_box(1e-3)));
        let mut chains = [L::splat(1.0); CHAINS];
        for _ in 0..self.0 {
            for c in &mut chains {
                *c = c.fma(a, b);
            }
        }
        let mut sum = L::zero();
        for c in chains {
            sum = sum.add(c);
        }
        sum.sum()
    }
}

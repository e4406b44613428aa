//! Fused multiply-adds without memory accesses, to measure the peak of the machine.

use super::{Floats, Kernel, LanePair, Lanes};

/// Chains that do not depend on each other: enough to keep both multipliers busy.
pub(crate) const CHAINS: usize = 12;

/// Runs this many rounds of one fused multiply-add of sixteen lanes per chain. Returns the sum, so that the compiler cannot remove the loop.
pub(crate) struct Peak(pub usize);

impl Kernel for Peak {
    type Output = f32;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> f32 {
        if L::PAIRED {
            let [first, second] = chains::<L::Pair>(self.0).halves();
            return first.add(second).sum();
        }
        // As many operations as with pairs.
        chains::<L>(self.0).add(chains::<L>(self.0)).sum()
    }
}

/// The sum of all chains after this many rounds.
#[inline(always)]
unsafe fn chains<F: Floats>(rounds: usize) -> F {
    let (a, b) = (F::splat(std::hint::black_box(0.999)), F::splat(std::hint::black_box(1e-3)));
    let mut chains = [F::splat(1.0); CHAINS];
    for _ in 0..rounds {
        for c in &mut chains {
            *c = c.fma(a, b);
        }
    }
    let mut sum = F::zero();
    for c in chains {
        sum = sum.add(c);
    }
    sum
}

//! The same source compiled twice: for the machine at hand when it has AVX2, else for any machine.
//!
//! Wider registers change no result: sums run in lanes of a fixed number, and Rust never contracts `a * b + c`.
#![allow(unsafe_code)] // Calling a function that needs a CPU feature is unsafe; the check stands beside the call.

/// One pass over a vector, worth compiling for wider registers. `run` must be `#[inline(always)]`, or it is compiled
/// for any machine only.
pub(crate) trait Pass {
    /// What the pass returns.
    type Output;
    /// The pass.
    fn run(self) -> Self::Output;
}

/// Runs a pass with the widest registers at hand.
#[cfg(target_arch = "x86_64")]
pub(crate) fn run<P: Pass>(pass: P) -> P::Output {
    // Never inlined: next to other loops the compiler gives up on keeping the lanes in registers.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn wide<P: Pass>(pass: P) -> P::Output {
        pass.run()
    }
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has just been asked, and has AVX2.
        unsafe { wide(pass) }
    } else {
        narrow(pass)
    }
}

/// Runs a pass.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn run<P: Pass>(pass: P) -> P::Output {
    narrow(pass)
}

/// Runs a pass with the registers that every machine has.
#[inline(never)]
pub(crate) fn narrow<P: Pass>(pass: P) -> P::Output {
    pass.run()
}

//! Seeded random data: a seed gives the same numbers on every run and every machine with the same `sin`, `cos` and
//! `ln`.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
pub(crate) struct Random {
    bits: ChaCha8Rng,
}

impl Random {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { bits: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Stream number `stream` of a seed; different streams are independent.
    pub(crate) fn stream(seed: u64, stream: u64) -> Self {
        let mut bits = ChaCha8Rng::seed_from_u64(seed);
        bits.set_stream(stream);
        Self { bits }
    }

    /// Uniform in the open interval (0, 1): 53 random bits, plus half a step so that 0 cannot occur.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits.next_u64() >> 11) as f64 + 0.5) * (0.5_f64).powi(53)
    }

    /// Uniform between two bounds.
    pub(crate) fn uniform(&mut self, lower: f64, upper: f64) -> f64 {
        lower + (upper - lower) * self.unit()
    }

    /// Standard normal by Box and Muller. The second number of each pair is discarded, so that every draw uses the same
    /// number of bits.
    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// `n` normal numbers of the given standard deviation.
    pub(crate) fn normals(&mut self, n: usize, deviation: f64) -> Vec<f64> {
        (0..n).map(|_| deviation * self.normal()).collect()
    }
}

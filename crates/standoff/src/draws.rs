//! A small generator of random numbers, for directions and batches: SplitMix64, a pure function of a seed and a stream.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Draws {
    state: u64,
}

impl Draws {
    /// Stream number `stream` of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut start = Self { state: seed };
        let first = start.next();
        Self { state: first ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03) }
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[-1, 1)`.
    pub(crate) fn signed(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Uniform among `0..n`, without bias: draws beyond the last whole multiple of `n` are repeated.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let zone = u64::MAX - u64::MAX % n;
        loop {
            let v = self.next();
            if v < zone {
                return v % n;
            }
        }
    }
}

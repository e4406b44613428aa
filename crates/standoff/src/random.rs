//! Random numbers of the core: xoshiro256++ of Blackman and Vigna, seeded by SplitMix64. A seed gives the same numbers
//! on every machine with the same `cos` and `ln`. The zoo has its own generator, whose bits are published.

/// SplitMix64 (Steele, Lea and Flood): a counter with steps of the golden ratio and a mixing function. It fills the
/// state of [`Xoshiro`].
#[derive(Debug, Clone)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// A stream of random numbers with period `2^256 - 1`.
#[derive(Debug, Clone)]
pub(crate) struct Xoshiro {
    state: [u64; 4],
}

impl Xoshiro {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self::stream(seed, 0)
    }

    /// Stream number `stream` of a seed. Both are mixed before they are added, so that neighbouring seeds and streams
    /// are unrelated.
    pub(crate) fn stream(seed: u64, stream: u64) -> Self {
        let mut fill = SplitMix(SplitMix(seed).next().wrapping_add(SplitMix(!stream).next()));
        Self { state: std::array::from_fn(|_| fill.next()) }
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// Uniform in the open interval (0, 1): 53 random bits, plus half a step so that 0 cannot occur.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * (0.5_f64).powi(53)
    }

    /// Uniform among the whole numbers below `n > 0`. Values beyond the last whole multiple of `n` are drawn again.
    #[cfg(feature = "formula")]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let zone = u64::MAX - u64::MAX % n;
        loop {
            let bits = self.bits();
            if bits < zone {
                return bits % n;
            }
        }
    }

    /// Standard normal by Box and Muller. The second number of each pair is discarded, so that every draw uses the same
    /// number of bits.
    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_published_definitions() {
        let mut seeder = SplitMix(1_234_567);
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431];
        assert_eq!(std::array::from_fn::<u64, 4, _>(|_| seeder.next()), expected);
        let mut random = Xoshiro { state: [1, 2, 3, 4] };
        let expected = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205];
        assert_eq!(std::array::from_fn::<u64, 5, _>(|_| random.bits()), expected);
    }

    /// The mean of `power`-th powers over many draws.
    fn moment(draw: &mut dyn FnMut() -> f64, power: i32) -> f64 {
        const DRAWS: usize = 200_000;
        (0..DRAWS).map(|_| draw().powi(power)).sum::<f64>() / DRAWS as f64
    }

    #[test]
    fn uniform_and_normal_numbers_have_the_right_moments() {
        let mut random = Xoshiro::new(5);
        // E u^k = 1/(k + 1); five standard errors of 200,000 draws are below 0.004.
        for (k, want) in [(1, 0.5), (2, 1.0 / 3.0), (3, 0.25), (4, 0.2)] {
            let got = moment(&mut || random.unit(), k);
            assert!((got - want).abs() < 0.004, "{k}: {got}");
        }
        // E z^k = 0, 1, 0, 3, with standard deviations 1, sqrt 2, sqrt 15, sqrt 96.
        for (k, want, deviation) in [(1, 0.0, 1.0), (2, 1.0, 1.42), (3, 0.0, 3.88), (4, 3.0, 9.8)] {
            let got = moment(&mut || random.normal(), k);
            assert!((got - want).abs() < deviation * 5.0 / 447.0, "{k}: {got}");
        }
    }

    #[test]
    fn streams_and_seeds_next_to_each_other_are_uncorrelated() {
        for (mut a, mut b) in [(Xoshiro::new(3), Xoshiro::new(4)), (Xoshiro::stream(3, 1), Xoshiro::stream(3, 2))] {
            let together = moment(&mut || (a.unit() - 0.5) * (b.unit() - 0.5), 1);
            assert!(together.abs() < 5.0 / 12.0 / 447.0, "{together}");
        }
        assert_ne!(Xoshiro::stream(1, 2).bits(), Xoshiro::stream(2, 1).bits());
    }
}

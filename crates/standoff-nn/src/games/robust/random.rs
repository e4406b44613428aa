//! Random starts of attacks: a pure function of the seed and the step.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// The high bits of the stream numbers used here ("rs"); other purposes have their own.
const PURPOSE: u64 = 0x7273 << 48;

/// Moves every entry by a uniform number from `-radius` to `radius`, and clips it. The step is `None` for all the data.
pub(super) fn scatter(x: &mut [f32], radius: f32, clip: Option<(f32, f32)>, seed: u64, step: Option<u64>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Steps stay far below 2^48; all the data is none of them.
    random.set_stream(PURPOSE | (step.unwrap_or(u64::MAX) & (u64::MAX >> 16)));
    let (low, high) = clip.unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
    for v in x {
        // 24 bits, centred: from -1 to 1 without either end.
        let unit = ((random.next_u32() >> 8) as f32 + 0.5) / (1 << 23) as f32 - 1.0;
        let to = *v + radius * unit;
        *v = if to < low {
            low
        } else if to > high {
            high
        } else {
            to
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scattered(seed: u64, step: Option<u64>) -> Vec<f32> {
        let mut x = [0.05, 0.5, 0.95].repeat(200);
        scatter(&mut x, 0.1, Some((0.0, 1.0)), seed, step);
        x
    }

    #[test]
    fn starts_are_functions_of_the_seed_and_the_step_and_fill_the_box() {
        let one = scattered(1, Some(7));
        assert_eq!(one, scattered(1, Some(7)));
        for other in [scattered(1, Some(8)), scattered(2, Some(7)), scattered(1, None)] {
            assert_ne!(one, other);
        }
        let middle: Vec<f32> = one.iter().skip(1).step_by(3).map(|v| v - 0.5).collect();
        assert!(middle.iter().all(|d| d.abs() <= 0.1 + 1e-6) && one.iter().all(|v| (0.0..=1.0).contains(v)));
        assert!(middle.iter().any(|&d| d > 0.09) && middle.iter().any(|&d| d < -0.09));
    }
}

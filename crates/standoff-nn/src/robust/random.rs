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

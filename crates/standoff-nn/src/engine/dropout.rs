//! Dropout: which entries a training step keeps is a pure function of seed, step, layer, sample and entry.

use super::worker::TrainingLeaf;
use crate::kernels::LANES;

/// The random numbers of the dropout layers in one training step.
///
/// ```
/// use standoff_nn::engine::Draw;
///
/// let kept = (0..10_000).filter(|&entry| Draw { seed: 1, step: 7 }.keeps((3, 0.2), 5, entry)).count();
/// assert!((7_800..8_200).contains(&kept));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Draw {
    /// The seed of the training.
    pub seed: u64,
    /// The step.
    pub step: u64,
}

impl Draw {
    /// True if a dropout layer with this number and share keeps an entry of the sample at a place of the batch.
    pub fn keeps(self, (layer, share): (usize, f32), place: usize, entry: usize) -> bool {
        keeps(self.sample(layer, place), entry, limit(share))
    }

    /// The random state of one sample in one layer.
    fn sample(self, layer: usize, place: usize) -> u64 {
        mix(mix(mix(mix(self.seed) ^ self.step) ^ layer as u64) ^ place as u64)
    }
}

/// The share as a number of 32 bits.
fn limit(share: f32) -> u32 {
    (f64::from(share) * 4_294_967_296.0) as u32
}

fn keeps(sample: u64, entry: usize, limit: u32) -> bool {
    (mix(sample.wrapping_add(entry as u64)) >> 32) as u32 >= limit
}

/// A bijection of 64 bits whose output looks random (the finaliser of SplitMix64, after its increment).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Writes the kept entries of all units, divided by `1 - share`, and remembers which they are.
pub(super) fn forward(
    (out, kept): (&mut [f32], &mut [u8]),
    x: &[f32],
    (layer, share): (usize, f32),
    leaf: TrainingLeaf<'_>,
    entries: usize,
) {
    let (limit, factor) = (limit(share), 1.0 / (1.0 - share));
    let units = out.chunks_exact_mut(entries * LANES).zip(kept.chunks_exact_mut(entries * LANES));
    for (unit, ((out, kept), x)) in units.zip(x.chunks_exact(entries * LANES)).enumerate() {
        let samples: [u64; LANES] = std::array::from_fn(|i| leaf.draw.sample(layer, leaf.first + unit * LANES + i));
        let lanes = out.chunks_exact_mut(LANES).zip(kept.chunks_exact_mut(LANES)).zip(x.chunks_exact(LANES));
        for (entry, ((out, kept), x)) in lanes.enumerate() {
            for i in 0..LANES {
                let keep = keeps(samples[i], entry, limit);
                kept[i] = u8::from(keep);
                out[i] = if keep { factor * x[i] } else { 0.0 };
            }
        }
    }
}

/// Takes the gradient back through the entries that were kept.
pub(super) fn backward(g: &mut [f32], kept: &[u8], share: f32) {
    let factor = 1.0 / (1.0 - share);
    for (g, kept) in g.iter_mut().zip(kept) {
        *g = if *kept == 1 { factor * *g } else { 0.0 };
    }
}

//! Proofs that samples are robust: no `f32` evaluation of the network gives another label to any input of the region.
//!
//! Interval bounds ([`Engine::bounds`]) are of the network in real numbers, and are themselves rounded. An attack runs in floating
//! point and can exploit rounding. So the proof is of the network in floating point: for every value of the network it computes an
//! interval that contains the result of every evaluation with
//!
//! - sums of products in any order, in blocks, in lanes, with or without fused multiply-adds, rounded to nearest in `f32` or better;
//! - underflow, whether it is gradual or flushed to zero;
//! - any tanh or sigmoid with a relative error below 2^-20 (the engine's have 4e-7 and 6e-7), any gelu with an error below 2^-20 |x|;
//!   ReLU, `hardtanh` and max-pooling are exact;
//! - normalisation with its four numbers in any order, or folded into a scale and a shift, but not into another layer.
//!
//! Transformed convolutions (Winograd, FFT) and shorter formats (TF32, bfloat16) round more and are not covered.
//!
//! With `u = 2^-24` and `gamma_n = n u / (1 - n u)`, a sum of n products and a bias is computed with an error of at most
//! `gamma_{n+1} (sum |w| |x| + |b|)`, as every term is rounded at most n + 1 times. The values x lie between `centre - radius` and
//! `centre + radius`, so `|x| <= m = |centre| + radius`, and what is computed lies within
//!
//! `W centre + b  +/-  ( |W| (radius + gamma m) + gamma |b| + tiny )`:
//!
//! the rounding only widens the radius that goes in, and costs nothing. The last layer's margins `z_j - z_y` use the rows `W_j - W_y`,
//! and the errors of both logits are added. `tiny` is for underflow: at most 2^-126 for every operation, for every input and, times the
//! inputs, for every weight; 2^-120 of their sum is taken. Where a sum could overflow in `f32`, nothing is proven.
//!
//! `docs/proofs.md` states this recursion in real numbers. Here it is computed in `f64`, widened by bounds of the rounding of `f64` (module
//! `rounding`): no margin is below its exact value, and it exceeds the exact value by about n 2^-53 of the sums of absolute values.
//!
//! The region is widened by `2^-19 + 2^-22 (|x| + eps)` before it is clipped: an attack that adds eps in `f32`, divides a byte by
//! 255 in another way, or measures its own ball to a millionth only, is still inside. An attack that truncates its images to 256
//! levels moves them by up to 1/255 more, and one that leaves [0, 1] has left the region: certify the region that such attacks keep to.

mod general;
mod images;
mod last;
mod proof;
pub(crate) mod rounding;

use crate::engine::communicator::gather_words;
use crate::kernels::LANES;
use crate::{Batch, Engine, Error, Region, Samples};
pub use images::ProvenImage;
use proof::{Proof, ProofStep};
use std::ops::Range;

/// The result of [`certify`] for every sample.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Certified {
    /// True if every input of the region is proven to be classified as labelled; false for every misclassified sample.
    pub certified: Vec<bool>,
    /// Proven upper bounds of the computed `z_j - z_y`, `[sample][output]`; zero at the label y.
    pub margins: Vec<f64>,
}

impl Certified {
    /// Number of certified samples.
    pub fn count(&self) -> usize {
        self.certified.iter().filter(|&&c| c).count()
    }

    /// The proofs of every sample for another rank: a flag, and two words for each margin.
    fn words(&self) -> Vec<u32> {
        let each = self.margins.len() / self.certified.len().max(1);
        let halves = |margin: &f64| [margin.to_bits() as u32, (margin.to_bits() >> 32) as u32];
        let sample = |(certified, margins): (&bool, &[f64])| {
            [u32::from(*certified)].into_iter().chain(margins.iter().flat_map(halves)).collect::<Vec<_>>()
        };
        self.certified.iter().zip(self.margins.chunks(each.max(1))).flat_map(sample).collect()
    }

    fn of_words(words: &[u32], outputs: usize) -> Self {
        let mut all = Self::default();
        for sample in words.chunks_exact(1 + 2 * outputs) {
            all.certified.push(sample[0] != 0);
            let wide = |w: &[u32]| f64::from_bits(u64::from(w[0]) | u64::from(w[1]) << 32);
            all.margins.extend(sample[1..].chunks_exact(2).map(wide));
        }
        all
    }
}

/// Tries to prove every row of images robust, with the weights, on the threads and on the ranks of an engine. The result does not
/// depend on their number.
///
/// ```
/// use standoff_nn::{Biases, Engine, Error, Model, Region, Shape, certify::certify};
///
/// # fn main() -> Result<(), Error> {
/// let model = Model::preset("lenet", Shape::new(1, 28, 28), 10)?;
/// let mut engine = Engine::new(&model, 2)?;
/// engine.set_weights(&model.initialise(Biases::Robust, 1))?;
/// let proof = certify(&engine, &[0.5; 3 * 784], &[0, 1, 2], Region::image(0.3))?;
/// assert_eq!(proof.count(), 0); // the network is untrained
/// # Ok(())
/// # }
/// ```
pub fn certify(engine: &Engine, images: &[f32], labels: &[u16], region: Region) -> Result<Certified, Error> {
    let (model, n) = (engine.model(), labels.len());
    let batch = Batch { samples: Samples::Floats(images), labels, rows: None, ends: &[n], weights: None };
    batch.check(model)?;
    region.check()?;
    let (width, outputs) = (model.input().size(), model.outputs());
    check_inside(images, width, region)?;
    let steps = proof::steps(model, engine.parameters())?;
    let prove = |rows: Range<usize>| {
        prove(engine, &steps, (&images[rows.start * width..rows.end * width], &labels[rows]), region)
    };
    match engine.ranks().filter(|_| n > 0) {
        None => Ok(prove(0..n)),
        Some(world) => {
            let (rank, ranks) = (world.rank(), world.ranks());
            let own = prove(rank * n / ranks..(rank + 1) * n / ranks);
            Ok(Certified::of_words(&gather_words(&*world, Ok(own.words()))?.concat(), outputs))
        }
    }
}

/// The proofs of some rows, on the threads of this process.
fn prove(engine: &Engine, steps: &[ProofStep], (images, labels): (&[f32], &[u16]), region: Region) -> Certified {
    let (width, outputs, n) = (engine.model().input().size(), engine.model().outputs(), labels.len());
    let mut out = Certified { certified: vec![false; n], margins: vec![0.0; n * outputs] };
    // Whole units for every thread; the result of a sample does not depend on the others.
    let share = n.div_ceil(LANES).div_ceil(engine.threads()).max(1) * LANES;
    std::thread::scope(|scope| {
        let parts = images.chunks(share * width).zip(labels.chunks(share));
        let results = out.certified.chunks_mut(share).zip(out.margins.chunks_mut(share * outputs));
        for ((images, labels), (certified, margins)) in parts.zip(results) {
            scope.spawn(move || {
                let mut proof = Proof::new(engine.isa(), steps);
                let samples = images.chunks(LANES * width).zip(labels.chunks(LANES));
                let results = certified.chunks_mut(LANES).zip(margins.chunks_mut(LANES * outputs));
                for ((images, labels), (certified, margins)) in samples.zip(results) {
                    proof.begin(images, width, region);
                    proof.run(labels, certified, margins);
                }
            });
        }
    });
    out
}

/// Refuses inputs that are NaN, too large, or outside the clip.
fn check_inside(images: &[f32], width: usize, region: Region) -> Result<(), Error> {
    let (least, most) = region.limits();
    match images.iter().position(|v| !(*v >= least && *v <= most && v.abs() <= Region::LARGEST)) {
        None => Ok(()),
        Some(i) => {
            let (row, entry, v) = (i / width, i % width, images[i]);
            let (least, most) = region.clip.unwrap_or((-Region::LARGEST, Region::LARGEST));
            let why = format!("input row {row}, entry {entry} is {v}: want a number from {least} to {most}");
            Err(Error::Mismatch(why))
        }
    }
}

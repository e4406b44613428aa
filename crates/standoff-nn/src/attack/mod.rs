//! Attacks: small changes of an input that make a network misclassify it. All reported images are verified.
//!
//! ```
//! use standoff_nn::attack::{Protocol, Run, LabelledImages, ensemble};
//! use standoff_nn::{Biases, Engine, Error, Model, Shape};
//!
//! fn main() -> Result<(), Error> {
//!     let model = Model::preset("mlp", Shape::new(1, 4, 4), 3)?;
//!     let mut engine = Engine::new(&model, 1)?;
//!     engine.set_weights(&model.initialise(Biases::Fair, 1))?;
//!     let (images, labels) = (vec![0.5; 5 * 16], [0, 1, 2, 0, 1]);
//!     let labelled = LabelledImages { images: &images, labels: &labels };
//!     let result = ensemble(&engine, labelled, &Protocol::standard(0.1), &Run::new(7))?;
//!     assert!(result.left() <= result.correct()); // images that no attack broke, images that are classified correctly
//!     Ok(())
//! }
//! ```
//!
//! Every image that counts as broken has passed [`verify`]: its stored form, evaluated alone and from scratch, is misclassified and
//! lies inside the ball. Random numbers are pure functions of the seed, the attack, the restart, the image and
//! the step; the result for one image depends neither on the others nor on the number of threads.

mod apgd;
mod apgd_l1;
mod attacked;
mod ball;
mod batch;
mod bumps;
mod ensemble;
mod evaluator;
mod fab;
mod function;
mod hyperplane;
mod kind;
mod l1;
mod masking;
mod noise;
mod pgd;
mod protocol;
mod random;
mod request;
mod smallest;
mod smooth;
mod square;
mod verify;

pub use ball::{Ball, Grid, Norm};
pub use batch::Cost;
pub use ensemble::{Ensemble, Found, attack, ensemble};
pub use evaluator::Evaluator;
pub use function::{Forward, FunctionEvaluator, VectorJacobian};
pub use kind::{Attack, AttackLoss};
pub use masking::{MaskingReport, MaskingSigns, Reach, Warning, masking_report, masking_signs};
pub use protocol::{BLACK_BOX, Judge, Protocol};
pub use request::{PixelRange, Request};
pub use smallest::{SmallestChanges, smallest_changes};
pub use verify::{Verdict, verify};

use crate::Error;
use crate::engine::communicator;
use std::sync::atomic::{AtomicBool, Ordering};

/// The images under attack, `[image][entry]`, and their labels.
///
/// ```
/// use standoff_nn::attack::LabelledImages;
///
/// let labelled = LabelledImages { images: &[0.0, 0.5, 1.0, 0.2], labels: &[1, 0] }; // two images of two pixels
/// assert_eq!(labelled.len(), 2);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct LabelledImages<'a> {
    /// In [0, 1] when the ball is clipped, multiples of 1/255 when the attack is stored on the 8-bit grid.
    pub images: &'a [f32],
    /// The class of each image.
    pub labels: &'a [u16],
}

/// Settings of a run of attacks. Only the seed changes the result.
///
/// ```
/// use standoff_nn::attack::Run;
///
/// let quiet = Run::new(7);
/// let reporting = Run { progress: Some(&|p| assert!(p.done <= 1.0)), ..quiet };
/// assert_eq!(reporting.seed, 7);
/// ```
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The seed of all random numbers.
    pub seed: u64,
    /// When set, the attack ends at the next pass and returns the result so far.
    pub stop: Option<&'a AtomicBool>,
    /// Called after every pass.
    pub progress: Option<&'a dyn Fn(Progress<'_>)>,
    /// The images that are proven robust, by [`certify`](crate::certify::certify) over [`Ball::region`]: they are not attacked.
    pub proven: Option<&'a [bool]>,
    /// The place of the images in a larger set, of which they are a part: every image has the result that it has in an attack on the
    /// whole set.
    pub part: Option<PartOfSet<'a>>,
}

/// The place of some images in a larger set.
#[derive(Debug, Clone, Copy)]
pub struct PartOfSet<'a> {
    /// The index of each image in the set.
    pub places: &'a [u32],
    /// Number of images of the set.
    pub of: usize,
}

/// The progress of an ensemble.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The name of the attack.
    pub attack: &'a str,
    /// Its place in the ensemble, from 0.
    pub index: usize,
    /// Number of attacks.
    pub of: usize,
    /// The share of this attack that is done, from 0 to 1.
    pub done: f64,
    /// Number of images that are not broken yet.
    pub standing: usize,
}

impl<'a> Run<'a> {
    /// A run with a seed, without progress reports, to the end.
    pub const fn new(seed: u64) -> Self {
        Self { seed, stop: None, progress: None, proven: None, part: None }
    }

    fn proves(&self, image: usize) -> bool {
        self.proven.is_some_and(|proven| proven[image])
    }

    /// The same on every rank.
    fn stopped(&self) -> bool {
        communicator::any(self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))).unwrap_or(true)
    }
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl<'a> LabelledImages<'a> {
    /// Number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// True if there are no images.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Image `i`, given the entries of an image.
    fn image(&self, i: usize, width: usize) -> &'a [f32] {
        &self.images[i * width..(i + 1) * width]
    }

    /// Checks lengths, labels and pixels against the model and the ball.
    fn check(&self, network: &dyn Evaluator, ball: &Ball) -> Result<(), Error> {
        ball.check()?;
        let (width, outputs) = (network.input().size(), network.outputs());
        let mismatch = |why: String| Err(Error::Mismatch(why));
        if outputs < 2 {
            return mismatch(format!("the model has {outputs} output: an attack needs at least 2 classes"));
        }
        if self.images.len() != self.len() * width {
            let (got, n) = (self.images.len(), self.len());
            return mismatch(format!("got {got} pixels for {n} labels, want {n} images of {width}"));
        }
        if u32::try_from(self.len()).is_err() {
            return mismatch(format!("{} images are too many for one attack; attack fewer at a time", self.len()));
        }
        if let Some(i) = self.labels.iter().position(|&y| usize::from(y) >= outputs) {
            return mismatch(format!("label {} of image {i}: the model has {outputs} outputs", self.labels[i]));
        }
        for (i, image) in self.images.chunks_exact(width.max(1)).enumerate() {
            for (entry, &v) in image.iter().enumerate() {
                if !v.is_finite() {
                    return Err(Error::NonFinite(format!("pixel {entry} of image {i} is {v}")));
                }
                if let Some(why) = ball.objection(v) {
                    return mismatch(format!("pixel {entry} of image {i} is {v}: {why}"));
                }
            }
        }
        Ok(())
    }
}

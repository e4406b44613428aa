//! Attacks: how far a network's answers can be turned by small changes of its input, measured so that the result can be relied on.
//!
//! ```
//! use standoff_nn::attack::{Protocol, Run, Victims, ensemble};
//! use standoff_nn::{Biases, Engine, Error, Model, Shape};
//!
//! fn main() -> Result<(), Error> {
//!     let model = Model::preset("mlp", Shape::new(1, 4, 4), 3)?;
//!     let mut engine = Engine::new(&model, 1)?;
//!     engine.set_weights(&model.initialise(Biases::Fair, 1))?;
//!     let (images, labels) = (vec![0.5; 5 * 16], [0, 1, 2, 0, 1]);
//!     let victims = Victims { images: &images, labels: &labels };
//!     let result = ensemble(&engine, victims, &Protocol::standard(0.1), &Run::new(7))?;
//!     assert!(result.left() <= result.correct()); // images that no attack turned, images that were right to begin with
//!     Ok(())
//! }
//! ```
//!
//! Every image that counts as fallen has gone through [`verify`]: its stored form alone, evaluated afresh, is classified otherwise
//! than labelled and lies inside the ball. Random numbers are pure functions of the seed, the attack, the restart, the image and
//! the step; what happens to one image depends neither on the others nor on the number of threads.

mod apgd;
mod ball;
mod batch;
mod ensemble;
mod kind;
mod masking;
mod noise;
mod pgd;
mod protocol;
mod random;
mod request;
mod smooth;
mod square;
mod square_l2;
mod verify;

pub use ball::{Ball, Grid, Norm};
pub use batch::Cost;
pub use ensemble::{Ensemble, Found, attack, ensemble};
pub use kind::{Attack, Climb};
pub use masking::{Honesty, Reach, Warning, honesty};
pub use protocol::{Judge, Protocol};
pub use request::Request;
pub use verify::{Verdict, verify};

use crate::{Engine, Error};
use std::sync::atomic::{AtomicBool, Ordering};

/// The images under attack, `[image][entry]`, and what they are.
#[derive(Debug, Clone, Copy)]
pub struct Victims<'a> {
    /// In [0, 1] when the ball is clipped, multiples of 1/255 when the attack is stored on the 8-bit grid.
    pub images: &'a [f32],
    /// The class of each image.
    pub labels: &'a [u16],
}

/// How an attack is run: nothing here changes what is found, except the seed.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// What all random numbers are made from.
    pub seed: u64,
    /// Set by someone else, it ends the attack at the next pass; what was found so far is returned.
    pub stop: Option<&'a AtomicBool>,
    /// Told after every pass.
    pub progress: Option<&'a dyn Fn(Progress<'_>)>,
    /// Which images are proven to stand, by [`certify`](crate::certify::certify) over [`Ball::region`]: no attack tries them.
    pub proven: Option<&'a [bool]>,
}

/// Where an ensemble is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The name of the attack.
    pub attack: &'a str,
    /// Its place in the ensemble, from 0, and how many there are.
    pub index: usize,
    /// How many attacks there are.
    pub of: usize,
    /// How much of this attack is done, from 0 to 1.
    pub done: f64,
    /// How many images have not fallen yet.
    pub standing: usize,
}

impl<'a> Run<'a> {
    /// From a seed, silently and to the end.
    pub const fn new(seed: u64) -> Self {
        Self { seed, stop: None, progress: None, proven: None }
    }

    fn proves(&self, image: usize) -> bool {
        self.proven.is_some_and(|proven| proven[image])
    }

    fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl<'a> Victims<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Image `i`, given the entries of an image.
    fn image(&self, i: usize, width: usize) -> &'a [f32] {
        &self.images[i * width..(i + 1) * width]
    }

    /// Checks lengths, labels and pixels against the model and the ball.
    fn check(&self, engine: &Engine, ball: &Ball) -> Result<(), Error> {
        ball.check()?;
        let (width, outputs) = (engine.model().input().size(), engine.model().outputs());
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

//! Whether a measurement deserves belief: did the attacks use their budget, did gradients lead anywhere, did attacks without
//! gradients see what those with gradients did not.

use super::verify::Verdict;
use super::{Attack, Ball, Ensemble, Run, Victims, attack};
use crate::{Ask, Batch, Engine, Error, Loss, Outcome, Samples};
use std::fmt;

/// How much of the budget the changes of an attack used: `|change| / eps`, of the images that still stand after it (those that
/// fall may need less), or of all if none does.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reach {
    /// The largest.
    pub largest: f64,
    /// The mean.
    pub mean: f64,
    /// Of how many images.
    pub images: usize,
    fallen: (f64, f64, usize),
}

impl Reach {
    pub(super) fn add(&mut self, verdict: &Verdict) {
        let (share, fallen) = (verdict.share, &mut self.fallen);
        let (largest, sum, count) = if verdict.fallen() {
            (&mut fallen.0, &mut fallen.1, &mut fallen.2)
        } else {
            (&mut self.largest, &mut self.mean, &mut self.images)
        };
        *largest = if share <= *largest { *largest } else { share };
        *sum += share;
        *count += 1;
    }

    pub(super) fn close(&mut self) {
        if self.images == 0 {
            (self.largest, self.mean, self.images) = self.fallen;
        }
        self.mean /= self.images.max(1) as f64;
        self.fallen = (0.0, 0.0, 0);
    }
}

/// Figures that tell whether gradients are of use against a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Honesty {
    /// Images that were right before any attack: what the shares below are of.
    pub images: usize,
    /// How many of them random points of the ball turn.
    pub random_fallen: usize,
    /// How many fell to an attack that uses gradients.
    pub gradient_fallen: usize,
    /// How many random points turn while no attack with gradients does.
    pub random_only: usize,
    /// How many fell to the square attack while no attack with gradients, all of which tried them, turned them.
    pub black_box_only: usize,
    /// The share whose input gradient of the cross-entropy vanishes.
    pub vanishing: f64,
    /// The share whose cross-entropy does not move along a step of eps in the direction of the gradient.
    pub flat: f64,
    /// Attack by attack, in order.
    pub reach: Vec<(Attack, Reach)>,
}

/// A reason to doubt a measurement.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// An attack left much of its budget unused on images it did not turn.
    Unreached {
        /// Its name.
        attack: String,
        /// The largest change, as a share of eps.
        largest: f64,
    },
    /// Random points turn images that gradients do not.
    RandomBeatsGradient {
        /// How many.
        images: usize,
    },
    /// The square attack turns images that gradients do not.
    BlackBoxBeatsWhiteBox {
        /// How many.
        images: usize,
        /// Their share of the images that were right.
        share: f64,
    },
    /// Gradients vanish.
    Vanishing {
        /// The share of images.
        share: f64,
    },
    /// The loss does not move along the gradient.
    Flat {
        /// The share of images.
        share: f64,
    },
}

/// A gradient whose largest entry is below this has vanished: a step along it follows rounding errors.
const VANISHED: f32 = 1e-12;
/// A cross-entropy that changes by less does not move.
const STILL: f32 = 1e-6;
/// Random points tried.
const TRIES: usize = 20;

/// Takes the figures for what an ensemble found in a ball.
pub fn honesty(
    engine: &Engine,
    victims: Victims<'_>,
    ball: &Ball,
    result: &Ensemble,
    run: &Run<'_>,
) -> Result<Honesty, Error> {
    victims.check(engine, ball)?;
    let quiet = Run { progress: None, ..*run };
    let random = attack(engine, victims, &Attack::Random { tries: TRIES }, ball, &quiet)?;
    let by = |i: usize, black: bool| result.attacks.iter().any(|f| f.attack.black_box() == black && f.fallen[i]);
    let missed = |i: usize| result.attacks.iter().all(|f| f.attack.black_box() || (f.tried[i] && !f.fallen[i]));
    let right: Vec<usize> = (0..victims.len()).filter(|&i| result.natural[i]).collect();
    let count = |keep: &dyn Fn(usize) -> bool| right.iter().filter(|&&i| keep(i)).count();
    let (vanishing, flat) = slopes(engine, victims, ball, &right)?;
    Ok(Honesty {
        images: right.len(),
        random_fallen: count(&|i| random.fallen_to[i].is_some()),
        gradient_fallen: count(&|i| by(i, false)),
        random_only: count(&|i| random.fallen_to[i].is_some() && missed(i)),
        black_box_only: count(&|i| by(i, true) && missed(i)),
        vanishing,
        flat,
        reach: result.attacks.iter().map(|f| (f.attack, f.reach)).collect(),
    })
}

/// The shares of images whose gradient vanishes, and whose loss does not move along it.
fn slopes(engine: &Engine, victims: Victims<'_>, ball: &Ball, right: &[usize]) -> Result<(f64, f64), Error> {
    if right.is_empty() {
        return Ok((0.0, 0.0));
    }
    let width = engine.model().input().size();
    let (mut out, mut moved) = (Outcome::default(), Outcome::default());
    let (mut vanished, mut still) = (0usize, 0usize);
    for ids in right.chunks(1024) {
        let rows: Vec<u32> = ids.iter().map(|&i| i as u32).collect();
        let batch = Batch {
            samples: Samples::Floats(victims.images),
            labels: victims.labels,
            rows: Some(&rows),
            ends: &[rows.len()],
            weights: None,
        };
        engine.pass(&batch, Loss::CrossEntropy, Ask::InputGradients, &mut out)?;
        let labels: Vec<u16> = ids.iter().map(|&i| victims.labels[i]).collect();
        let mut points = Vec::with_capacity(ids.len() * width);
        for (&i, g) in ids.iter().zip(out.input_gradients.chunks_exact(width)) {
            vanished += usize::from(g.iter().all(|v| v.abs() < VANISHED));
            let (origin, start) = (victims.image(i, width), points.len());
            points.extend_from_slice(origin);
            super::pgd::step(ball.norm, &mut points[start..], g, ball.radius());
            ball.project(&mut points[start..], origin);
        }
        let batch =
            Batch { samples: Samples::Floats(&points), labels: &labels, rows: None, ends: &[ids.len()], weights: None };
        engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut moved)?;
        still += out.losses.iter().zip(&moved.losses).filter(|(a, b)| (**b - **a).abs() < STILL).count();
    }
    let share = |n: usize| n as f64 / right.len() as f64;
    Ok((share(vanished), share(still)))
}

impl Honesty {
    /// What in these figures speaks of masked gradients or of an attack that did not do its work.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (attack, reach) in &self.reach {
            if reach.images > 0 && reach.largest < 0.99 {
                warnings.push(Warning::Unreached { attack: attack.name(), largest: reach.largest });
            }
        }
        if self.random_only > 0 {
            warnings.push(Warning::RandomBeatsGradient { images: self.random_only });
        }
        let share = self.black_box_only as f64 / self.images.max(1) as f64;
        if share >= 0.005 {
            warnings.push(Warning::BlackBoxBeatsWhiteBox { images: self.black_box_only, share });
        }
        if self.vanishing >= 0.05 {
            warnings.push(Warning::Vanishing { share: self.vanishing });
        }
        if self.flat >= 0.05 {
            warnings.push(Warning::Flat { share: self.flat });
        }
        warnings
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: &f64| format!("{:.1} %", 100.0 * share);
        match self {
            Self::Unreached { attack, largest } => {
                write!(f, "{attack} used at most {} of its budget: it may have been stuck", percent(largest))
            }
            Self::RandomBeatsGradient { images } => {
                write!(f, "random points turn {images} images that attacks with gradients do not: gradients are masked")
            }
            Self::BlackBoxBeatsWhiteBox { images, share } => {
                let share = percent(share);
                write!(
                    f,
                    "attacks without gradients turn {images} images ({share}) that gradients do not: gradients are masked"
                )
            }
            Self::Vanishing { share } => {
                write!(
                    f,
                    "the gradient of the cross-entropy vanishes on {} of the images: trust margin losses only",
                    percent(share)
                )
            }
            Self::Flat { share } => {
                write!(
                    f,
                    "the cross-entropy does not move along its gradient on {} of the images: gradients are masked",
                    percent(share)
                )
            }
        }
    }
}

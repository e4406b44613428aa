//! Signs of gradient masking and of attacks that failed: unused budgets, gradients that vanish or do not change the loss, and images
//! that are broken only without gradients.

use super::verify::Verdict;
use super::{Attack, Ball, Ensemble, LabelledImages, Run, attack};
use crate::{Ask, Batch, Engine, Error, Loss, Outcome, Samples};
use std::fmt;

/// The share of the budget that the changes of an attack used, `|change| / eps`: over the images that it did not break (broken ones
/// may need less), or over all if it broke all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reach {
    /// The largest.
    pub largest: f64,
    /// The mean.
    pub mean: f64,
    /// Number of images.
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

/// Figures that show whether gradients of a network are useful to attacks. [`warnings`](Self::warnings) interprets them.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskingReport {
    /// Number of images that are classified correctly without an attack; the shares below are of these.
    pub images: usize,
    /// Number of them that random points of the ball break.
    pub random_fallen: usize,
    /// Number of them that attacks with gradients break.
    pub gradient_fallen: usize,
    /// Number of them that random points break and no attack with gradients does.
    pub random_only: usize,
    /// Number of them that the square attack breaks and no attack with gradients does, although all of these tried.
    pub black_box_only: usize,
    /// The share whose input gradient of the cross-entropy vanishes.
    pub vanishing: f64,
    /// The share whose cross-entropy does not change along a step of eps in the direction of the gradient.
    pub flat: f64,
    /// The reach of each attack, in order.
    pub reach: Vec<(Attack, Reach)>,
}

/// A reason why a measurement may be unreliable.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// An attack left much of its budget unused on images that it did not break.
    Unreached {
        /// Its name.
        attack: String,
        /// The largest change, as a share of eps.
        largest: f64,
    },
    /// Random points break images that attacks with gradients do not.
    RandomBeatsGradient {
        /// Number of images.
        images: usize,
    },
    /// The square attack breaks images that attacks with gradients do not.
    BlackBoxBeatsWhiteBox {
        /// Number of images.
        images: usize,
        /// Their share of the correctly classified images.
        share: f64,
    },
    /// Gradients vanish.
    Vanishing {
        /// The share of images.
        share: f64,
    },
    /// The loss does not change along the gradient.
    Flat {
        /// The share of images.
        share: f64,
    },
}

/// A gradient whose largest entry is below this has vanished: a step along it follows rounding errors.
const VANISHED: f32 = 1e-12;
/// A change of the cross-entropy below this counts as none.
const STILL: f32 = 1e-6;
/// Number of random points.
const TRIES: usize = 20;

/// Computes the figures for the result of an ensemble.
pub fn masking_report(
    engine: &Engine,
    labelled: LabelledImages<'_>,
    ball: &Ball,
    result: &Ensemble,
    run: &Run<'_>,
) -> Result<MaskingReport, Error> {
    labelled.check(engine, ball)?;
    let quiet = Run { progress: None, ..*run };
    let random = attack(engine, labelled, &Attack::Random { tries: TRIES }, ball, &quiet)?;
    let by = |i: usize, black: bool| result.attacks.iter().any(|f| f.attack.black_box() == black && f.fallen[i]);
    let missed = |i: usize| result.attacks.iter().all(|f| f.attack.black_box() || (f.tried[i] && !f.fallen[i]));
    let right: Vec<usize> = (0..labelled.len()).filter(|&i| result.natural[i]).collect();
    let count = |keep: &dyn Fn(usize) -> bool| right.iter().filter(|&&i| keep(i)).count();
    let (vanishing, flat) = slopes(engine, labelled, ball, &right)?;
    Ok(MaskingReport {
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

/// The shares of images whose gradient vanishes, and whose loss does not change along it.
fn slopes(engine: &Engine, labelled: LabelledImages<'_>, ball: &Ball, right: &[usize]) -> Result<(f64, f64), Error> {
    if right.is_empty() {
        return Ok((0.0, 0.0));
    }
    let width = engine.model().input().size();
    let (mut out, mut moved) = (Outcome::default(), Outcome::default());
    let (mut vanished, mut still) = (0usize, 0usize);
    for ids in right.chunks(1024) {
        let rows: Vec<u32> = ids.iter().map(|&i| i as u32).collect();
        let batch = Batch {
            samples: Samples::Floats(labelled.images),
            labels: labelled.labels,
            rows: Some(&rows),
            ends: &[rows.len()],
            weights: None,
        };
        engine.pass(&batch, Loss::CrossEntropy, Ask::InputGradients, &mut out)?;
        let labels: Vec<u16> = ids.iter().map(|&i| labelled.labels[i]).collect();
        let mut points = Vec::with_capacity(ids.len() * width);
        for (&i, g) in ids.iter().zip(out.input_gradients.chunks_exact(width)) {
            vanished += usize::from(g.iter().all(|v| v.abs() < VANISHED));
            let (origin, start) = (labelled.image(i, width), points.len());
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

impl MaskingReport {
    /// The signs of masked gradients, or of an attack that failed, in these figures.
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
                write!(
                    f,
                    "random points break {images} images that attacks with gradients do not: gradients are masked"
                )
            }
            Self::BlackBoxBeatsWhiteBox { images, share } => {
                let share = percent(share);
                write!(
                    f,
                    "attacks without gradients break {images} images ({share}) that those with gradients do not: gradients are masked"
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
                    "the cross-entropy does not change along its gradient on {} of the images: gradients are masked",
                    percent(share)
                )
            }
        }
    }
}

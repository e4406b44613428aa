//! Signs of gradient masking and of attacks that failed: unused budgets, gradients that vanish or do not change the loss, and images
//! that are broken only without gradients.

use super::{Attack, Ball, Ensemble, Evaluator, LabelledImages, Run, attack};
use crate::{Ask, Batch, Error, Loss, Outcome, Samples};
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
}

impl Reach {
    /// The reach of an attack, from the shares of its images: of those that it tried and that are misclassified or not.
    fn over(shares: &[f64], (tried, fallen): (&[bool], &[bool]), misclassified: bool) -> Self {
        let mut reach = Self::default();
        for i in (0..shares.len()).filter(|&i| tried[i] && fallen[i] == misclassified) {
            reach.largest = if shares[i] <= reach.largest { reach.largest } else { shares[i] };
            reach.mean += shares[i];
            reach.images += 1;
        }
        reach.mean /= reach.images.max(1) as f64;
        reach
    }

    /// That of an attack, from the shares of all images and flags of those that it tried and of those that it broke.
    pub fn of(shares: &[f64], tried: &[bool], fallen: &[bool]) -> Self {
        let left = Self::over(shares, (tried, fallen), false);
        if left.images > 0 { left } else { Self::over(shares, (tried, fallen), true) }
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

/// The figures of each image, besides the result of the ensemble.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MaskingSigns {
    /// Random points break it.
    pub random: Vec<bool>,
    /// Its input gradient of the cross-entropy vanishes.
    pub vanishing: Vec<bool>,
    /// Its cross-entropy does not change along a step of eps in the direction of the gradient.
    pub flat: Vec<bool>,
}

/// Computes the figures for the result of an ensemble.
pub fn masking_report(
    network: &dyn Evaluator,
    labelled: LabelledImages<'_>,
    ball: &Ball,
    result: &Ensemble,
    run: &Run<'_>,
) -> Result<MaskingReport, Error> {
    Ok(masking_signs(network, labelled, ball, result, run)?.report(result))
}

/// Collects the signs of every image.
pub fn masking_signs(
    network: &dyn Evaluator,
    labelled: LabelledImages<'_>,
    ball: &Ball,
    result: &Ensemble,
    run: &Run<'_>,
) -> Result<MaskingSigns, Error> {
    labelled.check(network, ball)?;
    let quiet = Run { progress: None, ..*run };
    let random = attack(network, labelled, &Attack::Random { tries: TRIES }, ball, &quiet)?;
    let n = labelled.len();
    let random = random.fallen_to.iter().map(Option::is_some).collect();
    let mut signs = MaskingSigns { random, vanishing: vec![false; n], flat: vec![false; n] };
    let right: Vec<u32> = (0..n as u32).filter(|&i| result.natural[i as usize]).collect();
    if network.differentiable() {
        slopes(network, labelled, ball, &right, &mut signs)?;
    }
    Ok(signs)
}

impl MaskingSigns {
    /// The figures of these images.
    ///
    /// # Panics
    ///
    /// If the result is of another number of images.
    pub fn report(&self, result: &Ensemble) -> MaskingReport {
        let by = |i: usize, black: bool| result.attacks.iter().any(|f| f.attack.black_box() == black && f.fallen[i]);
        // Without attacks that use gradients nothing follows about gradients.
        let white = result.attacks.iter().any(|f| !f.attack.black_box());
        let missed =
            |i: usize| white && result.attacks.iter().all(|f| f.attack.black_box() || (f.tried[i] && !f.fallen[i]));
        let right: Vec<usize> = (0..result.natural.len()).filter(|&i| result.natural[i]).collect();
        let count = |keep: &dyn Fn(usize) -> bool| right.iter().filter(|&&i| keep(i)).count();
        let share = |signs: &[bool]| count(&|i| signs[i]) as f64 / right.len().max(1) as f64;
        MaskingReport {
            images: right.len(),
            random_fallen: count(&|i| self.random[i]),
            gradient_fallen: count(&|i| by(i, false)),
            random_only: count(&|i| self.random[i] && missed(i)),
            black_box_only: count(&|i| by(i, true) && missed(i)),
            vanishing: share(&self.vanishing),
            flat: share(&self.flat),
            reach: result.attacks.iter().map(|f| (f.attack, f.reach)).collect(),
        }
    }
}

/// Marks images whose gradient vanishes, and whose loss does not change along it.
fn slopes(
    network: &dyn Evaluator,
    labelled: LabelledImages<'_>,
    ball: &Ball,
    right: &[u32],
    signs: &mut MaskingSigns,
) -> Result<(), Error> {
    let width = network.input().size();
    let (mut out, mut moved) = (Outcome::default(), Outcome::default());
    for rows in right.chunks(1024) {
        let batch = Batch {
            samples: Samples::Floats(labelled.images),
            labels: labelled.labels,
            rows: Some(rows),
            ends: &[rows.len()],
            weights: None,
        };
        network.pass(&batch, Loss::CrossEntropy, Ask::InputGradients, &mut out)?;
        let ids = rows.iter().map(|&i| i as usize);
        let labels: Vec<u16> = ids.clone().map(|i| labelled.labels[i]).collect();
        let mut points = Vec::with_capacity(rows.len() * width);
        for (i, g) in ids.clone().zip(out.input_gradients.chunks_exact(width)) {
            signs.vanishing[i] = g.iter().all(|v| v.abs() < VANISHED);
            let (origin, start) = (labelled.image(i, width), points.len());
            points.extend_from_slice(origin);
            super::pgd::step(ball, &mut points[start..], g, ball.radius());
            ball.project(&mut points[start..], origin);
        }
        let ends = [rows.len()];
        let batch =
            Batch { samples: Samples::Floats(&points), labels: &labels, rows: None, ends: &ends, weights: None };
        network.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut moved)?;
        for (i, (a, b)) in ids.zip(out.losses.iter().zip(&moved.losses)) {
            signs.flat[i] = (*b - *a).abs() < STILL;
        }
    }
    Ok(())
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
        let count = |images: usize| format!("{images} image{}", if images == 1 { "" } else { "s" });
        match self {
            Self::Unreached { attack, largest } => {
                write!(f, "{attack} used at most {} of its budget: it may have been stuck", percent(largest))
            }
            Self::RandomBeatsGradient { images } => {
                write!(
                    f,
                    "random points break {} that attacks with gradients do not: a sign that gradients are masked or that the attacks \
                     are weak",
                    count(*images)
                )
            }
            Self::BlackBoxBeatsWhiteBox { images, share } => {
                let share = percent(share);
                write!(
                    f,
                    "attacks without gradients break {} ({share}) that those with gradients do not: a sign that gradients are \
                     masked or that those attacks are weak",
                    count(*images)
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
                    "the cross-entropy does not change along its gradient on {} of the images: a sign that gradients are masked",
                    percent(share)
                )
            }
        }
    }
}

//! Options of a robust game: the objective, its attack, and the batches.

use crate::data::Batching;
use crate::{Error, Ramp, StepKind};

/// The loss of an image; its mean over the images of the batch is minimised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Objective {
    /// `max over t in the simplex of sum over j of t_j CE(x_j)`, `x_j` the image attacked towards label j: the paper's. The image
    /// attacked towards its own label is the clean one.
    Paper {
        /// The targets that are attacked to the end.
        targets: Targets,
    },
    /// `CE(x')`, `x'` the image attacked without a target on the cross-entropy (Madry et al.).
    Madry,
    /// `CE(x) + beta KL(f(x) || f(x'))`, `x'` the image attacked on the divergence (TRADES).
    Trades {
        /// The weight of the divergence; 6 in its authors' experiments on images, 1 on MNIST.
        beta: f64,
    },
    /// `CE(x)`: no attack.
    Natural,
}

/// The targets of an image that are attacked to the end. The others keep the image that their attack has reached: they stay
/// corners of the simplex, with the loss of that image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Targets {
    /// All but the label, as in the paper.
    All,
    /// The `keep` most promising: those with the largest logits at the clean image if `after` is 0, else those with the largest
    /// losses after `after` steps. A heuristic: the maximum can be missed.
    Top {
        /// Number of targets that continue.
        keep: usize,
        /// The steps that all of them take.
        after: usize,
    },
    /// The `keep` with the largest losses after a probe of `steps` sign steps of `eps / steps`, which reach the edge of the box. Those
    /// kept start again. A heuristic too; `docs/robust-game.md` compares them.
    Probed {
        /// Number of targets that are attacked.
        keep: usize,
        /// The steps of the probe.
        steps: usize,
    },
    /// After `after` steps the leader is attacked to the end, then the targets that can still overtake it. The rest are dropped:
    /// interval bounds over everything their remaining steps can reach stay below the leader by `slack`. Exact with `slack` 0 for
    /// the maximum, with `slack = lambda` for y regularised by lambda for each image. Bounds are loose: expect it to
    /// drop nothing unless few steps remain or the network was trained for them.
    Proven {
        /// The steps that all of them take.
        after: usize,
        /// The margin by which a bound must stay below the leader.
        slack: f32,
    },
}

/// The start of an attack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// At the image.
    Clean,
    /// Uniformly in a box of this radius (at most eps) around it, by the seed and the step.
    Random {
        /// The radius; it follows the ramp of eps.
        radius: f32,
    },
    /// The end of an attack on the cross-entropy without a target: steps that all targets share.
    Warm {
        /// The shared steps.
        steps: usize,
    },
}

/// The attack inside the objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainingAttack {
    /// The largest change of a pixel.
    pub eps: f32,
    /// Number of steps.
    pub steps: usize,
    /// The direction of a step.
    pub kind: StepKind,
    /// Its size at the full eps.
    pub size: f32,
    /// Its start.
    pub start: Start,
    /// The least and the largest value of a pixel.
    pub clip: Option<(f32, f32)>,
    /// Eps, the size of a step and the radius of a random start are multiplied by this; measuring is at the full eps.
    pub ramp: Ramp,
}

impl TrainingAttack {
    /// That of the paper's published code: 11 sign steps of a quarter of eps, from the image.
    pub const fn published(eps: f32) -> Self {
        let size = eps / 4.0;
        let (start, clip) = (Start::Clean, Some((0.0, 1.0)));
        Self { eps, steps: 11, kind: StepKind::Sign, size, start, clip, ramp: Ramp::NONE }
    }

    /// That of the paper's text: 10 steps along the gradient, whose size it does not give. See [`StepKind::Scaled`]: pixels move
    /// by eps/4 on average.
    pub const fn text(eps: f32) -> Self {
        Self { steps: 10, kind: StepKind::Scaled, ..Self::published(eps) }
    }

    /// For [`Objective::Madry`]: sign steps of eps/4 from a random start anywhere in the box.
    pub const fn madry(eps: f32, steps: usize) -> Self {
        Self { steps, start: Start::Random { radius: eps }, ..Self::published(eps) }
    }

    /// For [`Objective::Trades`]: as Madry's, from within 0.001 of the image, where the divergence has a slope.
    pub const fn trades(eps: f32, steps: usize) -> Self {
        Self { steps, start: Start::Random { radius: 0.001 }, ..Self::published(eps) }
    }

    /// The attack at a step of training: eps and all that goes with it times the ramp. `None` for measuring.
    pub fn at(&self, step: Option<u64>) -> Self {
        let share = step.map_or(1.0, |step| self.ramp.at(step)) as f32;
        let start = match self.start {
            Start::Random { radius } => Start::Random { radius: radius * share },
            other => other,
        };
        Self { eps: self.eps * share, size: self.size * share, start, ramp: Ramp::NONE, ..*self }
    }

    fn check(&self) -> Result<(), Error> {
        let mismatch = |why: String| Err(Error::Mismatch(why));
        let within = |v: f32| v >= 0.0 && v.is_finite();
        if !within(self.eps) {
            return mismatch(format!("eps is {}: want zero or a positive number", self.eps));
        }
        if !within(self.size) {
            return mismatch(format!("the step of the attack is {}: want zero or a positive number", self.size));
        }
        match (self.start, self.clip) {
            (Start::Random { radius }, _) if !(within(radius) && radius <= self.eps) => {
                mismatch(format!("the attack starts within {radius}: want from 0 to eps = {}", self.eps))
            }
            (_, Some((a, b))) if !(a <= b) => mismatch(format!("pixels are clipped to {a} to {b}: want them in order")),
            _ => Ok(()),
        }
    }
}

/// Options of a [`RobustGame`](super::RobustGame).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The loss that is minimised.
    pub objective: Objective,
    /// The attack inside it.
    pub attack: TrainingAttack,
    /// The samples of a step.
    pub batching: Batching,
    /// The seed of random starts; that of the order is in `batching`.
    pub seed: u64,
}

impl Options {
    /// Refuses invalid options, for a model with this many outputs.
    pub(super) fn check(&self, outputs: usize) -> Result<(), Error> {
        self.attack.check()?;
        let mismatch = |why: String| Err(Error::Mismatch(why));
        let steps = self.attack.steps;
        match self.objective {
            Objective::Trades { beta } if !(beta >= 0.0 && beta.is_finite()) => {
                mismatch(format!("beta is {beta}: want zero or a positive number"))
            }
            Objective::Paper { .. } if outputs < 2 => mismatch("targeted attacks need at least 2 outputs".into()),
            Objective::Paper { targets: Targets::Top { keep, .. } | Targets::Probed { keep, .. } }
                if keep == 0 || keep >= outputs =>
            {
                mismatch(format!("{keep} targets are kept: want 1 to {}", outputs - 1))
            }
            Objective::Paper { targets: Targets::Probed { steps: 0, .. } } => {
                mismatch("a probe has 0 steps: want at least 1".into())
            }
            Objective::Paper { targets: Targets::Top { after, .. } | Targets::Proven { after, .. } }
                if after > steps =>
            {
                mismatch(format!("targets are screened after {after} steps: the attack has {steps}"))
            }
            Objective::Paper { targets: Targets::Proven { slack, .. } } if !(slack >= 0.0 && slack.is_finite()) => {
                mismatch(format!("the slack is {slack}: want zero or a positive number"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_options_are_refused_with_what_was_wanted() {
        let refused = |options: Options, want: &str| {
            let error = options.check(5).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        };
        let objective = Objective::Paper { targets: Targets::All };
        let good = Options { objective, attack: TrainingAttack::published(0.2), batching: Batching::Whole, seed: 1 };
        assert_eq!(good.check(5), Ok(()));
        let with = |attack: TrainingAttack| Options { attack, ..good };
        let screened = |targets| Options { objective: Objective::Paper { targets }, ..good };
        refused(with(TrainingAttack { eps: f32::NAN, ..good.attack }), "eps is NaN");
        refused(with(TrainingAttack { size: -1.0, ..good.attack }), "the step of the attack is -1");
        refused(with(TrainingAttack { start: Start::Random { radius: 0.3 }, ..good.attack }), "from 0 to eps = 0.2");
        refused(with(TrainingAttack { clip: Some((1.0, 0.0)), ..good.attack }), "want them in order");
        refused(screened(Targets::Top { keep: 0, after: 0 }), "want 1 to 4");
        refused(screened(Targets::Probed { keep: 5, steps: 1 }), "want 1 to 4");
        refused(screened(Targets::Probed { keep: 1, steps: 0 }), "want at least 1");
        refused(screened(Targets::Proven { after: 12, slack: 0.0 }), "the attack has 11");
        refused(screened(Targets::Proven { after: 1, slack: f32::NAN }), "the slack is NaN");
        refused(Options { objective: Objective::Trades { beta: -1.0 }, ..good }, "beta is -1");
    }
}

//! A robust training from what people say of it: a method by name, epochs and rates instead of steps.

use serde::{Deserialize, Serialize};
use standoff::error::nearest;

use super::{Attack, Batching, IntervalOptions, Objective, Options, Order, Ramp, Start, Targets};
use crate::{Error, StepKind};

/// What stands for the inner maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The largest loss of ten targeted attacks: the paper's finite maximum.
    Paper,
    /// One attack without a target, from a random start.
    Madry,
    /// The plain loss, and beta times the divergence under attack.
    Trades,
    /// A bound that no attack can exceed: interval bound propagation.
    Ibp,
    /// No attack.
    Natural,
}

impl Method {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 5] = [Self::Paper, Self::Madry, Self::Trades, Self::Ibp, Self::Natural];

    /// Its name on the command line, in Python and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Madry => "madry",
            Self::Trades => "trades",
            Self::Ibp => "ibp",
            Self::Natural => "natural",
        }
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Paper => "The largest loss of ten targeted attacks: the paper's finite maximum",
            Self::Madry => "One attack without a target, from a random start",
            Self::Trades => "The plain loss, and beta times the divergence under attack",
            Self::Ibp => "A bound that no attack can exceed: interval bound propagation",
            Self::Natural => "No attack",
        }
    }

    /// The method of that name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let names = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| {
            let hint = nearest(name, names).map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default();
            Error::Mismatch(format!("unknown method `{name}`{hint}; there are {}", names.join(", ")))
        })
    }
}

/// A robust training, apart from its data, its model and where that starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What stands for the inner maximum.
    pub method: Method,
    /// How far every pixel may move, from 0 to 1.
    pub eps: f64,
    /// Steps of the attack.
    pub steps: usize,
    /// Their size; 0 for a quarter of eps.
    pub step_size: f64,
    /// How they follow the slope.
    pub step_kind: StepKind,
    /// Steps without a target that all targets of `paper` share first.
    pub warm_steps: usize,
    /// Which targets `paper` follows to the end: `all`, `proven`, or a number, the most promising.
    pub targets: String,
    /// A number of targets is chosen by a probe of so many steps; 0 for `screen_after` instead.
    pub probe: usize,
    /// Steps of the attack itself after which targets are chosen.
    pub screen_after: usize,
    /// The regulariser of the answer of each image, in `paper`.
    pub lambda: f64,
    /// The weight of the divergence in `trades`.
    pub beta: f64,
    /// What the plain loss counts in `ibp`, once the ramp is over.
    pub kappa: f64,
    /// Epochs before eps grows.
    pub warmup: f64,
    /// Epochs in which eps grows.
    pub ramp: f64,
    /// Stages: so many epochs at this rate.
    pub schedule: Vec<(f64, f64)>,
    /// Images per step.
    pub batch: usize,
    /// Their order.
    pub order: Order,
    /// Of random starts.
    pub seed: u64,
}

impl Plan {
    /// Refuses what cannot be run, before anything is.
    pub fn check(&self) -> Result<(), Error> {
        let bad = |why: String| Err(Error::Mismatch(why));
        if !(self.eps >= 0.0 && self.eps <= 1.0) {
            return bad(format!(
                "eps is {}: want a number from 0 to 1 (pixels are from 0 to 1; write 8/255 for levels of 255)",
                self.eps
            ));
        }
        let natural = self.method == Method::Natural || self.method == Method::Ibp;
        if self.steps == 0 && !natural {
            return bad("an attack of 0 steps attacks nothing; that is the method natural".into());
        }
        if self.lambda != 0.0 && self.method != Method::Paper {
            let method = self.method.name();
            return bad(format!("lambda regularises the answers of the method paper; {method} has none"));
        }
        for (name, value) in [("lambda", self.lambda), ("warmup", self.warmup), ("ramp", self.ramp)] {
            if !(value >= 0.0 && value.is_finite()) {
                return bad(format!("{name} is {value}: want zero or a positive number"));
            }
        }
        let epochs = self.epochs();
        if !(epochs > 0.0 && epochs.is_finite()) {
            return bad(format!("epochs is {epochs}: want a positive number"));
        }
        if self.schedule.iter().any(|stage| !(stage.0 > 0.0 && stage.0.is_finite())) {
            return bad("a stage of the schedule has no epochs; want a positive number".into());
        }
        self.targets().map(drop)
    }

    /// Epochs in all.
    pub fn epochs(&self) -> f64 {
        self.schedule.iter().map(|stage| stage.0).sum()
    }

    /// Steps in so many epochs over `n` images, at least one.
    pub fn steps_in(&self, epochs: f64, n: usize) -> u64 {
        ((epochs * n as f64 / self.batch.max(1) as f64).round() as u64).max(1)
    }

    /// The stages in steps: where they end is rounded, so that their sum is what all epochs together make; a stage of less than half a
    /// step is none.
    pub fn stages(&self, n: usize) -> Vec<(u64, f64)> {
        let (mut epochs, mut begin) = (0.0, 0);
        let stage = |&(length, rate): &(f64, f64)| {
            epochs += length;
            let end = self.steps_in(epochs, n);
            let steps = end - begin;
            begin = end;
            (steps > 0).then_some((steps, rate))
        };
        self.schedule.iter().filter_map(stage).collect()
    }

    fn ramp_of(&self, n: usize) -> Ramp {
        let steps = |epochs: f64| if epochs > 0.0 { self.steps_in(epochs, n) } else { 0 };
        Ramp { start: steps(self.warmup), steps: steps(self.ramp) }
    }

    fn batching(&self) -> Batching {
        Batching::Size { size: self.batch, order: self.order }
    }

    fn targets(&self) -> Result<Targets, Error> {
        Ok(match self.targets.as_str() {
            "all" => Targets::All,
            "proven" => Targets::Proven { after: self.screen_after, slack: self.lambda as f32 },
            number => match number.parse() {
                Ok(keep) if self.probe > 0 => Targets::Probed { keep, steps: self.probe },
                Ok(keep) => Targets::Top { keep, after: self.screen_after },
                Err(_) => {
                    return Err(Error::Mismatch(format!(
                        "targets is `{number}`: want `all`, `proven` or a number, how many are followed to the end"
                    )));
                }
            },
        })
    }

    /// The game of a method with attacks, on `n` images; nothing for `ibp`.
    pub fn options(&self, n: usize) -> Result<Option<Options>, Error> {
        let eps = self.eps as f32;
        let (objective, attack) = match self.method {
            Method::Paper => (Objective::Paper { targets: self.targets()? }, Attack::published(eps)),
            Method::Madry => (Objective::Madry, Attack::madry(eps, self.steps)),
            Method::Trades => (Objective::Trades { beta: self.beta }, Attack::trades(eps, self.steps)),
            Method::Natural => (Objective::Natural, Attack::published(eps)),
            Method::Ibp => return Ok(None),
        };
        let start = match (self.method, self.warm_steps) {
            (Method::Paper, steps) if steps > 0 => Start::Warm { steps },
            _ => attack.start,
        };
        let size = if self.step_size > 0.0 { self.step_size as f32 } else { attack.size };
        let attack = Attack { steps: self.steps, kind: self.step_kind, size, start, ramp: self.ramp_of(n), ..attack };
        Ok(Some(Options { objective, attack, batching: self.batching(), seed: self.seed }))
    }

    /// The game of `ibp`, on `n` images.
    pub fn interval(&self, n: usize) -> IntervalOptions {
        let image = IntervalOptions::image(self.eps as f32, self.ramp_of(n), self.batching());
        IntervalOptions { kappa: self.kappa, ..image }
    }
}

//! Settings that every training has: the optimiser and the order of mini-batches.

use standoff::outer::{AdamOptions, Recipe, Schedule, SgdOptions};
use standoff_nn::data::Order;

use crate::error::{At, Result};
use crate::named::named_enum;

named_enum! {
    /// The optimiser of the network's parameters.
    pub enum Optimizer {
        Gd = "gd": "Gradient descent",
        Sgd = "sgd": "Stochastic gradient descent, with `momentum` if given",
        Adam = "adam": "Adam",
    }
}

impl Optimizer {
    /// The optimiser with its schedule: stages of so many steps at a rate. With `anew` its state is reset at every stage.
    pub fn recipe(self, momentum: f64, stages: &[(u64, f64)], anew: bool) -> Result<Recipe> {
        self.decayed((momentum, 0.0), stages, anew)
    }

    /// The same with momentum and weight decay: an L2 penalty `decay/2 |x|^2` on all parameters. Gradient descent has none.
    pub fn decayed(self, (momentum, decay): (f64, f64), stages: &[(u64, f64)], anew: bool) -> Result<Recipe> {
        let schedule = Schedule::new(stages).at(|| "the schedule")?;
        let recipe = match self {
            Self::Gd => Recipe::descent(schedule),
            Self::Sgd => Recipe::sgd(SgdOptions { momentum, weight_decay: decay, ..SgdOptions::default() }, schedule),
            Self::Adam => Recipe::adam(AdamOptions { weight_decay: decay, ..AdamOptions::default() }, schedule),
        };
        Ok(if anew { recipe.anew() } else { recipe })
    }
}

named_enum! {
    /// The order of mini-batches.
    pub enum BatchOrder {
        Shuffled = "shuffled": "Shuffled for every epoch, from the seed",
        AsIs = "as-is": "The order of the data (the published code)",
    }
}

impl BatchOrder {
    /// The order in a run with a seed.
    pub fn of(self, seed: u64) -> Order {
        match self {
            Self::Shuffled => Order::Shuffled(seed),
            Self::AsIs => Order::AsIs,
        }
    }
}

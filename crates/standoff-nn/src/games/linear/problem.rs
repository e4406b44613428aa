//! A fair linear problem: rows, targets, weights, groups and the loss.

use super::Rows;
use super::cells::Cells;
use crate::Error;
use crate::data::Groups;
use crate::kernels::linear_loss::RowLoss;

/// The loss of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinearLoss {
    /// Cross-entropy of this many classes; targets are 0, 1, ... Two classes have one output, the log-odds of class 1.
    Logistic {
        /// The number of classes.
        classes: usize,
    },
    /// Half the squared residual.
    Squared,
    /// Half the squared residual up to `delta`, linear beyond it.
    Huber {
        /// The residual where the loss becomes linear.
        delta: f64,
    },
    /// The absolute residual, smoothed: at most `delta / 2` below it.
    Absolute {
        /// The residual below which it is smoothed.
        delta: f64,
    },
}

impl LinearLoss {
    /// The number of outputs.
    pub fn outputs(self) -> usize {
        match self {
            Self::Logistic { classes } if classes > 2 => classes,
            _ => 1,
        }
    }

    /// The most that the loss can be below the loss of its name.
    pub fn smoothing(self) -> f64 {
        if let Self::Absolute { delta } = self { 0.5 * delta } else { 0.0 }
    }

    pub(super) fn of_row(self) -> RowLoss {
        match self {
            Self::Logistic { classes } if classes > 2 => RowLoss::Softmax,
            Self::Logistic { .. } => RowLoss::Logistic,
            Self::Squared => RowLoss::Squared,
            Self::Huber { delta } => RowLoss::Huber { delta },
            Self::Absolute { delta } => RowLoss::Absolute { delta },
        }
    }

    fn check(self, targets: &[f64]) -> Result<(), Error> {
        if let Some(place) = targets.iter().position(|t| !t.is_finite()) {
            return Err(Error::NonFinite(format!("target {place}")));
        }
        match self {
            Self::Logistic { classes } => {
                if classes < 2 {
                    return Err(Error::Mismatch(format!("{classes} classes; a classifier needs at least 2")));
                }
                let bad = targets.iter().find(|&&t| !(t >= 0.0 && t < classes as f64 && t.fract() == 0.0));
                bad.map_or(Ok(()), |t| Err(Error::Mismatch(format!("target {t} is not one of {classes} classes"))))
            }
            Self::Squared => Ok(()),
            Self::Huber { delta } | Self::Absolute { delta } if delta > 0.0 && delta.is_finite() => Ok(()),
            Self::Huber { delta } | Self::Absolute { delta } => {
                Err(Error::Mismatch(format!("delta is {delta}; want a number above 0")))
            }
        }
    }
}

/// The data of a fair linear model and its loss.
#[derive(Debug, Clone)]
pub struct LinearProblem<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) targets: &'a [f64],
    pub(super) weights: Option<&'a [f64]>,
    pub(super) cells: Cells,
    pub(super) loss: LinearLoss,
    pub(super) intercept: bool,
    /// Factors of the losses by class; empty for 1.
    pub(super) costs: Vec<f64>,
    /// Subtracted from the losses of the groups; empty for nothing.
    pub(super) offsets: Vec<f64>,
}

impl<'a> LinearProblem<'a> {
    /// Rows, one target for each, and their groups, which may overlap.
    pub fn new(rows: Rows<'a>, targets: &'a [f64], groups: &Groups, loss: LinearLoss) -> Result<Self, Error> {
        let members: Vec<&[u32]> = (0..groups.len()).map(|group| groups.rows(group)).collect();
        Self::of_members(rows, targets, &members, loss)
    }

    /// The same from the rows of each group.
    pub fn of_members(rows: Rows<'a>, targets: &'a [f64], members: &[&[u32]], loss: LinearLoss) -> Result<Self, Error> {
        if rows.is_empty() || targets.len() != rows.len() {
            return Err(Error::Mismatch(format!("{} targets for {} rows", targets.len(), rows.len())));
        }
        let ordered = |of: &[u32]| of.windows(2).all(|pair| pair[0] < pair[1]);
        let fits = |of: &[u32]| ordered(of) && of.last().is_none_or(|&last| (last as usize) < rows.len());
        if members.is_empty() || !members.iter().all(|of| fits(of)) {
            let text = format!("the groups are not ascending numbers of these {} rows", rows.len());
            return Err(Error::Mismatch(text));
        }
        loss.check(targets)?;
        let cells = Cells::new(members, rows.len(), |_| 1.0)?;
        Self { rows, targets, weights: None, cells, loss, intercept: true, costs: Vec::new(), offsets: Vec::new() }
            .checked()
    }

    /// Weights of the rows, instead of 1 each.
    pub fn weighted(mut self, weights: &'a [f64]) -> Result<Self, Error> {
        if weights.len() != self.rows.len() {
            return Err(Error::Mismatch(format!("{} weights for {} rows", weights.len(), self.rows.len())));
        }
        if let Some(place) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
            return Err(Error::Mismatch(format!("weight {place} is {}; want a number of at least 0", weights[place])));
        }
        self.cells.weights.fill(0.0);
        for (&cell, w) in self.cells.of_row.iter().zip(weights) {
            self.cells.weights[cell as usize] += w;
        }
        self.weights = Some(weights);
        self.checked()
    }

    /// Multiplies the losses of every class by its cost. Weights change what a mean is over; costs do not.
    pub fn with_costs(mut self, costs: &[f64]) -> Result<Self, Error> {
        let classes = if let LinearLoss::Logistic { classes } = self.loss { classes } else { 0 };
        if costs.len() != classes || costs.iter().any(|c| !(*c >= 0.0 && c.is_finite())) {
            return Err(Error::Mismatch(format!("costs {costs:?}: want {classes} numbers of at least 0")));
        }
        self.costs = costs.to_vec();
        Ok(self)
    }

    /// Subtracts a number from the mean loss of each group among which y chooses; none for nothing. With the best loss that each group
    /// can have alone, y weighs the groups by their regret.
    pub fn minus(mut self, offsets: &[f64]) -> Result<Self, Error> {
        if !(offsets.is_empty() || offsets.len() == self.groups()) || offsets.iter().any(|o| !o.is_finite()) {
            let groups = self.groups();
            return Err(Error::Mismatch(format!("got the numbers {offsets:?} to subtract from {groups} losses")));
        }
        self.offsets = offsets.to_vec();
        Ok(self)
    }

    /// The factor of a row's loss.
    #[inline(always)]
    pub(super) fn factor(&self, row: usize) -> f64 {
        let weight = self.weights.map_or(1.0, |w| w[row]);
        if self.costs.is_empty() { weight } else { weight * self.costs[self.targets[row] as usize] }
    }

    /// Leaves the intercept out.
    #[must_use]
    pub fn without_intercept(mut self) -> Self {
        self.intercept = false;
        self
    }

    fn checked(self) -> Result<Self, Error> {
        let empty = (0..self.cells.of_group.len()).find(|&g| !(self.group_weight(g) > 0.0));
        match empty {
            Some(g) => Err(Error::Mismatch(format!("group {g} has no samples with a weight; leave it out"))),
            None => Ok(self),
        }
    }

    /// The sum of the weights of a group.
    pub fn group_weight(&self, group: usize) -> f64 {
        self.cells.of_group[group].iter().map(|&cell| self.cells.weights[cell as usize]).sum()
    }

    /// The sum of all weights.
    pub fn weight(&self) -> f64 {
        self.cells.weights.iter().sum()
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        self.cells.of_group.len()
    }

    /// The number of parameters: `[output][feature]`, then one intercept per output.
    pub fn parameters(&self) -> usize {
        self.loss.outputs() * (self.rows.width() + usize::from(self.intercept))
    }
}

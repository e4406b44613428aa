//! Which attacks, in which ball, judged how: the published evaluation, and the one to rely on.

use super::{Attack, Ball, Climb, Grid};
use crate::Error;

/// What counts as the result of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// The worst point it comes across. An image that has fallen is left out of all that follows, so that an attack's own figures
    /// are of the images that stood before it.
    Worst,
    /// The worst point it comes across, and every attack tries every image: figures for each attack alone.
    Every,
    /// The last point, on every image, also those that were misclassified before: the published evaluation.
    Last,
}

/// A whole evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Protocol {
    /// One after the other.
    pub attacks: Vec<Attack>,
    /// Where the images may lie.
    pub ball: Ball,
    /// What counts.
    pub judge: Judge,
}

impl Protocol {
    /// The published evaluation: FGSM, not clipped to [0, 1], and PGD of 40 steps of 0.01 from the image itself, both climbing the
    /// cross-entropy; images truncated to 256 levels.
    pub fn paper(eps: f64) -> Self {
        Self {
            attacks: vec![Attack::Fgsm, paper_pgd(40)],
            ball: Ball { strict: false, ..Ball::linf(eps).stored(Grid::Truncate) },
            judge: Judge::Last,
        }
    }

    /// The ensemble to rely on, strong and cheap attacks first.
    pub fn standard(eps: f64) -> Self {
        Self { attacks: standard_attacks(), ball: Ball::linf(eps), judge: Judge::Worst }
    }

    /// An attack by its name, as [`Attack::named`]; under the paper's protocol `pgd` has the published step and start.
    pub fn attack(&self, name: &str) -> Result<Attack, Error> {
        let attack = Attack::named(name)?;
        Ok(match (self.judge, attack) {
            (Judge::Last, Attack::Pgd { steps, restarts: 1, .. }) if !name.contains(':') => paper_pgd(steps),
            (_, attack) => attack,
        })
    }
}

fn paper_pgd(steps: usize) -> Attack {
    Attack::Pgd { steps, restarts: 1, step: Some(0.01), random_start: false, loss: Climb::CrossEntropy }
}

/// Margins first: the cheapest attack that turns most of what can be turned. Then blurred gradients, which pass thresholds; every
/// class in turn; the restarts that others report; and at last, on what still stands, an attack that no gradient can mislead.
fn standard_attacks() -> Vec<Attack> {
    vec![
        Attack::Apgd { steps: 100, restarts: 1, loss: Climb::Margin },
        Attack::Smooth { steps: 300, restarts: 2 },
        Attack::ApgdTargeted { steps: 50, targets: 9, restarts: 1 },
        Attack::Pgd { steps: 100, restarts: 10, step: None, random_start: true, loss: Climb::CrossEntropy },
        Attack::Square { queries: 2000 },
    ]
}

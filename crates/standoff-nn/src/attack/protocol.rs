//! Protocols: the attacks, the ball and the rule that decides which images are broken. The published one, and the standard one.

use super::{Attack, AttackLoss, Ball, Grid, Norm};
use crate::Error;

/// The points of an attack that count as its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// The worst point that it evaluates. Later attacks skip broken images, so the figures of an attack are of the images that no
    /// attack before it broke.
    Worst,
    /// The worst point that it evaluates, and every attack tries every image: each attack has its own figures.
    Every,
    /// The last point, on every image, also those that were misclassified before: the published evaluation.
    Last,
}

/// A complete evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Protocol {
    /// The attacks, in order.
    pub attacks: Vec<Attack>,
    /// The set of allowed images.
    pub ball: Ball,
    /// The points that count.
    pub judge: Judge,
}

impl Protocol {
    /// The published evaluation: FGSM, not clipped to [0, 1], and PGD of 40 steps of 0.01 from the image itself, both on the
    /// cross-entropy; images truncated to 256 levels.
    pub fn paper(eps: f64) -> Self {
        Self {
            attacks: vec![Attack::Fgsm, paper_pgd(40)],
            ball: Ball { strict: false, ..Ball::linf(eps).stored(Grid::Truncate) },
            judge: Judge::Last,
        }
    }

    /// The recommended ensemble, strong and cheap attacks first.
    pub fn standard(eps: f64) -> Self {
        Self { attacks: standard_attacks(), ball: Ball::linf(eps), judge: Judge::Worst }
    }

    /// The ensemble that is published as AutoAttack (Croce and Hein 2020, 2021) with its budgets: APGD on the cross-entropy, targeted
    /// APGD, targeted FAB, the square attack. In L1 APGD makes five runs, and targets five classes.
    pub fn autoattack(norm: Norm, eps: f64) -> Self {
        Self { attacks: autoattack(norm), ball: Ball::of_norm(norm, eps), judge: Judge::Worst }
    }

    /// The attacks of that name in a norm: `standard`, `autoattack`, or an attack as in [`attack`](Self::attack).
    pub fn attacks_named(&self, name: &str) -> Result<Vec<Attack>, Error> {
        Ok(match name {
            "standard" => standard_attacks(),
            "autoattack" => autoattack(self.ball.norm),
            _ => vec![self.attack(name)?],
        })
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
    Attack::Pgd { steps, restarts: 1, step: Some(0.01), random_start: false, loss: AttackLoss::CrossEntropy }
}

/// The margin first: it breaks the most images at the least cost. Then smoothed gradients, which pass thresholds; every class in turn;
/// PGD with restarts, which publications report; and at last, on the images that are left, an attack without gradients.
fn standard_attacks() -> Vec<Attack> {
    vec![
        Attack::Apgd { steps: 100, restarts: 1, loss: AttackLoss::Margin },
        Attack::Smooth { steps: 300, restarts: 2 },
        Attack::ApgdTargeted { steps: 50, targets: 9, restarts: 1 },
        Attack::Pgd { steps: 100, restarts: 10, step: None, random_start: true, loss: AttackLoss::CrossEntropy },
        Attack::Square { queries: 2000 },
    ]
}

fn autoattack(norm: Norm) -> Vec<Attack> {
    let (restarts, targets) = if norm == Norm::L1 { (5, 5) } else { (1, 9) };
    vec![
        Attack::Apgd { steps: 100, restarts, loss: AttackLoss::CrossEntropy },
        Attack::ApgdTargeted { steps: 100, targets, restarts: 1 },
        Attack::Fab { steps: 100, targets: 9, restarts: 1 },
        Attack::Square { queries: 5000 },
    ]
}

/// The attacks that need no gradients.
pub const BLACK_BOX: [Attack; 2] = [Attack::Square { queries: 5000 }, Attack::Random { tries: 100 }];

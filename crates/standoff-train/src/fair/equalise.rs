//! The game of a training by what it makes equal: losses, regrets, errors, or errors of one kind.

use std::sync::{Arc, PoisonError};

use standoff::methods::{Reply, Train};
use standoff::{Point, Training};
use standoff_nn::data::{Dataset, Groups};
use standoff_nn::fair::GroupGame;
use standoff_nn::linear::LogisticTask;

use super::config::{Equalise, FairConfig, Solver};
use super::task::FairTask;
use super::train::Spec;
use crate::error::{At, Result, error, refuse};
use crate::training::Control;

/// The training data of a run in the groups of its game.
pub(super) fn data<'a>(task: &'a FairTask, spec: &Spec) -> &'a Arc<Dataset> {
    task.one_sided.as_ref().filter(|_| spec.method.chooses_weights()).unwrap_or(&task.train)
}

/// The game of a run before its method changes it. `offsets` are subtracted from the losses of the groups.
pub(super) fn game(
    task: &FairTask,
    config: &FairConfig,
    spec: &Spec,
    offsets: Vec<f64>,
    threads: usize,
) -> Result<GroupGame> {
    let game = GroupGame::new(&task.model, data(task, spec).clone(), config.batching(spec.seed), threads)?;
    Ok(match config.equalise {
        Equalise::Error if spec.method.chooses_weights() => game.of_errors(),
        _ if offsets.is_empty() => game,
        _ => game.minus(offsets)?,
    })
}

/// The loss that each group has when it is trained alone, where it is subtracted; else nothing. It is computed once for a split, by the
/// solver or by the schedule of the experiment from the weights of its first seed. `None` when interrupted.
pub(super) fn offsets(
    task: &FairTask,
    config: &FairConfig,
    spec: &Spec,
    threads: usize,
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    if config.equalise != Equalise::Excess || !spec.method.chooses_weights() {
        return Ok(Some(Vec::new()));
    }
    let mut kept = task.alone.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.is_none() {
        *kept = match config.solver {
            Solver::Certificate => {
                let found = logistic(task, config, spec, threads, control).alone()?;
                // An interrupt of one rank ends all of them.
                if control.all_end()? { None } else { found }
            }
            Solver::Steps => alone(task, config, threads, control)?,
        };
    }
    Ok(kept.clone())
}

/// The loss of each group after steps on its samples alone. `None` when interrupted.
fn alone(task: &FairTask, config: &FairConfig, threads: usize, control: &Control) -> Result<Option<Vec<f64>>> {
    let groups = task.train.groups().len();
    let mut best = Vec::with_capacity(groups);
    for g in 0..groups {
        let game = GroupGame::new(&task.model, task.train.clone(), config.batching(config.seed), threads)?;
        let mut game = game.at_corners();
        let method = Train::new(&game, Reply::Held, &config.recipe()?)?;
        let corner: Vec<f32> = (0..groups).map(|other| f32::from(u8::from(other == g))).collect();
        let start = Point::new(&task.start(config.seed), &corner);
        let mut training = Training::new(&mut game, &start, Box::new(method)).at(|| "the start")?;
        for _ in 0..config.steps() {
            if control.all_end()? {
                return Ok(None);
            }
            training.step().map_err(|reason| error!(EndedEarly, "training a group alone ended early: {reason:?}"))?;
        }
        training.measure(0.0).map_err(|reason| error!(EndedEarly, "training a group alone ended early: {reason:?}"))?;
        best.push(training.game().group_losses()[g]);
    }
    Ok(Some(best))
}

/// The run as a task for the solver.
pub(super) fn logistic<'a>(
    task: &'a FairTask,
    config: &FairConfig,
    spec: &Spec,
    threads: usize,
    control: &Control,
) -> LogisticTask<'a> {
    LogisticTask {
        model: &task.model,
        data: data(task, spec),
        method: spec.method,
        lambda: spec.lambda,
        decay: config.weight_decay,
        threads,
        interrupt: Some(control.stop.clone()),
    }
}

/// The training data in other groups: of each group the rows that can have the error, and one more group of all rows. The mean loss
/// is so a corner of the simplex too, and answers a classifier that avoids the error at the cost of everything else.
pub(super) fn one_sided(train: &Dataset, equalise: Equalise, groups: &[String], classes: &[String]) -> Result<Dataset> {
    let positive = classes.len().saturating_sub(1) as u16;
    if classes.len() != 2 {
        let n = classes.len();
        refuse!(Setting, "--equalise fpr and fnr need two classes, the second is the positive one; the data has {n}");
    }
    let wanted = |row: &u32| (train.labels()[*row as usize] == positive) == (equalise == Equalise::Fnr);
    let own = |g: usize| train.groups().rows(g).iter().copied().filter(wanted).collect();
    let mut members: Vec<Vec<u32>> = (0..train.groups().len()).map(own).collect();
    if let Some(empty) = members.iter().position(Vec::is_empty) {
        let class = &classes[usize::from(equalise == Equalise::Fnr)];
        refuse!(Data, "group {} has no training row of class {class}: it cannot have this error", groups[empty]);
    }
    members.push((0..train.len() as u32).collect());
    Ok(train.clone().in_groups(Groups::overlapping(&members, train.len())?)?)
}

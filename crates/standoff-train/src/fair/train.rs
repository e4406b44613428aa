//! One run of fair training: a method and a seed.

use std::collections::BTreeMap;
use std::path::Path;

use standoff::methods::Train;
use standoff::{Point, Training};
use standoff_nn::data::Dataset;
use standoff_nn::fair::{FairMethod, GroupGame};
use standoff_nn::{Ask, Engine, Loss, Outcome, Weights};

use super::config::FairConfig;
use super::fairness::fairness;
use super::results::{Fairness, GroupScore, RunResult};
use super::task::FairTask;
use crate::document::FAIR_RUN;
use crate::error::{At, Result, error};
use crate::training::run::{End, Finished, Pace, ResultFile, run_or_find};
use crate::training::{Control, Measurement, Run, Trainable};

/// The file with the result of one run; `results.json` has those of all runs.
pub const RESULT: ResultFile = ResultFile { name: "result.json", format: FAIR_RUN };

/// A method, its lambda and a seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// The method.
    pub method: FairMethod,
    /// The regulariser of `minmax-reg`; 0 for the others.
    pub lambda: f64,
    /// The seed of initial weights and batches.
    pub seed: u64,
}

impl Spec {
    /// Every method with every seed; `lambdas` replace that of the configuration.
    pub fn all(config: &FairConfig, lambdas: &[f64]) -> Vec<Self> {
        let mut specs = Vec::new();
        for seed in config.seed..config.seed.saturating_add(config.seeds) {
            for &method in &config.methods {
                match method {
                    FairMethod::MinmaxReg => specs.extend(lambdas.iter().map(|&lambda| Self { method, lambda, seed })),
                    _ => specs.push(Self { method, lambda: 0.0, seed }),
                }
            }
        }
        specs
    }

    /// The folder of the run inside that of the experiment.
    pub fn folder(&self) -> String {
        match self.method {
            FairMethod::MinmaxReg => format!("minmax-reg-{}-seed-{}", self.lambda, self.seed),
            method => format!("{}-seed-{}", method.name(), self.seed),
        }
    }
}

/// Trains, continues or finds the result. `None` when interrupted.
pub fn run(
    task: &FairTask,
    config: &FairConfig,
    spec: &Spec,
    out: &Path,
    threads: usize,
    control: &Control,
) -> Result<Option<RunResult>> {
    let pace = Pace { folder: Some(out.join(spec.folder())), cadence: config.cadence(), ..in_memory(task, config) };
    run_or_find(pace, control, |pace| train(task, config, spec, (pace, threads), control))
}

/// Trains in memory and measures at the end. `None` when interrupted.
pub fn fit(
    task: &FairTask,
    config: &FairConfig,
    spec: &Spec,
    threads: usize,
    control: &Control,
) -> Result<Option<Finished<Measurement, RunResult>>> {
    train(task, config, spec, (in_memory(task, config), threads), control)
}

/// The pace of a run without a folder, measured at its end.
fn in_memory(task: &FairTask, config: &FairConfig) -> Pace {
    let epoch = task.steps_per_epoch(config.batch);
    Pace { folder: None, steps: config.steps(), cadence: 0, epoch, result: RESULT }
}

fn train(
    task: &FairTask,
    config: &FairConfig,
    spec: &Spec,
    (pace, threads): (Pace, usize),
    control: &Control,
) -> Result<Option<Finished<Measurement, RunResult>>> {
    let terms = config.terms(spec.lambda);
    let game = GroupGame::new(&task.model, task.train.clone(), config.batching(spec.seed), threads)?;
    let mut game = spec.method.game(game, &terms)?;
    let method = Train::new(&game, spec.method.reply(&terms), &config.recipe()?)?;
    let start = Point::new(&task.start(spec.seed), &spec.method.start(&task.sizes()));
    let training = Training::new(&mut game, &start, Box::new(method)).at(|| "the start")?;
    let judge = Engine::new(&task.model, threads)?;
    let trainable = FairTraining { judge, outcome: Outcome::default(), task, config, spec };
    Run::open(training, trainable, pace, control)?.go(control)
}

/// The measurements of a fair training.
pub type FairMetrics = Measurement;

struct FairTraining<'a> {
    judge: Engine,
    outcome: Outcome,
    task: &'a FairTask,
    config: &'a FairConfig,
    spec: &'a Spec,
}

impl FairTraining<'_> {
    /// Group losses on all training data. Measuring has just computed them, except for `cvar`, which ignores groups.
    fn train_losses(&mut self, training: &Training<'_, GroupGame>) -> Result<Vec<f64>> {
        if self.spec.method != FairMethod::Cvar {
            return Ok(training.game().group_losses().to_vec());
        }
        self.judge.set_weights(&training.point().x)?;
        self.judge.pass(&self.task.train.all(), Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        Ok(self.outcome.group_losses.clone())
    }
}

impl Trainable for FairTraining<'_> {
    type Game = GroupGame;
    type Outcome = RunResult;

    fn name(&self) -> String {
        self.spec.folder()
    }

    /// Value and certificate on all training data, and correct predictions on the test part.
    fn measure(&mut self, training: &mut Training<'_, GroupGame>, seconds: f64) -> Result<Measurement> {
        let record =
            training.measure(seconds).map_err(|reason| error!(EndedEarly, "the run ended early: {reason:?}"))?;
        let losses = self.train_losses(training)?;
        let mut correct = Vec::new();
        if let Some(test) = &self.task.test {
            self.judge.set_weights(&training.point().x)?;
            self.judge.pass(&test.all(), Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
            correct.clone_from(&self.outcome.group_correct);
        }
        Ok(Measurement {
            losses,
            weights: training.measured().y.iter().map(|&t| f64::from(t)).collect(),
            correct,
            gradients: record.calls.gradients(),
            seconds,
            ..Measurement::new(record.iteration, record.value, record.certificate)
        })
    }

    fn losses(&self, training: &Training<'_, GroupGame>, out: &mut Vec<f64>) {
        out.extend_from_slice(training.game().group_losses());
    }

    fn loss_names(&self) -> Vec<String> {
        if self.spec.method == FairMethod::Cvar { vec!["tail".into()] } else { self.task.groups.clone() }
    }

    fn figures(&self, line: &Measurement) -> String {
        let largest = line.losses.iter().copied().max_by(f64::total_cmp).unwrap_or(f64::NAN);
        let sizes = self.task.test.iter().flat_map(|test| test.groups().sizes());
        let shares = line.correct.iter().zip(sizes).filter(|(_, n)| *n > 0).map(|(c, n)| 100.0 * *c as f64 / n as f64);
        let worst = shares.min_by(f64::total_cmp).map(|share| format!("  worst group {share:.1} %"));
        format!("loss {largest:.4}{}", worst.unwrap_or_default())
    }

    fn fault(&self, game: &GroupGame) -> Option<String> {
        game.error().map(ToString::to_string)
    }

    /// Evaluates on the test part.
    fn finish(
        &mut self,
        training: &Training<'_, GroupGame>,
        last: &Measurement,
        end: &End<'_>,
    ) -> Result<(Weights, RunResult)> {
        self.judge.set_weights(&training.point().x)?;
        let part = self.task.test.as_ref();
        let (test, fair) = part.map(|part| judge(&self.judge, part, &mut self.outcome)).transpose()?.unzip();
        // Groups by label have different predictions by intent.
        let apart = self.task.preprocessing.as_ref().is_some_and(|p| !p.by_label());
        let result = RunResult {
            method: self.spec.method.name().into(),
            lambda: self.spec.lambda,
            seed: self.spec.seed,
            test: test.unwrap_or_else(|| vec![GroupScore::NONE; self.task.groups.len()]),
            train_losses: last.losses.clone(),
            weights: last.weights.clone(),
            x_gap: last.x_gap,
            y_gap: last.y_gap,
            value: last.value,
            variation: end.curve.variation(),
            steps: training.steps(),
            seconds: end.seconds,
            fairness: fair.filter(|_| apart),
            confusion: part.map(|part| confusion(part, &self.outcome.predictions)).unwrap_or_default(),
        };
        Ok((self.task.weights(&training.point().x, self.config.scale)?, result))
    }
}

/// For each group: label, prediction, and the number of samples with both. Predictions are in the order of the groups.
fn confusion(data: &Dataset, predictions: &[u16]) -> Vec<Vec<[usize; 3]>> {
    let mut said = predictions.iter();
    let group = |g: usize| {
        let mut counts = BTreeMap::new();
        for (&row, &prediction) in data.groups().rows(g).iter().zip(&mut said) {
            *counts.entry((data.labels()[row as usize], prediction)).or_insert(0) += 1;
        }
        counts.into_iter().map(|((label, prediction), n)| [label.into(), prediction.into(), n]).collect()
    };
    (0..data.groups().len()).map(group).collect()
}

/// Accuracy and loss of each group, and fairness measures.
pub fn judge(engine: &Engine, data: &Dataset, outcome: &mut Outcome) -> Result<(Vec<GroupScore>, Fairness)> {
    let batch = data.all();
    engine.pass(&batch, Loss::CrossEntropy, Ask::Values, outcome)?;
    let mut scores = Vec::new();
    let (mut labels, mut groups) = (Vec::new(), Vec::new());
    for g in 0..data.groups().len() {
        let rows = data.groups().rows(g);
        labels.extend(rows.iter().map(|&r| data.labels()[r as usize]));
        groups.extend(rows.iter().map(|_| g as u16));
        // An empty group has no loss.
        let loss = if rows.is_empty() { f64::NAN } else { outcome.group_losses[g] };
        scores.push(GroupScore { correct: outcome.group_correct[g], total: rows.len(), loss });
    }
    let fair = fairness(&outcome.predictions, &labels, &groups, engine.model().outputs());
    Ok((scores, fair))
}

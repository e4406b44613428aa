//! One run of fair training: a method and a seed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use standoff::methods::Train;
use standoff::{Method, Point, Training};
use standoff_nn::data::Dataset;
use standoff_nn::fair::{FairMethod, GroupGame};
use standoff_nn::{Ask, Engine, Loss, Outcome, Weights};

use super::config::FairConfig;
use super::equalise;
use super::fairness::fairness;
use super::results::{Fairness, GroupScore, RunResult, average, worst};
use super::row_hits::RowHits;
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
    let own = in_memory(task, config, spec);
    let pace = Pace { folder: Some(out.join(spec.folder())), cadence: config.cadence(own.steps), ..own };
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
    train(task, config, spec, (in_memory(task, config, spec), threads), control)
}

/// The pace of a run without a folder, measured at its end.
fn in_memory(task: &FairTask, config: &FairConfig, spec: &Spec) -> Pace {
    let epoch = task.steps_per_epoch(config.batch);
    Pace { folder: None, steps: config.steps_of(spec.method), cadence: 0, epoch, result: RESULT }
}

fn train(
    task: &FairTask,
    config: &FairConfig,
    spec: &Spec,
    (pace, threads): (Pace, usize),
    control: &Control,
) -> Result<Option<Finished<Measurement, RunResult>>> {
    let terms = config.terms(spec.lambda);
    let begun = Instant::now();
    let Some(offsets) = equalise::offsets(task, config, spec, threads, control)? else { return Ok(None) };
    let solved = match config.solves(spec.method) {
        true => Some(equalise::logistic(task, config, spec, threads, control).solve(&offsets)?),
        false => None,
    };
    if solved.is_some() && control.all_end()? {
        return Ok(None);
    }
    let game = equalise::game(task, config, spec, offsets, threads)?;
    let start = Point::new(&task.start(spec.seed), &spec.method.start(game.groups()));
    let ignores = spec.method.ignores_groups(game.groups());
    let mut game = spec.method.game(game, &terms)?;
    let (gap, before) = solved.as_ref().map_or((None, 0.0), |solved| (solved.gap, begun.elapsed().as_secs_f64()));
    let method: Box<dyn Method<GroupGame>> = match solved {
        Some(solved) => {
            solved.note().iter().for_each(|note| control.warn(format!("{}: {note}", spec.folder())));
            Box::new(solved)
        }
        None => Box::new(Train::new(&game, spec.method.reply(&terms), &config.recipe()?)?),
    };
    let training = Training::new(&mut game, &start, method).at(|| "the start")?;
    let judge = Engine::new(&task.model, threads)?;
    let trainable = FairTraining { judge, outcome: Outcome::default(), task, config, spec, ignores, gap, before };
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
    /// The training has one loss for all samples.
    ignores: bool,
    /// The optimality gap of a solved model.
    gap: Option<f64>,
    /// The seconds of the solver.
    before: f64,
}

impl FairTraining<'_> {
    /// The weight of each group: of a method that ignores them, its share of the samples, or nothing for `cvar`.
    fn weights(&self, last: &Measurement) -> Vec<f64> {
        let groups = self.task.train.groups();
        let share = |n: usize| n as f64 / groups.samples() as f64;
        match self.spec.method {
            FairMethod::Cvar => vec![f64::NAN; groups.len()],
            _ if self.ignores => groups.sizes().into_iter().map(share).collect(),
            _ => last.weights[..groups.len()].to_vec(),
        }
    }

    /// Group losses on all training data. Measuring has just computed them, unless the method ignores groups.
    fn train_losses(&mut self, training: &Training<'_, GroupGame>) -> Result<Vec<f64>> {
        if !self.ignores {
            return Ok(training.game().group_losses().to_vec());
        }
        self.judge.set_weights(&training.point().x)?;
        self.judge.pass(&self.task.train.all(), Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        Ok(self.outcome.group_losses.clone())
    }
}

impl Trainable<GroupGame> for FairTraining<'_> {
    type Output = RunResult;

    fn name(&self) -> String {
        self.spec.folder()
    }

    fn refresh(&mut self, x: &mut [f32], samples: usize) -> Result<()> {
        Ok(self.judge.set_population_of(&self.task.train, samples, x)?)
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
        match self.spec.method {
            FairMethod::Cvar => vec!["tail".into()],
            _ if self.ignores => vec!["all".into()],
            method => {
                let all = self.task.one_sided.is_some() && method.chooses_weights();
                self.task.groups.iter().cloned().chain(all.then(|| "all".to_owned())).collect()
            }
        }
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
        let unjudged = &self.task.unjudged;
        let judged = part.map(|part| judge(&self.judge, part, unjudged, &mut self.outcome)).transpose()?;
        // Groups by label have different predictions by intent.
        let apart = self.task.preprocessing.as_ref().is_some_and(|p| !p.by_label());
        let result = RunResult {
            method: self.spec.method.name().into(),
            lambda: self.spec.lambda,
            seed: self.spec.seed,
            test: match &judged {
                Some(judged) => judged.groups.clone(),
                None => vec![GroupScore::NONE; self.task.groups.len()],
            },
            // With errors of one kind, the mean loss has an entry of its own after the groups.
            train_losses: last.losses[..self.task.groups.len()].to_vec(),
            weights: self.weights(last),
            x_gap: last.x_gap,
            y_gap: last.y_gap,
            optimality_gap: self.gap,
            value: last.value,
            variation: end.curve.variation(),
            steps: training.steps(),
            seconds: self.before + end.seconds,
            fairness: judged.as_ref().map(|judged| judged.fairness).filter(|_| apart),
            confusion: part.map(|part| confusion(part, &self.outcome.predictions)).unwrap_or_default(),
            all: judged.as_ref().and_then(|judged| judged.all),
            unjudged: unjudged.clone(),
            split: self.task.split,
            rows: judged.map(|judged| judged.rows),
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

/// The evaluation of a network on a part of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The score of each group.
    pub groups: Vec<GroupScore>,
    /// The score of all samples, where it is not the sum over the groups.
    pub all: Option<GroupScore>,
    /// Fairness measures of the judged groups.
    pub fairness: Fairness,
    /// The outcome of every sample.
    pub rows: RowHits,
}

impl Judged {
    /// The smallest accuracy of a group that is judged.
    pub fn worst(&self, unjudged: &[usize]) -> f64 {
        worst(&self.groups, unjudged)
    }

    /// The accuracy on all samples together.
    pub fn average(&self) -> f64 {
        self.all.map_or_else(|| average(&self.groups), |all| all.accuracy())
    }
}

/// Accuracy and loss of each group, fairness measures of all groups but the unjudged ones, and the outcome of every sample.
pub fn judge(engine: &Engine, data: &Dataset, unjudged: &[usize], outcome: &mut Outcome) -> Result<Judged> {
    let once = [data.len()];
    let partition = data.groups().is_partition();
    let all = if partition {
        None
    } else {
        engine.pass(&data.each_once(&once), Loss::CrossEntropy, Ask::Values, outcome)?;
        Some(GroupScore { correct: outcome.group_correct[0], total: data.len(), loss: outcome.group_losses[0] })
    };
    let mut hits: Vec<bool> = vec![false; data.len()];
    if !partition {
        hits.iter_mut().zip(&outcome.predictions).zip(data.labels()).for_each(|((hit, p), label)| *hit = p == label);
    }
    engine.pass(&data.all(), Loss::CrossEntropy, Ask::Values, outcome)?;
    let mut groups = Vec::new();
    let (mut predictions, mut labels, mut group_of) = (Vec::new(), Vec::new(), Vec::new());
    let mut start = 0;
    for g in 0..data.groups().len() {
        let rows = data.groups().rows(g);
        let own = &outcome.predictions[start..start + rows.len()];
        start += rows.len();
        rows.iter().zip(own).for_each(|(&r, p)| hits[r as usize] = *p == data.labels()[r as usize]);
        if !unjudged.contains(&g) {
            predictions.extend_from_slice(own);
            labels.extend(rows.iter().map(|&r| data.labels()[r as usize]));
            group_of.extend(rows.iter().map(|_| g as u16));
        }
        // An empty group has no loss.
        let loss = if rows.is_empty() { f64::NAN } else { outcome.group_losses[g] };
        groups.push(GroupScore { correct: outcome.group_correct[g], total: rows.len(), loss });
    }
    let fairness = fairness(&predictions, &labels, &group_of, engine.model().outputs());
    Ok(Judged { groups, all, fairness, rows: RowHits::new(data.groups(), &hits) })
}

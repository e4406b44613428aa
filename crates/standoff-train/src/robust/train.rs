//! One run of robust training.

use std::path::Path;

use standoff::methods::{Reply, Train};
use standoff::{Point, Training};
use standoff_nn::attack::{self, Ball, LabelledImages, Protocol, ensemble};
use standoff_nn::certify::certify;
use standoff_nn::data::Batching;
use standoff_nn::interval::{IntervalGame, IntervalOptions};
use standoff_nn::robust::{Options, Probe, RobustGame};
use standoff_nn::{Ask, Batch, Engine, Loss, Outcome, Region, Weights};

use super::config::RobustConfig;
use super::results::{RobustResult, Share};
use super::task::RobustTask;
use crate::document::ROBUST;
use crate::error::{At, Result};
use crate::number::short;
use crate::training::run::{End, Finished, Pace, ResultFile, run_or_find};
use crate::training::runs::{self, Load};
use crate::training::{Control, Experiment, Measurement, Observer, Run, Trainable};

/// The file with the result of a run.
pub const RESULT: ResultFile = ResultFile { name: "results.json", format: ROBUST };

impl Experiment<RobustConfig> {
    /// Trains, continues or finds the result, and reports progress to the observer. `None` when interrupted.
    pub fn train(&self, control: &Control, observer: &mut dyn Observer) -> Result<Option<RobustResult>> {
        let Self { config, task, out, threads, .. } = self;
        let load = Load { runs: 1, steps: config.steps_in_all(task.train.len()), threads: *threads };
        let one = |_: usize, threads: usize| run(task, config, out, threads, control);
        Ok(runs::run_all(load, control, observer, one)?.and_then(|mut done| done.pop()))
    }
}

/// Trains, continues or finds the result. `None` when interrupted.
pub fn run(
    task: &RobustTask,
    config: &RobustConfig,
    out: &Path,
    threads: usize,
    control: &Control,
) -> Result<Option<RobustResult>> {
    let cadence = config.steps_in(config.measure_every, task.train.len());
    let pace = Pace { folder: Some(out.to_owned()), cadence, ..in_memory(task, config) };
    run_or_find(pace, control, |pace| play(task, config, (pace, threads), control))
}

/// Trains in memory and measures at the end. `None` when interrupted.
pub fn fit(
    task: &RobustTask,
    config: &RobustConfig,
    threads: usize,
    control: &Control,
) -> Result<Option<Finished<Measurement, RobustResult>>> {
    play(task, config, (in_memory(task, config), threads), control)
}

/// The pace of a run without a folder, measured at its end.
fn in_memory(task: &RobustTask, config: &RobustConfig) -> Pace {
    let n = task.train.len();
    let (steps, epoch) = (config.steps_in_all(n), config.steps_in(1.0, n));
    Pace { folder: None, steps, cadence: 0, epoch, result: RESULT }
}

fn play(
    task: &RobustTask,
    config: &RobustConfig,
    (pace, threads): (Pace, usize),
    control: &Control,
) -> Result<Option<Finished<Measurement, RobustResult>>> {
    let n = task.train.len();
    match config.options(n)? {
        Some(options) => {
            let mut game = RobustGame::new(&task.model, task.train.clone(), &options, threads)?;
            let lambda = game.lambda(config.lambda);
            let whole = Options { batching: Batching::Whole, ..options };
            let probe = RobustGame::new(&task.model, task.fixed.clone(), &whole, threads)?;
            train(&mut game, lambda, RobustTraining::new(probe, task, config, threads)?, pace, control)
        }
        None => {
            let options = config.interval(n);
            let mut game = IntervalGame::new(&task.model, task.train.clone(), &options, threads)?;
            let whole = IntervalOptions { batching: Batching::Whole, ..options };
            let probe = IntervalGame::new(&task.model, task.fixed.clone(), &whole, threads)?;
            train(&mut game, 0.0, RobustTraining::new(probe, task, config, threads)?, pace, control)
        }
    }
}

/// Refuses settings that do not fit the data.
pub fn check(task: &RobustTask, config: &RobustConfig) -> Result<()> {
    let n = task.train.len();
    config.recipe(n)?;
    match config.options(n)? {
        Some(options) => drop(RobustGame::new(&task.model, task.train.clone(), &options, 1)?),
        None => drop(IntervalGame::new(&task.model, task.train.clone(), &config.interval(n), 1)?),
    }
    Ok(())
}

fn train<P: Probe + 'static>(
    game: &mut P,
    lambda: f64,
    trained: RobustTraining<'_, P>,
    pace: Pace,
    control: &Control,
) -> Result<Option<Finished<Measurement, RobustResult>>> {
    let (task, config) = (trained.task, trained.config);
    let method = Train::new(game, Reply::Exact { lambda }, &config.recipe(task.train.len())?)?;
    let start = Point::new(&task.start, &game.y_set().centre());
    let training = Training::new(game, &start, Box::new(method)).at(|| "the start")?;
    Run::open(training, trained, pace, control)?.go(control)
}

/// The measurements of a robust training.
pub type RobustMetrics = Measurement;

struct RobustTraining<'a, P> {
    probe: P,
    judge: Engine,
    outcome: Outcome,
    task: &'a RobustTask,
    config: &'a RobustConfig,
}

impl<'a, P: Probe> RobustTraining<'a, P> {
    fn new(probe: P, task: &'a RobustTask, config: &'a RobustConfig, threads: usize) -> Result<Self> {
        Ok(Self { probe, judge: Engine::new(&task.model, threads)?, outcome: Outcome::default(), task, config })
    }

    /// The accuracy on test images without an attack.
    fn natural(&mut self, x: &[f32]) -> Result<Share> {
        let Some(test) = &self.task.test else { return Ok(Share { correct: 0, total: 0 }) };
        self.judge.set_weights(x)?;
        let ends = [test.len()];
        let batch = Batch { samples: test.samples(), labels: test.labels(), rows: None, ends: &ends, weights: None };
        self.judge.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        Ok(Share { correct: self.outcome.group_correct[0], total: test.len() })
    }
}

impl<P: Probe> RobustTraining<'_, P> {
    /// The accuracy on the first test images under PGD-40, and the proven accuracy.
    fn attacked(&mut self, x: &[f32]) -> Result<(Share, Share)> {
        let (images, labels) = (&self.task.victims.0, &self.task.victims.1);
        let of = |correct: usize| Share { correct, total: labels.len() };
        if labels.is_empty() {
            return Ok((of(0), of(0)));
        }
        self.judge.set_weights(x)?;
        let paper = Protocol::paper(self.config.eps);
        // Images that are not of 8 bits cannot be truncated to 256 levels as published.
        let has_levels = |pixel: &f32| (pixel * 255.0).round() / 255.0 == *pixel;
        let ball = if images.iter().all(has_levels) { paper.ball } else { Ball::linf(self.config.eps) };
        let pgd = Protocol { attacks: vec![paper.attack("pgd40")?], ball, ..paper };
        let attacked =
            ensemble(&self.judge, LabelledImages { images, labels }, &pgd, &attack::Run::new(self.config.seed))?;
        let proven = certify(&self.judge, images, labels, Region::image(self.config.eps as f32))?;
        // As published: images that are classified correctly after the attack count.
        let left = attacked.attacks.first().and_then(|found| found.left_alone).unwrap_or_else(|| attacked.left());
        Ok((of(left), of(proven.count())))
    }
}

impl<P: Probe> Trainable<P> for RobustTraining<'_, P> {
    type Output = RobustResult;

    fn name(&self) -> String {
        format!("{} at eps {}", self.config.method.name(), short(self.config.eps))
    }

    fn refresh(&mut self, x: &mut [f32], samples: usize) -> Result<()> {
        Ok(self.judge.set_population_of(&self.task.train, samples, x)?)
    }

    fn measure(&mut self, training: &mut Training<'_, P>, seconds: f64) -> Result<Measurement> {
        let (x, step) = (&training.point().x, training.steps());
        let seen = self.probe.probe(x, self.config.lambda)?;
        let natural = self.natural(x)?;
        Ok(Measurement {
            epoch: Some(step as f64 * self.config.batch as f64 / self.task.train.len() as f64),
            standing: Share { correct: seen.robust, total: seen.images },
            natural,
            gradients: training.calls().gradients(),
            seconds,
            ..Measurement::new(step, seen.value, seen.certificate)
        })
    }

    fn losses(&self, training: &Training<'_, P>, out: &mut Vec<f64>) {
        out.push(training.step_value());
    }

    fn loss_names(&self) -> Vec<String> {
        vec!["loss".into()]
    }

    fn figures(&self, line: &Measurement) -> String {
        let percent = |share: Share| format!("{:.1} %", share.percent());
        let (natural, standing) = (percent(line.natural), percent(line.standing));
        format!("value {:.4}  natural {natural}  standing {standing}", line.value)
    }

    fn fault(&self, game: &P) -> Option<String> {
        game.fault().map(ToString::to_string)
    }

    fn finish(
        &mut self,
        training: &Training<'_, P>,
        last: &Measurement,
        end: &End<'_>,
    ) -> Result<(Weights, RobustResult)> {
        let x = &training.point().x;
        let (pgd, certified) = self.attacked(x)?;
        let result = RobustResult {
            method: self.config.method.name().into(),
            eps: self.config.eps,
            seed: self.config.seed,
            natural: last.natural,
            pgd,
            certified,
            standing: Some(last.standing),
            value: last.value,
            x_gap: last.x_gap,
            y_gap: last.y_gap,
            steps: training.steps(),
            seconds: end.seconds,
        };
        Ok((self.task.weights(x), result))
    }
}

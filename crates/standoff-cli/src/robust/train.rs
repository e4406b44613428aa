//! One robust training: how it is measured on the way, and how it is judged.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use standoff::methods::{Reply, Train};
use standoff::{Point, Training};
use standoff_nn::attack::{self, Protocol, Victims, ensemble};
use standoff_nn::robust::{Batching, IntervalGame, IntervalOptions, Options, Probe, RobustGame, certify};
use standoff_nn::{Ask, Batch, Engine, Loss, Outcome, Region, Weights};

use super::config::Config;
use super::results::{RobustResult, Share};
use super::task::Task;
use crate::number::short;
use crate::screen::Screen;
use crate::training::run::{End, Pace, finished};
use crate::training::runs::{self, Load};
use crate::training::{Control, Run, Subject};

/// The result of a run, at the root of its folder.
pub(crate) const RESULT: &str = "results.json";

/// Trains by itself on those threads, and shows how far it is. `None` when stopped.
pub(crate) fn alone(
    task: &Task,
    config: &Config,
    out: &Path,
    threads: usize,
    (control, screen): (&Control, &mut Screen),
) -> Result<Option<RobustResult>> {
    let load = Load { runs: 1, steps: config.steps_in_all(task.train.len()), threads };
    let one = |_: usize, _: usize| run(task, config, out, threads, control);
    Ok(runs::run_all(load, control, screen, one)?.and_then(|mut done| done.pop()))
}

/// Trains, or continues, or finds the result already there. `None` when interrupted.
pub fn run(
    task: &Task,
    config: &Config,
    out: &Path,
    threads: usize,
    control: &Control,
) -> Result<Option<RobustResult>> {
    let n = task.train.len();
    let pace = Pace {
        folder: out.to_owned(),
        steps: config.steps_in_all(n),
        cadence: config.steps_in(config.measure_every, n),
        epoch: config.steps_in(1.0, n),
        result: RESULT,
    };
    if let Some(result) = finished(&pace, control)? {
        return Ok(Some(result));
    }
    match config.options(n)? {
        Some(options) => {
            let mut game = RobustGame::new(&task.model, task.train.clone(), &options, threads)?;
            let lambda = game.lambda(config.lambda);
            let whole = Options { batching: Batching::Whole, ..options };
            let probe = RobustGame::new(&task.model, task.fixed.clone(), &whole, threads)?;
            train(&mut game, lambda, Trainee::new(probe, task, config, threads)?, pace, control)
        }
        None => {
            let options = config.interval(n);
            let mut game = IntervalGame::new(&task.model, task.train.clone(), &options, threads)?;
            let whole = IntervalOptions { batching: Batching::Whole, ..options };
            let probe = IntervalGame::new(&task.model, task.fixed.clone(), &whole, threads)?;
            train(&mut game, 0.0, Trainee::new(probe, task, config, threads)?, pace, control)
        }
    }
}

/// Refuses what does not fit the data, before anything is written.
pub fn check(task: &Task, config: &Config) -> Result<()> {
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
    trainee: Trainee<'_, P>,
    pace: Pace,
    control: &Control,
) -> Result<Option<RobustResult>> {
    let (task, config) = (trainee.task, trainee.config);
    let method = Train::new(game, Reply::Exact { lambda }, &config.recipe(task.train.len())?)?;
    let start = Point::new(&task.start, &game.y_set().centre());
    let training = Training::new(game, &start, Box::new(method)).context("the start")?;
    Run::open(training, trainee, pace, control)?.go(control)
}

/// One line of `metrics.jsonl`.
#[derive(Debug, Serialize)]
pub struct Line {
    step: u64,
    epoch: f64,
    /// Of the frozen game on the fixed training images.
    value: f64,
    x_gap: [f64; 2],
    y_gap: [f64; 2],
    /// Of those images: under the attack of training, or proven.
    standing: Share,
    /// Test images as they are.
    natural: Share,
    gradients: u64,
    seconds: f64,
}

struct Trainee<'a, P> {
    probe: P,
    judge: Engine,
    outcome: Outcome,
    task: &'a Task,
    config: &'a Config,
}

impl<'a, P: Probe> Trainee<'a, P> {
    fn new(probe: P, task: &'a Task, config: &'a Config, threads: usize) -> Result<Self> {
        Ok(Self { probe, judge: Engine::new(&task.model, threads)?, outcome: Outcome::default(), task, config })
    }

    /// Test images as they are.
    fn natural(&mut self, x: &[f32]) -> Result<Share> {
        self.judge.set_weights(x)?;
        let test = &self.task.test;
        let ends = [test.len()];
        let batch = Batch { samples: test.samples(), labels: test.labels(), rows: None, ends: &ends, weights: None };
        self.judge.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        Ok(Share { correct: self.outcome.group_correct[0], total: test.len() })
    }
}

impl<P: Probe> Subject for Trainee<'_, P> {
    type Game = P;
    type Line = Line;
    type Outcome = RobustResult;

    fn name(&self) -> String {
        format!("{} at eps {}", self.config.method.name(), short(self.config.eps))
    }

    fn measure(&mut self, training: &mut Training<'_, P>, seconds: f64) -> Result<Line> {
        let (x, step) = (&training.point().x, training.steps());
        let seen = self.probe.look(x, self.config.lambda)?;
        let natural = self.natural(x)?;
        let c = &seen.certificate;
        Ok(Line {
            step,
            epoch: step as f64 * self.config.batch as f64 / self.task.train.len() as f64,
            value: seen.value,
            x_gap: [c.x.lower, c.x.upper],
            y_gap: [c.y.lower, c.y.upper],
            standing: Share { correct: seen.standing, total: seen.images },
            natural,
            gradients: training.calls().gradients(),
            seconds,
        })
    }

    fn losses(&self, training: &Training<'_, P>, out: &mut Vec<f64>) {
        out.push(training.step_value());
    }

    fn loss_names(&self) -> Vec<String> {
        vec!["loss".into()]
    }

    fn figures(&self, line: &Line) -> String {
        let percent = |share: Share| format!("{:.1} %", share.percent());
        let (natural, standing) = (percent(line.natural), percent(line.standing));
        format!("value {:.4}  natural {natural}  standing {standing}", line.value)
    }

    fn fault(&self, game: &P) -> Option<String> {
        game.fault().map(ToString::to_string)
    }

    fn finish(&mut self, training: &Training<'_, P>, last: &Line, end: &End<'_>) -> Result<(Weights, RobustResult)> {
        let x = &training.point().x;
        self.judge.set_weights(x)?;
        let (images, labels) = (&self.task.victims.0, &self.task.victims.1);
        let paper = Protocol::paper(self.config.eps);
        let pgd = Protocol { attacks: vec![paper.attack("pgd40")?], ..paper };
        let attacked = ensemble(&self.judge, Victims { images, labels }, &pgd, &attack::Run::new(self.config.seed))?;
        let proven = certify(&self.judge, images, labels, Region::image(self.config.eps as f32))?;
        let of = |correct: usize| Share { correct, total: labels.len() };
        let result = RobustResult {
            method: self.config.method.name().into(),
            eps: self.config.eps,
            seed: self.config.seed,
            natural: last.natural,
            // As published: whatever is right afterwards counts.
            pgd: of(attacked.attacks.first().and_then(|found| found.left_alone).unwrap_or_else(|| attacked.left())),
            certified: of(proven.count()),
            value: last.value,
            x_gap: last.x_gap,
            y_gap: last.y_gap,
            steps: training.steps(),
            seconds: end.seconds,
        };
        Ok((self.task.weights(x), result))
    }
}

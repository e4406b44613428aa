//! One run: a method from a seed, saved as it goes, continued where it was left.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use standoff::methods::Train;
use standoff::{Point, Record, StopReason, Training};
use standoff_nn::fair::{GroupGame, Grouped};
use standoff_nn::{Ask, Engine, Loss, Outcome};

use super::checkpoint::Checkpoint;
use super::config::Config;
use super::fairness::fairness;
use super::method::Method;
use super::results::{GroupScore, RunResult};
use super::task::Task;
use crate::files;

/// What one run is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Who decides what a group counts.
    pub method: Method,
    /// The regulariser of `minmax-reg`; 0 for the others.
    pub lambda: f64,
    /// Of the start and the batches.
    pub seed: u64,
}

impl Spec {
    /// The folder of the run inside that of the experiment.
    pub fn folder(&self) -> String {
        match self.method {
            Method::MinmaxReg => format!("minmax-reg-{}-seed-{}", self.lambda, self.seed),
            method => format!("{}-seed-{}", method.name(), self.seed),
        }
    }
}

/// What runs share with whoever watches them.
#[derive(Debug, Default)]
pub struct Control {
    /// Ctrl-C.
    pub stop: std::sync::Arc<AtomicBool>,
    /// Steps made, in all runs.
    pub steps: AtomicU64,
}

/// One line of `metrics.jsonl`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    step: u64,
    losses: &'a [f64],
    weights: Vec<f64>,
    value: f64,
    x_gap: [f64; 2],
    y_gap: [f64; 2],
    gradients: u64,
    seconds: f64,
}

const CHECKPOINT: &str = "checkpoint.safetensors";
const RESULT: &str = "result.json";
const METRICS: &str = "metrics.jsonl";
/// Between checkpoints.
const PAUSE: Duration = Duration::from_secs(10);

/// Trains, or continues, or finds the result already there. `None` when interrupted.
pub fn run(
    task: &Task,
    config: &Config,
    spec: &Spec,
    out: &Path,
    threads: usize,
    control: &Control,
) -> Result<Option<RunResult>> {
    let folder = out.join(spec.folder());
    fs::create_dir_all(&folder).map_err(|e| anyhow!("cannot make {}: {}", files::name(&folder), files::plain(&e)))?;
    if let Ok(text) = fs::read_to_string(folder.join(RESULT)) {
        control.steps.fetch_add(config.steps(), Ordering::Relaxed);
        return serde_json::from_str(&text)
            .map(Some)
            .with_context(|| format!("{} is damaged; delete it to run again", files::name(&folder.join(RESULT))));
    }
    let mut game = GroupGame::new(&task.model, task.train.clone(), config.batching(spec.seed), threads)?;
    if spec.method == Method::Cvar {
        game = game.tail(config.share)?;
    }
    let reply = spec.method.reply(config, spec.lambda);
    let method = Train::new(&game, reply, &config.recipe()?)?;
    let start = Point::new(&task.start(spec.seed), &spec.method.start(&task.sizes()));
    let mut run = Run {
        training: Training::new(&mut game, &start, Box::new(method)).context("the start")?,
        judge: Engine::new(&task.model, threads)?,
        outcome: Outcome::default(),
        metrics: String::new(),
        before: 0.0,
        begun: Instant::now(),
        folder,
        task,
        spec,
    };
    run.restore()?;
    control.steps.fetch_add(run.training.steps(), Ordering::Relaxed);
    run.go(config, control)
}

struct Run<'a, 'g> {
    training: Training<'g, GroupGame>,
    judge: Engine,
    outcome: Outcome,
    /// The lines of `metrics.jsonl` so far.
    metrics: String,
    /// Seconds spent before this process.
    before: f64,
    begun: Instant,
    folder: PathBuf,
    task: &'a Task,
    spec: &'a Spec,
}

impl Run<'_, '_> {
    fn seconds(&self) -> f64 {
        self.before + self.begun.elapsed().as_secs_f64()
    }

    fn go(mut self, config: &Config, control: &Control) -> Result<Option<RunResult>> {
        let cadence = config.cadence();
        let mut saved = Instant::now();
        let mut last = None;
        loop {
            if self.training.steps().is_multiple_of(cadence) {
                last = Some(self.measure()?);
            }
            if control.stop.load(Ordering::Relaxed) {
                self.save()?;
                return Ok(None);
            }
            if saved.elapsed() > PAUSE {
                self.save()?;
                saved = Instant::now();
            }
            match self.training.step() {
                Ok(()) => control.steps.fetch_add(1, Ordering::Relaxed),
                Err(StopReason::Completed) => break,
                Err(StopReason::NonFinite) => return Err(self.diverged()),
                Err(reason) => bail!("the run ended early: {reason:?}"),
            };
        }
        let record = match last {
            Some(record) if record.iteration == self.training.steps() => record,
            _ => self.measure()?,
        };
        self.finish(config, &record).map(Some)
    }

    /// Value and certificate on all training data, as a line of the metrics.
    fn measure(&mut self) -> Result<Record> {
        let seconds = self.seconds();
        let record = self.training.measure(seconds).map_err(|_| self.diverged())?;
        let already =
            self.metrics.lines().last().is_some_and(|l| l.starts_with(&format!("{{\"step\":{},", record.iteration)));
        if already {
            return Ok(record);
        }
        let losses = self.losses()?;
        let c = &record.certificate;
        let line = Line {
            step: record.iteration,
            losses: &losses,
            weights: self.training.measured().y.iter().map(|&t| f64::from(t)).collect(),
            value: record.value,
            x_gap: [c.x.lower, c.x.upper],
            y_gap: [c.y.lower, c.y.upper],
            gradients: record.calls.gradients(),
            seconds,
        };
        self.metrics.push_str(&serde_json::to_string(&line)?);
        self.metrics.push('\n');
        files::write(&self.folder.join(METRICS), &self.metrics)?;
        Ok(record)
    }

    /// Group losses on all training data, after measuring, which has just computed them; only `cvar` has no groups.
    fn losses(&mut self) -> Result<Vec<f64>> {
        if self.spec.method != Method::Cvar {
            return Ok(self.training.game().group_losses().to_vec());
        }
        self.judge.set_weights(&self.training.point().x)?;
        self.judge.pass(&self.task.train.all(), Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        Ok(self.outcome.group_losses.clone())
    }

    fn diverged(&self) -> anyhow::Error {
        let why = self.training.game().error().map_or_else(String::new, |e| format!(": {e}"));
        let (name, step) = (self.spec.folder(), self.training.steps());
        anyhow!("{name} diverged at step {step}{why}; a smaller --lr may help, and so may --scale unit")
    }

    fn save(&mut self) -> Result<()> {
        let mut state = Checkpoint::default();
        self.training.visit(&mut state.saver());
        state.set("seconds", &self.seconds());
        state.set("metrics", &self.metrics);
        state.save(&self.folder.join(CHECKPOINT))
    }

    fn restore(&mut self) -> Result<()> {
        let path = self.folder.join(CHECKPOINT);
        if !path.exists() {
            return Ok(());
        }
        let state = Checkpoint::load(&path).context("delete it to start this run again")?;
        let mut restorer = state.restorer();
        self.training.visit(&mut restorer);
        restorer.finish()?;
        self.before = state.get("seconds").and_then(|s| s.parse().ok()).unwrap_or(0.0);
        self.metrics = state.get("metrics").unwrap_or_default().to_owned();
        Ok(())
    }

    /// Judges by the test part, and writes the model and the result.
    fn finish(mut self, config: &Config, record: &Record) -> Result<RunResult> {
        let train_losses = self.losses()?;
        let seconds = self.seconds();
        self.judge.set_weights(&self.training.point().x)?;
        let (test, fair) = judge(&self.judge, &self.task.test, &mut self.outcome)?;
        let c = &record.certificate;
        let result = RunResult {
            method: self.spec.method.name().into(),
            lambda: self.spec.lambda,
            seed: self.spec.seed,
            test,
            train_losses,
            weights: self.training.measured().y.iter().map(|&t| f64::from(t)).collect(),
            x_gap: [c.x.lower, c.x.upper],
            y_gap: [c.y.lower, c.y.upper],
            value: record.value,
            steps: self.training.steps(),
            seconds,
            // Groups by label are predicted differently by intent.
            fairness: self.task.preprocessing.as_ref().is_some_and(|p| !p.by_label()).then_some(fair),
        };
        let weights = self.task.weights(&self.training.point().x, config.scale)?;
        weights.save(&self.folder.join("model.safetensors"))?;
        let text = serde_json::to_string_pretty(&result)? + "\n";
        standoff_nn::model::weights::write_atomically(&self.folder.join(RESULT), text.as_bytes())
            .map_err(|e| anyhow!("cannot write the result: {}", files::plain(&e)))?;
        // The result is safe; the way there is not needed any more.
        let _ = fs::remove_file(self.folder.join(CHECKPOINT));
        Ok(result)
    }
}

/// Correct answers and loss per group, and how evenly the answers fall.
pub fn judge(
    engine: &Engine,
    data: &Grouped,
    outcome: &mut Outcome,
) -> Result<(Vec<GroupScore>, super::results::Fairness)> {
    let batch = data.all();
    engine.pass(&batch, Loss::CrossEntropy, Ask::Values, outcome)?;
    let mut scores = Vec::new();
    let (mut labels, mut groups) = (Vec::new(), Vec::new());
    for g in 0..data.groups() {
        let rows = data.group(g);
        labels.extend(rows.iter().map(|&r| data.labels()[r as usize]));
        groups.extend(rows.iter().map(|_| g as u16));
        scores.push(GroupScore { correct: outcome.group_correct[g], total: rows.len(), loss: outcome.group_losses[g] });
    }
    let fair = fairness(&outcome.predictions, &labels, &groups, engine.model().outputs());
    Ok((scores, fair))
}

//! One run: steps until the schedule is complete, measured at a cadence, saved as it goes, continued where it was left.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use standoff::{Game, StopReason, Training};
use standoff_nn::Weights;

use super::checkpoint::{self, Checkpoint};
use super::curve::Curve;
use super::log::Log;
use crate::files;

/// What runs share with whoever watches them.
#[derive(Debug, Default)]
pub struct Control {
    /// Ctrl-C.
    pub stop: Arc<AtomicBool>,
    /// Steps made, in all runs.
    pub steps: AtomicU64,
    /// What the user should know, until it is said.
    pub warnings: Mutex<Vec<String>>,
}

/// What is trained: how it is measured on the way, and judged at the end.
pub trait Subject {
    /// The game that is played.
    type Game: Game<Real = f32>;
    /// A line of `metrics.jsonl`.
    type Line: Serialize;
    /// What a finished run leaves behind.
    type Outcome: Serialize + DeserializeOwned;

    /// What the run is called, as its folder is.
    fn name(&self) -> String;

    /// Measures where the training is; `seconds` is its clock.
    fn measure(&mut self, training: &mut Training<'_, Self::Game>, seconds: f64) -> Result<Self::Line>;

    /// The losses that the last step computed, for the curve.
    fn losses(&self, training: &Training<'_, Self::Game>, out: &mut Vec<f64>);

    /// What those losses are called.
    fn loss_names(&self) -> Vec<String>;

    /// Why the game's numbers are not finite.
    fn fault(&self, game: &Self::Game) -> Option<String>;

    /// The trained model, and what is to be said of it. The last line measured is of the end.
    fn finish(
        &mut self,
        training: &Training<'_, Self::Game>,
        last: &Self::Line,
        end: &End<'_>,
    ) -> Result<(Weights, Self::Outcome)>;
}

/// What a run knows of itself at its end.
#[derive(Debug)]
pub struct End<'a> {
    /// How long it took, in all processes.
    pub seconds: f64,
    /// The losses by epoch.
    pub curve: &'a Curve,
}

/// How a run is paced and where it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// Its folder.
    pub folder: PathBuf,
    /// Steps in all.
    pub steps: u64,
    /// Steps between measurements.
    pub cadence: u64,
    /// Steps in an epoch.
    pub epoch: u64,
}

const CHECKPOINT: &str = "checkpoint.safetensors";
const RESULT: &str = "result.json";
/// The losses of every epoch.
pub const CURVE: &str = "epochs.csv";
const MODEL: &str = "model.safetensors";
/// Between checkpoints.
const PAUSE: Duration = Duration::from_secs(10);

/// The result of a run that has finished before; its steps count as made.
pub fn finished<T: DeserializeOwned>(pace: &Pace, control: &Control) -> Result<Option<T>> {
    let folder = &pace.folder;
    fs::create_dir_all(folder).map_err(|e| anyhow!("cannot make {}: {}", files::name(folder), files::plain(&e)))?;
    let path = folder.join(RESULT);
    let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
    control.steps.fetch_add(pace.steps, Ordering::Relaxed);
    let result = serde_json::from_str(&text)
        .with_context(|| format!("{} is damaged; delete it to run again", files::name(&path)))?;
    Ok(Some(result))
}

/// A training, its subject, and everything that is kept of it.
pub struct Run<'g, S: Subject> {
    training: Training<'g, S::Game>,
    subject: S,
    pace: Pace,
    log: Log,
    curve: Curve,
    /// Seconds spent before this process.
    before: f64,
    begun: Instant,
}

impl<'g, S: Subject> Run<'g, S> {
    /// Begins, or goes on from the checkpoint in the folder.
    pub fn open(training: Training<'g, S::Game>, subject: S, pace: Pace, control: &Control) -> Result<Self> {
        let (mut curve, mut training) = (Curve::new(pace.epoch), training);
        let found = Checkpoint::latest(&pace.folder.join(CHECKPOINT))?;
        let (mut metrics, mut before) = ("", 0.0);
        if let Some((state, warning)) = &found {
            let mut restorer = state.restorer();
            training.visit(&mut restorer);
            restorer.finish()?;
            curve.restore(state).ok_or_else(|| {
                anyhow!("the checkpoint in {} has no losses; it is of another version", files::name(&pace.folder))
            })?;
            before = state.get("seconds").and_then(|s| s.parse().ok()).unwrap_or(0.0);
            metrics = state.get("metrics").unwrap_or_default();
            control.warnings.lock().unwrap_or_else(PoisonError::into_inner).extend(warning.clone());
        }
        let log = Log::open(&pace.folder, metrics, before)?;
        Ok(Self { training, subject, pace, log, curve, before, begun: Instant::now() })
    }

    fn seconds(&self) -> f64 {
        self.before + self.begun.elapsed().as_secs_f64()
    }

    /// Trains to the end. `None` when interrupted.
    pub fn go(mut self, control: &Control) -> Result<Option<S::Outcome>> {
        control.steps.fetch_add(self.training.steps(), Ordering::Relaxed);
        let mut saved = Instant::now();
        let (mut last, mut losses) = (None, Vec::new());
        loop {
            let step = self.training.steps();
            if step.is_multiple_of(self.pace.cadence) {
                last = Some((step, self.measure()?));
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
                Err(reason) => bail!("{} ended early: {reason:?}", self.subject.name()),
            };
            losses.clear();
            self.subject.losses(&self.training, &mut losses);
            self.curve.push(&losses);
        }
        let line = match last {
            Some((step, line)) if step == self.training.steps() => line,
            _ => self.measure()?,
        };
        self.finish(&line).map(Some)
    }

    fn measure(&mut self) -> Result<S::Line> {
        let (step, seconds) = (self.training.steps(), self.seconds());
        let line = self.subject.measure(&mut self.training, seconds);
        let line =
            line.map_err(
                |error| if self.subject.fault(self.training.game()).is_some() { self.diverged() } else { error },
            )?;
        self.log.push(step, &line)?;
        Ok(line)
    }

    fn diverged(&self) -> anyhow::Error {
        let why = self.subject.fault(self.training.game()).map_or_else(String::new, |e| format!(": {e}"));
        let (name, step) = (self.subject.name(), self.training.steps());
        anyhow!("{name} diverged at step {step}{why}; a smaller --lr may help, and so may --scale unit")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.pace.folder.join(name)
    }

    fn save(&mut self) -> Result<()> {
        let mut state = Checkpoint::default();
        self.training.visit(&mut state.saver());
        self.curve.save(&mut state);
        state.set("seconds", &self.seconds());
        state.set("metrics", &self.log.text());
        state.save(&self.path(CHECKPOINT))
    }

    /// Judges, and writes the model, the losses and the result, which comes last: who finds it finds everything.
    fn finish(mut self, line: &S::Line) -> Result<S::Outcome> {
        let end = End { seconds: self.seconds(), curve: &self.curve };
        let (weights, outcome) = self.subject.finish(&self.training, line, &end)?;
        weights.save(&self.path(MODEL))?;
        files::replace(&self.path(CURVE), self.curve.csv(&self.subject.loss_names()).as_bytes())?;
        let text = serde_json::to_string_pretty(&outcome)? + "\n";
        files::replace(&self.path(RESULT), text.as_bytes())?;
        // The result is safe; the way there is not needed any more.
        checkpoint::remove(&self.path(CHECKPOINT));
        Ok(outcome)
    }
}

//! One run: steps until the schedule is complete, with measurements and checkpoints.

use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use standoff::{Game, StopReason, Training, Visitor};
use standoff_nn::Weights;
use standoff_nn::engine::{POPULATION, communicator};

use super::checkpoint::{self, Checkpoint};
use super::control::{Control, Gauge, held};
use super::curve::Curve;
use super::folder;
use super::log::Log;
use super::measurement::Measurement;
use crate::document::DocumentFormat;
use crate::error::{At, Diverged, Error, Result, error, refuse};
use crate::files;

/// A training of a game: its measurements and its result.
pub trait Trainable<G: Game<Real = f32>> {
    /// The result of a finished run.
    type Output: Serialize + DeserializeOwned;

    /// The name of the run.
    fn name(&self) -> String;

    /// Sets what no gradient trains: the population statistics of batch normalisation, from so many samples. It is called at the start
    /// and after each epoch, with fewer samples after every 16 steps and after 1, 2, 4 and 8. `x` are the parameters.
    fn refresh(&mut self, x: &mut [f32], samples: usize) -> Result<()>;

    /// Measures the training; `seconds` is its clock.
    fn measure(&mut self, training: &mut Training<'_, G>, seconds: f64) -> Result<Measurement>;

    /// The losses that the last step computed, for the curve.
    fn losses(&self, training: &Training<'_, G>, out: &mut Vec<f64>);

    /// The names of those losses.
    fn loss_names(&self) -> Vec<String>;

    /// The key figures of a measurement as text, for progress.
    fn figures(&self, line: &Measurement) -> String;

    /// The first number of the game that is not finite.
    fn fault(&self, game: &G) -> Option<String>;

    /// The trained model and the result. The last measurement is of the end.
    fn finish(
        &mut self,
        training: &Training<'_, G>,
        last: &Measurement,
        end: &End<'_>,
    ) -> Result<(Weights, Self::Output)>;
}

/// The end of a run.
#[derive(Debug)]
pub struct End<'a> {
    /// The time it took, in all processes.
    pub seconds: f64,
    /// The losses by epoch.
    pub curve: &'a Curve,
}

/// A finished run.
#[derive(Debug, Clone)]
pub struct Finished<M, O> {
    /// The trained model.
    pub weights: Weights,
    /// The last measurement, which is of the end.
    pub metrics: M,
    /// The result.
    pub outcome: O,
}

/// The length of a run, its measurements and its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// Its folder; none for a run in memory, which leaves no files and cannot be continued.
    pub folder: Option<PathBuf>,
    /// Steps in all.
    pub steps: u64,
    /// Steps between measurements; 0 for one at the end.
    pub cadence: u64,
    /// Steps in an epoch.
    pub epoch: u64,
    /// The file with its result.
    pub result: ResultFile,
}

/// The name and the format of a result file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultFile {
    /// The name.
    pub name: &'static str,
    /// The format and version in its first two fields.
    pub format: DocumentFormat,
}

const CHECKPOINT: &str = "checkpoint.safetensors";
/// The losses of every epoch.
pub const CURVE: &str = "epochs.csv";
const MODEL: &str = "model.safetensors";

/// The result of a run that is finished; its steps count as made.
fn finished<T: DeserializeOwned>(pace: &Pace, control: &Control) -> Result<Option<T>> {
    let Some(folder) = &pace.folder else { return Ok(None) };
    fs::create_dir_all(folder).map_err(|e| folder::not_made(folder, &e))?;
    let found = pace.result.read(folder)?;
    if found.is_some() {
        // A process that was killed just after it wrote the result may have left its checkpoint.
        checkpoint::remove(&folder.join(CHECKPOINT));
        control.steps.fetch_add(pace.steps, Ordering::Relaxed);
    }
    Ok(found)
}

/// Trains in the folder of the pace, or returns the result that is there already. `None` when interrupted. Of several ranks the first
/// has the folder; the others train in memory.
pub fn run_or_find<M, T: Serialize + DeserializeOwned>(
    pace: Pace,
    control: &Control,
    train: impl FnOnce(Pace) -> Result<Option<Finished<M, T>>>,
) -> Result<Option<T>> {
    let world = communicator::world();
    let pace = if world.rank() > 0 { Pace { folder: None, ..pace } } else { pace };
    let mut found: Option<T> = finished(&pace, control)?;
    if world.ranks() > 1 {
        found = serde_json::from_str(&communicator::text_of_first(&serde_json::to_string(&found)?)?)?;
    }
    if found.is_some() {
        return Ok(found);
    }
    Ok(train(pace)?.map(|run| run.outcome))
}

/// Sends the state of rank 0 to the others.
struct FromFirst(Result<(), standoff_nn::Error>);

impl FromFirst {
    fn send(&mut self, words: &mut [u32]) {
        let world = communicator::world();
        let own = if world.rank() == 0 { words.to_vec() } else { Vec::new() };
        let mut counts = vec![0; world.ranks()];
        counts[0] = words.len();
        let sent = world.all_gather(&own, words, &counts);
        self.0 = std::mem::replace(&mut self.0, Ok(())).and(sent);
    }

    fn number(&mut self, number: u64) -> u64 {
        let mut words = [number as u32, (number >> 32) as u32];
        self.send(&mut words);
        u64::from(words[0]) | u64::from(words[1]) << 32
    }
}

impl Visitor<f32> for FromFirst {
    fn vector(&mut self, _: &str, v: &mut Vec<f32>) {
        let mut words: Vec<u32> = v.iter().map(|v| v.to_bits()).collect();
        self.send(&mut words);
        v.iter_mut().zip(words).for_each(|(v, word)| *v = f32::from_bits(word));
    }
    fn scalar(&mut self, _: &str, v: &mut f64) {
        *v = f64::from_bits(self.number(v.to_bits()));
    }
    fn count(&mut self, _: &str, v: &mut u64) {
        *v = self.number(*v);
    }
}

impl ResultFile {
    /// Reads the file in a folder; `None` where there is none. A newer version is refused.
    pub fn read<T: DeserializeOwned>(self, folder: &Path) -> Result<Option<T>> {
        let path = folder.join(self.name);
        if !path.exists() {
            return Ok(None);
        }
        let document: Value = serde_json::from_str(&files::text(&path, "a result")?)
            .at(|| format!("{} is damaged; delete it to run again", files::name(&path)))?;
        self.format.check(&document).at(|| format!("{} cannot be used", files::name(&path)))?;
        let read = serde_json::from_value(document).map(Some);
        read.at(|| format!("{} is damaged; delete it to run again", files::name(&path)))
    }

    fn write(self, folder: &Path, outcome: &impl Serialize) -> Result<()> {
        let document = self.format.stamp(serde_json::to_value(outcome)?);
        files::replace(&folder.join(self.name), format!("{document:#}\n").as_bytes())
    }
}

/// A training with its log and its checkpoints.
pub struct Run<'g, G: Game<Real = f32>, S: Trainable<G>> {
    training: Training<'g, G>,
    trainable: S,
    pace: Pace,
    log: Option<Log>,
    curve: Curve,
    gauge: Arc<Gauge>,
    /// Seconds spent before this process.
    before: f64,
    /// The step of the checkpoint that the run continues from, at which [`Trainable::refresh`] was called before it was saved.
    refreshed_at: Option<u64>,
    begun: Instant,
}

impl<'g, G: Game<Real = f32>, S: Trainable<G>> Run<'g, G, S> {
    /// Begins, or continues from the checkpoint in the folder.
    pub fn open(training: Training<'g, G>, trainable: S, pace: Pace, control: &Control) -> Result<Self> {
        let (mut curve, mut training) = (Curve::new(pace.epoch), training);
        let (log, before, mut restored) = match &pace.folder {
            Some(folder) => {
                let (log, before, restored) = restore(folder, &mut training, &mut curve, control)?;
                (Some(log), before, restored)
            }
            None => (None, 0.0, false),
        };
        if communicator::world().ranks() > 1 {
            let mut shared = FromFirst(Ok(()));
            training.visit(&mut shared);
            restored = shared.number(restored.into()) == 1;
            shared.0?;
        }
        let gauge = control.watch(Gauge {
            name: trainable.name(),
            steps: pace.steps,
            epoch: pace.epoch,
            made: AtomicU64::new(training.steps()),
            loss: AtomicU64::new(f64::NAN.to_bits()),
            figures: Mutex::new(String::new()),
        });
        let refreshed_at = restored.then(|| training.steps());
        Ok(Self { training, trainable, pace, log, curve, gauge, before, refreshed_at, begun: Instant::now() })
    }

    fn seconds(&self) -> f64 {
        self.before + self.begun.elapsed().as_secs_f64()
    }

    /// Trains to the end. `None` when interrupted.
    pub fn go(mut self, control: &Control) -> Result<Option<Finished<Measurement, S::Output>>> {
        control.steps.fetch_add(self.training.steps(), Ordering::Relaxed);
        let mut saved = Instant::now();
        let (mut last, mut losses) = (None, Vec::new());
        loop {
            let step = self.training.steps();
            if self.refreshed_at != Some(step) {
                self.refresh(step)?;
            }
            if self.pace.cadence > 0 && step.is_multiple_of(self.pace.cadence) {
                last = Some((step, self.measure()?));
            }
            if control.all_end()? {
                self.save()?;
                return Ok(None);
            }
            if saved.elapsed() >= control.pause {
                self.save()?;
                saved = Instant::now();
            }
            match self.training.step() {
                Ok(()) => {
                    self.gauge.made.fetch_add(1, Ordering::Relaxed);
                    self.gauge.loss.store(self.training.step_value().to_bits(), Ordering::Relaxed);
                    control.steps.fetch_add(1, Ordering::Relaxed)
                }
                Err(StopReason::Completed) => break,
                Err(StopReason::NonFinite) => return Err(self.diverged()),
                Err(reason) => refuse!(EndedEarly, "{} ended early: {reason:?}", self.trainable.name()),
            };
            losses.clear();
            self.trainable.losses(&self.training, &mut losses);
            self.curve.push(&losses);
        }
        let line = match last {
            Some((step, line)) if step == self.training.steps() => line,
            _ => self.measure()?,
        };
        self.finish(line).map(Some)
    }

    fn refresh(&mut self, step: u64) -> Result<()> {
        let whole = step == self.pace.steps || (self.pace.epoch > 0 && step.is_multiple_of(self.pace.epoch));
        // Group losses and attacks use statistics that are older than the weights, which change fast at first.
        let between = self.pace.epoch > 0 && (step.is_multiple_of(16) || (step < 16 && step.is_power_of_two()));
        let samples = match (whole, between) {
            (true, _) => POPULATION[0],
            (false, true) => POPULATION[1],
            (false, false) => return Ok(()),
        };
        let mut refreshed = Refreshed { trainable: &mut self.trainable, samples, game: PhantomData, done: Ok(()) };
        self.training.visit(&mut refreshed);
        refreshed.done
    }

    fn measure(&mut self) -> Result<Measurement> {
        let (step, seconds) = (self.training.steps(), self.seconds());
        let line = self.trainable.measure(&mut self.training, seconds);
        let line =
            line.map_err(
                |error| if self.trainable.fault(self.training.game()).is_some() { self.diverged() } else { error },
            )?;
        if let Some(log) = &mut self.log {
            log.push(step, &line)?;
        }
        *held(&self.gauge.figures) = self.trainable.figures(&line);
        Ok(line)
    }

    fn diverged(&self) -> Error {
        let why = self.trainable.fault(self.training.game());
        Diverged { name: self.trainable.name(), step: self.training.steps(), why }.into()
    }

    fn save(&mut self) -> Result<()> {
        let (Some(folder), Some(log)) = (&self.pace.folder, &self.log) else { return Ok(()) };
        let mut state = Checkpoint::default();
        self.training.visit(&mut state.saver());
        self.curve.save(&mut state);
        state.set("seconds", &(self.before + self.begun.elapsed().as_secs_f64()));
        state.set("metrics", &log.text());
        state.save(&folder.join(CHECKPOINT))
    }

    /// Writes the model, the losses and the result. The result comes last: where it exists, the other files do too.
    fn finish(mut self, metrics: Measurement) -> Result<Finished<Measurement, S::Output>> {
        let end = End { seconds: self.seconds(), curve: &self.curve };
        let (weights, outcome) = self.trainable.finish(&self.training, &metrics, &end)?;
        if let Some(folder) = &self.pace.folder {
            weights.save(&folder.join(MODEL))?;
            files::replace(&folder.join(CURVE), self.curve.csv(&self.trainable.loss_names()).as_bytes())?;
            self.pace.result.write(folder, &outcome)?;
            // With the result, the checkpoint is no longer needed.
            checkpoint::remove(&folder.join(CHECKPOINT));
        }
        Ok(Finished { weights, metrics, outcome })
    }
}

/// Refreshes the parameters of a training, which a visitor may change.
struct Refreshed<'a, G, S> {
    trainable: &'a mut S,
    samples: usize,
    game: PhantomData<G>,
    done: Result<()>,
}

impl<G: Game<Real = f32>, S: Trainable<G>> Visitor<f32> for Refreshed<'_, G, S> {
    fn vector(&mut self, name: &str, v: &mut Vec<f32>) {
        if name == "x" {
            self.done = self.trainable.refresh(v, self.samples);
        }
    }

    fn scalar(&mut self, _: &str, _: &mut f64) {}

    fn count(&mut self, _: &str, _: &mut u64) {}
}

/// Restores a training from the checkpoint in its folder, if there is one. Returns its log and the seconds spent before.
fn restore<G: Game<Real = f32>>(
    folder: &Path,
    training: &mut Training<'_, G>,
    curve: &mut Curve,
    control: &Control,
) -> Result<(Log, f64, bool)> {
    folder::remove_partial_files(folder);
    let found = Checkpoint::latest(&folder.join(CHECKPOINT))?;
    let (mut metrics, mut before) = ("", 0.0);
    if let Some((state, warning)) = &found {
        let mut restorer = state.restorer();
        training.visit(&mut restorer);
        restorer.finish()?;
        curve.restore(state).ok_or_else(|| {
            error!(Checkpoint, "the checkpoint in {} has no losses; it is of another version", files::name(folder))
        })?;
        before = state.get("seconds").and_then(|s| s.parse().ok()).unwrap_or(0.0);
        metrics = state.get("metrics").unwrap_or_default();
        held(&control.warnings).extend(warning.clone());
    }
    Ok((Log::open(folder, metrics, before)?, before, found.is_some()))
}

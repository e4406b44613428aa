//! The time of a step of robust training, and the loss that screening of targets misses, on MNIST with the network of the paper.
//!
//! `robust_steps speed [batch=128] [steps=6]` times a few steps of every objective;
//! `robust_steps train [objective=all|K|K/S|K/pS|proven/S|madry|trades|natural] [batch=128] [epochs=1] [lr=5e-4] [out=FILE] ...` trains;
//! `robust_steps profile` compares the time of an attack step with the sum of its stages, on one thread;
//! `robust_steps agree [from=FILE] [images=500]` compares screened targets with all targets at given weights.
#![allow(clippy::print_stdout)]

use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Schedule};
use standoff::{Game, Point, Training};
use standoff_nn::Ramp;
use standoff_nn::data::ImageSet;
use standoff_nn::data::{Batching, Dataset, Order};
use standoff_nn::model::weights::{Metadata, Tensor, encode};
use standoff_nn::robust::{Objective, Options, RobustGame, Start, Targets, TrainingAttack};
use standoff_nn::{Ask, Batch, Biases, Engine, Loss, Model, Outcome, Samples, Shape, StepKind, Steps, Weights};
use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// `key=value` arguments.
struct Arguments(HashMap<String, String>);

impl Arguments {
    fn or<T: FromStr>(&self, key: &str, default: T) -> Result<T> {
        match self.0.get(key) {
            Some(text) => text.parse().map_err(|_| format!("{key}={text} cannot be read").into()),
            None => Ok(default),
        }
    }

    fn word(&self, key: &str, default: &str) -> String {
        self.0.get(key).map_or(default, String::as_str).to_owned()
    }

    /// The objective of that name: `all`, `3` (the three largest logits), `3/2` (the three largest losses after two steps),
    /// `2/p1` (the two largest losses after a probe of one step), `proven/9`, `madry`, `trades` or `natural`.
    fn objective(&self, name: &str) -> Result<Objective> {
        let paper = |targets| Ok(Objective::Paper { targets });
        match name.split_once('/') {
            Some(("proven", after)) => paper(Targets::Proven { after: after.parse()?, slack: 0.0 }),
            Some((keep, probe)) if probe.starts_with('p') => {
                paper(Targets::Probed { keep: keep.parse()?, steps: probe[1..].parse()? })
            }
            Some((keep, after)) => paper(Targets::Top { keep: keep.parse()?, after: after.parse()? }),
            None => match name {
                "all" => paper(Targets::All),
                "madry" => Ok(Objective::Madry),
                "trades" => Ok(Objective::Trades { beta: self.or("beta", 6.0)? }),
                "natural" => Ok(Objective::Natural),
                keep => paper(Targets::Top { keep: keep.parse()?, after: 0 }),
            },
        }
    }

    fn options(&self, name: &str, batching: Batching) -> Result<Options> {
        let objective = self.objective(name)?;
        let eps: f32 = self.or("eps", 0.4)?;
        let steps = self.or("attack-steps", 11)?;
        let base = match objective {
            Objective::Madry => TrainingAttack::madry(eps, steps),
            Objective::Trades { .. } => TrainingAttack::trades(eps, steps),
            _ => TrainingAttack { steps, ..TrainingAttack::published(eps) },
        };
        let kind = match self.word("kind", "sign").as_str() {
            "sign" => StepKind::Sign,
            "plain" => StepKind::Plain,
            "scaled" => StepKind::Scaled,
            other => return Err(format!("kind={other} is not sign, plain or scaled").into()),
        };
        let start = match self.or("warm", 0)? {
            0 => base.start,
            steps => Start::Warm { steps },
        };
        let (size, ramp) = (self.or("size", base.size)?, Ramp::over(self.or("ramp", 0)?));
        Ok(Options { objective, attack: TrainingAttack { kind, size, start, ramp, ..base }, batching, seed: 1 })
    }
}

fn mnist(part: &str) -> Result<Arc<Dataset>> {
    let file = |kind: &str| format!("data/mnist/{part}-{kind}-ubyte.gz");
    let set = ImageSet::open(Path::new(&file("images-idx3")), Path::new(&file("labels-idx1")))?;
    Ok(Arc::new(Dataset::images(&set, 255.0)?))
}

fn network() -> Result<Model> {
    Ok(Model::preset("lenet", Shape::new(1, 28, 28), 10)?)
}

fn start(model: &Model, arguments: &Arguments) -> Result<Vec<f32>> {
    match arguments.0.get("from") {
        Some(file) => Ok(Weights::load_for(model, Path::new(file))?.parameters),
        None => Ok(model.initialise(Biases::Robust, 1)),
    }
}

/// Runs Adam, and calls `report` after each step.
fn train(
    game: &mut RobustGame,
    x: &[f32],
    stages: &[(u64, f64)],
    mut report: impl FnMut(&Training<'_, RobustGame>),
) -> Result<Vec<f32>> {
    let recipe = Recipe::adam(AdamOptions::default(), Schedule::new(stages)?);
    let method = Train::new(game, Reply::Exact { lambda: 0.0 }, &recipe)?;
    let start = Point::new(x, &game.y_set().centre());
    let mut training = Training::new(game, &start, Box::new(method))?;
    for _ in 0..stages.iter().map(|stage| stage.0).sum() {
        if let Err(reason) = training.step() {
            return Err(
                format!("ended after {} steps: {reason:?}, {:?}", training.steps(), training.game().error()).into()
            );
        }
        report(&training);
    }
    Ok(training.point().x.clone())
}

/// Milliseconds per step, the least of the steps after the first: noise only adds time.
fn speed(arguments: &Arguments) -> Result<()> {
    let (model, data) = (network()?, mnist("train")?);
    let batch = arguments.or("batch", 128)?;
    let x = start(&model, arguments)?;
    println!("batch {batch}, two threads\nobjective     ms/step  images/s  attack steps of an image");
    for name in arguments.word("names", "all,3,2,3/1,2/2,proven/10,madry,trades,natural").split(',') {
        let options = arguments.options(name, Batching::Size { size: batch, order: Order::Shuffled(1) })?;
        let mut game = RobustGame::new(&model, data.clone(), &options, 2)?;
        let (mut clock, mut least, mut work) = (Instant::now(), f64::INFINITY, 0);
        let steps = arguments.or("steps", 6)?;
        train(&mut game, &x, &[(steps, 1e-5)], |training| {
            let seconds = clock.elapsed().as_secs_f64();
            least = if training.steps() > 1 && seconds < least { seconds } else { least };
            clock = Instant::now();
            work = training.game().attack_work();
        })?;
        let each = work as f64 / (steps * batch as u64) as f64;
        println!("{name:<12} {:>8.1} {:>9.0} {each:>10.2}", least * 1e3, batch as f64 / least);
    }
    Ok(())
}

/// Natural accuracy and that under PGD-40 (sign steps of 0.01 from the image, quantised by truncation), in percent.
fn judge(engine: &mut Engine, x: &[f32], data: &Dataset, eps: f32) -> Result<(f64, f64)> {
    engine.set_weights(x)?;
    let (n, ends) = (data.len(), [data.len()]);
    let batch = Batch { samples: data.samples(), labels: data.labels(), rows: None, ends: &ends, weights: None };
    let mut out = Outcome::default();
    engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut out)?;
    let natural = out.group_correct[0];
    let Samples::Bytes { data: bytes, scale } = data.samples() else { return Err("bytes are wanted".into()) };
    let mut moved: Vec<f32> = bytes.iter().map(|&b| f32::from(b) / scale).collect();
    let steps = Steps { kind: StepKind::Sign, size: 0.01, count: 40, eps, clip: Some((0.0, 1.0)) };
    engine.ascend(&batch, Loss::CrossEntropy, &steps, &mut moved)?;
    moved.iter_mut().for_each(|v| *v = (255.0 * *v).trunc() / 255.0);
    engine.pass(&Batch { samples: Samples::Floats(&moved), ..batch }, Loss::CrossEntropy, Ask::Values, &mut out)?;
    let percent = |count: usize| 100.0 * count as f64 / n as f64;
    Ok((percent(natural), percent(out.group_correct[0])))
}

fn long_train(arguments: &Arguments) -> Result<()> {
    let (model, data, test) = (network()?, mnist("train")?, mnist("t10k")?.first(arguments.or("test", 1000)?)?);
    let batch = arguments.or("batch", 128)?;
    let order = if arguments.word("order", "shuffled") == "as-is" { Order::AsIs } else { Order::Shuffled(1) };
    let options = arguments.options(&arguments.word("objective", "2"), Batching::Size { size: batch, order })?;
    let steps = match arguments.or("steps", 0u64)? {
        0 => (arguments.or("epochs", 1.0)? * data.len() as f64 / batch as f64) as u64,
        steps => steps,
    };
    let rate: f64 = arguments.or("lr", 5e-4)?;
    let late = (steps as f64 * arguments.or("late", 0.25)?) as u64;
    let mut game = RobustGame::new(&model, data, &options, 2)?;
    let mut judges = Engine::new(&model, 2)?;
    let every = arguments.or("every", (steps / 10).max(1))?;
    let (mut clock, mut busy) = (Instant::now(), 0.0);
    let eps = arguments.or("eps", 0.4)?;
    let mut trained = |training: &Training<'_, RobustGame>| {
        let step = training.steps();
        if step.is_multiple_of(every) || step == steps {
            busy += clock.elapsed().as_secs_f64();
            let accuracy = training.game().accuracy();
            let found = judge(&mut judges, &training.point().x, &test, eps);
            let (natural, pgd) = found.unwrap_or((f64::NAN, f64::NAN));
            let attacked = 100.0 * accuracy.attacked as f64 / accuracy.images as f64;
            println!("{step:>6} steps {busy:>7.1} s: batch {attacked:>5.1}, test {natural:.2}, PGD-40 {pgd:.2}");
            clock = Instant::now();
        }
    };
    let stages: Vec<(u64, f64)> =
        [(steps - late, rate), (late, rate / 10.0)].into_iter().filter(|stage| stage.0 > 0).collect();
    let x = train(&mut game, &start(&model, arguments)?, &stages, &mut trained)?;
    if let Some(file) = arguments.0.get("out") {
        let tensors: Vec<Tensor<'_>> = model
            .views()
            .iter()
            .map(|v| Tensor { name: &v.name, shape: &v.shape, values: &x[v.range.clone()] })
            .collect();
        std::fs::write(file, encode(&tensors, &Metadata::new()))?;
    }
    Ok(())
}

/// Compares screened targets with all targets: how often the same target has the largest loss, and the share of the loss found.
fn agree(arguments: &Arguments) -> Result<()> {
    let (model, data) = (network()?, Arc::new(mnist("train")?.first(arguments.or("images", 500)?)?));
    let x = start(&model, arguments)?;
    let mut all = RobustGame::new(&model, data.clone(), &arguments.options("all", Batching::Whole)?, 2)?;
    let want = all.measure(&x, 0.0)?;
    let (n, gap) = (data.len(), want.certificate);
    println!(
        "all: loss {:.4}, stand {}/{n}, X {:.3e}, Y {:.1e}",
        want.value, want.accuracy.attacked, gap.x.upper, gap.y.upper
    );
    println!("targets      attack steps  same winner  loss found  stand");
    for name in arguments.word("names", "1,2,3,4,1/1,2/1,3/1,1/2,2/2,1/4,proven/10,proven/9").split(',') {
        let mut some = RobustGame::new(&model, data.clone(), &arguments.options(name, Batching::Whole)?, 2)?;
        let got = some.measure(&x, 0.0)?;
        let same = want.y.chunks(10).zip(got.y.chunks(10)).filter(|(a, b)| a == b).count();
        let work = some.attack_work() as f64 / n as f64;
        println!(
            "{name:<12} {work:>12.1} {:>11.1}% {:>10.2}% {:>6}",
            100.0 * same as f64 / n as f64,
            100.0 * got.value / want.value,
            got.accuracy.attacked
        );
    }
    Ok(())
}

/// CPU seconds of this thread, from Linux, which exclude other processes; on other systems the time since the start.
fn busy(begun: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    nanoseconds.map_or_else(|| begun.elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

/// Microseconds per image of one attack step on one thread: the sum of its stages (the least of many), the engine's loop, and a pass
/// (means of the CPU time of this thread).
fn profile(arguments: &Arguments) -> Result<()> {
    let (model, data) = (network()?, mnist("train")?);
    let mut engine = Engine::new(&model, 1)?;
    engine.set_weights(&start(&model, arguments)?)?;
    let mut sum = 0.0;
    for stage in engine.profile(std::time::Duration::from_millis(400)) {
        if stage.direction != "to weights" {
            println!("{:<36} {:<9} {:>7.2} us", stage.layers, stage.direction, stage.seconds * 1e6);
            sum += stage.seconds * 1e6;
        }
    }
    let images = arguments.or("images", 64)?;
    let data = data.first(images)?;
    let (ends, targets) = ([images], vec![3u16; images]);
    let batch = Batch { samples: data.samples(), labels: data.labels(), rows: None, ends: &ends, weights: None };
    let Samples::Bytes { data: bytes, .. } = data.samples() else { return Err("bytes are wanted".into()) };
    let clean: Vec<f32> = bytes.iter().map(|&b| f32::from(b) / 255.0).collect();
    let (mut moved, mut out) = (clean.clone(), Outcome::default());
    let (mut loop_total, mut pass_total) = (0.0, 0.0);
    let (count, begun) = (4, Instant::now());
    let repeats = arguments.or("repeats", 40)?;
    for _ in 0..repeats {
        moved.copy_from_slice(&clean);
        let clock = busy(begun);
        let steps = Steps { kind: StepKind::Sign, size: 0.1, count, eps: 0.4, clip: Some((0.0, 1.0)) };
        engine.ascend(&batch, Loss::Margin(&targets), &steps, &mut moved)?;
        loop_total += busy(begun) - clock;
        let clock = busy(begun);
        let moved = Batch { samples: Samples::Floats(&moved), ..batch };
        engine.pass(&moved, Loss::Margin(&targets), Ask::InputGradients, &mut out)?;
        pass_total += busy(begun) - clock;
    }
    let scale = 1e6 / (repeats * images) as f64;
    let (ascend, pass) = (loop_total * scale / count as f64, pass_total * scale);
    println!("sum of stages {sum:.1} us, ascend {ascend:.1} us, pass {pass:.1} us");
    Ok(())
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mode = words.next().unwrap_or_default();
    let pairs = words.map(|w| w.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())).ok_or(w));
    let pairs: std::result::Result<_, String> = pairs.collect();
    let arguments = Arguments(pairs.map_err(|word| format!("`{word}` is not key=value"))?);
    match mode.as_str() {
        "speed" => speed(&arguments),
        "train" => long_train(&arguments),
        "agree" => agree(&arguments),
        "profile" => profile(&arguments),
        _ => Err("usage: robust_steps speed|train|agree|profile [key=value ...]".into()),
    }
}

//! Interval-bound training of `lenet` on the bundled MNIST, to compare schedules:
//! `cargo run --release -p standoff-nn --example interval_steps -- epochs=20 warm=1 ramp=10 rate=0.001 batch=100 out=ibp.safetensors`.
//! One line per epoch: seconds, accuracy and certified share of the first test images; then proofs on all 10,000.
//!
//! `model=models/dm-small.toml biases=interval slope=0.01` trains another network, `crown=1 crown_end=0` mixes margins by backward relaxation in.
//! `held=5000` holds out training images and measures on them; then no test image is read.
#![allow(clippy::print_stdout)]

use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Schedule};
use standoff::{Point, Training};
use standoff_nn::Ramp;
use standoff_nn::attack::{LabelledImages, Protocol, Run, ensemble};
use standoff_nn::certify::certify;
use standoff_nn::data::ImageSet;
use standoff_nn::data::{Batching, Dataset, Order};
use standoff_nn::interval::{IntervalGame, IntervalOptions};
use standoff_nn::model::weights::Metadata;
use standoff_nn::{Biases, Engine, Model, Region, Shape, Weights};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// `key=value` arguments.
struct Arguments(HashMap<String, String>);

impl Arguments {
    fn number(&self, name: &str, default: f64) -> Result<f64> {
        Ok(self.0.get(name).map_or(Ok(default), |text| text.parse())?)
    }
}

fn images(name: &str) -> Result<ImageSet> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist");
    let file = |kind: &str| folder.join(format!("{name}-{kind}-ubyte.gz"));
    Ok(ImageSet::open(&file("images-idx3"), &file("labels-idx1"))?)
}

fn main() -> Result<()> {
    let given = std::env::args().skip(1).filter_map(|a| a.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())));
    let given = Arguments(given.collect());
    let model = match given.0.get("model") {
        Some(file) => Model::from_toml(&std::fs::read_to_string(file)?)?,
        None => Model::preset("lenet", Shape::new(1, 28, 28), 10)?,
    };
    let (train, test) = match given.number("held", 0.0)? as usize {
        0 => (images("train")?, images("t10k")?),
        held => images("train")?.hold_out(held),
    };
    let limit = given.number("images", train.labels.len() as f64)? as usize;
    let train = Arc::new(Dataset::images(&train, 255.0)?.first(limit)?);
    let judged = Arc::new(Dataset::images(&test, 255.0)?.first(2_000)?);
    let (threads, seed) = (given.number("threads", 2.0)? as usize, given.number("seed", 1.0)? as u64);
    let size = given.number("batch", 100.0)? as usize;
    let epoch = (train.len() / size) as u64;
    let steps = |name: &str, default: f64| -> Result<u64> { Ok((given.number(name, default)? * epoch as f64) as u64) };
    let ramp = Ramp { start: steps("warm", 1.0)?, steps: steps("ramp", 10.0)?, ..Ramp::NONE };
    let total = steps("epochs", 20.0)?;
    let rate = given.number("rate", 1e-3)?;
    // The last epochs (a share of `slow`) run at a tenth of the rate, and the last third of them at a hundredth.
    let slow = (given.number("slow", 0.4)? * total as f64) as u64;
    let schedule = Schedule::new(&[(total - slow, rate), (slow - slow / 3, 0.1 * rate), (slow / 3, 0.01 * rate)])?;
    let order = Order::Shuffled(seed);
    let eps = given.number("eps", 0.4)? as f32;
    let kappa = given.number("kappa", 0.5)?;
    let crown = (given.number("crown", 0.0)?, given.number("crown_end", 0.0)?);
    let slope = given.number("slope", 0.0)? as f32;
    let options =
        IntervalOptions { kappa, crown, slope, ..IntervalOptions::image(eps, ramp, Batching::Size { size, order }) };
    let at = given.number("at", 0.3)? as f32;
    let judging = IntervalOptions::image(at, Ramp::NONE, Batching::Whole);
    let mut judge = IntervalGame::new(&model, judged, &judging, threads)?;
    let mut start = model.initialise(Biases::named(given.0.get("biases").map_or("zero", String::as_str))?, seed);
    for (view, gain) in model.views().iter().step_by(2).zip(["g1", "g2", "g3", "g4"]) {
        let gain = given.number(gain, 1.0)? as f32;
        start[view.range.clone()].iter_mut().for_each(|w| *w *= gain);
    }
    if let Some(file) = given.0.get("from") {
        start = Weights::load_for(&model, Path::new(file))?.parameters;
    }
    let mut game = IntervalGame::new(&model, train, &options, threads)?;
    let recipe = Recipe::adam(AdamOptions::default(), schedule);
    let method = Train::new(&game, Reply::Held, &recipe)?;
    let mut training = Training::new(&mut game, &Point::new(&start, &[1.0]), Box::new(method))?;
    let (mut spent, every) = (0.0, given.number("every", 1.0)? as u64 * epoch);
    for step in 1..=total {
        let begun = Instant::now();
        training.step().map_err(|reason| format!("step {step}: {reason:?}"))?;
        spent += begun.elapsed().as_secs_f64();
        if step.is_multiple_of(every) {
            let found = judge.measure(&training.point().x)?;
            let (eps, kappa) = training.game().mixture();
            let share = |n: usize| 100.0 * n as f64 / found.images as f64;
            let (natural, certified) = (share(found.natural), share(found.certified));
            println!(
                "epoch {:3}  {spent:6.1} s  eps {eps:.3}  kappa {kappa:.2}  natural {natural:.2}  certified at {at} {certified:.2}  loss {:.4}",
                step / epoch,
                found.value
            );
        }
    }
    let x = training.point().x.clone();
    if let Some(file) = given.0.get("out") {
        Weights { model: model.clone(), parameters: x.clone(), metadata: Metadata::new() }.save(Path::new(file))?;
    }
    let mut engine = Engine::new(&model, threads)?;
    engine.set_weights(&x)?;
    let pixels: Vec<f32> = test.images.iter().map(|&b| f32::from(b) / 255.0).collect();
    let labels: Vec<u16> = test.labels.iter().map(|&l| l.into()).collect();
    let proven: &[f32] = if given.number("prove", 1.0)? > 0.0 { &[0.0, 0.1, 0.2, 0.3, 0.4] } else { &[] };
    for &eps in proven {
        let begun = Instant::now();
        let proof = certify(&engine, &pixels, &labels, Region::image(eps))?;
        println!("proven at {eps}: {} of {} in {:.1} s", proof.count(), labels.len(), begun.elapsed().as_secs_f64());
    }
    let attacked = given.number("attack", 0.0)? as usize;
    if attacked > 0 {
        attack(&engine, &pixels[..attacked * 784], &labels[..attacked], at)?;
    }
    Ok(())
}

/// Compares the standard ensemble of attacks with the proof, image by image.
fn attack(engine: &Engine, images: &[f32], labels: &[u16], eps: f32) -> Result<()> {
    let proof = certify(engine, images, labels, Region::image(eps))?;
    let labelled = LabelledImages { images, labels };
    let found = ensemble(engine, labelled, &Protocol::standard(f64::from(eps)), &Run::new(1))?;
    let broken = (0..labels.len()).filter(|&i| proof.certified[i] && !found.stands(i)).count();
    let (n, right, left, proven) = (labels.len(), found.correct(), found.left(), proof.count());
    println!("at {eps}, of {n}: {right} right, {left} under the ensemble, {proven} proven, {broken} of these broken");
    if broken > 0 { Err("a proof is wrong".into()) } else { Ok(()) }
}

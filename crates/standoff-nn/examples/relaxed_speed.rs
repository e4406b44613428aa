//! Seconds of a step of certified training on one thread: the plain pass, interval bounds and margins by backward relaxation, with gradients.
//! It prints the smallest processor time of some repetitions (on Linux; elsewhere the elapsed time).
//!
//! `cargo run --release -p standoff-nn --example relaxed_speed -- models/dm-small.toml 256 3`

#![allow(clippy::print_stdout)]

use std::fs;
use std::time::Instant;

use standoff_nn::{Ask, Batch, Biases, Bounds, Engine, Error, Loss, Model, Outcome, Region, Samples};

/// Nanoseconds that this thread has run, or that have passed.
fn spent(begun: Instant) -> f64 {
    let schedule = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran = schedule.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    ran.unwrap_or_else(|| begun.elapsed().as_nanos() as f64)
}

fn main() -> Result<(), Error> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual: usize| given.get(i).and_then(|x| x.parse().ok()).unwrap_or(usual);
    let file = given.first().map_or("models/dm-small.toml", String::as_str);
    let (images, repeats) = (number(1, 256), number(2, 3));
    let text = fs::read_to_string(file).map_err(|e| Error::Mismatch(format!("cannot read {file}: {e}")))?;
    let model = Model::from_toml(&text)?;
    let mut engine = Engine::new(&model, 1)?;
    engine.set_weights(&model.initialise(Biases::Interval, 1))?;
    let pixels: Vec<f32> = (0..images * model.input().size()).map(|i| (i * 7919 % 1000) as f32 / 1000.0).collect();
    let labels: Vec<u16> = (0..images).map(|i| (i % model.outputs()) as u16).collect();
    let ends = [images];
    let batch = Batch { samples: Samples::Floats(&pixels), labels: &labels, rows: None, ends: &ends, weights: None };
    let (mut plain, mut bounds, begun) = (Outcome::default(), Bounds::default(), Instant::now());
    let mut best = [f64::INFINITY; 4];
    for _ in 0..repeats {
        let mut marks = [spent(begun); 5];
        engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut plain)?;
        marks[1] = spent(begun);
        engine.bounds(&batch, Region::image(0.2), Ask::Gradients, &mut bounds)?;
        marks[2] = spent(begun);
        engine.relaxed_bounds(&batch, (Region::image(0.2), 0.5), Ask::Values, &mut bounds)?;
        marks[3] = spent(begun);
        engine.relaxed_bounds(&batch, (Region::image(0.2), 0.5), Ask::Gradients, &mut bounds)?;
        marks[4] = spent(begun);
        for (best, pair) in best.iter_mut().zip(marks.windows(2)) {
            *best = best.min((pair[1] - pair[0]) / 1e9);
        }
    }
    let names = ["plain pass", "interval bounds", "relaxed bounds without gradients", "relaxed bounds"];
    names.iter().zip(best).for_each(|(name, seconds)| println!("{name}: {seconds:.3} s for {images} images"));
    println!("step with relaxation over step with intervals: {:.2}", (best[0] + best[3]) / (best[0] + best[1]));
    println!("the same without the plain pass (kappa 0): {:.2}", best[3] / best[1]);
    Ok(())
}

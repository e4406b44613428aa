//! The speed of every stage of the presets, and the peak of the machine measured in the same run.
//!
//! `cargo bench -p standoff-nn --bench kernels`
#![allow(clippy::print_stdout)]

use standoff_nn::{Ask, Batch, Biases, Bounds, Engine, Loss, Model, Outcome, Region, Samples, Shape};
use std::time::{Duration, Instant};

fn main() {
    let each = Duration::from_millis(if std::env::args().any(|a| a == "--quick") { 30 } else { 200 });
    for name in ["fair-cnn", "lenet", "mlp", "logistic"] {
        let model = Model::preset(name, Shape::new(1, 28, 28), 10).expect("a preset");
        let mut engine = Engine::new(&model, 1).expect("an engine");
        engine.set_weights(&model.initialise(Biases::Zero, 1)).expect("finite");
        let peak = engine.peak(each);
        println!("\n{name} ({}): peak {:.1} GFLOP/s on one thread", engine.isa().name(), peak / 1e9);
        println!("{:<34} {:<11} {:>10} {:>9} {:>8}", "layers", "direction", "us/image", "GFLOP/s", "of peak");
        for t in engine.profile(each) {
            let rate = t.flops / t.seconds;
            println!(
                "{:<34} {:<11} {:>10.3} {:>9.1} {:>7.0}%",
                t.layers,
                t.direction,
                t.seconds * 1e6,
                rate / 1e9,
                100.0 * rate / peak
            );
        }
        whole(&engine, each);
    }
}

/// Gradients of 64 images through the whole network: of the loss, and of the worst-case loss by interval bounds.
fn whole(engine: &Engine, each: Duration) {
    let images: Vec<u8> = (0..64 * 784u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let labels: Vec<u16> = (0..64).map(|i| i % 10).collect();
    let samples = Samples::Bytes { data: &images, scale: 255.0 };
    let batch = Batch { samples, labels: &labels, rows: None, ends: &[64], weights: None };
    let (mut plain, mut bounds) = (Outcome::default(), Bounds::default());
    let mut best = [f64::INFINITY; 2];
    let begun = Instant::now();
    while begun.elapsed() < 4 * each {
        let start = Instant::now();
        engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut plain).expect("finite");
        let middle = Instant::now();
        engine.bounds(&batch, Region::image(0.1), Ask::Gradients, &mut bounds).expect("finite");
        let times = [middle - start, middle.elapsed()];
        best = [0, 1].map(|i| best[i].min(times[i].as_secs_f64()));
    }
    for (what, seconds) in ["gradients", "of bounds"].iter().zip(best) {
        println!("{:<34} {what:<11} {:>10.3}", "the whole network", seconds / 64.0 * 1e6);
    }
}

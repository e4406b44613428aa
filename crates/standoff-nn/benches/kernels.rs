//! The speed of every stage of the presets and of networks of general layers, and the peak of the machine measured in the same run.
//!
//! `cargo bench -p standoff-nn --bench kernels`; the names of some networks as arguments select them.
#![allow(clippy::print_stdout)]

use standoff_nn::engine::Draw;
use standoff_nn::{Ask, Batch, Biases, Bounds, Engine, Loss, Model, Outcome, Region, Samples, Shape};
use std::time::{Duration, Instant};

/// Networks of general layers: a ResNet-8, the wide networks of certified training, and depthwise convolutions.
const DESCRIBED: [(&str, &str); 4] = [
    ("resnet8", include_str!("../../../models/resnet8.toml")),
    ("cnn7", include_str!("../../../models/cnn7.toml")),
    ("dm-large", include_str!("../../../models/dm-large.toml")),
    (
        "depthwise",
        "input = [3, 32, 32]\nlayers = [\"conv(3, 32, stride=2, pad=1)\", \"relu\", \"conv(3, 32, pad=1, groups=32)\", \"conv(1, 64)\", \
         \"conv(3, 64, stride=2, pad=1, groups=64)\", \"conv(1, 64)\", \"relu\", \"globalavgpool\", \"dense(10)\"]",
    ),
];

/// True if the name is an argument.
fn has(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}

fn main() {
    let each = Duration::from_millis(if std::env::args().any(|a| a == "--quick") { 30 } else { 200 });
    let presets = ["fair-cnn", "lenet", "mlp", "logistic"];
    let preset = |name| (name, Model::preset(name, Shape::new(1, 28, 28), 10).expect("a preset"));
    let described = |(name, text)| (name, Model::from_toml(text).expect("a model"));
    let models = presets.into_iter().map(preset).chain(DESCRIBED.into_iter().map(described));
    let chosen = |name: &str| presets.iter().chain(&DESCRIBED.map(|d| d.0)).all(|n| !has(n)) || has(name);
    for (name, model) in models.filter(|(name, _)| chosen(name)) {
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

/// Gradients of 64 images through the whole network: of the loss, of the worst-case loss by interval bounds, and of the loss in a
/// training pass.
fn whole(engine: &Engine, each: Duration) {
    let pixels = engine.model().input().size() as u32;
    let images: Vec<u8> = (0..64 * pixels).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let labels: Vec<u16> = (0..64).map(|i| i % 10).collect();
    let samples = Samples::Bytes { data: &images, scale: 255.0 };
    let batch = Batch { samples, labels: &labels, rows: None, ends: &[64], weights: None };
    let (mut plain, mut bounds) = (Outcome::default(), Bounds::default());
    let mut best = [f64::INFINITY; 3];
    let begun = Instant::now();
    while begun.elapsed() < 4 * each {
        let start = Instant::now();
        engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut plain).expect("finite");
        let middle = Instant::now();
        engine.bounds(&batch, Region::image(0.1), Ask::Gradients, &mut bounds).expect("finite");
        let end = Instant::now();
        engine.train(&batch, Loss::CrossEntropy, (Ask::Gradients, Draw::default()), &mut plain).expect("finite");
        let times = [middle - start, end - middle, end.elapsed()];
        best = [0, 1, 2].map(|i| best[i].min(times[i].as_secs_f64()));
    }
    for (what, seconds) in ["gradients", "of bounds", "in training"].iter().zip(best) {
        println!("{:<34} {what:<11} {:>10.3}", "the whole network", seconds / 64.0 * 1e6);
    }
}

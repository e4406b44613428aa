//! The speed of every stage of the presets, beside the peak of the machine measured in the same run.
//!
//! `cargo bench -p standoff-nn --bench kernels`
#![allow(clippy::print_stdout)]

use standoff_nn::{Biases, Engine, Model, Shape};
use std::time::Duration;

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
    }
}

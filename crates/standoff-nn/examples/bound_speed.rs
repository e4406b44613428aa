//! Images per second of interval, CROWN and alpha-CROWN bounds: all margins of MNIST test images on one thread.
//!
//! `cargo run --release -p standoff-nn --example bound_speed -- models/madry.safetensors 0.02 4`

#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use standoff_nn::data::ImageSet;
use standoff_nn::model::onnx::OnnxModel;
use standoff_nn::verify::{Arithmetic, BoundMethod, Bounder, InputRegion, Property};
use standoff_nn::{Error, Weights};

fn main() -> Result<(), Error> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual: f64| given.get(i).and_then(|x| x.parse::<f64>().ok()).unwrap_or(usual);
    let file = given.first().map_or("models/madry.safetensors", String::as_str);
    let (eps, count) = (number(1, 0.02), number(2, 4.0) as usize);
    let mut weights = Weights::load(Path::new(file))?;
    weights.for_pixels()?;
    let graph = OnnxModel::of_model(&weights.model, &weights.parameters)?.graph()?;
    let bounder = Bounder::new(&graph, Arithmetic::Float32)?;
    let folder = Path::new("data/mnist");
    let set = ImageSet::open(&folder.join("t10k-images-idx3-ubyte.gz"), &folder.join("t10k-labels-idx1-ubyte.gz"))?;
    let methods = [
        ("interval", BoundMethod::Interval, 16 * count),
        ("crown", BoundMethod::Crown, count),
        ("alpha, 20 steps", BoundMethod::Alpha { steps: 20 }, count),
    ];
    for (name, method, count) in methods {
        let (begun, mut proven) = (Instant::now(), 0);
        for i in 0..count {
            let x: Vec<f64> = set.image(i).iter().map(|&k| f64::from(k) / 255.0).collect();
            let region = InputRegion::linf(&x, eps, (0.0, 1.0))?;
            let property = Property::classified(Vec::new(), Vec::new(), usize::from(set.labels[i]), graph.outputs());
            let rows = property.cases[0].unsafe_sets.concat();
            proven += usize::from(bounder.lower_bounds(&region, &rows, method).iter().all(|b| *b > 0.0));
        }
        let rate = count as f64 / begun.elapsed().as_secs_f64();
        println!("{name}: {rate:.2} images/s, {proven} of {count} proven at eps {eps}");
    }
    Ok(())
}

//! Attacks on small networks: against closed forms, against an independent judge, on any number of threads.

mod closed_form;
#[path = "../common/mod.rs"]
mod common;
mod doubts;
mod functions;
mod judging;
mod paper_network;
mod same_bits;

use common::{Stream, model};
use standoff_nn::Layer::{self, Dense, Flatten, MaxPool, Relu};
use standoff_nn::attack::{Attack, LabelledImages};
use standoff_nn::{Ask, Batch, Engine, Loss, Model, Outcome, Samples};

/// Images on the 8-bit grid, with the labels that the network gives them.
struct Case {
    engine: Engine,
    params: Vec<f32>,
    images: Vec<f32>,
    labels: Vec<u16>,
}

impl Case {
    /// Random weights, with biases of the last layer that give every class its share.
    fn new(model: &Model, count: usize, threads: usize) -> Self {
        let mut params = common::weights(model, &mut Stream::new(5));
        let mut stream = Stream::new(6);
        let (width, outputs) = (model.input().size(), model.outputs());
        let images: Vec<f32> = (0..count * width).map(|_| (128.0 + 127.0 * stream.signed()).round() / 255.0).collect();
        let wide: Vec<f64> = params.iter().map(|&v| f64::from(v)).collect();
        let last = params.len() - outputs;
        for image in images.chunks_exact(width) {
            let x: Vec<f64> = image.iter().map(|&v| f64::from(v)).collect();
            let values = standoff_nn::reference::forward(model, &wide, &x);
            for (b, z) in params[last..].iter_mut().zip(values.last().expect("logits")) {
                *b -= *z as f32 / count as f32;
            }
        }
        let mut engine = Engine::new(model, threads).expect("threads");
        engine.set_weights(&params).expect("finite");
        let labels = predictions(&engine, &images, count);
        Self { engine, params, images, labels }
    }

    fn labelled(&self) -> LabelledImages<'_> {
        LabelledImages { images: &self.images, labels: &self.labels }
    }
}

fn predictions(engine: &Engine, images: &[f32], count: usize) -> Vec<u16> {
    let (labels, mut out) = (vec![0; count], Outcome::default());
    let batch = Batch { samples: Samples::Floats(images), labels: &labels, rows: None, ends: &[count], weights: None };
    engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut out).expect("finite");
    out.predictions
}

/// A convolution, pooling, ReLU: small, but with all that a network has.
fn small(outputs: usize) -> Model {
    let layers: [Layer; 7] = [common::conv(3, 4), Relu, MaxPool(2), Flatten, Dense(12), Relu, Dense(outputs)];
    model((1, 8, 8), &layers)
}

/// Every family with a budget for tests.
fn attacks() -> Vec<Attack> {
    let names = [
        "fgsm",
        "pgd20",
        "pgd8x2:loss=dlr",
        "targeted10",
        "apgd-ce20",
        "apgd-margin20",
        "apgd-dlr20",
        "apgd-t10x9",
        "fab10x9",
        "smooth20",
        "square60",
        "random10",
    ];
    names.iter().map(|name| Attack::named(name).expect(name)).collect()
}

//! Compares every layer with PyTorch, batch normalisation in both modes, on the files that `golden/make_layers.py` has written.

use safetensors::{Dtype, SafeTensors};
use standoff::methods::{Reply, Train};
use standoff::outer::{Recipe, Schedule, SgdOptions};
use standoff::{Point, Training};
use standoff_nn::data::{Batching, Dataset, Order};
use standoff_nn::engine::Draw;
use standoff_nn::fair::GroupGame;
use standoff_nn::{Ask, Batch, Engine, Isa, Loss, Model, Outcome, Samples};
use std::collections::HashMap;
use std::sync::Arc;

const NAMES: [&str; 7] = ["strides", "groups", "depthwise", "residual", "ramps", "table", "first"];

/// One golden file and its network.
struct Golden {
    name: &'static str,
    model: Model,
    tensors: HashMap<String, Vec<f32>>,
    labels: Vec<u16>,
    rate: f64,
}

impl Golden {
    fn open(name: &'static str) -> Self {
        let path = format!("{}/tests/golden/layers/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::read(path).expect("a golden file");
        let (_, header) = SafeTensors::read_metadata(&file).expect("a header");
        let facts = header.metadata().clone().expect("metadata");
        let (mut tensors, mut labels) = (HashMap::new(), Vec::new());
        for (key, view) in SafeTensors::deserialize(&file).expect("tensors").tensors() {
            if view.dtype() == Dtype::U8 {
                labels = view.data().iter().map(|&b| u16::from(b)).collect();
            } else {
                let numbers = view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                tensors.insert(key, numbers.collect());
            }
        }
        let layers: Vec<String> = facts["layers"].split("; ").map(|layer| format!("\"{layer}\"")).collect();
        let text = format!("input = [{}]\nlayers = [{}]", facts["input"].replace('x', ", "), layers.join(", "));
        let model = Model::from_toml(&text).expect("a model");
        Self { name, model, tensors, labels, rate: facts["sgd"].parse().expect("a rate") }
    }

    fn modes(&self) -> &'static [&'static str] {
        if self.model.has_batch_norm() { &["eval", "train"] } else { &["eval"] }
    }

    /// The distance in the Euclidean norm is below 1e-5 of that of the stored numbers.
    fn check(&self, key: &str, ours: &[f32]) {
        self.near(key, (ours, &self.tensors[key]), 0.0);
    }

    /// The same for every parameter. A part that is small by cancellation, such as the gradient of a bias before batch normalisation, is
    /// compared with a hundredth of the whole.
    fn check_parameters(&self, key: &str, ours: &[f32]) {
        let stored = &self.tensors[key];
        for view in self.model.views() {
            let (ours, stored) = (&ours[view.range.clone()], &stored[view.range.clone()]);
            self.near(&format!("{key}, {}", view.name), (ours, stored), 1e-2 * norm(&self.tensors[key]));
        }
    }

    fn near(&self, what: &str, (ours, stored): (&[f32], &[f32]), least: f64) {
        assert_eq!(ours.len(), stored.len(), "{}: {what}", self.name);
        let apart: Vec<f32> = ours.iter().zip(stored).map(|(a, b)| a - b).collect();
        let (apart, size) = (norm(&apart), norm(stored));
        let off = apart / if size > least { size } else { least };
        assert!(off < 1e-5, "{}: {what} is {off:.1e} off", self.name);
    }
}

fn norm(v: &[f32]) -> f64 {
    v.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn every_layer_computes_what_pytorch_does_in_both_modes() {
    for name in NAMES {
        let golden = Golden::open(name);
        for isa in Isa::all() {
            let mut engine = Engine::with_isa(&golden.model, 1, isa).expect("an engine");
            engine.set_weights(&golden.tensors["parameters"]).expect("finite");
            let ends = [golden.labels.len()];
            let samples = Samples::Floats(&golden.tensors["images"]);
            let batch = Batch { samples, labels: &golden.labels, rows: None, ends: &ends, weights: None };
            let mut out = Outcome::default();
            engine.pass(&batch, Loss::CrossEntropy, Ask::InputGradients, &mut out).expect("finite");
            golden.check("eval.input", &out.input_gradients);
            for mode in golden.modes() {
                match *mode {
                    "eval" => engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut out),
                    _ => engine.train(&batch, Loss::CrossEntropy, (Ask::Gradients, Draw::default()), &mut out),
                }
                .expect("finite");
                golden.check(&format!("{mode}.logits"), &out.logits);
                golden.check(&format!("{mode}.loss"), &out.losses);
                golden.check_parameters(&format!("{mode}.gradient"), &out.gradients[0]);
            }
        }
    }
}

#[test]
fn ten_steps_end_where_those_of_pytorch_do_in_both_modes() {
    for name in NAMES {
        let golden = Golden::open(name);
        let (n, start) = (golden.labels.len(), &golden.tensors["parameters"]);
        let images = golden.tensors["images"].clone();
        let data = Dataset::floats(images, golden.model.input(), golden.labels.clone()).expect("data");
        let data = Arc::new(data.grouped(&vec![0; n], 1).expect("one group"));
        let options = SgdOptions { momentum: 0.9, ..SgdOptions::default() };
        let recipe = Recipe::sgd(options, Schedule::new(&[(10, golden.rate)]).expect("steps"));
        for mode in golden.modes() {
            // Steps on mini-batches, even of all samples, are training steps; those on all data use population statistics.
            let batching = match *mode {
                "eval" => Batching::Whole,
                _ => Batching::Balanced { size: n, order: Order::AsIs },
            };
            let mut game = GroupGame::new(&golden.model, data.clone(), batching, 1).expect("a game");
            let method = Train::new(&game, Reply::Held, &recipe).expect("a method");
            let mut run = Training::new(&mut game, &Point::new(start, &[1.0]), Box::new(method)).expect("a start");
            while run.step().is_ok() {}
            assert_eq!(run.steps(), 10);
            golden.check_parameters(&format!("{mode}.steps"), &run.point().x);
        }
    }
}

//! Compares the engine with PyTorch, tensor by tensor, on the files that `golden/make.py` has written. Its header describes them.

use safetensors::{Dtype, SafeTensors};
use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Schedule, SgdOptions};
use standoff::{Point, Training};
use standoff_nn::data::{Batching, Dataset};
use standoff_nn::fair::GroupGame;
use standoff_nn::{Ask, Batch, Engine, Loss, Model, Outcome, Samples, Shape};
use std::collections::HashMap;
use std::sync::Arc;

fn fmix(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

fn hash(seed: u32, i: usize) -> u32 {
    fmix(fmix(seed).wrapping_add(i as u32))
}

/// One golden file and its network.
struct Golden {
    name: &'static str,
    tensors: HashMap<String, Vec<f32>>,
    bytes: HashMap<String, Vec<u16>>,
    facts: HashMap<String, String>,
    model: Model,
    params: Vec<f32>,
    pixels: Vec<u8>,
    scale: f32,
}

impl Golden {
    fn open(name: &'static str) -> Self {
        let path = format!("{}/tests/golden/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::read(path).expect("a golden file");
        let (_, header) = SafeTensors::read_metadata(&file).expect("a header");
        let facts = header.metadata().clone().expect("metadata");
        let (mut tensors, mut bytes) = (HashMap::new(), HashMap::new());
        for (key, view) in SafeTensors::deserialize(&file).expect("tensors").tensors() {
            match view.dtype() {
                Dtype::U8 => drop(bytes.insert(key, view.data().iter().map(|&b| u16::from(b)).collect())),
                _ => {
                    let numbers = view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                    tensors.insert(key, numbers.collect());
                }
            }
        }
        let shape: Vec<usize> = facts["input"].split('x').map(|n| n.parse().expect("a number")).collect();
        let layers: Vec<String> = split_layers(&facts["layers"]).iter().map(|l| format!("\"{l}\"")).collect();
        let toml = format!("input = {shape:?}\nlayers = [{}]", layers.join(", "));
        let model = Model::from_toml(&toml).expect("a model");
        let seed: u32 = facts["seed"].parse().expect("a seed");
        let shifts: Vec<i32> = facts["shifts"].split(' ').map(|n| n.parse().expect("a shift")).collect();
        let mut params = vec![0.0; model.size()];
        for (view, shift) in model.views().iter().zip(&shifts) {
            for i in view.range.clone() {
                params[i] = ((hash(seed, i) >> 20) as f32 - 2048.0) / 2f32.powi(*shift);
            }
        }
        let images: usize = facts["images"].parse().expect("a number");
        let pixels = (0..images * model.input().size()).map(|i| (hash(2, i) >> 24) as u8).collect();
        let scale = if facts["scale"] == "unit" { 255.0 } else { 1.0 };
        Self { name, tensors, bytes, facts, model, params, pixels, scale }
    }

    fn input(&self) -> Shape {
        self.model.input()
    }

    /// The distance between our tensor and the stored one, by the formula of make.py.
    fn apart(&self, name: &str, ours: &[f32]) -> f64 {
        let square = |a: f32, b: f32| (f64::from(a) - f64::from(b)).powi(2);
        if let Some(stored) = self.tensors.get(name) {
            assert_eq!(stored.len(), ours.len(), "{}: {name}", self.name);
            let norm: f64 = stored.iter().map(|v| f64::from(*v).powi(2)).sum();
            let off: f64 = stored.iter().zip(ours).map(|(a, b)| square(*a, *b)).sum();
            return (off / norm.max(1e-30)).sqrt();
        }
        let n = ours.len();
        let norm = f64::from(self.tensors[&format!("{name}.norm")][0]);
        let entries: f64 =
            (0..256).map(|m| square(ours[hash(3, m) as usize % n], self.tensors[&format!("{name}.entries")][m])).sum();
        let mut dots = 0.0;
        for (d, stored) in self.tensors[&format!("{name}.dots")].iter().enumerate() {
            let sign = |i: usize| if hash(16 + d as u32, i) >> 31 == 0 { 1.0 } else { -1.0 };
            let dot: f64 = ours.iter().enumerate().map(|(i, v)| sign(i) * f64::from(*v)).sum();
            dots += (dot - f64::from(*stored)).powi(2);
        }
        let (a, b) = ((n as f64 / 256.0 * entries).sqrt() / norm, (dots / 16.0).sqrt() / norm);
        if a > b { a } else { b }
    }

    fn check(&self, name: &str, ours: &[f32], bound: f64) {
        let off = self.apart(name, ours);
        let theirs = self.facts.get(&format!("float32_error.{name}")).map_or("", |v| v);
        assert!(off < bound, "{}: {name} is {off:.1e} off, PyTorch in float32 {theirs}", self.name);
    }

    fn check_params(&self, name: &str, ours: &[f32], bound: f64) {
        for view in self.model.views() {
            self.check(&format!("{name}.{}", view.name), &ours[view.range.clone()], bound);
        }
    }

    fn grouped(&self) -> Arc<Dataset> {
        let groups: usize = self.facts["groups"].parse().expect("a number");
        let (labels, group) = (self.bytes["labels"].clone(), &self.bytes["groups"]);
        let data = Dataset::bytes(self.pixels.clone(), self.scale, self.input(), labels).expect("data");
        Arc::new(data.grouped(group, groups).expect("groups"))
    }
}

/// `conv(3, 5) tanh` has a space inside its parentheses.
fn split_layers(text: &str) -> Vec<String> {
    text.replace(", ", ",").split(' ').map(|word| word.replace(',', ", ")).collect()
}

const NAMES: [&str; 6] = ["fair-cnn-unit", "fair-cnn-raw", "lenet", "mlp", "logistic", "odd"];

#[test]
fn losses_and_gradients_are_those_of_pytorch() {
    for name in NAMES {
        let golden = Golden::open(name);
        let mut engine = Engine::new(&golden.model, 1).expect("an engine");
        engine.set_weights(&golden.params).expect("finite");
        let (labels, targets) = (&golden.bytes["labels"], &golden.bytes["targets"]);
        let (n, weights) = (labels.len(), &golden.tensors["weights"]);
        let samples = Samples::Bytes { data: &golden.pixels, scale: golden.scale };
        let ends = [n];
        let batch = Batch { samples, labels, rows: None, ends: &ends, weights: None };
        let probabilities = &golden.tensors["probabilities"];
        let losses = [
            ("ce", Loss::CrossEntropy),
            ("margin", Loss::Margin(targets)),
            ("cw", Loss::Cw),
            ("dlr", Loss::Dlr),
            ("kl", Loss::Kl(probabilities)),
        ];
        let mut out = Outcome::default();
        for (key, loss) in losses {
            engine.pass(&batch, loss, Ask::InputGradients, &mut out).expect("finite");
            golden.check(&format!("loss.{key}"), &out.losses, 1e-5);
            golden.check(&format!("input.{key}"), &out.input_gradients, 1e-5);
            let weighted = Batch { weights: Some(weights), ..batch };
            engine.pass(&weighted, loss, Ask::Gradients, &mut out).expect("finite");
            golden.check_params(&format!("weighted.{key}.grad"), &out.gradients[0], 1e-5);
        }
        let data = golden.grouped();
        engine.pass(&data.all(), Loss::CrossEntropy, Ask::Gradients, &mut out).expect("finite");
        let means: Vec<f32> = out.group_losses.iter().map(|&l| l as f32).collect();
        golden.check("group.loss", &means, 1e-5);
        for (g, gradient) in out.gradients.iter().enumerate() {
            golden.check_params(&format!("group.{g}.grad"), gradient, 1e-5);
        }
    }
}

#[test]
fn ten_steps_of_sgd_and_adam_end_where_those_of_pytorch_do() {
    for name in NAMES {
        let golden = Golden::open(name);
        let data = golden.grouped();
        let rate: f64 = golden.facts["sgd"].parse().expect("a rate");
        let sgd = Recipe::sgd(
            SgdOptions { momentum: 0.9, ..SgdOptions::default() },
            Schedule::new(&[(10, rate)]).expect("steps"),
        );
        let adam = Recipe::adam(AdamOptions::default(), Schedule::new(&[(10, 1e-3)]).expect("steps"));
        let sizes = data.groups().sizes();
        let shares: Vec<f32> = sizes.iter().map(|&size| size as f32 / data.len() as f32).collect();
        for (game_name, reply) in [("minmax", Reply::Exact { lambda: 0.1 }), ("mean", Reply::Held)] {
            for (rule, recipe, bound) in [("sgd", &sgd, 1e-5), ("adam", &adam, 1e-4)] {
                let mut game = GroupGame::new(&golden.model, data.clone(), Batching::Whole, 1).expect("a game");
                // Without fused multiply-adds the error of conv1 in this run is 3.1e-5; all others keep their bound.
                let unfused = game.engine().isa().name() == "portable";
                let odd_one = unfused && (name, game_name, rule) == ("fair-cnn-raw", "minmax", "sgd");
                let bound = if odd_one { 5e-5 } else { bound };
                let method = Train::new(&game, reply, recipe).expect("a method");
                let start = Point::new(&golden.params, &shares);
                let mut run = Training::new(&mut game, &start, Box::new(method)).expect("a start");
                let (mut losses, mut weights) = (Vec::new(), Vec::new());
                while run.step().is_ok() {
                    // Losses at the start of the step, and the group weights chosen there.
                    losses.extend(run.game().group_losses().iter().map(|&l| l as f32));
                    weights.extend_from_slice(&run.point().y);
                }
                assert_eq!(run.steps(), 10);
                let at = format!("train.{game_name}.{rule}");
                golden.check(&format!("{at}.losses"), &losses, bound);
                if game_name == "minmax" {
                    // `L / 0.1` amplifies the rounding of L: PyTorch's own float32 is off by up to 6e-6.
                    golden.check(&format!("{at}.t"), &weights, 5.0 * bound);
                }
                golden.check_params(&at, &run.point().x, bound);
            }
        }
    }
}

//! AVX-512 has the bits of AVX2, and portable lanes in pairs have those of portable lanes, on every preset and every kernel, for
//! any number of threads. Training steps too, with the statistics of the batch and dropout.

mod common;

use common::{Stream, layer_models, models, weights};
use standoff_nn::engine::Draw;
use standoff_nn::{
    Ask, Batch, Biases, Bounds, Engine, Isa, Loss, Model, Outcome, Region, Samples, Shape, StepKind, Steps,
};

/// The levels of this machine whose results must have the same bits, in pairs. The first exists on every machine.
fn twins() -> Vec<[Isa; 2]> {
    [["portable", "portable-pairs"], ["avx2", "avx512"]]
        .iter()
        .filter_map(|names| Some([Isa::named(names[0]).ok()?, Isa::named(names[1]).ok()?]))
        .collect()
}

/// Samples in two groups, neither a whole number of units.
struct Case {
    rows: Vec<f32>,
    labels: Vec<u16>,
    ends: [usize; 2],
}

impl Case {
    fn new(model: &Model, n: usize, stream: &mut Stream) -> Self {
        Self {
            rows: (0..n * model.input().size()).map(|_| stream.signed().abs()).collect(),
            labels: (0..n).map(|_| stream.below(model.outputs()) as u16).collect(),
            ends: [n / 3, n],
        }
    }

    fn batch(&self) -> Batch<'_> {
        let samples = Samples::Floats(&self.rows);
        Batch { samples, labels: &self.labels, rows: None, ends: &self.ends, weights: None }
    }
}

fn presets() -> Vec<Model> {
    let preset = |name| Model::preset(name, Shape::new(1, 28, 28), 10).expect("a preset");
    ["fair-cnn", "lenet", "mlp", "logistic"].map(preset).into()
}

/// All numbers that an engine computes for a case: passes, an attack and bounds.
fn everything(engine: &Engine, case: &Case) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    let mut add = |values: &[f32]| all.extend(values.iter().map(|v| v.to_bits()));
    let mut out = Outcome::default();
    for ask in [Ask::Gradients, Ask::InputGradients] {
        engine.pass(&case.batch(), Loss::CrossEntropy, ask, &mut out).expect("finite");
        [&out.losses, &out.logits, &out.input_gradients].into_iter().for_each(|v| add(v));
        out.gradients.iter().for_each(|g| add(g));
    }
    for kind in [StepKind::Sign, StepKind::Scaled] {
        let steps = Steps { kind, size: 0.03, count: 2, eps: 0.1, clip: Some((0.0, 1.0)) };
        let mut moved = case.rows.clone();
        engine.ascend(&case.batch(), Loss::Cw, &steps, &mut moved).expect("finite");
        add(&moved);
    }
    let mut bounds = Bounds::default();
    for ask in [Ask::Gradients, Ask::InputGradients] {
        engine.bounds(&case.batch(), Region::image(0.02), ask, &mut bounds).expect("finite");
        [&bounds.lower, &bounds.upper, &bounds.margins, &bounds.losses].into_iter().for_each(|v| add(v));
        [&bounds.input_gradients].into_iter().chain(&bounds.gradients).for_each(|v| add(v));
    }
    all
}

/// The parameters after steps of gradient descent on the mean loss of training passes: statistics of the batch and dropout. The population
/// statistics are set after every fourth step.
fn trained(model: &Model, case: &Case, threads: usize, isa: Isa, steps: u64) -> Vec<u32> {
    let mut engine = Engine::with_isa(model, threads, isa).expect("an engine");
    let mut x = model.initialise(Biases::Fair, 3);
    let mut out = Outcome::default();
    let ends = [case.labels.len()];
    let batch = Batch { ends: &ends, ..case.batch() };
    for step in 0..steps {
        engine.set_weights(&x).expect("finite");
        engine.train(&batch, Loss::CrossEntropy, (Ask::Gradients, Draw { seed: 5, step }), &mut out).expect("finite");
        for (x, g) in x.iter_mut().zip(&out.gradients[0]) {
            *x -= 0.1 * g;
        }
        if step % 4 == 3 {
            engine.set_population(&batch, &mut x).expect("finite");
        }
    }
    x.iter().map(|v| v.to_bits()).collect()
}

/// True if training sets these statistics, and they differ from those of the start.
fn statistics_moved(model: &Model, trained: &[u32]) -> bool {
    let start = model.initialise(Biases::Fair, 3);
    let mut statistics = model.views().iter().filter(|view| view.name.contains("running_"));
    statistics.all(|view| view.range.clone().all(|i| trained[i] != start[i].to_bits()))
}

#[test]
fn twenty_training_steps_of_every_preset_and_layer_have_the_same_bits() {
    let mut stream = Stream::new(11);
    assert!(layer_models().iter().filter(|model| model.has_batch_norm()).count() >= 4);
    for (m, model) in presets().iter().chain(&layer_models()).enumerate() {
        let case = Case::new(model, 77, &mut stream);
        for [one, other] in twins() {
            let want = trained(model, &case, 1, one, 20);
            assert!(statistics_moved(model, &want), "model {m}");
            for threads in [1, 2, 3] {
                let same = trained(model, &case, threads, other, 20) == want;
                assert!(same, "model {m}: {} and {} with {threads} threads", one.name(), other.name());
            }
        }
    }
}

#[test]
fn passes_attacks_and_bounds_of_every_kernel_have_the_same_bits() {
    let mut stream = Stream::new(12);
    for (m, model) in presets().iter().chain(&models()).chain(&layer_models()).enumerate() {
        let params = weights(model, &mut stream);
        // One full leaf of either size, single units, and a unit that is not full.
        for n in [3, 16, 53, 150] {
            let case = Case::new(model, n, &mut stream);
            let run = |isa: Isa, threads: usize| {
                let mut engine = Engine::with_isa(model, threads, isa).expect("an engine");
                engine.set_weights(&params).expect("finite");
                everything(&engine, &case)
            };
            for [one, other] in twins() {
                let want = run(one, 1);
                assert!(run(other, 1) == want && run(other, 2) == want, "model {m}, {n} samples, {}", other.name());
            }
        }
    }
}

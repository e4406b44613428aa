//! Compares the attack loop of the engine with a loop over passes: equal bits.

mod common;

use common::{Stream, all_models, models, weights};
use standoff_nn::{Ask, Batch, Engine, Isa, Loss, Model, Outcome, Samples, StepKind, Steps};

struct Case {
    bytes: Vec<u8>,
    labels: Vec<u16>,
    targets: Vec<u16>,
    rows: Vec<u32>,
    start: Vec<f32>,
}

impl Case {
    fn new(model: &Model, n: usize, stream: &mut Stream) -> Self {
        let (width, outputs) = (model.input().size(), model.outputs());
        let held = n + 3;
        let bytes: Vec<u8> = (0..held * width).map(|_| stream.below(256) as u8).collect();
        let rows: Vec<u32> = (0..n).map(|_| stream.below(held) as u32).collect();
        let start = |&row: &u32| bytes[row as usize * width..(row as usize + 1) * width].iter();
        let start = rows.iter().flat_map(start).map(|&b| f32::from(b) / 255.0 + 0.01 * stream.signed()).collect();
        let mut class = |n: usize| (0..n).map(|_| stream.below(outputs) as u16).collect();
        Self { labels: class(held), targets: class(n), bytes, rows, start }
    }

    fn loss(&self, k: usize) -> Loss<'_> {
        [Loss::CrossEntropy, Loss::Margin(&self.targets), Loss::Cw][k % 3]
    }
}

/// The loop, written with passes.
fn written_out(engine: &Engine, batch: &Batch<'_>, loss: Loss<'_>, steps: &Steps, x: &mut [f32]) {
    let width = engine.model().input().size();
    let Samples::Bytes { data, scale } = batch.samples else { unreachable!("bytes went in") };
    let rows = batch.rows.expect("rows");
    let labels: Vec<u16> = rows.iter().map(|&r| batch.labels[r as usize]).collect();
    let mut out = Outcome::default();
    for _ in 0..steps.count {
        let moved = Batch { samples: Samples::Floats(x), labels: &labels, rows: None, ..*batch };
        engine.pass(&moved, loss, Ask::InputGradients, &mut out).expect("finite");
        for (i, &row) in rows.iter().enumerate() {
            let slope = &out.input_gradients[i * width..(i + 1) * width];
            let mut sum = 0.0f32;
            slope.iter().for_each(|g| sum += g.abs());
            for (k, &g) in slope.iter().enumerate() {
                let x0 = f32::from(data[row as usize * width + k]) / scale;
                let step = match steps.kind {
                    StepKind::Sign => steps.size * (f32::from(g > 0.0) - f32::from(g < 0.0)),
                    StepKind::Plain => steps.size * g,
                    StepKind::Scaled if sum == 0.0 => 0.0,
                    StepKind::Scaled => steps.size * width as f32 / sum * g,
                };
                let (low, high) = steps.clip.unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
                let x = &mut x[i * width + k];
                *x = (x0 + (*x + step - x0).clamp(-steps.eps, steps.eps)).clamp(low, high);
            }
        }
    }
}

#[test]
fn an_ascent_has_the_bits_of_the_loop_over_passes_on_any_number_of_threads() {
    let mut stream = Stream::new(8);
    let isas: Vec<Isa> = Isa::all().collect();
    let mut cases = 0;
    for (m, model) in all_models().iter().enumerate().filter(|(_, model)| model.input().size() <= 784) {
        let params = weights(model, &mut stream);
        for (k, n) in [1, 9, 70, 131].into_iter().enumerate() {
            let case = Case::new(model, n, &mut stream);
            let kind = [StepKind::Sign, StepKind::Plain, StepKind::Scaled][(m + k) % 3];
            let clip = [Some((0.0, 1.0)), None][k % 2];
            let steps = Steps { kind, size: 0.04, count: 4, eps: 0.1, clip };
            let samples = Samples::Bytes { data: &case.bytes, scale: 255.0 };
            let ends = [n / 3, n];
            let batch = Batch { samples, labels: &case.labels, rows: Some(&case.rows), ends: &ends, weights: None };
            for &isa in &isas {
                for threads in [1, 2] {
                    let mut engine = Engine::with_isa(model, threads, isa).expect("an engine");
                    engine.set_weights(&params).expect("finite");
                    let (mut got, mut want) = (case.start.clone(), case.start.clone());
                    engine.ascend(&batch, case.loss(m + k), &steps, &mut got).expect("finite");
                    written_out(&engine, &batch, case.loss(m + k), &steps, &mut want);
                    let same = got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "model {m}, {n} samples, {steps:?}, {}, {threads} threads", isa.name());
                    assert!(n < 9 || got != case.start, "nothing moved");
                    cases += 1;
                }
            }
        }
    }
    assert!(cases >= 13 * 4 * 2);
}

#[test]
fn no_steps_move_nothing_and_wrong_arguments_are_named() {
    let model = &models()[1];
    let mut stream = Stream::new(5);
    let case = Case::new(model, 5, &mut stream);
    let mut engine = Engine::new(model, 1).expect("an engine");
    engine.set_weights(&weights(model, &mut stream)).expect("finite");
    let (samples, ends) = (Samples::Bytes { data: &case.bytes, scale: 255.0 }, [5]);
    let batch = Batch { samples, labels: &case.labels, rows: Some(&case.rows), ends: &ends, weights: None };
    let good = Steps { kind: StepKind::Sign, size: 0.1, count: 2, eps: 0.1, clip: Some((0.0, 1.0)) };
    let mut moved = case.start.clone();
    engine.ascend(&batch, Loss::CrossEntropy, &Steps { count: 0, ..good }, &mut moved).expect("finite");
    assert_eq!(moved, case.start);
    let refused = |steps: &Steps, moved: &mut [f32], want: &str| {
        let error = engine.ascend(&batch, Loss::CrossEntropy, steps, moved).expect_err("refused").to_string();
        assert!(error.contains(want), "{error}");
    };
    refused(&Steps { size: f32::NAN, ..good }, &mut moved, "steps of size NaN");
    refused(&Steps { eps: -1.0, ..good }, &mut moved, "eps is -1");
    refused(&Steps { clip: Some((1.0, 0.0)), ..good }, &mut moved, "want two numbers in order");
    refused(&good, &mut case.start[1..].to_vec(), "moved entries, want 5 x 144");
    moved[147] = f32::NAN;
    refused(&good, &mut moved, "the start of sample 1 of the batch, entry 3, is NaN");
}

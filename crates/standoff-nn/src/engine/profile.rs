//! Where the time of a pass goes: every stage on its own, in floating-point operations per second beside the machine's peak.

use super::plan::{Kind, Stage};
use super::worker::{Back, Worker};
use super::{Engine, Model};
use crate::kernels::peak::{CHAINS, Peak};
use crate::kernels::{LANES, RunKernel};
use std::time::{Duration, Instant};

/// The speed of one stage in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTime {
    /// The layers of the stage.
    pub layers: String,
    /// `forward`, `to weights` or `to input`.
    pub direction: &'static str,
    /// Multiplications and additions per image, as a dense computation would need them.
    pub flops: f64,
    /// Seconds per image on one thread.
    pub seconds: f64,
}

impl Engine {
    /// Times every stage for about `each` on one thread, on whatever weights it has. For curiosity and benches.
    pub fn profile(&self, each: Duration) -> Vec<StageTime> {
        let mut worker = Worker::new(self.isa, &self.stages, self.leaf);
        let mut state = 1u32;
        for v in &mut worker.x {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *v = (state >> 8) as f32 / (1 << 24) as f32;
        }
        worker.forward(&self.weights, &self.stages, self.leaf);
        let mut gradient = vec![0.0; self.model.size()];
        let mut out = Vec::new();
        let images = (self.leaf * LANES) as f64;
        for (i, stage) in self.stages.iter().enumerate() {
            let layers = layers(&self.model, &self.stages, i);
            let flops = flops(stage);
            let mut push = |direction, seconds: f64| {
                out.push(StageTime { layers: layers.clone(), direction, flops, seconds: seconds / images });
            };
            push("forward", time(each, || worker.forward_stage(&self.weights, &self.stages, i, self.leaf)));
            if matches!(stage.kind, Kind::Conv { .. } | Kind::Dense { .. }) {
                let seconds = time(each, || {
                    let mut want = Back { params: Some(&mut gradient), input: false };
                    worker.backward_stage(&self.weights, &self.stages, i, self.leaf, &mut want, false);
                });
                push("to weights", seconds);
            }
            let seconds = time(each, || {
                let mut want = Back { params: None, input: true };
                worker.backward_stage(&self.weights, &self.stages, i, self.leaf, &mut want, true);
                worker.g.fill(0.01);
            });
            push("to input", seconds);
        }
        out
    }

    /// The most operations per second that one thread can do with this instruction set: twelve independent chains of fused
    /// multiply-adds.
    pub fn peak(&self, each: Duration) -> f64 {
        const ROUNDS: usize = 10_000;
        let flops = (ROUNDS * CHAINS * LANES * 2) as f64;
        flops / time(each, || std::hint::black_box(self.isa.run(Peak(ROUNDS))))
    }
}

/// The best of the repeats that fit into `each`: noise only ever adds.
fn time<T>(each: Duration, mut f: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    while start.elapsed() < each || best == f64::INFINITY {
        let t = Instant::now();
        std::hint::black_box(f());
        best = best.min(t.elapsed().as_secs_f64());
    }
    best
}

fn layers(model: &Model, stages: &[Stage], i: usize) -> String {
    let end = stages.get(i + 1).map_or(model.layers().len(), |next| next.layer);
    let names: Vec<String> = model.layers()[stages[i].layer..end].iter().map(ToString::to_string).collect();
    names.join(" ")
}

fn flops(stage: &Stage) -> f64 {
    match &stage.kind {
        Kind::Conv { shape, pool, .. } => {
            let side = if *pool { 2 } else { 1 };
            let positions = (shape.ho() / side * side) * (shape.wo() / side * side);
            2.0 * (positions * shape.cout * shape.taps()) as f64
        }
        Kind::Dense { n, k, .. } => 2.0 * (n * k) as f64,
        _ => 0.0,
    }
}

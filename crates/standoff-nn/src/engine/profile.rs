//! The time of each stage of a pass, and the peak speed of the machine to compare it with.

use super::backward::GradientTargets;
use super::plan::{ConvStage, DenseStage, Stage, StageKind};
use super::worker::Worker;
use super::{Engine, Model};
use crate::kernels::peak::{CHAINS, Peak};
use crate::kernels::{LANES, PAIR, RunKernel};
use std::time::{Duration, Instant};

/// The speed of one stage in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTime {
    /// The layers of the stage.
    pub layers: String,
    /// `forward`, `to weights` or `to input`.
    pub direction: &'static str,
    /// Multiplications and additions per image, zeros included.
    pub flops: f64,
    /// Seconds per image on one thread.
    pub seconds: f64,
}

impl Engine {
    /// Times every stage for about `each` on one thread, with the current weights. For benchmarks.
    pub fn profile(&self, each: Duration) -> Vec<StageTime> {
        let net = self.network(self.leaf);
        let mut worker = Worker::new(self.isa, &self.stages, self.leaf);
        let mut state = 1u32;
        for v in &mut worker.x {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *v = (state >> 8) as f32 / (1 << 24) as f32;
        }
        worker.forward(net);
        let mut gradient = vec![0.0; self.model.size()];
        let mut out = Vec::new();
        let images = (self.leaf * LANES) as f64;
        for (i, stage) in self.stages.iter().enumerate() {
            let layers = layers(&self.model, &self.stages, i);
            let flops = flops(stage);
            let mut push = |direction, seconds: f64| {
                out.push(StageTime { layers: layers.clone(), direction, flops, seconds: seconds / images });
            };
            push("forward", time(each, || worker.forward_stage(net, i)));
            if stage.has_parameters() {
                let seconds = time(each, || {
                    let mut want = GradientTargets { params: Some(&mut gradient), first: 0, input: false };
                    worker.backward_stage(net, i, &mut want, false);
                });
                push("to weights", seconds);
            }
            let seconds = time(each, || {
                let mut want = GradientTargets { params: None, first: 0, input: true };
                worker.backward_stage(net, i, &mut want, true);
                worker.g.fill(0.01);
            });
            push("to input", seconds);
        }
        out
    }

    /// The peak of one thread with this instruction set, in floating-point operations per second, measured by independent chains of
    /// fused multiply-adds.
    pub fn peak(&self, each: Duration) -> f64 {
        const ROUNDS: usize = 10_000;
        let flops = (ROUNDS * CHAINS * PAIR * 2) as f64;
        flops / time(each, || std::hint::black_box(self.isa.run(Peak(ROUNDS))))
    }
}

/// The shortest time of the repetitions within `each`: noise only adds time.
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
        StageKind::Conv(ConvStage { shape, pool, .. }) => {
            let side = if *pool { 2 } else { 1 };
            let positions = (shape.ho() / side * side) * (shape.wo() / side * side);
            2.0 * (positions * shape.cout * shape.taps()) as f64
        }
        StageKind::Dense(DenseStage { n, k, .. }) => 2.0 * (n * k) as f64,
        StageKind::Taps(taps) => 2.0 * (taps.to.size() * taps.row()) as f64,
        _ => 0.0,
    }
}

//! Gradients of a graph of stages: those of a value that several stages read are summed. A chain of stages needs none of this.

use super::plan::{Stage, StageKind};
use crate::kernels::channels::AddTo;
use crate::kernels::{Isa, LANES, RunKernel};

/// Gradients of values that are not read by the next stage alone. E is the number of gradients of a value: 1 in a pass, 2 for the ends of
/// bounds.
#[derive(Debug)]
pub(super) struct Sides<const E: usize> {
    /// For each value, room for its gradients; empty if the chain alone brings them.
    values: Vec<[Vec<f32>; E]>,
    /// True where gradients have arrived.
    filled: Vec<bool>,
}

impl<const E: usize> Sides<E> {
    pub(super) fn new(stages: &[Stage], units: usize) -> Self {
        let mut sizes = vec![0; stages.len() + 1];
        for (i, stage) in stages.iter().enumerate() {
            if stage.from != i {
                sizes[stage.from] = stage.input;
            }
            if let StageKind::Add { other, .. } = stage.kind {
                sizes[other] = stage.output;
            }
        }
        let room = |n: usize| std::array::from_fn(|_| vec![0.0; units * n * LANES]);
        Self { filled: vec![false; sizes.len()], values: sizes.into_iter().map(room).collect() }
    }

    /// Makes room for gradients of a value of so many entries that come from outside of the graph.
    pub(super) fn reserve(&mut self, value: usize, entries: usize, units: usize) {
        self.values[value].iter_mut().for_each(|side| side.resize(units * entries * LANES, 0.0));
    }

    /// The gradients of a value, all of which the caller sets before the pass.
    pub(super) fn fill(&mut self, value: usize) -> &mut [Vec<f32>; E] {
        self.filled[value] = true;
        &mut self.values[value]
    }

    /// Forgets all gradients.
    pub(super) fn begin(&mut self) {
        self.filled.fill(false);
    }

    /// Completes `g`, the gradient of the output of stage i: what the stage behind it left there counts only if it reads this output.
    pub(super) fn gather(&mut self, isa: Isa, stages: &[Stage], i: usize, g: [&mut [f32]; E]) {
        let chained = stages.get(i + 1).is_none_or(|next| next.from == i + 1);
        self.complete(isa, i + 1, chained, g);
    }

    /// The same for the input of the network, which stage 0 reads.
    pub(super) fn input(&mut self, isa: Isa, g: [&mut [f32]; E]) {
        self.complete(isa, 0, true, g);
    }

    fn complete(&mut self, isa: Isa, value: usize, chained: bool, g: [&mut [f32]; E]) {
        for (g, side) in g.into_iter().zip(&self.values[value]) {
            match (chained, self.filled[value]) {
                (true, false) => {}
                (true, true) => {
                    let x = &side[..g.len()];
                    isa.run(AddTo { out: g, x });
                }
                (false, true) => g.copy_from_slice(&side[..g.len()]),
                (false, false) => g.fill(0.0),
            }
        }
    }

    /// Keeps `g`, the gradient of the input of stage i, unless the stage before it gave this input.
    pub(super) fn scatter(&mut self, isa: Isa, stages: &[Stage], i: usize, g: [&[f32]; E]) {
        if stages[i].from != i {
            self.add(isa, stages[i].from, g);
        }
    }

    /// Adds to the gradient of a value.
    pub(super) fn add(&mut self, isa: Isa, value: usize, g: [&[f32]; E]) {
        for (side, g) in self.values[value].iter_mut().zip(g) {
            let side = &mut side[..g.len()];
            if self.filled[value] {
                isa.run(AddTo { out: side, x: g });
            } else {
                side.copy_from_slice(g);
            }
        }
        self.filled[value] = true;
    }
}

/// One thread's scratch for the general stages of a pass.
#[derive(Debug)]
pub(super) struct GraphScratch {
    pub(super) sides: Sides<1>,
    pub(super) taps: TapScratch,
}

impl GraphScratch {
    pub(super) fn new(stages: &[Stage], units: usize, matrices: usize) -> Self {
        Self { sides: Sides::new(stages, units), taps: TapScratch::new(stages, units, matrices) }
    }
}

/// Inputs and gradients of general convolutions inside their borders of zeros, which nothing overwrites.
#[derive(Debug)]
pub(super) struct TapScratch {
    /// Per stage and matrix, all units of the input; empty without a border.
    pub(super) inputs: Vec<Vec<Vec<f32>>>,
    /// Per stage, one unit of the gradient; empty without a border.
    pub(super) gradients: Vec<Vec<f32>>,
    /// Sums over the channels of a scale.
    pub(super) sums: [Vec<f32>; 2],
}

impl TapScratch {
    /// For so many units, and so many matrices per stage: 1 for W, 2 for W and |W|.
    pub(super) fn new(stages: &[Stage], units: usize, matrices: usize) -> Self {
        let input = |stage: &Stage| match &stage.kind {
            StageKind::Taps(taps) if !taps.input.is_empty() => units * taps.input.size() * LANES,
            _ => 0,
        };
        let gradient = |stage: &Stage| match &stage.kind {
            StageKind::Taps(taps) if !taps.gradient.is_empty() => taps.gradient.size() * LANES,
            _ => 0,
        };
        let channels = stages.iter().map(|stage| match &stage.kind {
            StageKind::Scale(scale) => scale.channels,
            _ => 0,
        });
        let channels = channels.max().unwrap_or(0);
        Self {
            inputs: stages.iter().map(|s| vec![vec![0.0; input(s)]; matrices]).collect(),
            gradients: stages.iter().map(|s| vec![0.0; gradient(s)]).collect(),
            sums: [vec![0.0; channels], vec![0.0; channels]],
        }
    }
}

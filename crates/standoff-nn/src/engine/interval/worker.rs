//! One thread's scratch for bounds, and the forward pass of a leaf. Every linear map runs twice, on centres with W and on radii
//! with |W|; activations and pooling run on both ends.

use super::super::graph::{Sides, TapScratch};
use super::super::linear::LinearScratch;
use super::super::packed::Packed;
use super::super::plan::{ConvStage, DenseStage, Stage, StageKind};
use super::crown::Crown;
use crate::kernels::activation::{Activate, Activation};
use crate::kernels::interval_ends::{Centre, EndPair, ToEnds};
use crate::kernels::interval_margin::Spread;
use crate::kernels::{Isa, LANES, RunKernel, conv, dense, pool, transpose};

/// The network as one leaf of the batch runs through it.
#[derive(Clone, Copy)]
pub(super) struct IntervalNetwork<'a> {
    /// W for the centre, |W| for the radius.
    pub weights: [&'a Packed; 2],
    pub stages: &'a [Stage],
    /// Units in use.
    pub units: usize,
}

/// One thread's scratch for a fixed number of units; nothing is allocated after it is built. Vectors are
/// `[unit][entry][lane]`.
#[derive(Debug)]
pub(crate) struct IntervalWorker {
    pub(super) isa: Isa,
    /// The samples.
    pub(super) x: Vec<f32>,
    /// First the ends of the box around each sample, then of the outputs of each stage.
    pub(super) ends: Vec<EndPair>,
    /// Per linear stage, centre and radius of its input.
    pub(super) centred: Vec<EndPair>,
    /// Per pooling and end, the position of the maximum in its window.
    pub(super) winners: Vec<[Vec<u8>; 2]>,
    /// Gradients with respect to the ends of the output and of the input of a stage; each stage exchanges them.
    pub(super) g: EndPair,
    pub(super) next: EndPair,
    /// One unit of a convolution before pooling: centre and radius, ends, or their gradients.
    pub(super) full: EndPair,
    pub(super) linear: LinearScratch,
    pub(super) sides: Sides<2>,
    pub(super) taps: TapScratch,
    /// The gradient with respect to |W|, laid out as the parameters.
    pub(super) d_absolute: Vec<f32>,
    /// The labels of each unit.
    pub(super) labels: Vec<[u16; LANES]>,
    /// The rows of the last layer that belong to the labels.
    pub(super) own: Vec<f32>,
    /// The logits of the centre of the last layer's input.
    pub(super) logits: Vec<f32>,
    /// Per output, the largest difference between its margin and that of the centre; then the margin itself.
    pub(super) spread: Vec<f32>,
    /// Per output, the sum of the absolute terms of its margin.
    pub(super) size: Vec<f32>,
    /// For margins by backward relaxation.
    pub(super) crown: Option<Box<Crown>>,
}

impl IntervalWorker {
    pub(crate) fn new(isa: Isa, stages: &[Stage], units: usize, parameters: usize) -> Self {
        let pair = |n: usize| -> EndPair { [vec![0.0; n * LANES], vec![0.0; n * LANES]] };
        let (first, last) = (stages.first().map_or(0, |s| s.input), stages.last());
        let (last_in, outputs) = last.map_or((0, 0), |s| (s.input, s.output));
        let largest = stages.iter().map(|s| s.input.max(s.output)).max().unwrap_or(0);
        let full = stages.iter().map(|s| match &s.kind {
            StageKind::Conv(conv) => conv.unpooled().size(),
            _ => 0,
        });
        let centred = |s: &Stage| pair(if s.is_linear() { units * s.input } else { 0 });
        let winners = |s: &Stage| [0, 1].map(|_| vec![0; units * s.winners() * LANES]);
        Self {
            isa,
            x: vec![0.0; units * first * LANES],
            ends: std::iter::once(first).chain(stages.iter().map(|s| s.output)).map(|n| pair(units * n)).collect(),
            centred: stages.iter().map(centred).collect(),
            winners: stages.iter().map(winners).collect(),
            g: pair(units * largest),
            next: pair(units * largest),
            full: pair(full.max().unwrap_or(0)),
            linear: LinearScratch::new(isa, stages, units, 2),
            sides: Sides::new(stages, units),
            taps: TapScratch::new(stages, units, 2),
            d_absolute: vec![0.0; parameters],
            labels: vec![[0; LANES]; units],
            own: vec![0.0; units * last_in * LANES],
            logits: vec![0.0; units * outputs * LANES],
            spread: vec![0.0; units * outputs * LANES],
            size: vec![0.0; units * outputs * LANES],
            crown: None,
        }
    }

    /// The same with scratch for backward relaxation, for a [chain](super::crown::chain).
    pub(super) fn relaxing(isa: Isa, stages: &[Stage], units: usize, parameters: usize) -> Self {
        let mut worker = Self::new(isa, stages, units, parameters);
        for (i, stage) in stages.iter().enumerate().filter(|(_, s)| !s.is_linear()) {
            worker.sides.reserve(i, stage.input, units);
        }
        Self { crown: Some(Box::new(Crown::new(isa, stages))), ..worker }
    }

    /// Bounds from the box in `ends[0]` to the logits, and the spread of the margins for `labels`.
    pub(super) fn forward(&mut self, net: IntervalNetwork<'_>) {
        for (i, stage) in net.stages.iter().enumerate() {
            let size = net.units * stage.output * LANES;
            match &stage.kind {
                StageKind::Conv(conv) => {
                    self.conv_forward(net, (i, conv));
                    self.activate(i, conv.act, size);
                }
                StageKind::Dense(dense) => {
                    self.dense_forward(net, (i, dense));
                    self.activate(i, dense.act, size);
                }
                StageKind::Pool { .. } => self.pool_forward(net, i),
                StageKind::Act(act) => {
                    let (before, after) = self.ends.split_at_mut(i + 1);
                    for e in 0..2 {
                        after[0][e][..size].copy_from_slice(&before[stage.from][e][..size]);
                    }
                    self.activate(i, *act, size);
                }
                _ => self.forward_general(net, i),
            }
        }
        self.spread(net);
    }

    pub(super) fn activate(&mut self, i: usize, act: Activation, size: usize) {
        if act != Activation::Identity {
            for x in &mut self.ends[i + 1] {
                self.isa.run(Activate { x: &mut x[..size], act });
            }
        }
    }

    fn pool_forward(&mut self, net: IntervalNetwork<'_>, i: usize) {
        let stage = &net.stages[i];
        let StageKind::Pool { shape, side } = stage.kind else { return };
        let (n_in, n_out) = (stage.input * LANES, stage.output * LANES);
        let (before, after) = self.ends.split_at_mut(i + 1);
        for e in 0..2 {
            for u in 0..net.units {
                self.isa.run(pool::PoolForward {
                    out: &mut after[0][e][u * n_out..(u + 1) * n_out],
                    winners: &mut self.winners[i][e][u * n_out..(u + 1) * n_out],
                    x: &before[stage.from][e][u * n_in..(u + 1) * n_in],
                    side,
                    shape,
                });
            }
        }
    }

    /// Computes centre and radius of a stage's input.
    pub(super) fn centre(&mut self, net: IntervalNetwork<'_>, i: usize) {
        let size = net.units * net.stages[i].input * LANES;
        let ([centre, radius], [lo, hi]) = (&mut self.centred[i], &self.ends[net.stages[i].from]);
        let (centre, radius) = (&mut centre[..size], &mut radius[..size]);
        self.isa.run(Centre { centre, radius, lo: &lo[..size], hi: &hi[..size] });
    }

    fn conv_forward(&mut self, net: IntervalNetwork<'_>, (i, conv): (usize, &ConvStage)) {
        self.centre(net, i);
        let (n_in, n_out) = (net.stages[i].input * LANES, net.stages[i].output * LANES);
        let shape = conv.unpooled();
        let size = shape.size() * LANES;
        for u in 0..net.units {
            for e in 0..2 {
                self.isa.run(conv::ConvForward {
                    out: &mut self.full[e][..size],
                    winners: &mut [],
                    x: &self.centred[i][e][u * n_in..(u + 1) * n_in],
                    weights: &net.weights[e].forward[i],
                    bias: if e == 0 { &net.weights[0].flat[conv.bias.clone()] } else { &[] },
                    pool: false,
                    act: Activation::Identity,
                    shape: conv.shape,
                });
            }
            let [a, b] = &mut self.full;
            self.isa.run(ToEnds { a: &mut a[..size], b: &mut b[..size], scale: 1.0 });
            let at = u * n_out..(u + 1) * n_out;
            for e in 0..2 {
                let (out, x) = (&mut self.ends[i + 1][e][at.clone()], &self.full[e][..size]);
                if conv.pool {
                    let winners = &mut self.winners[i][e][at.clone()];
                    self.isa.run(pool::PoolForward { out, winners, x, side: 2, shape });
                } else {
                    out.copy_from_slice(x);
                }
            }
        }
    }

    fn dense_forward(&mut self, net: IntervalNetwork<'_>, (i, dense): (usize, &DenseStage)) {
        self.centre(net, i);
        let (size, size_in) = (net.units * dense.n * LANES, net.units * dense.k * LANES);
        let [a, b] = &mut self.ends[i + 1];
        let (a, b) = (&mut a[..size], &mut b[..size]);
        for (e, out) in [&mut *a, &mut *b].into_iter().enumerate() {
            self.isa.run(dense::DenseForward {
                out,
                x: &self.centred[i][e][..size_in],
                weights: &net.weights[e].flat[dense.weight.clone()],
                bias: if e == 0 { &net.weights[0].flat[dense.bias.clone()] } else { &[] },
                act: Activation::Identity,
                packed: false,
                n: dense.n,
                k: dense.k,
            });
        }
        if i + 1 == net.stages.len() {
            self.logits[..size].copy_from_slice(a);
        }
        self.isa.run(ToEnds { a, b, scale: 1.0 });
    }

    /// The largest difference between the margins of the last layer and those of its centre.
    fn spread(&mut self, net: IntervalNetwork<'_>) {
        let last = net.stages.len() - 1;
        let StageKind::Dense(DenseStage { n, k, weight, .. }) = &net.stages[last].kind else { return };
        let weights = &net.weights[0].flat[weight.clone()];
        let [centre, radius] = &self.centred[last];
        for u in 0..net.units {
            let (at, at_in) = (u * n * LANES..(u + 1) * n * LANES, u * k * LANES..(u + 1) * k * LANES);
            let own = &mut self.own[at_in.clone()];
            let rows = self.labels[u].map(|y| &weights[usize::from(y) * k..(usize::from(y) + 1) * k]);
            self.isa.run(transpose::RowsToLanes { out: own, rows: &rows });
            self.isa.run(Spread {
                spread: &mut self.spread[at.clone()],
                size: &mut self.size[at],
                centre: &centre[at_in.clone()],
                radius: &radius[at_in],
                own,
                weights,
            });
        }
    }
}

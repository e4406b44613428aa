//! Margins by one backward linear relaxation (CROWN) over the interval bounds of a leaf, one unit at a time; `reference/crown.rs` has the
//! algebra. Each of the margins but the label's is a *row*: a layer takes all rows back like so many units.
//!
//! A row costs what a unit costs in a backward pass, and twice that again for the gradients. So with 10 outputs the relaxation and its
//! gradients cost 27 linear maps, against 6 of the intervals and theirs.

use super::super::graph::TapScratch;
use super::super::linear::{LinearGrad, LinearScratch};
use super::super::plan::{CurveStage, DenseStage, Stage, StageKind, separate};
use super::worker::IntervalNetwork;
use crate::kernels::activation::Activation;
use crate::kernels::channels::ScaleBy;
use crate::kernels::curves::{Curve, RampParameters};
use crate::kernels::interval_ends::EndPair;
use crate::kernels::lines::{Corner, LineInput, Relax, ShiftTerms};
use crate::kernels::{Isa, LANES, RunKernel, dense, transpose};
use crate::{Error, Model};
use std::array::from_fn;

/// The stages of a chain of layers that have lines; every activation is a stage of its own, so that its inputs are kept.
pub(crate) fn chain(model: &Model) -> Result<Vec<Stage>, Error> {
    let stages = separate(model);
    for (i, stage) in stages.iter().enumerate() {
        let fine = match &stage.kind {
            StageKind::Taps(_) | StageKind::Dense(_) | StageKind::Scale(_) => true,
            StageKind::Act(act) => *act == Activation::Relu,
            StageKind::Curve(curve) => matches!(curve.curve, Curve::Leaky(_) | Curve::Ramp),
            _ => false,
        };
        let (at, layer) = (stage.layer + 1, model.layers()[stage.layer]);
        if !fine {
            let want = "want convolutions, dense layers, normalisation, relu, leaky_relu and ramp";
            let why = format!("layer {at} ({layer}) has no linear relaxation: {want}, or intervals alone");
            return Err(Error::Mismatch(why));
        }
        if stage.from != i {
            let why =
                format!("layer {at} ({layer}) does not read the layer before it: linear relaxation wants a chain");
            return Err(Error::Mismatch(why));
        }
    }
    Ok(stages)
}

/// The activation of a stage: its caps and its slope outside. `None` for other stages.
pub(super) fn ramp_of<'a>(net: IntervalNetwork<'a>, stage: &Stage) -> Option<RampParameters<'a>> {
    match &stage.kind {
        StageKind::Act(_) => Some(RampParameters { caps: &[], slope: 0.0 }),
        StageKind::Curve(CurveStage { curve: Curve::Leaky(slope), .. }) => {
            Some(RampParameters { caps: &[], slope: *slope })
        }
        StageKind::Curve(curve) => Some(curve.ramp(net.weights[0])),
        _ => None,
    }
}

/// One unit of a leaf.
#[derive(Clone, Copy)]
pub(super) struct CrownUnit<'a> {
    pub net: IntervalNetwork<'a>,
    /// Bounds of the input and of the output of every stage, for all units.
    pub ends: &'a [EndPair],
    pub unit: usize,
    pub labels: &'a [u16; LANES],
}

impl<'a> CrownUnit<'a> {
    /// The range of this unit in a vector of a value with so many entries.
    pub(super) fn range(&self, entries: usize) -> std::ops::Range<usize> {
        self.unit * entries * LANES..(self.unit + 1) * entries * LANES
    }

    /// Both ends of the input of stage i.
    pub(super) fn input(&self, i: usize) -> [&'a [f32]; 2] {
        let at = self.range(self.net.stages[i].input);
        let [lo, hi] = &self.ends[i];
        [&lo[at.clone()], &hi[at]]
    }

    /// The input of stage i, an activation.
    pub(super) fn lines(&self, i: usize, ramp: RampParameters<'a>) -> LineInput<'a> {
        let ([lo, hi], stage) = (self.input(i), &self.net.stages[i]);
        let channels = if ramp.caps.is_empty() { 1 } else { ramp.caps.len() };
        LineInput { lo, hi, ramp, plane: stage.input / channels * LANES }
    }

    /// The last layer.
    pub(super) fn last(&self) -> Option<&'a DenseStage> {
        match self.net.stages.last().map(|stage| &stage.kind) {
            Some(StageKind::Dense(dense)) => Some(dense),
            _ => None,
        }
    }
}

/// One thread's scratch for the relaxation of a unit; nothing is allocated after it is built. Vectors are `[row][entry][lane]`.
#[derive(Debug)]
pub(super) struct Crown {
    pub(super) isa: Isa,
    /// The output that each row and lane is about.
    pub(super) classes: Vec<[u16; LANES]>,
    /// The coefficients of the input of each stage.
    pub(super) coefficients: Vec<Vec<f32>>,
    /// Per stage with shifts, the sums of the coefficients of its outputs over each channel.
    pub(super) sums: Vec<Vec<f32>>,
    /// The margins, `[row][lane]`.
    pub(super) margins: Vec<f32>,
    /// The gradient with respect to the margins, `[row][lane]`.
    pub(super) scales: Vec<f32>,
    /// The points before and behind a stage.
    pub(super) points: Vec<f32>,
    pub(super) next: Vec<f32>,
    /// The rows of the last layer that belong to the labels; of a row of points, one image after the other.
    own: Vec<f32>,
    pub(super) images: Vec<f32>,
    /// As many zeros as a scale has channels.
    pub(super) zeros: Vec<f32>,
    pub(super) taps: TapScratch,
    pub(super) linear: LinearScratch,
}

/// The shifts of a stage: the bias of a linear layer, or those of a scale.
pub(super) fn shifts_of<'a>(net: IntervalNetwork<'a>, i: usize) -> &'a [f32] {
    match &net.stages[i].kind {
        StageKind::Taps(taps) => &net.weights[0].flat[taps.bias.clone()],
        StageKind::Dense(dense) => &net.weights[0].flat[dense.bias.clone()],
        StageKind::Scale(_) => net.weights[0].scale(i).shift,
        _ => &[],
    }
}

impl Crown {
    pub(super) fn new(isa: Isa, stages: &[Stage]) -> Self {
        let outputs = stages.last().map_or(1, |stage| stage.output);
        let (rows, last) = (outputs - 1, stages.last().map_or(0, |stage| stage.input));
        let largest = stages.iter().map(|stage| stage.input).max().unwrap_or(0);
        let shifts = |stage: &Stage| match &stage.kind {
            StageKind::Taps(taps) => taps.bias.len(),
            StageKind::Dense(dense) => dense.n,
            StageKind::Scale(scale) => scale.channels,
            _ => 0,
        };
        let zeros = |entries: usize| vec![0.0; rows * entries * LANES];
        Self {
            isa,
            classes: vec![[0; LANES]; rows],
            coefficients: stages.iter().map(|stage| zeros(stage.input)).collect(),
            sums: stages.iter().map(|stage| zeros(shifts(stage))).collect(),
            margins: zeros(1),
            scales: zeros(1),
            points: zeros(largest),
            next: zeros(largest),
            own: vec![0.0; last * LANES],
            zeros: vec![0.0; stages.iter().map(shifts).max().unwrap_or(0)],
            images: vec![0.0; dense::stride(last) * LANES],
            taps: TapScratch::new(stages, rows, 1),
            linear: LinearScratch::new(isa, stages, rows, 1),
        }
    }

    /// The bound of output j in a lane: `None` at the label.
    pub(super) fn margin(&self, j: usize, (lane, label): (usize, usize)) -> Option<f32> {
        (j != label).then(|| self.margins[(j - usize::from(j > label)) * LANES + lane])
    }

    /// Computes the margins of a unit.
    pub(super) fn relax(&mut self, at: CrownUnit<'_>) {
        self.begin(at);
        for i in (0..at.net.stages.len().saturating_sub(1)).rev() {
            self.stage_back(at, i);
        }
        let [lo, hi] = at.input(0);
        let (coefficients, constants) = (&self.coefficients[0][..], &mut self.margins[..]);
        self.isa.run(Corner { points: &mut [], constants, coefficients, scales: &[], lo, hi });
    }

    /// The rows `W_j - W_y` of the last layer, and `b_j - b_y`.
    fn begin(&mut self, at: CrownUnit<'_>) {
        let Some(DenseStage { k, weight, bias, .. }) = at.last() else { return };
        let flat = &at.net.weights[0].flat;
        let (weights, bias) = (&flat[weight.clone()], &flat[bias.clone()]);
        let row_of = |j: u16| &weights[usize::from(j) * k..(usize::from(j) + 1) * k];
        let rows: [&[f32]; LANES] = from_fn(|lane| row_of(at.labels[lane]));
        self.isa.run(transpose::RowsToLanes { out: &mut self.own, rows: &rows });
        let Some(last) = self.coefficients.last_mut() else { return };
        for (row, out) in last.chunks_exact_mut(k * LANES).enumerate() {
            for lane in 0..LANES {
                let j = row as u16 + u16::from(row as u16 >= at.labels[lane]);
                self.classes[row][lane] = j;
                self.margins[row * LANES + lane] = bias[usize::from(j)] - bias[usize::from(at.labels[lane])];
            }
            let rows: [&[f32]; LANES] = from_fn(|lane| row_of(self.classes[row][lane]));
            self.isa.run(transpose::RowsToLanes { out, rows: &rows });
            out.iter_mut().zip(&self.own).for_each(|(c, own)| *c -= own);
        }
    }

    /// From the coefficients of the output of stage i to those of its input.
    fn stage_back(&mut self, at: CrownUnit<'_>, i: usize) {
        let (net, isa, stage) = (at.net, self.isa, &at.net.stages[i]);
        let (before, after) = self.coefficients.split_at_mut(i + 1);
        let (out, coefficients, constants) = (&mut before[i][..], &after[0][..], &mut self.margins[..]);
        let shifts = shifts_of(net, i);
        if !shifts.is_empty() {
            isa.run(ShiftTerms { sums: &mut self.sums[i], constants, coefficients, shifts });
        }
        let map = |dx| LinearGrad {
            g: coefficients,
            x: &[],
            weights: &net.weights[0].backward[i],
            d_weights: None,
            dx: Some(dx),
        };
        match &stage.kind {
            StageKind::Taps(taps) => self.taps.backward(isa, (i, taps), map(out), 0),
            StageKind::Dense(dense) => self.linear.dense_backward(dense, map(out), None),
            StageKind::Scale(scale) => {
                out.copy_from_slice(coefficients);
                let plane = stage.input / scale.channels * LANES;
                isa.run(ScaleBy { g: out, scale: net.weights[0].scale(i).scale, plane });
            }
            _ => {
                if let Some(ramp) = ramp_of(net, stage) {
                    isa.run(Relax { out, constants: &mut self.margins, coefficients, input: at.lines(i, ramp) });
                }
            }
        }
    }
}

//! General stages of a pass, forward and backward: convolutions by tables, pooling with any window, scales, curves and sums.

use super::backward::GradientTargets;
use super::dropout;
use super::graph::TapScratch;
use super::linear::{LinearGrad, conv_bias};
use super::packed::{Packed, ScaleParts};
use super::plan::{CurveStage, ScaleStage, StageKind};
use super::taps::TapStage;
use super::worker::{LeafNetwork, Worker, value};
use crate::PoolKind;
use crate::kernels::activation::{ActivateBackward, Activation};
use crate::kernels::channels::{AddVectors, ChannelSums, ScaleBy, ScaleShift};
use crate::kernels::curves::{CurveBackward, CurveForward, RampParameters};
use crate::kernels::windows::{AverageBackward, AverageForward, MaxBackward, MaxForward, Windows};
use crate::kernels::{Isa, LANES, RunKernel};

impl Worker {
    /// Runs one general stage.
    pub(super) fn forward_general(&mut self, net: LeafNetwork<'_>, i: usize) {
        let (stage, isa) = (&net.stages[i], self.isa);
        let (n_in, n_out) = (stage.input * LANES, stage.output * LANES);
        let (before, after) = self.outputs.split_at_mut(i);
        let x = &value(&self.x, before, stage.from)[..net.units * n_in];
        let out = &mut after[0][..net.units * n_out];
        match &stage.kind {
            StageKind::Taps(taps) => {
                let bias = &net.weights.flat[taps.bias.clone()];
                self.graph.taps.forward(isa, (i, taps), (out, x), (&net.weights.forward[i], bias, 0), taps.act);
            }
            StageKind::Windows(windows) => pool_forward(isa, *windows, out, &mut self.winners[i], x),
            StageKind::Scale(scale) => {
                let ScaleParts { scale: factors, shift, .. } = net.scale(i);
                isa.run(ScaleShift { out, x, scale: factors, shift, act: scale.act, plane: n_in / scale.channels });
            }
            StageKind::Curve(curve) => {
                let (ramp, plane) = (curve.ramp(net.weights), n_in / curve.channels);
                isa.run(CurveForward { out, x, curve: curve.curve, ramp, plane });
            }
            StageKind::Dropout(share) => match net.training {
                Some(leaf) => {
                    let kept = &mut self.winners[i][..net.units * n_out];
                    dropout::forward((out, kept), x, (stage.layer, *share), leaf, stage.output);
                }
                None => out.copy_from_slice(x),
            },
            StageKind::Add { other, act } => {
                let b = &value(&self.x, before, *other)[..net.units * n_out];
                isa.run(AddVectors { out, a: x, b, act: *act });
            }
            _ => {}
        }
    }

    /// Takes the gradient in `g` back through one general stage. If `deeper`, `g` becomes the gradient with respect to its input.
    pub(super) fn backward_general(
        &mut self,
        net: LeafNetwork<'_>,
        i: usize,
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let (stage, isa) = (&net.stages[i], self.isa);
        let (size, size_in) = (net.units * stage.output * LANES, net.units * stage.input * LANES);
        isa.run(ActivateBackward { g: &mut self.g[..size], a: &self.outputs[i][..size], act: stage.activation() });
        let x = &value(&self.x, &self.outputs, stage.from)[..size_in];
        match &stage.kind {
            StageKind::Taps(taps) => {
                let (d_weights, d_bias) = to.of(&taps.weight, &taps.bias).unzip();
                if let Some(d_bias) = d_bias {
                    let plane = stage.output / taps.to.channels * LANES;
                    conv_bias(isa, d_bias, &self.g[..size], plane);
                }
                let dx = deeper.then_some(&mut self.next[..size_in]);
                let map = LinearGrad { g: &self.g[..size], x, weights: &net.weights.backward[i], d_weights, dx };
                self.graph.taps.backward(isa, (i, taps), map, 0);
            }
            StageKind::Windows(windows) => {
                pool_backward(isa, *windows, &mut self.next[..size_in], &self.g[..size], &self.winners[i]);
            }
            StageKind::Scale(scale) => {
                let plane = stage.input / scale.channels * LANES;
                self.graph.taps.scale_backward(isa, (i, scale), net.weights, (&mut self.g[..size], x, plane), to);
                return;
            }
            StageKind::Curve(curve) => {
                let d_caps = to.part(&curve.caps).unwrap_or_default();
                let (ramp, plane) = (curve.ramp(net.weights), stage.input / curve.channels * LANES);
                isa.run(CurveBackward { g: &mut self.g[..size], d_caps, x, curve: curve.curve, ramp, plane });
                return;
            }
            StageKind::Dropout(share) => {
                if net.training.is_some() {
                    dropout::backward(&mut self.g[..size], &self.winners[i][..size], *share);
                }
                return;
            }
            StageKind::Add { other, .. } => return self.graph.sides.add(isa, *other, [&self.g[..size]]),
            _ => return,
        }
        if deeper {
            std::mem::swap(&mut self.g, &mut self.next);
        }
    }
}

impl CurveStage {
    /// Caps and slope.
    pub(super) fn ramp<'a>(&self, weights: &'a Packed) -> RampParameters<'a> {
        let slope = weights.flat[self.slope.clone()].first().copied().unwrap_or(0.0);
        RampParameters { caps: &weights.flat[self.caps.clone()], slope }
    }
}

impl TapScratch {
    /// A general convolution of all units by matrix `e` of its stage.
    pub(super) fn forward(
        &mut self,
        isa: Isa,
        (i, taps): (usize, &TapStage),
        (out, x): (&mut [f32], &[f32]),
        (weights, bias, e): (&[f32], &[f32], usize),
        act: Activation,
    ) {
        let (n_in, n_out) = (taps.from.size() * LANES, taps.to.size() * LANES);
        let padded = &mut self.inputs[i][e];
        for (u, (x, out)) in x.chunks_exact(n_in).zip(out.chunks_exact_mut(n_out)).enumerate() {
            if padded.is_empty() {
                taps.forward(isa, out, x, weights, bias, act);
            } else {
                let size = taps.input.size() * LANES;
                let padded = &mut padded[u * size..(u + 1) * size];
                taps.input.copy(padded, x);
                taps.forward(isa, out, padded, weights, bias, act);
            }
        }
    }

    /// Its gradients. The input inside its border is still there from the forward pass.
    pub(super) fn backward(&mut self, isa: Isa, (i, taps): (usize, &TapStage), map: LinearGrad<'_>, e: usize) {
        let (n_in, n_out) = (taps.from.size() * LANES, taps.to.size() * LANES);
        if let Some(grad) = map.d_weights {
            let x = if taps.input.is_empty() { map.x } else { &self.inputs[i][e][..] };
            taps.to_weights(isa, grad, map.g, x, map.g.len() / n_out);
        }
        let Some(dx) = map.dx else { return };
        for (g, dx) in map.g.chunks_exact(n_out).zip(dx.chunks_exact_mut(n_in)) {
            if taps.gradient.is_empty() {
                taps.to_input(isa, dx, g, map.weights);
            } else {
                let padded = &mut self.gradients[i];
                taps.gradient.copy(padded, g);
                taps.to_input(isa, dx, padded, map.weights);
            }
        }
    }

    /// Multiplies `g` by the scale, after adding the gradients of weight and bias: with `scale = weight inverse`,
    /// `d weight = inverse (sum of g (x - mean))` and `d bias = sum of g`.
    fn scale_backward(
        &mut self,
        isa: Isa,
        (i, scale): (usize, &ScaleStage),
        weights: &Packed,
        (g, x, plane): (&mut [f32], &[f32], usize),
        to: &mut GradientTargets<'_>,
    ) {
        let (n, parts) = (scale.channels, weights.scale(i));
        if let Some((d_weight, d_bias)) = scale.batch_norm.as_ref().and_then(|[w, b, ..]| to.of(w, b)) {
            let [ones, products] = &mut self.sums;
            let (ones, products) = (&mut ones[..n], &mut products[..n]);
            ones.fill(0.0);
            products.fill(0.0);
            isa.run(ChannelSums { sums: [ones, products], g, x, mean: parts.mean, plane });
            for c in 0..n {
                d_weight[c] += parts.inverse[c] * products[c];
                d_bias[c] += ones[c];
            }
        }
        isa.run(ScaleBy { g, scale: parts.scale, plane });
    }
}

/// Pooling of all units.
pub(super) fn pool_forward(isa: Isa, windows: Windows, out: &mut [f32], winners: &mut [u8], x: &[f32]) {
    let (n_in, n_out) = (windows.from.size() * LANES, windows.to.size() * LANES);
    for (u, (x, out)) in x.chunks_exact(n_in).zip(out.chunks_exact_mut(n_out)).enumerate() {
        match windows.pool.kind {
            PoolKind::Max => {
                let winners = &mut winners[u * n_out..(u + 1) * n_out];
                isa.run(MaxForward { out, winners, x, windows });
            }
            PoolKind::Average => isa.run(AverageForward { out, x, windows }),
        }
    }
}

/// The gradient of its input.
pub(super) fn pool_backward(isa: Isa, windows: Windows, dx: &mut [f32], g: &[f32], winners: &[u8]) {
    let (n_in, n_out) = (windows.from.size() * LANES, windows.to.size() * LANES);
    for (u, (g, dx)) in g.chunks_exact(n_out).zip(dx.chunks_exact_mut(n_in)).enumerate() {
        match windows.pool.kind {
            PoolKind::Max => {
                let winners = &winners[u * n_out..(u + 1) * n_out];
                isa.run(MaxBackward { dx, g, winners, windows });
            }
            PoolKind::Average => isa.run(AverageBackward { dx, g, windows }),
        }
    }
}

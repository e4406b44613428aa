//! General stages of bounds, forward and backward.

use super::super::backward::GradientTargets;
use super::super::general::{pool_backward, pool_forward};
use super::super::linear::{LinearGrad, conv_bias};
use super::super::plan::{CurveStage, ScaleStage, StageKind};
use super::super::taps::TapStage;
use super::worker::{IntervalNetwork, IntervalWorker};
use crate::kernels::activation::Activation;
use crate::kernels::channels::{AddVectors, ChannelSums, ScaleBy, ScaleShiftEnds};
use crate::kernels::curves::{Curve, CurveBackward, CurveForward, GeluBounds, GeluBoundsBackward};
use crate::kernels::interval_ends::{ToCentre, ToEnds};
use crate::kernels::{LANES, RunKernel};

impl IntervalWorker {
    /// Runs one general stage.
    pub(super) fn forward_general(&mut self, net: IntervalNetwork<'_>, i: usize) {
        let (stage, isa) = (&net.stages[i], self.isa);
        let (size, size_in) = (net.units * stage.output * LANES, net.units * stage.input * LANES);
        if let StageKind::Taps(taps) = &stage.kind {
            return self.taps_forward(net, (i, taps), size);
        }
        let (before, after) = self.ends.split_at_mut(i + 1);
        let [lo, hi] = &mut after[0];
        let (lo, hi) = (&mut lo[..size], &mut hi[..size]);
        let [a, b] = &before[stage.from];
        let x = [&a[..size_in], &b[..size_in]];
        let act = match &stage.kind {
            StageKind::Windows(windows) => {
                for ((out, winners), x) in [lo, hi].into_iter().zip(&mut self.winners[i]).zip(x) {
                    pool_forward(isa, *windows, out, winners, x);
                }
                Activation::Identity
            }
            StageKind::Scale(scale) => {
                let (parts, plane) = (net.weights[0].scale(i), size / scale.channels / net.units);
                isa.run(ScaleShiftEnds { lo, hi, x, scale: parts.scale, shift: parts.shift, plane });
                scale.act
            }
            StageKind::Curve(CurveStage { curve: Curve::Gelu, .. }) => {
                isa.run(GeluBounds { lo, hi, x });
                Activation::Identity
            }
            StageKind::Curve(curve) => {
                let (ramp, plane) = (curve.ramp(net.weights[0]), size / curve.channels / net.units);
                for (out, x) in [lo, hi].into_iter().zip(x) {
                    isa.run(CurveForward { out, x, curve: curve.curve, ramp, plane });
                }
                Activation::Identity
            }
            StageKind::Dropout(_) => {
                lo.copy_from_slice(x[0]);
                hi.copy_from_slice(x[1]);
                Activation::Identity
            }
            StageKind::Add { other, act } => {
                for ((out, a), b) in [lo, hi].into_iter().zip(x).zip(&before[*other]) {
                    isa.run(AddVectors { out, a, b: &b[..size], act: Activation::Identity });
                }
                *act
            }
            _ => Activation::Identity,
        };
        self.activate(i, act, size);
    }

    fn taps_forward(&mut self, net: IntervalNetwork<'_>, (i, taps): (usize, &TapStage), size: usize) {
        self.centre(net, i);
        let size_in = net.units * net.stages[i].input * LANES;
        let [a, b] = &mut self.ends[i + 1];
        let (a, b) = (&mut a[..size], &mut b[..size]);
        for (e, out) in [&mut *a, &mut *b].into_iter().enumerate() {
            let bias = if e == 0 { &net.weights[0].flat[taps.bias.clone()] } else { &[] };
            let x = &self.centred[i][e][..size_in];
            let weights = (&net.weights[e].forward[i][..], bias, e);
            self.taps.forward(self.isa, (i, taps), (out, x), weights, Activation::Identity);
        }
        self.isa.run(ToEnds { a, b, scale: 1.0 });
        self.activate(i, taps.act, size);
    }

    /// Takes the gradients in `g` back through one general stage.
    pub(super) fn general_backward(
        &mut self,
        net: IntervalNetwork<'_>,
        i: usize,
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let (stage, isa) = (&net.stages[i], self.isa);
        let (size, size_in) = (net.units * stage.output * LANES, net.units * stage.input * LANES);
        match &stage.kind {
            StageKind::Taps(taps) => {
                self.activation_backward(i, taps.act, size);
                self.taps_backward(net, (i, taps), to, deeper);
            }
            StageKind::Windows(windows) => {
                for e in 0..2 {
                    let (dx, g) = (&mut self.next[e][..size_in], &self.g[e][..size]);
                    pool_backward(isa, *windows, dx, g, &self.winners[i][e]);
                }
                std::mem::swap(&mut self.g, &mut self.next);
            }
            StageKind::Scale(scale) => {
                self.activation_backward(i, scale.act, size);
                self.scale_backward(net, (i, scale), to);
            }
            StageKind::Curve(curve) => self.curve_backward(net, (i, curve), to),
            StageKind::Add { other, act } => {
                self.activation_backward(i, *act, size);
                let [lo, hi] = &self.g;
                self.sides.add(isa, *other, [&lo[..size], &hi[..size]]);
            }
            _ => {}
        }
    }

    fn taps_backward(
        &mut self,
        net: IntervalNetwork<'_>,
        (i, taps): (usize, &TapStage),
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let (size, size_in) = (net.units * taps.to.size() * LANES, net.units * taps.from.size() * LANES);
        let [a, b] = &mut self.g;
        self.isa.run(ToCentre { a: &mut a[..size], b: &mut b[..size] });
        let (mut d_weights, d_bias) = to.of(&taps.weight, &taps.bias).unzip();
        if let Some(d_bias) = d_bias {
            conv_bias(self.isa, d_bias, &self.g[0][..size], taps.to.size() / taps.to.channels * LANES);
        }
        for e in 0..2 {
            let absolute = d_weights.is_some().then_some(&mut self.d_absolute[taps.weight.clone()]);
            let map = LinearGrad {
                g: &self.g[e][..size],
                x: &self.centred[i][e][..size_in],
                weights: &net.weights[e].backward[i],
                d_weights: if e == 0 { d_weights.as_deref_mut() } else { absolute },
                dx: deeper.then_some(&mut self.next[e][..size_in]),
            };
            self.taps.backward(self.isa, (i, taps), map, e);
        }
        if deeper {
            self.gradients_of_ends(size_in);
        }
    }

    /// Where the scale is negative, the lower end of the result comes from the upper end of x.
    fn scale_backward(
        &mut self,
        net: IntervalNetwork<'_>,
        (i, scale): (usize, &ScaleStage),
        to: &mut GradientTargets<'_>,
    ) {
        let (n, parts) = (scale.channels, net.weights[0].scale(i));
        let size = net.units * net.stages[i].output * LANES;
        let plane = size / n / net.units;
        let [lo, hi] = &mut self.g;
        let planes = lo[..size].chunks_exact_mut(plane).zip(hi[..size].chunks_exact_mut(plane));
        for (c, (lo, hi)) in planes.enumerate() {
            if parts.scale[c % n] < 0.0 {
                lo.swap_with_slice(hi);
            }
        }
        for (e, g) in self.g.iter_mut().enumerate() {
            let (g, x) = (&mut g[..size], &self.ends[net.stages[i].from][e][..size]);
            if let Some((d_weight, d_bias)) = scale.batch_norm.as_ref().and_then(|[w, b, ..]| to.of(w, b)) {
                let [ones, products] = &mut self.taps.sums;
                let (ones, products) = (&mut ones[..n], &mut products[..n]);
                ones.fill(0.0);
                products.fill(0.0);
                self.isa.run(ChannelSums { sums: [ones, products], g, x, mean: parts.mean, plane });
                for c in 0..n {
                    d_weight[c] += parts.inverse[c] * products[c];
                    d_bias[c] += ones[c];
                }
            }
            self.isa.run(ScaleBy { g, scale: parts.scale, plane });
        }
    }

    fn curve_backward(
        &mut self,
        net: IntervalNetwork<'_>,
        (i, curve): (usize, &CurveStage),
        to: &mut GradientTargets<'_>,
    ) {
        let size = net.units * net.stages[i].output * LANES;
        let ends = &self.ends[net.stages[i].from];
        if curve.curve == Curve::Gelu {
            let [lo, hi] = &mut self.g;
            let x = [&ends[0][..size], &ends[1][..size]];
            self.isa.run(GeluBoundsBackward { lo: &mut lo[..size], hi: &mut hi[..size], x });
            return;
        }
        let (ramp, plane) = (curve.ramp(net.weights[0]), size / curve.channels / net.units);
        for (g, x) in self.g.iter_mut().zip(ends) {
            let d_caps = to.params.as_deref_mut().map_or(&mut [][..], |p| &mut p[curve.caps.clone()]);
            let (g, x) = (&mut g[..size], &x[..size]);
            self.isa.run(CurveBackward { g, d_caps, x, curve: curve.curve, ramp, plane });
        }
    }
}

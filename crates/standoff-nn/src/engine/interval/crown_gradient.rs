//! The gradients of the margins of a unit by backward relaxation: the corner of each row is carried forward through the lines.

use super::super::graph::Sides;
use super::super::linear::LinearGrad;
use super::super::plan::{ScaleStage, StageKind};
use super::crown::{Crown, CrownUnit, ramp_of, shifts_of};
use crate::kernels::activation::Activation;
use crate::kernels::channels::{ChannelSums, ScaleBy};
use crate::kernels::lines::{AddShifts, Climb, Corner, ShiftGradients};
use crate::kernels::{LANES, RunKernel, dense, transpose};

impl Crown {
    /// Takes the gradient with respect to the margins, `share` times `g` of all outputs in lanes. Adds the gradients of the parameters to
    /// `params`, and leaves those of the ends of the inputs of activations in `sides`.
    pub(super) fn climb(&mut self, at: CrownUnit<'_>, (g, share): (&[f32], f32), to: (&mut [f32], &mut Sides<2>)) {
        let (params, sides) = to;
        for (row, classes) in self.classes.iter().enumerate() {
            for (lane, &class) in classes.iter().enumerate() {
                self.scales[row * LANES + lane] = share * g[usize::from(class) * LANES + lane];
            }
        }
        let [lo, hi] = at.input(0);
        let (points, coefficients) = (&mut self.points[..self.coefficients[0].len()], &self.coefficients[0][..]);
        self.isa.run(Corner { points, constants: &mut [], coefficients, scales: &self.scales, lo, hi });
        for i in 0..at.net.stages.len().saturating_sub(1) {
            self.stage_gradient(at, i, params, sides);
        }
        self.last_gradient(at, params);
    }

    /// The gradients of stage i, and the points behind it.
    fn stage_gradient(&mut self, at: CrownUnit<'_>, i: usize, params: &mut [f32], sides: &mut Sides<2>) {
        let (net, isa, stage) = (at.net, self.isa, &at.net.stages[i]);
        let (size, size_out) = (self.coefficients[i].len(), self.coefficients[i + 1].len());
        let (points, next) = (&mut self.points[..size], &mut self.next[..size_out]);
        let (coefficients, scales) = (&self.coefficients[i + 1][..], &self.scales[..]);
        let weights = (&net.weights[0].forward[i][..], &[][..], 0);
        let linear = match &stage.kind {
            StageKind::Taps(taps) => {
                self.taps.forward(isa, (i, taps), (&mut *next, points), weights, Activation::Identity);
                let d_weights = Some(&mut params[taps.weight.clone()]);
                let map = LinearGrad { g: coefficients, x: points, weights: &[], d_weights, dx: None };
                self.taps.backward(isa, (i, taps), map, 0);
                Some(taps.bias.clone())
            }
            StageKind::Dense(dense) => {
                let d_weights = Some(&mut params[dense.weight.clone()]);
                let map = LinearGrad { g: coefficients, x: points, weights: &[], d_weights, dx: None };
                self.linear.dense_backward(dense, map, None);
                isa.run(dense::DenseForward {
                    out: &mut *next,
                    x: points,
                    weights: &net.weights[0].flat[dense.weight.clone()],
                    bias: &[],
                    act: Activation::Identity,
                    packed: false,
                    n: dense.n,
                    k: dense.k,
                });
                Some(dense.bias.clone())
            }
            StageKind::Scale(scale) => return self.scale_gradient(at, (i, scale), params),
            _ => None,
        };
        if let Some(bias) = linear {
            isa.run(ShiftGradients { d_shifts: &mut params[bias], sums: &self.sums[i], scales });
            isa.run(AddShifts { points: next, shifts: shifts_of(net, i), scales });
            std::mem::swap(&mut self.points, &mut self.next);
            return;
        }
        let Some(ramp) = ramp_of(net, stage) else { return };
        let d_caps = match &stage.kind {
            StageKind::Curve(curve) => &mut params[curve.caps.clone()],
            _ => &mut [],
        };
        let [lo, hi] = sides.fill(i);
        let (d_lo, d_hi) = (&mut lo[at.range(stage.input)], &mut hi[at.range(stage.input)]);
        isa.run(Climb { points, d_lo, d_hi, d_caps, coefficients, scales, input: at.lines(i, ramp) });
    }

    /// With `scale = weight inverse` and `shift = bias - mean scale`: `d weight = inverse (d scale - mean d shift)`.
    fn scale_gradient(&mut self, at: CrownUnit<'_>, (i, scale): (usize, &ScaleStage), params: &mut [f32]) {
        let (n, parts) = (scale.channels, at.net.weights[0].scale(i));
        let (points, plane) =
            (&mut self.points[..self.coefficients[i].len()], at.net.stages[i].input / scale.channels * LANES);
        if let Some([weight, bias, ..]) = &scale.batch_norm {
            let [d_shift, d_scale] = &mut self.taps.sums;
            let (d_shift, d_scale) = (&mut d_shift[..n], &mut d_scale[..n]);
            let g = &self.coefficients[i + 1][..];
            d_shift.fill(0.0);
            d_scale.fill(0.0);
            let zeros = &self.zeros[..n];
            // The first sums are not those of the shift, which need the scales of the rows.
            self.isa.run(ChannelSums { sums: [&mut *d_shift, &mut *d_scale], g, x: points, mean: zeros, plane });
            d_shift.fill(0.0);
            self.isa.run(ShiftGradients { d_shifts: &mut *d_shift, sums: &self.sums[i], scales: &self.scales });
            for c in 0..n {
                params[weight.start + c] += parts.inverse[c] * (d_scale[c] - parts.mean[c] * d_shift[c]);
                params[bias.start + c] += d_shift[c];
            }
        }
        self.isa.run(ScaleBy { g: &mut *points, scale: parts.scale, plane });
        self.isa.run(AddShifts { points, shifts: parts.shift, scales: &self.scales });
    }

    /// The gradients of the rows `W_j - W_y` are the points before the last layer.
    fn last_gradient(&mut self, at: CrownUnit<'_>, params: &mut [f32]) {
        let Some(dense) = at.last() else { return };
        let (k, stride) = (dense.k, dense::stride(dense.k));
        let d_weights = &mut params[dense.weight.start..dense.bias.end];
        let (d_weights, d_bias) = d_weights.split_at_mut(dense.weight.len());
        for (row, x) in self.points.chunks_exact(k * LANES).take(self.classes.len()).enumerate() {
            self.isa.run(transpose::LanesToRows { out: &mut self.images, stride, x });
            for (lane, image) in self.images.chunks_exact(stride).enumerate() {
                let (scale, class) = (self.scales[row * LANES + lane], usize::from(self.classes[row][lane]));
                let label = usize::from(at.labels[lane]);
                d_bias[class] += scale;
                d_bias[label] -= scale;
                d_weights[class * k..(class + 1) * k].iter_mut().zip(image).for_each(|(d, p)| *d += p);
                d_weights[label * k..(label + 1) * k].iter_mut().zip(image).for_each(|(d, p)| *d -= p);
            }
        }
    }
}

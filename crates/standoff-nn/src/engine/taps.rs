//! A general convolution as the engine runs it: tables of positions and taps for the forward pass and the gradients.
//!
//! With stride s and padding a, `y[o][r][c] = b[o] + sum over i, p, q of w[o][i][p][q] X[i][r s + p][c s + q]`, where X is x inside a border
//! of a zeros. An entry `dx[i][y][x]` sums `w[o][i][p][q] g[o][r][c]` over all p with `y + a = r s + p`. So p runs over the numbers equal to
//! `y + a` modulo s: the rows with the same remainder, and likewise the columns, are one convolution of stride 1 of the gradient g inside
//! a border of zeros, with a part of the kernel. Such a part is a [`Phase`].

use crate::kernels::activation::Activation;
use crate::kernels::taps::{Border, Positions, TapForward, TapWeightGrad, Taps, pack};
use crate::kernels::{Isa, LANES, RunKernel};
use crate::{Conv2d, Shape};
use std::ops::Range;

/// A convolution with any stride, padding, groups and kernel, then an activation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TapStage {
    pub from: Shape,
    pub to: Shape,
    pub groups: usize,
    pub act: Activation,
    pub weight: Range<usize>,
    pub bias: Range<usize>,
    /// The border of x, and that of the gradient.
    pub input: Border,
    pub gradient: Border,
    positions: Positions,
    taps: Taps,
    phases: Vec<Phase>,
}

/// The entries of the input's gradient that are sums over the same taps.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Phase {
    positions: Positions,
    taps: Taps,
    /// The entries of the kernel, one for each tap of one channel.
    entries: Vec<usize>,
}

/// The taps p of one phase along one side: p, and the index of its gradient relative to the phase's own index.
fn phase_taps(phase: usize, kernel: usize, stride: usize, pad: usize) -> impl Iterator<Item = (usize, isize)> {
    (0..kernel).filter_map(move |p| {
        let difference = (phase + pad) as isize - p as isize;
        (difference.rem_euclid(stride as isize) == 0).then(|| (p, difference.div_euclid(stride as isize)))
    })
}

/// The zeros before and after the gradient that all phases of one side read.
fn reach(side: usize, out: usize, kernel: usize, stride: usize, pad: usize) -> (usize, usize) {
    let (mut before, mut after) = (0, 0);
    for phase in 0..stride.min(side) {
        let last = (side - 1 - phase) / stride;
        for (_, at) in phase_taps(phase, kernel, stride, pad) {
            before = before.max(-at);
            after = after.max(at + last as isize - (out as isize - 1));
        }
    }
    (before.max(0) as usize, after.max(0) as usize)
}

impl TapStage {
    pub(crate) fn new(
        conv: Conv2d,
        (from, to): (Shape, Shape),
        act: Activation,
        (weight, bias): (Range<usize>, Range<usize>),
    ) -> Self {
        let Conv2d { kernel, stride, padding, groups, .. } = conv;
        let input =
            Border { channels: from.channels, height: from.height, width: from.width, before: padding, after: padding };
        let (top, bottom) = reach(from.height, to.height, kernel[0], stride[0], padding[0]);
        let (left, right) = reach(from.width, to.width, kernel[1], stride[1], padding[1]);
        let gradient = Border {
            channels: to.channels,
            height: to.height,
            width: to.width,
            before: [top, left],
            after: [bottom, right],
        };
        let [_, width] = input.outer();
        let plane = input.size() / from.channels;
        let places = grid(to.height, to.width).map(|(r, c)| (r * stride[0] * width + c * stride[1], r * to.width + c));
        let taps = (0..from.channels / groups)
            .flat_map(|i| grid(kernel[0], kernel[1]).map(move |(p, q)| i * plane + p * width + q));
        Self {
            from,
            to,
            groups,
            act,
            weight,
            bias,
            input,
            gradient,
            positions: Positions::new(places),
            taps: Taps::new(taps),
            phases: phases(conv, from, gradient),
        }
    }

    /// Channels in and out of one group.
    fn group(&self) -> (usize, usize) {
        (self.from.channels / self.groups, self.to.channels / self.groups)
    }

    /// Weights of one output channel.
    pub(crate) fn row(&self) -> usize {
        self.taps.len()
    }

    /// The size of the packed weights for the gradient of the input. Every entry of the kernel belongs to one phase, unless the input is
    /// smaller than the stride.
    pub(crate) fn packed_backward(&self) -> usize {
        self.phases.iter().map(|phase| phase.taps.len()).sum::<usize>() * self.from.channels
    }

    /// Packs the weights for the forward pass and for the gradient of the input.
    pub(crate) fn pack(&self, weights: &[f32], forward: &mut [f32], backward: &mut [f32]) {
        let ((cin, cout), row) = (self.group(), self.row());
        for (to, weights) in forward.chunks_exact_mut(cout * row).zip(weights.chunks_exact(cout * row)) {
            pack(to, cout, row, |channel, tap| weights[channel * row + tap]);
        }
        let area = row / cin;
        let mut rest = backward;
        for group in 0..self.groups {
            for phase in &self.phases {
                let n = phase.entries.len();
                let (to, others) = rest.split_at_mut(cin * n * cout);
                rest = others;
                pack(to, cin, n * cout, |i, tap| {
                    let (o, entry) = (group * cout + tap / n, phase.entries[tap % n]);
                    weights[o * row + i * area + entry]
                });
            }
        }
    }

    /// One unit forward; x is inside its border.
    pub(crate) fn forward(&self, isa: Isa, out: &mut [f32], x: &[f32], weights: &[f32], bias: &[f32], act: Activation) {
        let ((cin, cout), row) = (self.group(), self.row());
        let (plane, x_plane) = (self.to.height * self.to.width * LANES, self.input.size() / self.from.channels * LANES);
        for group in 0..self.groups {
            isa.run(TapForward {
                out: &mut out[group * cout * plane..(group + 1) * cout * plane],
                x: &x[group * cin * x_plane..(group + 1) * cin * x_plane],
                weights: &weights[group * cout * row..(group + 1) * cout * row],
                bias: if bias.is_empty() { bias } else { &bias[group * cout..(group + 1) * cout] },
                act,
                channels: cout,
                plane,
                positions: &self.positions,
                taps: &self.taps,
            });
        }
    }

    /// The gradient of the input of one unit, from the gradient inside its border.
    pub(crate) fn to_input(&self, isa: Isa, dx: &mut [f32], g: &[f32], weights: &[f32]) {
        let (cin, cout) = self.group();
        let plane = self.from.height * self.from.width * LANES;
        let g_plane = self.gradient.size() / self.to.channels * LANES;
        let mut rest = weights;
        for group in 0..self.groups {
            for phase in &self.phases {
                let (weights, others) = rest.split_at(cin * phase.taps.len());
                rest = others;
                isa.run(TapForward {
                    out: &mut dx[group * cin * plane..(group + 1) * cin * plane],
                    x: &g[group * cout * g_plane..(group + 1) * cout * g_plane],
                    weights,
                    bias: &[],
                    act: Activation::Identity,
                    channels: cin,
                    plane,
                    positions: &phase.positions,
                    taps: &phase.taps,
                });
            }
        }
    }

    /// Adds the gradient of the weights over some units; x is inside its border, g is not.
    pub(crate) fn to_weights(&self, isa: Isa, grad: &mut [f32], g: &[f32], x: &[f32], units: usize) {
        let ((cin, cout), row) = (self.group(), self.row());
        let (plane, x_plane) = (self.to.height * self.to.width * LANES, self.input.size() / self.from.channels * LANES);
        for group in 0..self.groups {
            isa.run(TapWeightGrad {
                grad: &mut grad[group * cout * row..(group + 1) * cout * row],
                g: &g[group * cout * plane..],
                g_unit: self.to.size() * LANES,
                x: &x[group * cin * x_plane..],
                x_unit: self.input.size() * LANES,
                units,
                channels: cout,
                plane,
                positions: &self.positions,
                taps: &self.taps,
            });
        }
    }
}

fn grid(h: usize, w: usize) -> impl Iterator<Item = (usize, usize)> + Clone {
    (0..h).flat_map(move |r| (0..w).map(move |c| (r, c)))
}

fn phases(conv: Conv2d, from: Shape, gradient: Border) -> Vec<Phase> {
    let Conv2d { kernel, stride, padding, groups, .. } = conv;
    let [height, width] = gradient.outer();
    let [top, left] = gradient.before.map(|b| b as isize);
    let both = grid(stride[0].min(from.height), stride[1].min(from.width));
    both.map(|(y, x)| {
        let rows = (from.height - y).div_ceil(stride[0]);
        let columns = (from.width - x).div_ceil(stride[1]);
        let places =
            grid(rows, columns).map(|(r, c)| (r * width + c, (y + r * stride[0]) * from.width + x + c * stride[1]));
        let mut taps = Vec::new();
        for (p, r) in phase_taps(y, kernel[0], stride[0], padding[0]) {
            for (q, c) in phase_taps(x, kernel[1], stride[1], padding[1]) {
                taps.push((p * kernel[1] + q, ((r + top) as usize) * width + (c + left) as usize));
            }
        }
        let plane = height * width;
        let offsets = (0..gradient.channels / groups).flat_map(|o| taps.iter().map(move |t| o * plane + t.1));
        Phase {
            positions: Positions::new(places),
            taps: Taps::new(offsets),
            entries: taps.iter().map(|t| t.0).collect(),
        }
    })
    .collect()
}

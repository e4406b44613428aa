//! Margins by one backward linear relaxation (CROWN) over interval bounds, and their full gradient, one sample at a time in `f64`.
//!
//! An activation f over `[l, u]` lies between two lines. The margin `z_j - z_y` is linear in the last hidden layer. From there to the input,
//! every activation is replaced by its upper line where its coefficient is positive, and by its lower line where it is negative:
//!
//! ```text
//! coefficient before f = coefficient after f times the slope        constant += coefficient after f times the shift
//! ```
//!
//! In the box of inputs the result is largest at a corner. The gradient goes the other way. Let p be the corner, carried forward through
//! the layers with the lines in place of the activations. Then `dm/dW = coefficient behind W times p before W`, and the derivatives by slope
//! and shift of a line are `coefficient p` and `coefficient`. Lines depend on l and u, so the rest of the gradient is that of the intervals.

use super::interval::{Interval, back};
use super::{PlainAffine, add, by_channel, linear, parameters, parameters_mut, transposed};
use crate::{Layer, Model};

/// A line `slope x + shift` with its derivatives by the lower end, the upper end and the cap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlainLine {
    /// The slope.
    pub slope: f64,
    /// The shift.
    pub shift: f64,
    /// The derivatives of the slope.
    pub d_slope: [f64; 3],
    /// The derivatives of the shift.
    pub d_shift: [f64; 3],
}

impl PlainLine {
    /// `slope x`.
    const fn through_origin(slope: f64) -> Self {
        Self { slope, shift: 0.0, d_slope: [0.0; 3], d_shift: [0.0; 3] }
    }

    /// `slope x + (1 - slope) cap`, through the point where `ramp` is cut off.
    fn through_cap(slope: f64, cap: f64) -> Self {
        Self { slope, shift: (1.0 - slope) * cap, d_slope: [0.0; 3], d_shift: [0.0, 0.0, 1.0 - slope] }
    }

    /// The line of a slope through the point (at, at), from the derivatives of both.
    fn through(at: f64, d_at: [f64; 3], slope: f64, d_slope: [f64; 3]) -> Self {
        let d_shift = std::array::from_fn(|i| (1.0 - slope) * d_at[i] - at * d_slope[i]);
        Self { slope, shift: at * (1.0 - slope), d_slope, d_shift }
    }
}

/// The lines above and below an activation over `[l, u]`: of those that touch it in two points or in a kink, the ones with the smallest area
/// between line and activation. The activation is x from 0 to the cap, with slope a outside.
pub fn lines((a, cap): (f64, f64), l: f64, u: f64) -> [PlainLine; 2] {
    let (middle, rest) = (0.5 * (l + u), 1.0 - a);
    let upper = if u <= 0.0 {
        PlainLine::through_origin(a)
    } else if middle >= cap {
        PlainLine::through_cap(a, cap)
    } else if l >= 0.0 {
        PlainLine::through_origin(1.0)
    } else {
        // From (l, a l) to (p, p).
        let (p, d_p) = if cap < u { (cap, [0.0, 0.0, 1.0]) } else { (u, [0.0, 1.0, 0.0]) };
        let width = p - l;
        let by_p = -rest * l / (width * width);
        let d_slope = [rest * p / (width * width), by_p * d_p[1], by_p * d_p[2]];
        PlainLine::through(p, d_p, a + rest * p / width, d_slope)
    };
    let lower = if l >= cap {
        PlainLine::through_cap(a, cap)
    } else if middle <= 0.0 {
        PlainLine::through_origin(a)
    } else if u <= cap {
        PlainLine::through_origin(1.0)
    } else {
        // From (r, r) to the activation at u.
        let (r, d_r) = if l > 0.0 { (l, [1.0, 0.0, 0.0]) } else { (0.0, [0.0; 3]) };
        let width = u - r;
        let by_r = -rest * (u - cap) / (width * width);
        let d_slope = [by_r * d_r[0], -rest * (cap - r) / (width * width), rest / width];
        PlainLine::through(r, d_r, a + rest * (cap - r) / width, d_slope)
    };
    [upper, lower]
}

/// Slope outside and cap of an activation at a channel; `None` for layers that are no activations of this kind.
fn limits(model: &Model, params: &[f64], i: usize, channel: usize) -> Option<(f64, f64)> {
    match model.layers()[i] {
        Layer::Relu => Some((0.0, f64::INFINITY)),
        Layer::LeakyRelu(slope) => Some((f64::from(slope), f64::INFINITY)),
        Layer::Ramp => {
            let (caps, slope) = parameters(model, params, i);
            Some((slope[0], caps[channel].max(0.0)))
        }
        _ => None,
    }
}

/// The lines of every entry of layer i.
fn lines_of(model: &Model, params: &[f64], i: usize, x: &Interval) -> Vec<[PlainLine; 2]> {
    let shape = model.shape(i);
    let plane = shape.height * shape.width;
    let at = |k: usize| limits(model, params, i, k / plane).map(|limits| lines(limits, x.lo[k], x.hi[k]));
    (0..x.lo.len()).map(|k| at(k).unwrap_or([PlainLine::through_origin(1.0); 2])).collect()
}

fn is_activation(layer: Layer) -> bool {
    matches!(layer, Layer::Relu | Layer::LeakyRelu(_) | Layer::Ramp)
}

/// The backward relaxation of one margin.
struct Relaxation {
    /// The coefficients of the input and of the output of every layer but the last.
    coefficients: Vec<Vec<f64>>,
    constant: f64,
}

fn chosen(lines: &[[PlainLine; 2]], coefficients: &[f64]) -> Vec<PlainLine> {
    lines.iter().zip(coefficients).map(|(lines, c)| if *c >= 0.0 { lines[0] } else { lines[1] }).collect()
}

fn relax(model: &Model, params: &[f64], values: &[Interval], (label, output): (usize, usize)) -> Relaxation {
    let last = model.layers().len() - 1;
    let (w, b) = parameters(model, params, last);
    let k = w.len() / b.len();
    let row: Vec<f64> = (0..k).map(|i| w[output * k + i] - w[label * k + i]).collect();
    let (mut coefficients, mut constant) = (vec![row], b[output] - b[label]);
    for i in (0..last).rev() {
        assert_eq!(model.reads(i), (i, None), "a chain of layers");
        let c = &coefficients[coefficients.len() - 1];
        let shape = model.shape(i);
        let next = match model.layers()[i] {
            Layer::Flatten | Layer::Dropout(_) => c.clone(),
            Layer::Conv { .. } | Layer::Conv2d(_) | Layer::Dense(_) => {
                let (w, b) = parameters(model, params, i);
                let (mut unused, mut ones) = (vec![0.0; w.len()], vec![0.0; b.len()]);
                let x = vec![0.0; values[i].lo.len()];
                let next = transposed(model, i, (&mut unused, &mut ones), c, (&x, w));
                constant += ones.iter().zip(b).map(|(c, b)| c * b).sum::<f64>();
                next
            }
            Layer::BatchNorm | Layer::Normalise(_) => {
                let affine = PlainAffine::new(model, params, i);
                constant += by_channel(c, shape, |channel, c| c * affine.shift[channel]).iter().sum::<f64>();
                by_channel(c, shape, |channel, c| c * affine.scale[channel])
            }
            layer => {
                assert!(is_activation(layer), "no lines for {layer}");
                let lines = chosen(&lines_of(model, params, i, &values[i]), c);
                constant += lines.iter().zip(c).map(|(line, c)| line.shift * c).sum::<f64>();
                lines.iter().zip(c).map(|(line, c)| line.slope * c).collect()
            }
        };
        coefficients.push(next);
    }
    coefficients.reverse();
    Relaxation { coefficients, constant }
}

/// The corner of the box at which a linear function is largest.
fn corner(coefficients: &[f64], input: &Interval) -> Vec<f64> {
    let ends = input.lo.iter().zip(&input.hi).zip(coefficients);
    ends.map(|((lo, hi), c)| if *c >= 0.0 { *hi } else { *lo }).collect()
}

/// Upper bounds of `z_j - z_y` for the label y, from the [interval bounds](super::interval::forward) of a chain of linear layers, `relu`,
/// `leaky_relu` and `ramp`.
pub fn margins(model: &Model, params: &[f64], values: &[Interval], label: usize) -> Vec<f64> {
    let margin = |output: usize| {
        let found = relax(model, params, values, (label, output));
        let corner = corner(&found.coefficients[0], &values[0]);
        found.constant + corner.iter().zip(&found.coefficients[0]).map(|(x, c)| x * c).sum::<f64>()
    };
    (0..model.outputs()).map(margin).collect()
}

/// The gradient with respect to the parameters, from that with respect to the [`margins`]: also through the dependence of the lines on
/// the interval bounds.
pub fn margins_backward(model: &Model, params: &[f64], values: &[Interval], label: usize, dm: &[f64]) -> Vec<f64> {
    let mut grad = vec![0.0; model.size()];
    let zero = |v: &Interval| Interval { lo: vec![0.0; v.lo.len()], hi: vec![0.0; v.hi.len()] };
    let mut ends: Vec<Interval> = values.iter().map(zero).collect();
    for (output, &g) in dm.iter().enumerate() {
        let found = relax(model, params, values, (label, output));
        climb(model, params, values, ((label, output), &found.coefficients, g), (&mut grad, &mut ends));
    }
    back(model, params, values, &mut grad, ends);
    grad
}

/// Adds the gradient of g times one margin, with respect to the parameters and to the ends of the inputs of activations.
fn climb(
    model: &Model,
    params: &[f64],
    values: &[Interval],
    ((label, output), coefficients, g): ((usize, usize), &[Vec<f64>], f64),
    (grad, ends): (&mut [f64], &mut [Interval]),
) {
    let last = model.layers().len() - 1;
    let mut p = corner(&coefficients[0], &values[0]);
    for i in 0..last {
        let (shape, layer) = (model.shape(i), model.layers()[i]);
        let scaled: Vec<f64> = coefficients[i + 1].iter().map(|c| g * c).collect();
        p = match layer {
            Layer::Flatten | Layer::Dropout(_) => p,
            Layer::Conv { .. } | Layer::Conv2d(_) | Layer::Dense(_) => {
                let (w, b) = parameters(model, params, i);
                transposed(model, i, parameters_mut(model, grad, i), &scaled, (&p, w));
                linear(model, i, (w, b), &p)
            }
            Layer::BatchNorm | Layer::Normalise(_) => {
                let affine = PlainAffine::new(model, params, i);
                affine.gradients(parameters_mut(model, grad, i), &scaled, &p, shape);
                by_channel(&p, shape, |c, p| affine.scale[c] * p + affine.shift[c])
            }
            _ => {
                let lines = chosen(&lines_of(model, params, i, &values[i]), &coefficients[i + 1]);
                let (d_caps, _) = parameters_mut(model, grad, i);
                let plane = shape.height * shape.width;
                for (k, line) in lines.iter().enumerate() {
                    let d = |by: usize| scaled[k] * (p[k] * line.d_slope[by] + line.d_shift[by]);
                    ends[i].lo[k] += d(0);
                    ends[i].hi[k] += d(1);
                    if let Some(d_cap) = d_caps.get_mut(k / plane) {
                        *d_cap += d(2);
                    }
                }
                lines.iter().zip(&p).map(|(line, p)| line.slope * p + line.shift).collect()
            }
        };
    }
    let (dw, db) = parameters_mut(model, grad, last);
    for (row, sign) in [(output, g), (label, -g)] {
        let own: Vec<f64> = p.iter().map(|p| sign * p).collect();
        add(&mut dw[row * p.len()..(row + 1) * p.len()], &own);
        db[row] += sign;
    }
}

//! Activations of the reference network: functions of one number, their derivatives, and their bounds over an interval.

use crate::Layer;

/// Where `gelu` has its minimum.
pub const GELU_LEAST: f64 = -0.751_791_524_693_564_5;

/// Cap and slope of `ramp` at one channel; other activations do not use them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RampLimits {
    /// The cap; a negative one counts as 0.
    pub cap: f64,
    /// The slope below 0 and above the cap.
    pub slope: f64,
}

/// The limits of channel c, from the parameters of the layer; both lists are empty for other layers.
pub(super) fn cap(caps: &[f64], slope: &[f64], c: usize) -> RampLimits {
    RampLimits { cap: caps.get(c).copied().unwrap_or(0.0), slope: slope.first().copied().unwrap_or(0.0) }
}

/// The activation of a layer at x. `ramp` is `slope x` below 0, x up to the cap, then `cap + slope (x - cap)`.
pub fn forward(layer: Layer, x: f64, ramp: RampLimits) -> f64 {
    let or_zero = |v: f64| if v <= 0.0 { 0.0 } else { v };
    match layer {
        Layer::Tanh => libm::tanh(x),
        Layer::Relu => or_zero(x),
        Layer::LeakyRelu(slope) => {
            if x > 0.0 {
                x
            } else {
                f64::from(slope) * x
            }
        }
        Layer::Sigmoid => 1.0 / (1.0 + libm::exp(-x)),
        Layer::Gelu => x * distribution(x),
        Layer::HardTanh(low, high) => x.max(f64::from(low)).min(f64::from(high)),
        Layer::Ramp => {
            let cap = or_zero(ramp.cap);
            if x <= 0.0 {
                ramp.slope * x
            } else if x > cap {
                cap + ramp.slope * (x - cap)
            } else {
                x
            }
        }
        _ => x,
    }
}

/// The derivative with respect to x. At a kink: that of `forward`'s branch (PyTorch's choice for `relu`, `leaky_relu` and `hardtanh`).
pub fn derivative(layer: Layer, x: f64, ramp: RampLimits) -> f64 {
    let one_if = |inside: bool| if inside { 1.0 } else { 0.0 };
    match layer {
        Layer::Tanh => 1.0 - libm::tanh(x) * libm::tanh(x),
        Layer::Relu => one_if(x > 0.0),
        Layer::LeakyRelu(slope) => {
            if x > 0.0 {
                1.0
            } else {
                f64::from(slope)
            }
        }
        Layer::Sigmoid => {
            let s = 1.0 / (1.0 + libm::exp(-x));
            s * (1.0 - s)
        }
        Layer::Gelu => distribution(x) + x * libm::exp(-0.5 * x * x) / (2.0 * std::f64::consts::PI).sqrt(),
        Layer::HardTanh(low, high) => one_if(x > f64::from(low) && x < f64::from(high)),
        Layer::Ramp => {
            if x > 0.0 && !(x > ramp.cap) {
                1.0
            } else {
                ramp.slope
            }
        }
        _ => 1.0,
    }
}

/// The derivative of `ramp` with respect to its cap. A cap below zero moves up as one at zero does.
pub fn derivative_of_cap(x: f64, ramp: RampLimits) -> f64 {
    if x > 0.0 && x > ramp.cap { 1.0 - ramp.slope } else { 0.0 }
}

/// Which end of an interval decides a bound; `None` for the minimum of `gelu` inside.
pub type BoundEnd = Option<usize>;

/// The ends (0 lower, 1 upper) that give the smallest and the largest value over an interval.
pub fn deciding_ends(layer: Layer, lo: f64, hi: f64) -> [BoundEnd; 2] {
    if layer != Layer::Gelu {
        return [Some(0), Some(1)];
    }
    let least = if lo >= GELU_LEAST { Some(0) } else { (hi <= GELU_LEAST).then_some(1) };
    let none = RampLimits { cap: 0.0, slope: 0.0 };
    let most = if forward(layer, lo, none) > forward(layer, hi, none) { Some(0) } else { Some(1) };
    [least, most]
}

/// The distribution function of the normal distribution.
fn distribution(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

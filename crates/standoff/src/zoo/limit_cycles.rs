//! `coupled-quartics`, `sixth-order`, `forsaken`: published games in two variables on which gradient descent ascent
//! cycles.

use super::plain::{Formula, Plain};
use super::{Instance, interval};
use crate::Constants;

struct CoupledQuartics;

/// `(t^2 - 1)(t^2 - 9)`, and its derivative.
fn quartic(t: f64) -> f64 {
    (t * t - 1.0) * (t * t - 9.0)
}

fn quartic_slope(t: f64) -> f64 {
    4.0 * t * (t * t - 5.0)
}

impl Formula for CoupledQuartics {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        quartic(x[0]) + 10.0 * x[0] * y[0] - quartic(y[0])
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = quartic_slope(x[0]) + 10.0 * y[0];
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 10.0 * x[0] - quartic_slope(y[0]);
    }
}

/// `f = (x^2 - 1)(x^2 - 9) + 10xy - (y^2 - 1)(y^2 - 9)` on `[-4, 4]^2` (Grimmer, Lu, Worah and Mirrokni 2020).
///
/// Two double wells with a bilinear coupling. The only equilibrium is `(0, 0)`, a local maximum for x and a local
/// minimum for y.
pub fn coupled_quartics() -> Instance {
    let game = Plain::new(CoupledQuartics, interval(-4.0, 4.0), interval(-4.0, 4.0));
    Instance::new(game, &[2.0], &[-2.0])
        .constants(Constants {
            l11: 172.0, // 12 t^2 - 20 at t = 4
            l12: 10.0,
            l22: 172.0,
            radius_x: Some(4.0),
            radius_y: Some(4.0),
            ..Constants::default()
        })
        .answer(&[0.0], &[0.0], 0.0)
}

struct SixthOrder;

impl SixthOrder {
    /// `w = y - 3x + x^3/20`, the polynomial `4x^2 - w^2 - y^4/10`, and the Gaussian factor.
    fn parts(x: f64, y: f64) -> (f64, f64, f64) {
        let w = y - 3.0 * x + 0.05 * x * x * x;
        (w, 4.0 * x * x - w * w - 0.1 * y.powi(4), (-0.01 * (x * x + y * y)).exp())
    }
}

impl Formula for SixthOrder {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        let (_, p, bell) = Self::parts(x[0], y[0]);
        p * bell
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        let (w, p, bell) = Self::parts(x[0], y[0]);
        out[0] = bell * (8.0 * x[0] - 2.0 * w * (0.15 * x[0] * x[0] - 3.0) - 0.02 * x[0] * p);
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        let (w, p, bell) = Self::parts(x[0], y[0]);
        out[0] = bell * (-2.0 * w - 0.4 * y[0].powi(3) - 0.02 * y[0] * p);
    }
}

/// `f = (4x^2 - (y - 3x + x^3/20)^2 - y^4/10) exp(-(x^2 + y^2)/100)` on `[-2, 2]^2` (Wang, Zhang and Ba 2020).
///
/// On this box f is strongly concave in y, with curvature between -6.6 and -1.52. `(0, 0)` minimises the value
/// function, although f is maximal in x there; the box adds four equilibria on its border, at `y = 2` and, mirrored, at
/// `y = -2`.
pub fn sixth_order() -> Instance {
    const EDGE: f64 = 1.396_085_698_878_596;
    let game = Plain::new(SixthOrder, interval(-2.0, 2.0), interval(-2.0, 2.0));
    let value = |x: f64, y: f64| SixthOrder.value(&[x], &[y]);
    Instance::new(game, &[1.0], &[-1.0])
        .constants(Constants {
            // Second derivatives: the first two are largest at the origin; the others come from a fine grid, rounded to
            // the safe side.
            l11: 10.0,
            l12: 6.0,
            l22: 6.6,
            mu: 1.52,
            delta_g: Some(1.560_845_393_006_069),
            delta: Some(41.4),
            g_max: Some(2.03),
            radius_x: Some(2.0),
            radius_y: Some(2.0),
            ..Constants::default()
        })
        .answer(&[0.0], &[0.0], 0.0)
        .answer(&[EDGE], &[2.0], value(EDGE, 2.0))
        .answer(&[-EDGE], &[-2.0], value(-EDGE, -2.0))
        .answer(&[2.0], &[2.0], value(2.0, 2.0))
        .answer(&[-2.0], &[-2.0], value(-2.0, -2.0))
}

struct Forsaken;

/// `t^2/4 - t^4/2 + t^6/6`, and its derivative.
fn wave(t: f64) -> f64 {
    let s = t * t;
    s * (0.25 - s * (0.5 - s / 6.0))
}

fn wave_slope(t: f64) -> f64 {
    let s = t * t;
    t * (0.5 - s * (2.0 - s))
}

impl Formula for Forsaken {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        x[0] * (y[0] - 0.45) + wave(x[0]) - wave(y[0])
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = y[0] - 0.45 + wave_slope(x[0]);
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = x[0] - wave_slope(y[0]);
    }
}

/// `f = x(y - 0.45) + w(x) - w(y)`, `w(t) = t^2/4 - t^4/2 + t^6/6`, on `[-1.5, 1.5]^2` (Hsieh, Mertikopoulos and Cevher 2021).
///
/// The only equilibrium is inside two limit cycles. From this start even extragradient steps cycle around it forever.
pub fn forsaken() -> Instance {
    const X: f64 = 0.078_026_668_738_460_1;
    const Y: f64 = 0.411_933_851_365_819_8;
    let game = Plain::new(Forsaken, interval(-1.5, 1.5), interval(-1.5, 1.5));
    Instance::new(game, &[1.2], &[1.2])
        .constants(Constants {
            l11: 12.3125, // 1/2 - 6 t^2 + 5 t^4 at t = 1.5
            l12: 1.0,
            l22: 12.3125,
            radius_x: Some(1.5),
            radius_y: Some(1.5),
            ..Constants::default()
        })
        .answer(&[X], &[Y], Forsaken.value(&[X], &[Y]))
}

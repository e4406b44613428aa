//! Each update rule against its published formula: three steps from a start with active constraints.

use standoff::{Constants, Game, Point, Set};

use super::common::Plain;
use super::{build, choice, oracle};

type V = [f64; 2];

fn gx(x: V, y: V) -> V {
    [x[0].cos() + 0.15 * x[1] * x[1] + y[1], 0.3 * x[0] * x[1] - 0.7 * y[0]]
}

fn gy(x: V, y: V) -> V {
    [-0.7 * x[1] - 0.5 * y[0] + 0.1 * y[1], x[0] - y[1] + 0.1 * y[0]]
}

fn px(v: V) -> V {
    v.map(|e| e.clamp(-1.0, 1.0))
}

fn py(v: V) -> V {
    v.map(|e| e.clamp(-0.5, 0.8))
}

/// `a + t b`.
fn add(a: V, t: f64, b: V) -> V {
    [a[0] + t * b[0], a[1] + t * b[1]]
}

fn norm(v: V) -> f64 {
    v[0].hypot(v[1])
}

/// Nonconvex in x, strongly concave in y.
pub(super) fn game() -> impl Game<Real = f64> {
    Plain::new(
        Set::boxed(vec![-1.0; 2], vec![1.0; 2]).unwrap(),
        Set::boxed(vec![-0.5; 2], vec![0.8; 2]).unwrap(),
        |x, y| {
            let own = x[0].sin() + 0.15 * x[0] * x[1] * x[1] - 0.25 * y[0] * y[0] - 0.5 * y[1] * y[1];
            own + x[0] * y[1] - 0.7 * x[1] * y[0] + 0.1 * y[0] * y[1]
        },
        |x, y, g| g.copy_from_slice(&gx([x[0], x[1]], [y[0], y[1]])),
        |x, y, g| g.copy_from_slice(&gy([x[0], x[1]], [y[0], y[1]])),
    )
}

pub(super) const CONSTANTS: Constants = Constants {
    l11: 1.6,
    l12: 1.0,
    l22: 1.1,
    mu: 0.0,
    delta_g: None,
    delta: None,
    g_max: Some(3.0),
    radius_x: None,
    radius_y: None,
    estimated: false,
};

/// The smoothness L used by the defaults.
const L: f64 = 2.6;

/// Three rounds of the method and of its formula, which moves `(x, y)`.
fn follows(method: &str, params: &[(&str, f64)], constants: Constants, mut formula: impl FnMut(&mut V, &mut V)) {
    let mut game = game();
    let mut built = build(&game, &choice(method, Some(constants), params), 1e-2);
    let mut f = oracle(&mut game);
    let (mut x, mut y) = ([0.9, -0.6], [0.3, 0.7]);
    let mut z = Point::new(&x, &y);
    for k in 0..3 {
        built.answer(&mut f, &mut z).unwrap();
        built.advance(&mut f, &mut z).unwrap();
        formula(&mut x, &mut y);
        let off = norm([z.x[0] - x[0], z.x[1] - x[1]]) + norm([z.y[0] - y[0], z.y[1] - y[1]]);
        assert!(off < 1e-14, "{method}, step {k}: {z:?} is not {x:?}, {y:?}");
    }
}

#[test]
fn simultaneous_and_alternating_steps() {
    let mu = Constants { mu: 0.45, ..CONSTANTS };
    for (h, params, c) in [(0.2, &[("step", 0.2)][..], CONSTANTS), (0.5 / L, &[], CONSTANTS), (0.45 / (L * L), &[], mu)]
    {
        follows("gda", params, c, |x, y| {
            (*x, *y) = (px(add(*x, -h, gx(*x, *y))), py(add(*y, h, gy(*x, *y))));
        });
    }
    for (hx, hy, params, c) in [
        (0.1, 0.4, &[("step_x", 0.1), ("step_y", 0.4)][..], CONSTANTS),
        (1.0 / L, 1.0 / L, &[], CONSTANTS),
        (0.45 * 0.45 / (18.0 * L * L * L), 1.0 / L, &[], mu),
    ] {
        follows("agda", params, c, |x, y| {
            *x = px(add(*x, -hx, gx(*x, *y)));
            *y = py(add(*y, hy, gy(*x, *y)));
        });
    }
    let slow = 1.0 / (16.0 * (L / 0.45 + 1.0_f64).powi(2) * L);
    for (hx, hy, params, c) in [
        (0.01, 0.4, &[("step_x", 0.01), ("step_y", 0.4)][..], CONSTANTS),
        (slow, 1.0 / L, &[], mu),
        ((0.01_f64 / 3.0).powi(2) / L, 1.0 / L, &[], CONSTANTS),
    ] {
        follows("ttgda", params, c, |x, y| {
            (*x, *y) = (px(add(*x, -hx, gx(*x, *y))), py(add(*y, hy, gy(*x, *y))));
        });
    }
}

#[test]
fn a_max_oracle_before_each_step() {
    let (hx, hy, accuracy) = (0.3, 0.8, 1e-5);
    follows("gdmax", &[("step_x", hx), ("step_y", hy), ("accuracy", accuracy)], CONSTANTS, |x, y| {
        loop {
            let old = *y;
            *y = py(add(old, hy, gy(*x, old)));
            let turn = add(gy(*x, *y), -1.0, gy(*x, old));
            if norm(add(turn, 1.0 / hy, add(*y, -1.0, old))) <= accuracy {
                break;
            }
        }
        *x = px(add(*x, -hx, gx(*x, *y)));
    });
}

#[test]
fn extragradient_steps_fixed_and_found() {
    let look = |x: V, y: V, h: f64| (px(add(x, -h, gx(x, y))), py(add(y, h, gy(x, y))));
    follows("extragradient", &[("step", 0.3)], CONSTANTS, |x, y| {
        let (u, v) = look(*x, *y, 0.3);
        (*x, *y) = (px(add(*x, -0.3, gx(u, v))), py(add(*y, 0.3, gy(u, v))));
    });
    let mut h = 0.0;
    follows("extragradient", &[], CONSTANTS, |x, y| {
        if h == 0.0 {
            h = 1.0 / norm(gx(*x, *y)).hypot(norm(gy(*x, *y)));
        }
        loop {
            let (u, v) = look(*x, *y, h);
            let turn = norm(add(gx(u, v), -1.0, gx(*x, *y))).hypot(norm(add(gy(u, v), -1.0, gy(*x, *y))));
            if h * turn <= 0.7 * norm(add(u, -1.0, *x)).hypot(norm(add(v, -1.0, *y))) {
                (*x, *y) = (px(add(*x, -h, gx(u, v))), py(add(*y, h, gy(u, v))));
                h *= 1.1;
                return;
            }
            h *= 0.6;
        }
    });
}

#[test]
fn optimistic_steps_and_negative_momentum() {
    for (h, params) in [(0.3, &[("step", 0.3)][..]), (0.25 / L, &[])] {
        let mut v: Option<(V, V)> = None;
        follows("ogda", params, CONSTANTS, |x, y| {
            let (vx, vy) = v.unwrap_or((*x, *y));
            let (fx, fy) = (gx(*x, *y), gy(*x, *y));
            let (vx, vy) = (px(add(vx, -h, fx)), py(add(vy, h, fy)));
            (*x, *y) = (px(add(vx, -h, fx)), py(add(vy, h, fy)));
            v = Some((vx, vy));
        });
    }
    for (h, b, params) in [(0.3, -0.2, &[("step", 0.3), ("beta", -0.2)][..]), (0.5 / L, -0.5, &[])] {
        let mut old: Option<(V, V)> = None;
        follows("negative-momentum", params, CONSTANTS, |x, y| {
            let (ox, oy) = old.unwrap_or((*x, *y));
            old = Some((*x, *y));
            *x = px(add(add(*x, -h, gx(*x, *y)), b, add(*x, -1.0, ox)));
            *y = py(add(add(*y, h, gy(*x, *y)), b, add(*y, -1.0, oy)));
        });
    }
}

#[test]
fn without_constraints_an_optimistic_step_is_twice_the_gradient_minus_the_last_one() {
    let mut game = standoff::zoo::bilinear().game;
    let h = 0.1;
    let mut method = build(&game, &choice("ogda", None, &[("step", h)]), 1e-3);
    let mut f = oracle(&mut game);
    let mut path = vec![(0.3, -0.2)];
    let mut z = Point::new(&[0.3], &[-0.2]);
    for _ in 0..4 {
        method.advance(&mut f, &mut z).unwrap();
        path.push((z.x[0], z.y[0]));
    }
    for w in path.windows(3) {
        // F = (y, -x).
        assert!((w[2].0 - (w[1].0 - 2.0 * h * w[1].1 + h * w[0].1)).abs() < 1e-15);
        assert!((w[2].1 - (w[1].1 + 2.0 * h * w[1].0 - h * w[0].0)).abs() < 1e-15);
    }
}

#[test]
fn hibsa_steps() {
    let mu = Constants { mu: 0.45, ..CONSTANTS };
    let rho = 0.45 / (4.0 * 1.1 * 1.1);
    let beta = 1.6 + 2.0 / (0.45 * 0.45 * rho) + 0.5 * rho;
    follows("hibsa", &[], mu, |x, y| {
        *x = px(add(*x, -1.0 / beta, gx(*x, *y)));
        *y = py(add(*y, rho, gy(*x, *y)));
    });
    for (beta, rho, gamma, params) in
        [(2.0, 0.5, 0.7, &[("beta", 2.0), ("rho", 0.5), ("gamma", 0.7)][..]), (L, 1.0 / L, 1.0, &[])]
    {
        let mut r = 0.0_f64;
        follows("hibsa", params, CONSTANTS, |x, y| {
            r += 1.0;
            *x = px(add(*x, -1.0 / (beta * r.sqrt()), gx(*x, *y)));
            let shrink = 1.0 / (1.0 + rho * gamma / (rho * r.powf(0.25)));
            *y = py(add(*y, rho, gy(*x, *y)).map(|e| shrink * e));
        });
    }
}

#[test]
fn smoothed_steps_plain_perturbed_and_double() {
    let given = [("p", 2.0), ("c", 0.2), ("a", 0.3), ("b", 0.4)];
    let (p, c, a, b) = (2.0, 0.2, 0.3, 0.4);
    for (p, c, a, b, params) in [(p, c, a, b, &given[..]), (2.0 * L, 1.0 / (3.0 * L), 0.25 / L, 0.1, &[])] {
        let mut anchor = None;
        follows("smoothed-gda", params, CONSTANTS, |x, y| {
            let z = anchor.unwrap_or(*x);
            *x = px(add(*x, -c, add(gx(*x, *y), p, add(*x, -1.0, z))));
            *y = py(add(*y, a, gy(*x, *y)));
            anchor = Some(add(z, b, add(*x, -1.0, z)));
        });
        // lambda = eps/(2 radius_y) with eps = 0.01, Y a square of side 1.3 around (0.15, 0.15).
        let lambda = 0.01 / (2.0 * 0.65 * 2.0_f64.sqrt());
        let mut anchor = None;
        follows("perturbed-smoothed-gda", params, CONSTANTS, |x, y| {
            let z = anchor.unwrap_or(*x);
            *x = px(add(*x, -c, add(gx(*x, *y), p, add(*x, -1.0, z))));
            *y = py(add(*y, a, add(gy(*x, *y), -lambda, add(*y, -1.0, [0.15, 0.15]))));
            anchor = Some(add(z, b, add(*x, -1.0, z)));
        });
    }
    let given = [("r1", 1.0), ("r2", 0.5), ("c", 0.2), ("a", 0.3), ("b", 0.4), ("m", 0.6)];
    let published = (1.0, 0.5, 0.2, 0.3, 0.4, 0.6, &given[..]);
    for (r1, r2, c, a, b, m, params) in [published, (L / 25.0, L / 8.0, 0.2 / L, 1.5 / L, 5e-4, 1e-3, &[])] {
        let mut anchors = None;
        follows("ds-gda", params, CONSTANTS, |x, y| {
            let (z, v) = anchors.unwrap_or((*x, *y));
            *x = px(add(*x, -c, add(gx(*x, *y), r1, add(*x, -1.0, z))));
            *y = py(add(*y, a, add(gy(*x, *y), -r2, add(*y, -1.0, v))));
            anchors = Some((add(z, b, add(*x, -1.0, z)), add(v, m, add(*y, -1.0, v))));
        });
    }
}

#[test]
fn steps_that_adapt_their_time_scale() {
    let given = [("step_x", 0.5), ("step_y", 0.7), ("a", 0.8), ("b", 0.3), ("v0", 0.1)];
    for (hx, hy, a, b, v0, params) in [(0.5, 0.7, 0.8, 0.3, 0.1, &given[..]), (1.0, 1.0, 0.6, 0.4, 1.0, &[])] {
        let (mut vx, mut vy) = (v0, v0);
        follows("tiada", params, CONSTANTS, |x, y| {
            let (fx, fy) = (gx(*x, *y), gy(*x, *y));
            vx += fx[0] * fx[0] + fx[1] * fx[1];
            vy += fy[0] * fy[0] + fy[1] * fy[1];
            *x = px(add(*x, -hx / f64::max(vx, vy).powf(a), fx));
            *y = py(add(*y, hy / vy.powf(b), fy));
        });
    }
}

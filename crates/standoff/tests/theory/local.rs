//! Algorithm 1 without constants, step by step, against a plain version that shares no code with the library.

use standoff::methods::Multistep;
use standoff::oracle::{Limits, Oracle};
use standoff::{Point, Set};

use super::common::Plain;
use super::plain::{self, V, add, gx, gy, norm, py};

/// Assumed relative rounding error of a value.
const NOISE: f64 = 900.0 * f64::EPSILON / 2.0;

fn value(x: V, y: V) -> f64 {
    let own = x[0].sin() + 0.15 * x[0] * x[1] * x[1] - 0.25 * y[0] * y[0] - 0.5 * y[1] * y[1];
    own + x[0] * y[1] - 0.7 * x[1] * y[0] + 0.1 * y[0] * y[1]
}

/// State of the plain version.
struct Local {
    eps: f64,
    step_x: f64,
    step_y: f64,
    mu: f64,
    l12: f64,
    from: Option<(V, V)>,
    gradients_y: u64,
}

impl Local {
    fn tolerance(&self) -> f64 {
        let for_x = if self.l12 > 0.0 { self.mu * self.eps / (12.0 * self.l12) } else { f64::INFINITY };
        for_x.min(self.eps / 4.0)
    }

    /// Ascent from y: a step is accepted if the gradient changes by at most the length of the step divided by its size,
    /// and halved otherwise.
    fn climb(&mut self, x: V, mut y: V) -> V {
        self.gradients_y += 1;
        if norm(gy(x, y)) <= self.tolerance() {
            return y;
        }
        if self.step_y == 0.0 {
            self.step_y = 1.0 / norm(gy(x, y));
        }
        loop {
            let (g, next) = (gy(x, y), py(add(y, self.step_y, gy(x, y))));
            let (turn, moved) = (add(gy(x, next), -1.0, g), add(next, -1.0, y));
            self.gradients_y += 1;
            let rising = value(x, next) >= value(x, y) - NOISE * (value(x, y).abs() + value(x, next).abs());
            if !(rising && norm(turn) <= norm(moved) / self.step_y + NOISE * norm(g)) {
                self.step_y /= 2.0;
                continue;
            }
            let curvature = -(turn[0] * moved[0] + turn[1] * moved[1]) / norm(moved).powi(2);
            if norm(turn) > 1e-6 * norm(g) && curvature > 0.0 {
                self.mu = self.mu.min(curvature);
            }
            y = next;
            if norm(add(turn, 1.0 / self.step_y, moved)) <= self.tolerance() || moved == [0.0, 0.0] {
                return y;
            }
            self.step_y *= 1.2;
        }
    }

    /// y responds to x; the step of x that led here is halved until it passes the same test, for g.
    fn answer(&mut self, mut x: V, y: V) -> (V, V) {
        loop {
            let Some((x0, y0)) = self.from else { return (x, self.climb(x, y)) };
            let moved = norm(add(x, -1.0, x0));
            if moved > 0.0 {
                self.l12 = self.l12.max(norm(add(gy(x, y0), -1.0, gy(x0, y0))) / moved);
            }
            let y = self.climb(x, y0);
            let turned = norm(add(gx(x, y), -1.0, gx(x0, y0)));
            let shortfall = self.tolerance().powi(2) / (2.0 * self.mu);
            let noise = NOISE * (value(x, y).abs() + value(x0, y0).abs());
            let falling = value(x, y) <= value(x0, y0) + self.eps / 12.0 * moved + shortfall + noise;
            if falling && turned <= moved / self.step_x + self.eps / 6.0 {
                return (x, y);
            }
            self.step_x /= 2.0;
            x = plain::descent(x0, y0, self.step_x);
        }
    }

    fn advance(&mut self, x: V, y: V) -> V {
        self.step_x = if self.step_x == 0.0 { 1.0 / norm(gx(x, y)) } else { 1.2 * self.step_x };
        self.from = Some((x, y));
        plain::descent(x, y, self.step_x)
    }
}

#[test]
fn algorithm_1_with_local_constants_moves_as_written() {
    for (eps, start) in
        [(1e-2, ([0.9, -0.6], [0.3, 0.7])), (1e-5, ([-0.5, 0.8], [-0.5, 0.1])), (0.5, ([0.9, 0.9], [0.8, 0.8]))]
    {
        let mut game = plain::game();
        let mut method = Multistep::default().build(&game, eps.into()).unwrap();
        let mut f = Oracle::new(&mut game, Limits { max_gradients: Some(100_000), ..Limits::default() });
        let (mut x, mut y): (V, V) = start;
        let mut z = Point::new(&x, &y);
        let (mu, l12) = (f64::INFINITY, 0.0);
        let mut local = Local { eps, step_x: 0.0, step_y: 0.0, mu, l12, from: None, gradients_y: 0 };
        for round in 0..25 {
            method.answer(&mut f, &mut z).unwrap();
            (x, y) = local.answer(x, y);
            let off = norm([z.x[0] - x[0], z.x[1] - x[1]]) + norm([z.y[0] - y[0], z.y[1] - y[1]]);
            assert!(off < 1e-9, "eps = {eps}, round {round}: {z:?}, plainly {x:?}, {y:?}");
            assert_eq!(f.calls().grad_y, local.gradients_y, "eps = {eps}, round {round}");
            method.advance(&mut f, &mut z).unwrap();
            x = local.advance(x, y);
        }
    }
}

#[test]
fn a_step_over_a_hill_is_rejected_though_the_gradients_agree() {
    // h(x) = x + 1.1 (3 t^2 - 2 t^3), t = -x: h'(0) = h'(-1) = 1, but h(-1) = 0.1 > h(0). The first trial leads to -1.
    // Then -1/2 and -1/4 change the gradient too much (1.65 and 1.24 against 1), and -1/8 passes (0.72).
    let mut game = Plain::new(
        Set::free(1),
        Set::free(1),
        |x: &[f64], y: &[f64]| x[0] + 1.1 * (3.0 * x[0] * x[0] + 2.0 * x[0].powi(3)) - 0.5 * y[0] * y[0],
        |x: &[f64], _: &[f64], g: &mut [f64]| g[0] = 1.0 + 6.6 * (x[0] + x[0] * x[0]),
        |_: &[f64], y: &[f64], g: &mut [f64]| g[0] = -y[0],
    );
    let mut method = Multistep::default().build(&game, 1e-2.into()).unwrap();
    let mut f = Oracle::new(&mut game, Limits { max_gradients: Some(1000), ..Limits::default() });
    let mut z = Point::new(&[0.0], &[0.5]);
    method.answer(&mut f, &mut z).unwrap();
    method.advance(&mut f, &mut z).unwrap();
    assert_eq!(z.x, [-1.0]);
    method.answer(&mut f, &mut z).unwrap();
    assert_eq!(z.x, [-0.125]);
}

//! Algorithms 1, 2 and 3 written directly in two dimensions, sharing no code with the library, on a game with active
//! constraints.

use standoff::{Game, Set};

use super::common::Plain;

pub(super) type V = [f64; 2];

pub(super) fn gx(x: V, y: V) -> V {
    [x[0].cos() + 0.15 * x[1] * x[1] + y[1], 0.3 * x[0] * x[1] - 0.7 * y[0]]
}

pub(super) fn gy(x: V, y: V) -> V {
    [-0.7 * x[1] - 0.5 * y[0] + 0.1 * y[1], x[0] - y[1] + 0.1 * y[0]]
}

fn px(v: V) -> V {
    v.map(|e| e.clamp(-1.0, 1.0))
}

pub(super) fn py(v: V) -> V {
    v.map(|e| e.clamp(-0.5, 0.8))
}

/// `a + t b`.
pub(super) fn add(a: V, t: f64, b: V) -> V {
    [a[0] + t * b[0], a[1] + t * b[1]]
}

pub(super) fn norm(v: V) -> f64 {
    v[0].hypot(v[1])
}

/// Nonconvex in x, strongly concave in y; X = [-1, 1]^2, Y = [-0.5, 0.8]^2 with centre (0.15, 0.15).
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

pub(super) const CENTRE: V = [0.15, 0.15];

/// Stopping rule of an inner loop.
#[derive(Clone, Copy)]
pub(super) enum Inner {
    Steps(u64),
    Residual(f64),
}

/// The norm of `grad(to) - grad(from) + (to - from)/step`.
fn residual(grad: impl Fn(V) -> V, from: V, to: V, step: f64) -> f64 {
    norm(add(add(grad(to), -1.0, grad(from)), 1.0 / step, add(to, -1.0, from)))
}

/// The inner loop of Algorithm 1.
pub(super) fn ascent(x: V, mut y: V, step: f64, inner: Inner) -> V {
    let mut made = 0;
    loop {
        if matches!(inner, Inner::Steps(k) if made >= k) {
            return y;
        }
        let old = y;
        y = py(add(y, step, gy(x, y)));
        made += 1;
        if matches!(inner, Inner::Residual(tolerance) if residual(|v| gy(x, v), old, y, step) <= tolerance) {
            return y;
        }
    }
}

/// The projected step of x.
pub(super) fn descent(x: V, y: V, step: f64) -> V {
    px(add(x, -step, gx(x, y)))
}

/// Algorithm 3 and its parameters. `inside` projects the extrapolated point, which the paper does not.
#[derive(Clone, Copy)]
pub(super) struct Apga {
    pub(super) lambda: f64,
    pub(super) step: f64,
    pub(super) restart: u64,
    pub(super) inner: Inner,
    pub(super) inside: bool,
}

impl Apga {
    pub(super) fn run(&self, x: V, start: V) -> V {
        let grad = |v: V| add(gy(x, v), -self.lambda, add(v, -1.0, CENTRE));
        let mut best = start;
        let epochs = match self.inner {
            // k = 0, ..., floor(K/N).
            Inner::Steps(k) => k / self.restart + 1,
            Inner::Residual(_) => u64::MAX,
        };
        for _ in 0..epochs {
            let (mut gamma, mut from, mut previous) = (1.0_f64, best, best);
            for _ in 0..self.restart {
                let next = py(add(from, self.step, grad(from)));
                // The residual is at most twice the length of the step over its size; compute it once that is small
                // enough.
                if let Inner::Residual(tolerance) = self.inner
                    && norm(add(next, -1.0, from)) / self.step <= 0.5 * tolerance
                    && residual(grad, from, next, self.step) <= tolerance
                {
                    return next;
                }
                let gamma_next = (1.0 + (1.0 + 4.0 * gamma * gamma).sqrt()) / 2.0;
                from = add(next, (gamma - 1.0) / gamma_next, add(next, -1.0, previous));
                if self.inside {
                    from = py(from);
                }
                (previous, gamma) = (next, gamma_next);
            }
            best = previous;
        }
        best
    }
}

/// The Frank-Wolfe step: s minimises `<grad, s>` over `x + s in X, ||s|| <= 1`, found by bisection on the path of projections.
pub(super) fn frank_wolfe(x: V, y: V, smoothness: f64, clip: bool) -> V {
    let g = gx(x, y);
    let path = |tau: f64| add(px(add(x, -tau, g)), -1.0, x);
    let (mut low, mut high) = (0.0, 1e6);
    if norm(path(high)) > 1.0 {
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if norm(path(middle)) < 1.0 { low = middle } else { high = middle }
        }
    }
    let s = path(high);
    let gain = -(g[0] * s[0] + g[1] * s[1]);
    let square = s[0] * s[0] + s[1] * s[1];
    add(x, if clip { (gain / (smoothness * square)).min(1.0) } else { gain / smoothness }, s)
}

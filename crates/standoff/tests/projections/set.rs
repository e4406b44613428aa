//! A set given by a function, and a game with its solution on the boundary.

use standoff::{ConvexSet, Game, Need, Set};

/// A function that replaces a point by another one.
pub(crate) type Rule = Box<dyn Fn(&mut [f64]) + Send + Sync>;

/// A set given only by its (claimed) projection.
pub(crate) struct Projected {
    pub(crate) name: &'static str,
    pub(crate) dim: usize,
    pub(crate) accuracy: f64,
    pub(crate) rule: Rule,
}

impl Projected {
    pub(crate) fn new(name: &'static str, dim: usize, rule: impl Fn(&mut [f64]) + Send + Sync + 'static) -> Self {
        Self { name, dim, accuracy: 0.0, rule: Box::new(rule) }
    }

    pub(crate) fn with_accuracy(self, accuracy: f64) -> Self {
        Self { accuracy, ..self }
    }
}

impl std::fmt::Debug for Projected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl ConvexSet<f64> for Projected {
    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, v: &mut [f64]) {
        (self.rule)(v);
    }

    fn minimise_linear(&self, _: &[f64], _: &mut [f64]) -> bool {
        false
    }

    fn centre(&self, out: &mut [f64]) {
        out.fill(0.0);
        self.project(out);
    }

    fn radius_around(&self, _: &[f64]) -> f64 {
        f64::INFINITY
    }

    fn accuracy(&self) -> f64 {
        self.accuracy
    }
}

/// `<tilt, v> + ||v||^2/4 + v_0 w/4` for the player `v` with the set under test (with the other sign for a maximising
/// one), plus or minus `w^2/2` for the other player.
#[derive(Debug)]
pub(crate) struct Tilted {
    pub(crate) x_set: Set<f64>,
    pub(crate) y_set: Set<f64>,
    pub(crate) tilt: Vec<f64>,
    pub(crate) as_max: bool,
}

thread_local! {
    /// The point that was fixed.
    static X: std::cell::RefCell<Vec<f64>> = const { std::cell::RefCell::new(Vec::new()) };
}

impl Tilted {
    fn split<'v>(&self, x: &'v [f64], y: &'v [f64]) -> (&'v [f64], f64) {
        if self.as_max { (y, x[0]) } else { (x, y[0]) }
    }

    fn f(&self, x: &[f64], y: &[f64]) -> f64 {
        let (v, w) = self.split(x, y);
        let own: f64 = v.iter().zip(&self.tilt).map(|(v, t)| v * (t + 0.25 * v)).sum();
        let f = own + 0.25 * v[0] * w - 0.5 * w * w;
        if self.as_max { -f } else { f }
    }

    fn own_gradient(&self, v: &[f64], w: f64, out: &mut [f64]) {
        for i in 0..v.len() {
            out[i] = self.tilt[i] + 0.5 * v[i] + if i == 0 { 0.25 * w } else { 0.0 };
        }
    }
}

impl Game for Tilted {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _: Need) {
        X.with_borrow_mut(|stored| {
            stored.clear();
            stored.extend_from_slice(x);
        });
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        X.with_borrow(|x| self.f(x, y))
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        X.with_borrow(|x| {
            if self.as_max {
                out[0] = -(0.25 * y[0] - x[0]);
            } else {
                self.own_gradient(x, y[0], out);
            }
            self.f(x, y)
        })
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        X.with_borrow(|x| {
            if self.as_max {
                self.own_gradient(y, x[0], out);
                out.iter_mut().for_each(|g| *g = -*g);
            } else {
                out[0] = 0.25 * x[0] - y[0];
            }
            self.f(x, y)
        })
    }
}

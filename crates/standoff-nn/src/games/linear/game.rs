//! The fair game of a linear model: `min over x, max over y in the simplex, of sum y_g F_g(x) + P(x) - lambda/2 |y - centre|^2`.
//!
//! `F_g` is the weighted mean loss of group g, less its offset. The penalty `P` is `mu/2 |w|^2` on the
//! coefficients and a millionth of that on the intercepts, so that with mu > 0 the game is strongly convex in all of x.

use super::pass::{Passes, padded};
use super::problem::LinearProblem;
use crate::Error;
use standoff::{Game, Need, Set};
use std::cell::{Cell, RefCell};

/// The penalty of an intercept, relative to that of a coefficient.
const INTERCEPT_PENALTY: f64 = 1e-6;

/// The sums that y weighs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mixing {
    /// The mean loss of every group; y chooses among them, held to equal weights by `lambda`.
    Worst {
        /// The weight of the regulariser; 0 for the worst group alone.
        lambda: f64,
    },
    /// The mean over all rows; y has one entry.
    Mean,
    /// The mean of the group losses, whatever their sizes; y has one entry.
    Equal,
}

/// The game of a linear model. Linear in y (concave with a regulariser) and convex in x.
#[derive(Debug)]
pub struct LinearGame<'a> {
    problem: &'a LinearProblem<'a>,
    /// In a cell because a method computes Hessians through a shared reference.
    passes: RefCell<Passes>,
    /// `[member][cell]`: the weight of a cell's sum in each loss that y weighs.
    shares: Vec<Vec<f64>>,
    pub(super) lambda: f64,
    /// The modulus of each parameter.
    moduli: Vec<f64>,
    x: Vec<f64>,
    fixed: Option<Need>,
    /// Subtracted from the losses; empty for nothing.
    offsets: Vec<f64>,
    pub(super) losses: Vec<f64>,
    /// `[member][parameter]`, without the penalty.
    pub(super) gradients: Vec<f64>,
    penalty: f64,
    x_set: Set<f64>,
    y_set: Set<f64>,
    /// Passes over the rows so far.
    pub(super) passes_made: Cell<u64>,
}

impl<'a> LinearGame<'a> {
    /// The game of a problem with an L2 penalty of modulus `mu`.
    pub fn new(problem: &'a LinearProblem<'a>, mixing: Mixing, mu: f64, threads: usize) -> Result<Self, Error> {
        if !(mu >= 0.0 && mu.is_finite()) {
            return Err(Error::Mismatch(format!("the L2 penalty is {mu}; want a number of at least 0")));
        }
        let lambda = if let Mixing::Worst { lambda } = mixing { lambda } else { 0.0 };
        if !(lambda >= 0.0 && lambda.is_finite()) {
            return Err(Error::Mismatch(format!("lambda is {lambda}; want a number of at least 0")));
        }
        let shares = shares(problem, mixing);
        let (size, members) = (problem.parameters(), shares.len());
        let coefficients = problem.loss.outputs() * problem.rows.width();
        let moduli = (0..size).map(|j| if j < coefficients { mu } else { mu * INTERCEPT_PENALTY }).collect();
        let offsets = if let Mixing::Worst { .. } = mixing { problem.offsets.clone() } else { Vec::new() };
        Ok(Self {
            problem,
            passes: RefCell::new(Passes::new(problem, threads)?),
            lambda,
            moduli,
            x: vec![0.0; size],
            fixed: None,
            offsets,
            losses: vec![0.0; members],
            gradients: vec![0.0; members * size],
            penalty: 0.0,
            x_set: Set::free(size),
            y_set: Set::simplex(members, 1.0).map_err(|e| Error::Mismatch(e.to_string()))?,
            shares,
            passes_made: Cell::new(0),
        })
    }

    /// The mean loss of each group at x, by the loss given.
    pub(super) fn group_losses(&mut self, x: &[f64], loss: super::LinearLoss) -> Vec<f64> {
        self.fixed = None;
        let worst = shares(self.problem, Mixing::Worst { lambda: 0.0 });
        let mut passes = self.passes.borrow_mut();
        let (losses, _) = passes.run(self.problem, x, loss.of_row(), false);
        worst.iter().map(|share| share.iter().zip(losses).map(|(s, l)| s * l).sum()).collect()
    }

    /// The regularised best response of y to the losses at the fixed x, and `f` there.
    pub(super) fn best_response(&self, y: &mut [f64]) -> f64 {
        if self.lambda > 0.0 {
            let equal = 1.0 / y.len() as f64;
            y.iter_mut().zip(&self.losses).for_each(|(y, f)| *y = equal + f / self.lambda);
            self.y_set.project(y);
            return self.value_at(y);
        }
        let mut best = 0;
        for (place, loss) in self.losses.iter().enumerate() {
            if !(*loss <= self.losses[best]) {
                best = place;
            }
        }
        y.fill(0.0);
        y[best] = 1.0;
        self.value_at(y)
    }

    /// `f` at the fixed x.
    pub(super) fn value_at(&self, y: &[f64]) -> f64 {
        let equal = 1.0 / y.len() as f64;
        let linear: f64 = y.iter().zip(&self.losses).map(|(y, f)| y * f).sum();
        let far: f64 = y.iter().map(|y| (y - equal) * (y - equal)).sum();
        linear + self.penalty - 0.5 * self.lambda * far
    }

    /// The gradient of the penalty at the fixed x.
    pub(super) fn penalty_gradient(&self, out: &mut [f64]) {
        out.iter_mut().zip(&self.moduli).zip(&self.x).for_each(|((o, m), x)| *o = m * x);
    }

    /// The gradient in x of `f(., y)` at the fixed x.
    pub(super) fn gradient(&self, y: &[f64], out: &mut [f64]) {
        self.penalty_gradient(out);
        for (y, gradient) in y.iter().zip(self.gradients.chunks_exact(self.x.len())) {
            if *y != 0.0 {
                out.iter_mut().zip(gradient).for_each(|(o, g)| *o += y * g);
            }
        }
    }

    /// The most that `f(., y)` at the fixed x can be above its minimum over all x: `sum g_j^2 / (2 mu_j)`. Infinite without a penalty.
    pub(super) fn x_gap(&self, gradient: &[f64]) -> f64 {
        gradient.iter().zip(&self.moduli).map(|(g, m)| if *g == 0.0 { 0.0 } else { g * g / (2.0 * m) }).sum()
    }

    /// One over the mean square of every feature and its modulus: the curvature of a squared loss along each parameter.
    pub(super) fn inverse_diagonal(&self) -> Vec<f64> {
        let squares = self.problem.rows.mean_squares();
        let of =
            |j: usize| if j < self.problem.loss.outputs() * squares.len() { squares[j % squares.len()] } else { 1.0 };
        let curvature = |(j, modulus): (usize, &f64)| of(j) + modulus;
        self.moduli.iter().enumerate().map(curvature).map(|c| if c > 0.0 { 1.0 / c } else { 1.0 }).collect()
    }

    /// Writes the Hessian of `f(., y)` in x to `out`, `[parameter][parameter]`, both triangles.
    pub(super) fn hessian(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        let Self { problem, shares, moduli, .. } = self;
        let mut weights = vec![0.0; problem.cells.len()];
        for (y, share) in y.iter().zip(shares.iter()) {
            weights.iter_mut().zip(share).for_each(|(w, s)| *w += y * s);
        }
        let (outputs, width, size) = (problem.loss.outputs(), problem.rows.width(), x.len());
        let padded = padded(width);
        let mut passes = self.passes.borrow_mut();
        let outer = passes.curvature(problem, x, &weights);
        self.passes_made.set(self.passes_made.get() + 1);
        let place = |k: usize, i: usize| if i < width { k * width + i } else { outputs * width + k };
        let ends = width + usize::from(problem.intercept);
        for (pair, (k, l)) in (0..outputs).flat_map(|k| (k..outputs).map(move |l| (k, l))).enumerate() {
            let block = &outer[pair * padded * padded..][..padded * padded];
            for i in 0..ends {
                for j in i..ends {
                    let v = block[i * padded + j];
                    for (a, b) in [(place(k, i), place(l, j)), (place(k, j), place(l, i))] {
                        out[a * size + b] = v;
                        out[b * size + a] = v;
                    }
                }
            }
        }
        (0..size).for_each(|j| out[j * size + j] += moduli[j]);
    }
}

/// The weight of each cell's sum in each loss that y weighs.
fn shares(problem: &LinearProblem<'_>, mixing: Mixing) -> Vec<Vec<f64>> {
    let cells = &problem.cells;
    let of_group = |group: usize| {
        let mut share = vec![0.0; cells.len()];
        let weight = 1.0 / problem.group_weight(group);
        cells.of_group[group].iter().for_each(|&cell| share[cell as usize] = weight);
        share
    };
    let groups = problem.groups();
    match mixing {
        Mixing::Worst { .. } => (0..groups).map(of_group).collect(),
        Mixing::Mean => vec![vec![1.0 / problem.weight(); cells.len()]],
        Mixing::Equal => {
            let mut sum = vec![0.0; cells.len()];
            for group in 0..groups {
                sum.iter_mut().zip(of_group(group)).for_each(|(s, w)| *s += w / groups as f64);
            }
            vec![sum]
        }
    }
}

impl Game for LinearGame<'_> {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], need: Need) {
        if self.fixed >= Some(need) && self.x == x {
            return;
        }
        self.x.copy_from_slice(x);
        self.fixed = Some(need);
        self.passes_made.set(self.passes_made.get() + 1);
        let gradients = need == Need::Gradients;
        let mut passes = self.passes.borrow_mut();
        let (losses, sums) = passes.run(self.problem, x, self.problem.loss.of_row(), gradients);
        for (member, share) in self.shares.iter().enumerate() {
            let mean: f64 = share.iter().zip(losses).map(|(s, l)| s * l).sum();
            self.losses[member] = mean - self.offsets.get(member).unwrap_or(&0.0);
            if !gradients {
                continue;
            }
            let out = &mut self.gradients[member * x.len()..][..x.len()];
            out.fill(0.0);
            for (share, sum) in share.iter().zip(sums.chunks_exact(x.len())).filter(|(share, _)| **share != 0.0) {
                out.iter_mut().zip(sum).for_each(|(o, g)| *o += share * g);
            }
        }
        self.penalty = 0.5 * x.iter().zip(&self.moduli).map(|(x, m)| m * x * x).sum::<f64>();
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        self.value_at(y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.gradient(y, out);
        self.value_at(y)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let equal = 1.0 / y.len() as f64;
        for ((o, y), f) in out.iter_mut().zip(y).zip(&self.losses) {
            *o = f - self.lambda * (y - equal);
        }
        self.value_at(y)
    }

    fn linear_in_y(&self) -> bool {
        self.lambda == 0.0
    }
}

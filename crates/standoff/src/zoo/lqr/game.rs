//! The imitation game, with either player as the minimiser.

use nalgebra::DMatrix;

use super::policy::Policy;
use super::{SpectralBox, System, check, least_eigenvalue, refuse};
use crate::{Error, Game, Need, Point, Set, ops};

/// The assignment of players to min and max.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// `min over K, max over (Q, R), of m`: strongly concave in y, or linear if `gamma = 0`.
    PolicyMinimises,
    /// `min over (Q, R), max over K, of -m`: PL in y, as in the paper.
    CostMinimises,
}

/// The set of costs that the adversary may choose, and its regulariser.
#[derive(Debug, Clone, PartialEq)]
pub struct Imitation {
    /// The smallest and the largest eigenvalue of `Q`.
    pub q_bounds: (f64, f64),
    /// The smallest and the largest eigenvalue of `R`; the smallest must be positive.
    pub r_bounds: (f64, f64),
    /// The weight of the regulariser `(gamma/2) ||(Q, R) - centre||^2`; may be 0.
    pub gamma: f64,
    /// The regulariser's centre `(Qc, Rc)`; identity matrices if absent.
    pub centre: Option<(DMatrix<f64>, DMatrix<f64>)>,
}

impl Default for Imitation {
    /// Eigenvalues between 0.1 and 10, without a regulariser: the equilibrium is the expert's gain.
    fn default() -> Self {
        Self { q_bounds: (0.1, 10.0), r_bounds: (0.1, 10.0), gamma: 0.0, centre: None }
    }
}

/// The game `m(K, (Q, R)) = C(K; Q, R) - C(K_E; Q, R) - (gamma/2) ||(Q, R) - centre||^2`, or `-m` with the players
/// exchanged.
///
/// A player's vector is `K`, or `Q` followed by `R`, each column by column. If `K` does not stabilise, the value is
/// infinite, at the expense of the player of `K`, and the gradients are NaN.
///
/// ```
/// use standoff::zoo::lqr::{DMatrix, Imitation, LqrGame, Order, System};
/// use standoff::{Settings, solve};
///
/// let one = |v: f64| DMatrix::from_element(1, 1, v);
/// let system = System::new(one(1.0), one(1.0), one(1.0))?;
/// let imitation = Imitation { gamma: 0.5, ..Imitation::default() };
/// let mut game = LqrGame::new(&system, &one(0.6), &imitation, Order::PolicyMinimises)?;
/// let start = game.start();
/// assert!(solve(&mut game, &start, &Settings::eps(1e-4))?.certificate.proves(1e-4));
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug)]
pub struct LqrGame {
    policy: Policy,
    order: Order,
    states: usize,
    inputs: usize,
    x_set: Set<f64>,
    y_set: Set<f64>,
    x: Vec<f64>,
    gamma: f64,
    centre: Vec<f64>,
    /// `(Sigma_K, K Sigma_K K')` minus the expert's.
    excess: Vec<f64>,
    start: Point<f64>,
}

impl LqrGame {
    /// The game against an expert's gain. It starts from the optimal gain of `Q = I, R = I`, never from the expert's.
    pub fn new(system: &System, expert: &DMatrix<f64>, imitation: &Imitation, order: Order) -> Result<Self, Error> {
        let (n, m) = (system.states(), system.inputs());
        system.check_stabilising("the expert's K", expert)?;
        let centre = check_imitation(imitation, n, m)?;
        let policy = Policy::new(system, expert)?;
        let identities = (DMatrix::identity(n, n), DMatrix::identity(m, m));
        let gain = system.gain_for(&identities.0, &identities.1)?;
        let theta_set = Set::product(vec![
            Set::Custom(Box::new(SpectralBox::new(n, imitation.q_bounds.0, imitation.q_bounds.1)?)),
            Set::Custom(Box::new(SpectralBox::new(m, imitation.r_bounds.0, imitation.r_bounds.1)?)),
        ])?;
        let mut theta = flatten(&identities.0, &identities.1);
        theta_set.project(&mut theta);
        let gain_set = Set::free(m * n);
        let gain = gain.as_slice().to_vec();
        let (x_set, y_set, start) = match order {
            Order::PolicyMinimises => (gain_set, theta_set, Point { x: gain, y: theta }),
            Order::CostMinimises => (theta_set, gain_set, Point { x: theta, y: gain }),
        };
        Ok(Self {
            policy,
            order,
            states: n,
            inputs: m,
            x: vec![f64::NAN; x_set.dim()],
            x_set,
            y_set,
            gamma: imitation.gamma,
            excess: vec![0.0; centre.len()],
            centre,
            start,
        })
    }

    /// The same game with the gain restricted to a set, such as an interval of stabilising gains.
    pub fn with_gains_in(mut self, gains: Set<f64>) -> Result<Self, Error> {
        if gains.dim() != self.states * self.inputs {
            let (got, want) = (gains.dim(), self.states * self.inputs);
            return Err(refuse(format!("the set of gains has {got} coordinates, a gain has {want}")));
        }
        match self.order {
            Order::PolicyMinimises => self.x_set = gains,
            Order::CostMinimises => self.y_set = gains,
        }
        self.x_set.project(&mut self.start.x);
        self.y_set.project(&mut self.start.y);
        Ok(self)
    }

    /// The start: the optimal gain of the identity cost, and that cost.
    pub fn start(&self) -> Point<f64> {
        self.start.clone()
    }

    /// The gain `K` of a pair.
    pub fn gain(&self, z: &Point<f64>) -> DMatrix<f64> {
        let k = if self.order == Order::PolicyMinimises { &z.x } else { &z.y };
        DMatrix::from_column_slice(self.inputs, self.states, k)
    }

    /// The cost `(Q, R)` of a pair.
    pub fn cost(&self, z: &Point<f64>) -> (DMatrix<f64>, DMatrix<f64>) {
        let theta = if self.order == Order::PolicyMinimises { &z.y } else { &z.x };
        let (q, r) = theta.split_at(self.states * self.states);
        (
            DMatrix::from_column_slice(self.states, self.states, q),
            DMatrix::from_column_slice(self.inputs, self.inputs, r),
        )
    }

    /// The pair of a gain and a cost.
    pub fn point(&self, k: &DMatrix<f64>, q: &DMatrix<f64>, r: &DMatrix<f64>) -> Point<f64> {
        match self.order {
            Order::PolicyMinimises => Point { x: k.as_slice().to_vec(), y: flatten(q, r) },
            Order::CostMinimises => Point { x: flatten(q, r), y: k.as_slice().to_vec() },
        }
    }

    /// Computes `f` and the excess at the gain; `f` is infinite, at the expense of the player of the gain, if the gain
    /// does not stabilise.
    fn look(&mut self, y: &[f64]) -> f64 {
        let (k, theta, sign) = match self.order {
            Order::PolicyMinimises => (&self.x[..], y, 1.0),
            Order::CostMinimises => (y, &self.x[..], -1.0),
        };
        if !self.policy.at(k) {
            return if k.iter().any(|v| v.is_nan()) { f64::NAN } else { sign * f64::INFINITY };
        }
        for (e, here) in self.excess.iter_mut().zip(self.policy.excess()) {
            *e = *here;
        }
        let away = ops::distance(theta, &self.centre);
        sign * (ops::dot(theta, &self.excess) - 0.5 * self.gamma * away * away)
    }

    fn slope_in_gain(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let f = self.look(y);
        if !f.is_finite() {
            out.fill(f64::NAN);
            return f;
        }
        let theta = if self.order == Order::PolicyMinimises { y } else { &self.x[..] };
        let (q, r) = theta.split_at(self.states * self.states);
        self.policy.slope(q, r, out);
        if self.order == Order::CostMinimises {
            out.iter_mut().for_each(|g| *g = -*g);
        }
        f
    }

    fn slope_in_cost(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let f = self.look(y);
        if !f.is_finite() {
            out.fill(f64::NAN);
            return f;
        }
        let (theta, sign) = if self.order == Order::PolicyMinimises { (y, 1.0) } else { (&self.x[..], -1.0) };
        for i in 0..out.len() {
            out[i] = sign * (self.excess[i] - self.gamma * (theta[i] - self.centre[i]));
        }
        f
    }
}

impl Game for LqrGame {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        self.x.copy_from_slice(x);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        self.look(y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        match self.order {
            Order::PolicyMinimises => self.slope_in_gain(y, out),
            Order::CostMinimises => self.slope_in_cost(y, out),
        }
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        match self.order {
            Order::PolicyMinimises => self.slope_in_cost(y, out),
            Order::CostMinimises => self.slope_in_gain(y, out),
        }
    }

    fn linear_in_y(&self) -> bool {
        self.order == Order::PolicyMinimises && self.gamma == 0.0
    }
}

fn flatten(q: &DMatrix<f64>, r: &DMatrix<f64>) -> Vec<f64> {
    q.iter().chain(r.iter()).copied().collect()
}

/// Checks the bounds and returns the regulariser's centre.
fn check_imitation(imitation: &Imitation, n: usize, m: usize) -> Result<Vec<f64>, Error> {
    if !(imitation.gamma >= 0.0 && imitation.gamma.is_finite()) {
        return Err(Error::Setting { name: "gamma", value: imitation.gamma, want: "0 or positive, and finite" });
    }
    if !(imitation.q_bounds.0 >= 0.0) {
        let least = imitation.q_bounds.0;
        return Err(refuse(format!("the least eigenvalue of Q may be {least}; it must be 0 or positive")));
    }
    if !(imitation.r_bounds.0 > 0.0) {
        let least = imitation.r_bounds.0;
        return Err(refuse(format!("the least eigenvalue of R may be {least}; it must be positive")));
    }
    let Some((q, r)) = &imitation.centre else {
        return Ok(flatten(&DMatrix::identity(n, n), &DMatrix::identity(m, m)));
    };
    check("the centre's Q", q, n, n)?;
    check("the centre's R", r, m, m)?;
    least_eigenvalue("the centre's Q", q)?;
    least_eigenvalue("the centre's R", r)?;
    Ok(flatten(q, r))
}

//! Systems for the imitation game: a scalar one with known equilibria, random ones, and a cart with a pole.

use nalgebra::{DMatrix, DVector};

use super::system::spectral_radius;
use super::{Imitation, LqrGame, Order, System, refuse};
use crate::zoo::random::Random;
use crate::zoo::{Instance, at_least, positive, sure};
use crate::{Error, Set};

/// The scalar system, its expert's cost, and the bounds of the adversary.
const A: f64 = 1.1;
const B: f64 = 0.5;
const Q: f64 = 1.0;
const R: f64 = 0.5;
const BOUNDS: (f64, f64) = (0.2, 3.0);
/// Gains between 0.2 and 4.2 stabilise; the game stays slightly inside.
const GAINS: (f64, f64) = (0.25, 4.15);

fn one(v: f64) -> DMatrix<f64> {
    DMatrix::from_element(1, 1, v)
}

/// `x' = 1.1 x + 0.5 u` from `x_0` of variance 1, and the expert's gain, optimal for `q = 1, r = 1/2`.
pub fn scalar_system() -> Result<(System, f64), Error> {
    let system = System::new(one(A), one(B), one(1.0))?;
    let expert = system.gain_for(&one(Q), &one(R))?[0];
    Ok((system, expert))
}

/// The imitation game of the scalar system, `gamma = 1`, q and r in `[0.2, 3]`, regularised around `(q, r)`.
///
/// Around `(1, 1/2)`, which generates the expert, the equilibrium is the expert's: `k = 1.174941`, `(q, r) = (1, 0.5)`. Around
/// `(1.5, 0.5)` it is not: `k = 1.231790`, `(q, r) = (1.449818, 0.609424)`.
pub fn scalar(q: f64, r: f64, order: Order) -> Result<Instance, Error> {
    positive("q", q)?;
    positive("r", r)?;
    let (system, expert) = scalar_system()?;
    let imitation = Imitation { q_bounds: BOUNDS, r_bounds: BOUNDS, gamma: 1.0, centre: Some((one(q), one(r))) };
    let game = LqrGame::new(&system, &one(expert), &imitation, order)?;
    let game = game.with_gains_in(Set::interval(GAINS.0, GAINS.1)?)?;
    let (k, theta) = scalar_equilibrium((q, r), expert);
    let answer = game.point(&one(k), &one(theta.0), &one(theta.1));
    let m = dot(theta, minus(footprint(k), footprint(expert))) - 0.5 * dot(minus(theta, (q, r)), minus(theta, (q, r)));
    let value = if order == Order::PolicyMinimises { m } else { -m };
    let start = game.start();
    Ok(Instance::new(game, &start.x, &start.y).answer(&answer.x, &answer.y, value))
}

fn dot(a: (f64, f64), b: (f64, f64)) -> f64 {
    a.0 * b.0 + a.1 * b.1
}

fn minus(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 - b.0, a.1 - b.1)
}

/// `V(k) = (1, k^2) / (1 - (a - b k)^2)`, the gradient of the cost with respect to `(q, r)`.
fn footprint(k: f64) -> (f64, f64) {
    let visits = 1.0 / (1.0 - (A - B * k).powi(2));
    (visits, visits * k * k)
}

/// The adversary's best response is `centre + V(k) - V(k_E)`, clipped; at the equilibrium, the cost with this response
/// is stationary in k.
fn scalar_equilibrium(centre: (f64, f64), expert: f64) -> (f64, (f64, f64)) {
    let answer = |k: f64| {
        let excess = minus(footprint(k), footprint(expert));
        ((centre.0 + excess.0).clamp(BOUNDS.0, BOUNDS.1), (centre.1 + excess.1).clamp(BOUNDS.0, BOUNDS.1))
    };
    // d/dk (q + r k^2)/(1 - c^2) with c = a - b k has the sign of r k (1 - c^2) - b c (q + r k^2).
    let slope = |k: f64| {
        let (c, (q, r)) = (A - B * k, answer(k));
        r * k * (1.0 - c * c) - B * c * (q + r * k * k)
    };
    let (mut low, mut high) = GAINS;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (high, answer(high))
}

/// A random system of spectral radius 1.05, so that it needs a controller; `Sigma0 = I`.
pub fn random_system(states: usize, inputs: usize, seed: u64) -> Result<System, Error> {
    at_least("states", states, 1)?;
    at_least("inputs", inputs, 1)?;
    let mut random = Random::new(seed);
    let a = DMatrix::from_vec(states, states, random.normals(states * states, 1.0));
    let b = DMatrix::from_vec(states, inputs, random.normals(states * inputs, 1.0 / (states as f64).sqrt()));
    let radius = spectral_radius(&a).filter(|r| *r > 0.0);
    let radius =
        radius.ok_or_else(|| refuse(format!("seed {seed} gives a matrix without eigenvalues; take another")))?;
    System::new(a * (1.05 / radius), b, DMatrix::identity(states, states))
}

/// The imitation game on a random system, regularised around the expert's own cost, a random one with eigenvalues
/// between 1/2 and 2.
pub fn random(states: usize, inputs: usize, seed: u64, order: Order) -> Result<Instance, Error> {
    let system = random_system(states, inputs, seed)?;
    let mut random = Random::new(seed ^ 0xC057);
    let (q, r) = (random_cost(states, &mut random), random_cost(inputs, &mut random));
    own_centre(&system, &q, &r, order)
}

/// The imitation game of the optimal gain of `(Q, R)`, with `gamma = 1` around the same cost: the equilibrium is the
/// expert's.
fn own_centre(system: &System, q: &DMatrix<f64>, r: &DMatrix<f64>, order: Order) -> Result<Instance, Error> {
    let expert = system.gain_for(q, r)?;
    let imitation = Imitation { gamma: 1.0, centre: Some((q.clone(), r.clone())), ..Imitation::default() };
    let game = LqrGame::new(system, &expert, &imitation, order)?;
    let (start, answer) = (game.start(), game.point(&expert, q, r));
    Ok(Instance::new(game, &start.x, &start.y).answer(&answer.x, &answer.y, 0.0))
}

fn random_cost(n: usize, random: &mut Random) -> DMatrix<f64> {
    let turn = DMatrix::from_vec(n, n, random.normals(n * n, 1.0)).qr().q();
    let values = DMatrix::from_fn(n, n, |i, j| if i == j { random.uniform(0.5, 2.0) } else { 0.0 });
    let mut cost = &turn * values * turn.transpose();
    super::symmetrise(&mut cost);
    cost
}

/// A pole balanced on a cart by a force on the cart: linearised around the upright position, sampled ten times a
/// second.
///
/// States: the cart's position (m) and speed (m/s), the pole's angle from upright (rad) and its rate (rad/s). Input: force (N). Cart 1 kg,
/// pole a point mass of 0.1 kg on a massless rod of 0.5 m, no friction, g = 9.81 m/s^2:
/// `M v' = u - m g angle`, `M l rate' = (M + m) g angle - u`. Starts of unit variance in these units.
pub fn cart_pole() -> System {
    let (cart, pole, rod, g) = (1.0, 0.1, 0.5, 9.81);
    let mut a = DMatrix::zeros(4, 4);
    a[(0, 1)] = 1.0;
    a[(1, 2)] = -pole * g / cart;
    a[(2, 3)] = 1.0;
    a[(3, 2)] = (cart + pole) * g / (cart * rod);
    let b = DMatrix::from_column_slice(4, 1, &[0.0, 1.0 / cart, 0.0, -1.0 / (cart * rod)]);
    sure(discretise(&a, &b, 0.1).and_then(|(a, b)| System::new(a, b, DMatrix::identity(4, 4))))
}

/// The imitation game on the cart with a pole; the expert's cost weights the pole's angle most: `Q = diag(2, 1, 5, 1)`,
/// `R = 1/2`.
pub fn cart_pole_imitation(order: Order) -> Instance {
    let q = DMatrix::from_diagonal(&DVector::from_column_slice(&[2.0, 1.0, 5.0, 1.0]));
    sure(own_centre(&cart_pole(), &q, &one(0.5), order))
}

/// Limit of the entries of `A dt` and `B dt`. Above it the exponential overflows, or its slow and fast modes lose all
/// digits.
const LARGEST_EXPONENT: f64 = 1e4;

/// The system `x' = A x + B u` in continuous time, sampled every `dt` with a constant input between samples: `exp` of
/// `[A, B; 0, 0] dt`, exactly.
pub fn discretise(a: &DMatrix<f64>, b: &DMatrix<f64>, dt: f64) -> Result<(DMatrix<f64>, DMatrix<f64>), Error> {
    positive("dt", dt)?;
    let (n, m) = (a.nrows(), b.ncols());
    super::check("A", a, n, n)?;
    super::check("B", b, n, m)?;
    let largest = a.amax().max(b.amax()) * dt;
    if !(largest <= LARGEST_EXPONENT) {
        let problem = format!("an entry of A dt or B dt is {largest:e}, the limit is {LARGEST_EXPONENT:e}");
        return Err(refuse(format!("{problem}: sample more often (a smaller dt), or use other units")));
    }
    let mut both = DMatrix::zeros(n + m, n + m);
    both.view_mut((0, 0), (n, n)).copy_from(&(a * dt));
    both.view_mut((0, n), (n, m)).copy_from(&(b * dt));
    let both = both.exp();
    Ok((both.view((0, 0), (n, n)).into_owned(), both.view((0, n), (n, m)).into_owned()))
}

//! Games that state the errors of their gradients and values, and sets that state the accuracy of their projection.

mod common;

use common::Plain;
use standoff::certify::check_projections;
use standoff::{
    Claim, ConvexSet, Diagnosis, Error, Game, Need, Point, Proof, Set, Settings, Solution, StopReason, certify, solve,
    verify,
};

/// A game with stated errors.
struct Stated<G> {
    game: G,
    gradient: f64,
    value: f64,
}

impl<G: Game<Real = f64>> Game for Stated<G> {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        self.game.x_set()
    }

    fn y_set(&self) -> &Set<f64> {
        self.game.y_set()
    }

    fn fix(&mut self, x: &[f64], need: Need) {
        self.game.fix(x, need);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        self.game.value(y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.game.grad_x(y, out)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.game.grad_y(y, out)
    }

    fn grad_error(&self) -> f64 {
        self.gradient
    }

    fn value_error(&self) -> f64 {
        self.value
    }
}

const A: [[f64; 3]; 3] = [[0.3, -0.7, 0.5], [-0.2, 0.6, -0.9], [0.4, -0.1, 0.8]];

fn single(v: f64) -> f64 {
    f64::from(v as f32)
}

/// `y^T A x` on simplices, computed with the rounding of `f32`.
fn matrix_game() -> impl Game<Real = f64> {
    let row = |i: usize, x: &[f64]| (0..3).fold(0.0, |sum, j| single(sum + single(A[i][j] * single(x[j]))));
    let column = |j: usize, y: &[f64]| (0..3).fold(0.0, |sum, i| single(sum + single(A[i][j] * single(y[i]))));
    Plain::new(
        Set::simplex(3, 1.0).unwrap(),
        Set::simplex(3, 1.0).unwrap(),
        move |x, y| (0..3).fold(0.0, |sum, i| single(sum + single(row(i, x) * single(y[i])))),
        move |_, y, g| (0..3).for_each(|j| g[j] = column(j, y)),
        move |x, _, g| (0..3).for_each(|i| g[i] = row(i, x)),
    )
}

/// The same game in `f64`.
fn exact_matrix_game() -> impl Game<Real = f64> {
    let row = |i: usize, x: &[f64]| (0..3).map(|j| A[i][j] * x[j]).sum::<f64>();
    let column = |j: usize, y: &[f64]| (0..3).map(|i| A[i][j] * y[i]).sum::<f64>();
    Plain::new(
        Set::simplex(3, 1.0).unwrap(),
        Set::simplex(3, 1.0).unwrap(),
        move |x, y| (0..3).map(|i| row(i, x) * y[i]).sum(),
        move |_, y, g| (0..3).for_each(|j| g[j] = column(j, y)),
        move |x, _, g| (0..3).for_each(|i| g[i] = row(i, x)),
    )
}

fn run(gradient: f64, value: f64, eps: f64) -> Solution<f64> {
    let third = [1.0 / 3.0; 3];
    let mut game = Stated { game: matrix_game(), gradient, value };
    solve(&mut game, &Point::new(&third, &third), &Settings { max_gradients: 20_000, ..Settings::eps(eps) }).unwrap()
}

#[test]
fn rounding_of_single_precision_is_no_evidence_against_concavity() {
    let silent = run(0.0, 0.0, 1e-9);
    // A run that is not told of the errors may converge. That is true of the function that it was given: near the equilibrium all entries of the
    // gradients that y or x uses are the same number of `f32`, so the gaps as computed are 0. The same pair in the game of real numbers has gaps
    // of the size of the errors.
    let exact = certify(&mut exact_matrix_game(), &silent.point, 1.0).epsilon();
    assert!(
        match silent.reason {
            StopReason::Stalled(Diagnosis::NotConcave) | StopReason::OracleLimit => true,
            StopReason::Converged => silent.certificate.proof == Proof::AsComputed && exact <= 3e-7,
            _ => false,
        },
        "{exact}: {silent:?}"
    );
    let stated = run(3e-7, 2e-7, 1e-9);
    assert_eq!(stated.reason, StopReason::RoundingLimit);
    let (few, many) = (stated.calls.gradients(), silent.calls.gradients());
    assert!(10 * few < many, "{few} and {many} gradients");
}

#[test]
fn a_stated_error_is_added_and_eps_above_it_is_reached() {
    let end = run(3e-7, 2e-7, 1e-4);
    assert_eq!(end.reason, StopReason::Converged);
    assert!(end.certificate.epsilon() >= 3e-7);
    let end = run(1e-3, 2e-7, 1e-4);
    assert_eq!(end.reason, StopReason::RoundingLimit);
    assert!(end.certificate.epsilon() >= 1e-3 && end.certificate.epsilon() <= 3e-3, "{:?}", end.certificate);
}

/// The interval [-1, 1], or a wrong simplex: clipped and normalised.
#[derive(Debug)]
struct Own {
    dim: usize,
    accuracy: f64,
}

impl ConvexSet<f64> for Own {
    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, v: &mut [f64]) {
        if self.dim == 1 {
            v[0] = v[0].clamp(-1.0, 1.0);
            return;
        }
        v.iter_mut().for_each(|v| *v = v.clamp(0.0, f64::INFINITY));
        let sum: f64 = v.iter().sum();
        v.iter_mut().for_each(|v| *v /= sum);
    }

    fn minimise_linear(&self, _: &[f64], _: &mut [f64]) -> bool {
        false
    }

    fn centre(&self, out: &mut [f64]) {
        out.fill(1.0 / self.dim as f64);
    }

    fn radius_around(&self, _: &[f64]) -> f64 {
        4.0
    }

    fn accuracy(&self) -> f64 {
        self.accuracy
    }
}

fn over(own: Own) -> impl Game<Real = f64> {
    Plain::new(
        Set::Custom(Box::new(own)),
        Set::interval(-1.0, 1.0).unwrap(),
        |x, y| -x.iter().sum::<f64>() - y[0] * y[0],
        |_, _, g| g.fill(-1.0),
        |_, y, g| g[0] = -2.0 * y[0],
    )
}

#[test]
fn the_accuracy_of_a_projection_is_in_the_bound() {
    let at = Point::new(&[1.0], &[0.0]);
    let exact = certify(&mut over(Own { dim: 1, accuracy: 0.0 }), &at, 1.0).x.upper;
    let rough = certify(&mut over(Own { dim: 1, accuracy: 1e-3 }), &at, 1.0).x.upper;
    assert!(exact < 1e-12, "{exact}");
    assert!((1e-3..1e-2).contains(&rough), "{rough}");
}

#[test]
fn verify_refuses_a_wrong_projection() {
    let at = Point::new(&[0.2, 0.3, 0.5], &[0.0]);
    let mut game = over(Own { dim: 3, accuracy: 0.0 });
    assert!(matches!(check_projections(&mut game, &at, 1.0), Err(Error::NotAProjection { player: "x", .. })));
    assert!(matches!(verify(&mut game, &at, &Claim::eps(1.0)), Err(Error::NotAProjection { player: "x", .. })));
}

//! Held-out families of random games for races: no method here was designed or tuned on them.
//!
//! Half of them are written as text, as a user would write them, and state no constants; the others are zoo games with
//! other sizes and seeds. The families `scaled-*` are the convex-concave ones with every coordinate of both players
//! multiplied by `10^u`, u uniform in [-2, 2]: boxes are scaled too (the same game in other units), simplices are not.

mod convex;
mod learning;
mod mixed;
mod text;

use super::{Class, Instance, dro, matrix_game, pl_sine, quadmax, random_matrix_game, rank_deficient};
use crate::Error;
use crate::sets::Matrix;
use crate::zoo::random::Random;

/// A family of games, one for each seed.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// The name, in kebab-case.
    pub name: &'static str,
    /// The description, in one line.
    pub summary: &'static str,
    /// The class of its games in `y`.
    pub class: Class,
    /// Makes the game of a seed.
    pub make: fn(u64) -> Result<Instance, Error>,
}

/// All families, in the order of the list.
pub fn families() -> &'static [Family] {
    use Class::{Concave, Pl, StronglyConcave};
    type Make = fn(u64) -> Result<Instance, Error>;
    const fn family(name: &'static str, class: Class, make: Make, summary: &'static str) -> Family {
        Family { name, summary, class, make }
    }
    const ALL: &[Family] = &[
        family("mixed-sets", Concave, mixed::mixed_sets, "a box and an l1 ball against a simplex and a box"),
        family("saturated", Concave, mixed::saturated, "tanh units in a ball against an l1 ball"),
        family("polytope", Concave, mixed::polytope, "an indefinite quadratic on a random polytope against a box"),
        family("flat", Concave, mixed::flat, "concave in y with curvatures from 1 to 1e-6"),
        family("jamming", Concave, mixed::jamming, "power allocation with interference against a jammer"),
        family("cvar", Concave, learning::cvar, "classification, mean loss of the worst fifth of the samples"),
        family("groups", Concave, learning::groups, "a small network, loss of the worst of four groups"),
        family("labels", StronglyConcave, learning::labels, "regression against adversarial labels"),
        family("phase", Concave, learning::phase, "phase retrieval, loss of the worst measurement"),
        family("gan", Concave, learning::gan, "a shifted and scaled cloud against a linear discriminator"),
        family("pl-network", Pl, learning::pl_network, "y solves underdetermined equations with tanh units of x"),
        family("quadmax-20", Concave, |seed| quadmax(20, 12, seed), "the largest of 12 indefinite quadratics"),
        family("matrix-wide", Concave, |seed| random_matrix_game(30, 80, seed), "a random 30 by 80 matrix game"),
        family("matrix-skew", Concave, skew, "a random antisymmetric 60 by 60 matrix game"),
        family("rank-deficient-40", Concave, |seed| rank_deficient(40, 30, seed), "a larger quadratic game, half flat"),
        family("dro-100", Concave, |seed| dro(100, 8, 0.0, seed), "robust classification of 100 samples"),
        family("pl-sine-20", Pl, |seed| pl_sine(20, seed), "PL and not concave in y, 20 + 20 dimensions"),
        family("quadratic", Concave, convex::quadratic, "a convex-concave quadratic on boxes, flat in both players"),
        family("stiff", StronglyConcave, convex::stiff, "x'Ay with a weak strongly convex-concave term, on balls"),
        family("scaled-matrix-wide", Concave, scaled_wide, "matrix-wide with badly scaled variables"),
        family("scaled-matrix-skew", Concave, scaled_skew, "matrix-skew with badly scaled variables"),
        family("scaled-quadratic", Concave, convex::scaled_quadratic, "quadratic with badly scaled variables"),
    ];
    ALL
}

/// `x'Ay` with `A = -A'`: value 0, the same equilibria for both players.
fn skew(seed: u64) -> Result<Instance, Error> {
    matrix_game(skew_matrix(seed)?)
}

fn skew_matrix(seed: u64) -> Result<Matrix, Error> {
    const N: usize = 60;
    let g = Random::new(seed).normals(N * N, 0.5_f64.sqrt());
    Matrix::new(N, N, (0..N * N).map(|at| g[at] - g[at % N * N + at / N]).collect())
}

fn scaled_wide(seed: u64) -> Result<Instance, Error> {
    convex::scaled_matrix(&Matrix::new(30, 80, Random::new(seed).normals(30 * 80, 1.0))?, seed)
}

fn scaled_skew(seed: u64) -> Result<Instance, Error> {
    convex::scaled_matrix(&skew_matrix(seed)?, seed)
}

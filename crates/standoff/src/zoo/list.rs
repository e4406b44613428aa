//! The list of all games of the zoo by name, with default parameters.

use super::Class::{Concave, NonConcave, Pl, StronglyConcave};
use super::lqr::Order::{CostMinimises, PolicyMinimises};
use super::*;

const fn entry(name: &'static str, class: Class, make: fn() -> Instance, summary: &'static str) -> ZooEntry {
    ZooEntry { name, summary, class, make }
}

pub(super) const ALL: &[ZooEntry] = &[
    entry("abs", Concave, abs, "(2y - 1) x: the value function is |x|"),
    entry("ramp", Concave, || sure(ramp(0.1)), "a slight slope and a kink: worst case of the regularised method"),
    entry("kink", Concave, kink, "cos(3x)/4 + y (x - 1/2): a nonconvex value function with a kink"),
    entry("saddle2d", Concave, saddle2d, "the larger of two saddles: a kink along a line of negative curvature"),
    entry("trap", StronglyConcave, trap, "equal steps for both players cycle forever"),
    entry("second-order", NonConcave, second_order, "three first-order equilibria, none of second order"),
    entry("printed-step", StronglyConcave, || sure(printed_step(0.5)), "the printed step size oscillates forever"),
    entry("pl-line", Pl, pl_line, "the inner maximisers fill a line"),
    entry(
        "pl-ramp",
        StronglyConcave,
        || sure(pl_ramp(0.1)),
        "a slight slope and a quadratic: worst case of the multi-step method",
    ),
    entry("pl-sine", Pl, || sure(pl_sine(10, 1)), "PL and not concave in y, 10 + 10 dimensions"),
    entry(
        "pl-least-squares",
        Pl,
        || sure(pl_least_squares(5, 12, 1)),
        "the inner maximisers fill a 6-dimensional subspace",
    ),
    entry("two-sided-pl", Pl, two_sided_pl, "PL for both players, but neither convex in x nor concave in y"),
    entry("robust-regression", StronglyConcave, robust_regression, "a tanh unit fitted to adversarial labels"),
    entry("quadmax", Concave, || sure(quadmax(10, 6, 1)), "the largest of 6 indefinite quadratics in 10 variables"),
    entry(
        "quadmax-50",
        Concave,
        || sure(quadmax(50, 20, 1)),
        "the largest of 20 indefinite quadratics in 50 variables",
    ),
    entry("rps", Concave, rps, "rock, paper, scissors with unequal stakes"),
    entry("matrix-2x2", Concave, matrix_2x2, "a 2 by 2 matrix game of value 1/5"),
    entry("matrix", Concave, || sure(random_matrix_game(5, 7, 1)), "a random 5 by 7 matrix game"),
    entry("matrix-50", Concave, || sure(random_matrix_game(50, 50, 1)), "a random 50 by 50 matrix game"),
    entry("bilinear", Concave, bilinear, "xy on a square"),
    entry(
        "rank-deficient",
        Concave,
        || sure(rank_deficient(6, 8, 1)),
        "a quadratic game, flat in half of y's directions",
    ),
    entry("dro", Concave, || sure(dro(30, 5, 0.0, 1)), "robust classification: 30 samples, maximum of their losses"),
    entry("dro-200", Concave, || sure(dro(200, 20, 0.0, 1)), "robust classification: 200 samples in 20 dimensions"),
    entry("dro-regularised", StronglyConcave, || sure(dro(30, 5, 1.0 / 900.0, 1)), "as dro, with y held near uniform"),
    entry("dirac-gan", Concave, dirac_gan, "the smallest generative adversarial network"),
    entry(
        "zero-chain",
        Concave,
        || sure(zero_chain(3, 4)),
        "a published lower bound: each call activates one more variable",
    ),
    entry("coupled-quartics", NonConcave, coupled_quartics, "two double wells: gradient descent ascent cycles"),
    entry("sixth-order", StronglyConcave, sixth_order, "a local minimax point among equilibria on the edge"),
    entry("forsaken", NonConcave, forsaken, "an equilibrium inside limit cycles"),
    entry("lqr-scalar", StronglyConcave, || sure(lqr::scalar(1.0, 0.5, PolicyMinimises)), "imitate a scalar regulator"),
    entry(
        "lqr-scalar-off",
        StronglyConcave,
        || sure(lqr::scalar(1.5, 0.5, PolicyMinimises)),
        "as lqr-scalar, around another cost",
    ),
    entry("lqr-scalar-pl", Pl, || sure(lqr::scalar(1.0, 0.5, CostMinimises)), "as lqr-scalar, the gain maximises"),
    entry(
        "lqr-random",
        StronglyConcave,
        || sure(lqr::random(4, 2, 1, PolicyMinimises)),
        "imitate a regulator of 4 states",
    ),
    entry("lqr-random-pl", Pl, || sure(lqr::random(4, 2, 1, CostMinimises)), "as lqr-random, the gain maximises"),
    entry(
        "lqr-cart-pole",
        StronglyConcave,
        || lqr::cart_pole_imitation(PolicyMinimises),
        "imitate a regulator that balances a pole on a cart",
    ),
];

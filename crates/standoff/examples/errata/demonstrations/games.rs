//! E10, E11, E12, E16 and E17: the paper's examples and definitions.

use standoff::gap::{Ask, Gauge, Side};
use standoff::methods::Multistep;
use standoff::zoo::lqr::{self, Order};
use standoff::{Game, Need, Point, Set, Settings, StopReason, solve, zoo};

use super::{Failure, Formula, Page};

/// X and Y at a point.
fn certify(game: &mut dyn Game<Real = f64>, x: f64, y: f64) -> (f64, f64) {
    let (mut gx, mut gy) = ([0.0], [0.0]);
    game.fix(&[x], Need::Gradients);
    game.grad_x(&[y], &mut gx);
    game.grad_y(&[y], &mut gy);
    let mut gauge = Gauge::new(1.0);
    let gx = gauge.measure(game.x_set(), &[x], &gx, Side::Min, Ask::Exact).upper;
    let gy = gauge.measure(game.y_set(), &[y], &gy, Side::Max, Ask::Exact).upper;
    (gx, gy)
}

/// Prints X and Y at each point; both are 0 at the equilibria and nowhere else.
fn table(page: &mut Page, i: &mut zoo::Instance, points: &[(f64, f64, bool)]) -> Result<(), Failure> {
    for &(x, y, equilibrium) in points {
        let (gx, gy) = certify(i.game.as_mut(), x, y);
        let holds = if equilibrium { gx.max(gy) < 1e-12 } else { gx.max(gy) > 0.1 };
        page.claim(holds, format!("({x}, {y}): X = {gx:.2}, Y = {gy:.2}"))?;
    }
    Ok(())
}

pub(super) fn e10(page: &mut Page) -> Result<(), Failure> {
    let mut i = zoo::abs();
    table(page, &mut i, &[(0.0, 0.5, true), (0.0, 1.0, false), (0.5, 1.0, false), (-1.0, 0.0, false)])
}

pub(super) fn e11(page: &mut Page) -> Result<(), Failure> {
    let mut i = zoo::second_order();
    table(page, &mut i, &[(0.0, 0.0, true), (-1.0, 2.0, true), (1.0, -2.0, true), (1.0, 2.0, false)])?;
    i.game.fix(&[-1.0], Need::Values);
    let (there, beside) = (i.game.value(&[2.0]), i.game.value(&[1.9]));
    page.claim(there < beside, format!("yet f(-1, 2) = {there:.2} < f(-1, 1.9) = {beside:.2}: not of second order"))
}

pub(super) fn e12(page: &mut Page) -> Result<(), Failure> {
    // x' = 1.1 x + 0.5 u, u = -k x: stable for 0.2 < k < 4.2.
    let (system, _) = lqr::scalar_system()?;
    let one = system.sigma0().clone();
    let mut previous = 0.0;
    for k in [1.0, 0.3, 0.21, 0.201, 0.1] {
        let cost = system.cost(&one.scale(k), &one, &one);
        page.claim(
            cost > previous && cost.is_finite() == (k > 0.2),
            format!("k = {k}: closed loop {:.4}, cost {cost:.1}", 1.1 - 0.5 * k),
        )?;
        previous = cost;
    }
    let mut i = lqr::scalar(1.0, 0.5, Order::CostMinimises)?;
    let settings = Settings { method: Multistep::default().into(), ..Settings::eps(1e-6) };
    let end = solve(&mut i.game, &i.start, &settings)?;
    let k = end.point.y[0];
    page.claim(
        end.reason == StopReason::Converged && (k - 1.174941).abs() < 1e-5,
        format!("Algorithm 1 with steps by backtracking: {} at k = {k:.6}, the expert's gain", end.reason.name()),
    )
}

pub(super) fn e16(page: &mut Page) -> Result<(), Failure> {
    // f = x: convex in x, concave in y, and x can always gain.
    let (f, dx, dy) = (|x: f64, _: f64| x, |_: f64, _: f64| 1.0, |_: f64, _: f64| 0.0);
    let mut game = Formula { x_set: Set::free(1), y_set: Set::free(1), x: 0.0, f, dx, dy };
    for x in [-1e6, 0.0, 1e6] {
        let (gap, _) = certify(&mut game, x, 0.0);
        page.claim((gap - 1.0).abs() < 1e-12, format!("f = x on R at x = {x}: X = {gap:.1}"))?;
    }
    let settings = Settings { max_gradients: 1000, ..Settings::eps(1e-3) };
    let end = solve(&mut game, &Point::new(&[0.0], &[0.0]), &settings)?;
    page.claim(
        end.reason != StopReason::Converged,
        format!("auto on it: {}, X = {:.1}", end.reason.name(), end.certificate.x.upper),
    )
}

pub(super) fn e17(page: &mut Page) -> Result<(), Failure> {
    // grad = 3 at x = 1 on [-2, 2]: the best step of length 1.
    let set: Set<f64> = Set::interval(-2.0, 2.0)?;
    let mut gauge = Gauge::new(1.0);
    let x = gauge.measure(&set, &[1.0], &[3.0], Side::Min, Ask::Exact).upper;
    let product = 3.0 * gauge.step()[0];
    page.claim(
        (x - 3.0).abs() < 1e-12 && (product + 3.0).abs() < 1e-12,
        format!("grad = 3 at x = 1 on [-2, 2]: X = {x:.1}, <grad, s> = {product:.1}; X = -<grad, s>"),
    )
}

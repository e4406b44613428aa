//! E4, E5, E6 and E15: the constants of the theorems.

use standoff::plan::{self, OuterStep, Statement};
use standoff::{Constants, Settings, StopReason, solve, zoo};

use super::{Failure, Page};

/// A complete set of constants, for plans.
pub(super) const SAMPLE: Constants = Constants {
    l11: 1.0,
    l12: 2.0,
    l22: 1.0,
    mu: 0.0,
    delta_g: Some(1.0),
    delta: Some(1.0),
    g_max: Some(1.0),
    radius_x: Some(10.0),
    radius_y: Some(0.5),
    estimated: false,
};

pub(super) fn e4(page: &mut Page) -> Result<(), Failure> {
    let of = |radius_y| {
        let c = Constants { radius_y: Some(radius_y), ..SAMPLE };
        plan::algorithm2(&c, 1e-2, Statement::Printed, OuterStep::Projected).map_err(Failure::from)
    };
    let (right, wrong) = (of(0.5)?, of(10.0)?);
    let (lambda, count) = (right.lambda / wrong.lambda, wrong.grad_x() / right.grad_x());
    page.say(&format!("Y's radius 0.5: lambda = {:.1e}, x-gradients {:.1e}", right.lambda, right.grad_x()));
    page.say(&format!("X's radius 10 instead: lambda = {:.1e}, x-gradients {:.1e}", wrong.lambda, wrong.grad_x()));
    page.claim(
        (lambda - 20.0).abs() < 1e-9 && (count - 20.0).abs() < 0.1,
        format!("lambda is {lambda:.1} times smaller, the count {count:.1} times larger"),
    )
}

pub(super) fn e5(page: &mut Page) -> Result<(), Failure> {
    // At a start whose y is the exact maximiser the inner gap is 0: with that reading, the count says that one step is
    // enough.
    for (label, delta_g) in [("the inner gap, 0", 0.0), ("Delta_g, 1", 1.0)] {
        let c = Constants { delta_g: Some(delta_g), ..SAMPLE };
        let count = plan::algorithm2(&c, 1e-2, Statement::Printed, OuterStep::FrankWolfe)?.outer;
        let holds = if delta_g == 0.0 { count == 1.0 } else { count > 1e6 };
        page.claim(holds, format!("Delta read as {label}: {count:.1e} Frank-Wolfe steps promised"))?;
    }
    Ok(())
}

pub(super) fn e6(page: &mut Page) -> Result<(), Failure> {
    let (l, l12, eps) = (2.0_f64, 1.5_f64, 1e-2_f64);
    for (r, g_max) in [(1.0_f64, 1.0_f64), (3.0, 5.0), (1e-6, 1.0)] {
        let (r_bar, l_bar) = (r.max(1.0), l.max(l12).max(g_max).max(1.0));
        let first = l * eps * eps / (64.0 * r * (g_max + l * r).powi(2));
        let second = l * eps * eps / (64.0 * r_bar.powi(3) * l_bar.powi(2));
        // K >= N_K makes rho^(K/2) sqrt(2 Delta/mu) L12 equal to this; N_K has Rbar = max(R, 1), so a tiny R is
        // harmless.
        let error = l12 * l * eps * eps / (256.0 * (l_bar * r_bar).powi(3));
        let holds = (first / second - 1.0).abs() > 0.1 && error <= eps * eps / 256.0 && error <= first.min(second);
        page.claim(
            holds,
            format!("R = {r}, g_max = {g_max}: delta = {first:.2e} or {second:.2e}; ||e|| <= {error:.2e} with K = N_K"),
        )?;
    }
    page.say("||e|| <= 1 does follow, for every R: ||e|| <= eps^2/256");
    Ok(())
}

pub(super) fn e15(page: &mut Page) -> Result<(), Failure> {
    let mut i = zoo::kink();
    let end = solve(&mut i.game, &i.start, &Settings::eps(1e-6))?;
    let (reason, gradients) = (end.reason, end.calls.gradients());
    page.claim(
        reason == StopReason::Converged && gradients < 200,
        format!("auto on kink, no constants: {} to 1e-6 with {gradients} gradients", reason.name()),
    )
}

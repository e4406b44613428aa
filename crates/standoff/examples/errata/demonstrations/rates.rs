//! E8 and E13: growth of gradient counts with 1/eps.

use standoff::plan::{self, OuterStep, Statement};
use standoff::{AnyMethod, Settings, StopReason, solve, zoo};

use super::constants::SAMPLE;
use super::{Failure, Page};

pub(super) fn e8(page: &mut Page) -> Result<(), Failure> {
    let count = |eps| plan::algorithm2(&SAMPLE, eps, Statement::Corrected, OuterStep::Projected).map_err(Failure::from);
    let (a, b) = (count(1e-4)?, count(1e-5)?);
    for (label, power, range) in [
        ("x-gradients grow", (b.grad_x() / a.grad_x()).log10(), 2.9..3.1),
        ("y-gradients, per outer step, grow", (b.inner / a.inner).log10(), 0.5..0.7),
        ("y-gradients, in total, grow", (b.grad_y() / a.grad_y()).log10(), 3.4..3.8),
    ] {
        page.claim(range.contains(&power), format!("{label} like eps^-{power:.2}"))?;
    }
    Ok(())
}

/// Number of gradients of both players that a method needs on the ramp of its own eps.
fn gradients(method: &str, eps: f64) -> Result<f64, Failure> {
    let mut i = zoo::ramp(eps)?;
    let method = AnyMethod::named(method, &i.constants.into())?;
    let settings = Settings { method, max_gradients: u64::MAX, ..Settings::eps(eps) };
    let end = solve(&mut i.game, &i.start, &settings)?;
    if end.reason == StopReason::Converged {
        Ok(end.calls.gradients() as f64)
    } else {
        Err(Failure(format!("{} at eps = {eps}: {}", settings.method.info().name, end.reason.name())))
    }
}

pub(super) fn e13(page: &mut Page) -> Result<(), Failure> {
    for (method, theorem, range) in [("regularised", "3.5", 2.9..3.5), ("fastnash", "2.5", 0.0..2.5)] {
        let slope = (gradients(method, 0.0125)? / gradients(method, 0.05)?).log2() / 2.0;
        page.claim(
            range.contains(&slope),
            format!("{method} on the ramp, eps from 0.05 to 0.0125: gradients grow like eps^-{slope:.2} (theorem: {theorem})"),
        )?;
    }
    page.say(
        "eps^-2.5 without a logarithm is published too (Tracked-FOAM, arXiv 2609.14235); it is not implemented here",
    );
    Ok(())
}

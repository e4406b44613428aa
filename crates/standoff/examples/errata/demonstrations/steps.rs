//! E1, E2, E3 and E7: step sizes and restarts.

use standoff::inner::{Accelerated, Held, Inner, Regulariser, Response, Stop};
use standoff::methods::{Multistep, Regularised};
use standoff::oracle::{Limits, Oracle};
use standoff::outer::{FrankWolfeStep, Outer};
use standoff::{Need, Point, Set, Settings, StopReason, solve, zoo};

use super::{Failure, Formula, Page};

pub(super) fn e1(page: &mut Page) -> Result<(), Failure> {
    let mut i = zoo::printed_step(0.5)?;
    let corrected = Multistep { constants: i.constants, ..Multistep::default() };
    let printed = Multistep { as_printed: true, ..corrected };
    for (label, method) in [("printed, 1/(L11 + L12^2/(2 mu))", printed), ("corrected, 1/(L11 + L12^2/mu)", corrected)]
    {
        let as_printed = method.as_printed;
        let settings = Settings { method: method.into(), max_iterations: 1000, ..Settings::eps(1e-6) };
        let end = solve(&mut i.game, &i.start, &settings)?;
        let (reason, steps, gap) = (end.reason, end.iterations, end.certificate.x.upper);
        let holds = if as_printed {
            (reason, steps) == (StopReason::MaxIterations, 1000) && (gap - 0.5).abs() < 1e-9
        } else {
            (reason, steps) == (StopReason::Converged, 1)
        };
        page.claim(holds, format!("{label}: {} after {steps} steps, X = {gap:.3}", reason.name()))?;
    }
    Ok(())
}

pub(super) fn e2(page: &mut Page) -> Result<(), Failure> {
    for (label, as_printed) in [("printed, 1/L22", true), ("corrected", false)] {
        let mut i = zoo::abs();
        let method = Regularised { as_printed, constants: i.constants, ..Regularised::default() }.into();
        let settings = Settings { method, max_gradients: 100_000, ..Settings::eps(1e-1) };
        let end = solve(&mut i.game, &i.start, &settings)?;
        let (reason, gap) = (end.reason, end.certificate.epsilon());
        page.claim(
            (reason == StopReason::Converged) != as_printed,
            format!("abs, L22 = 0, {label}: {}, max(X, Y) = {gap:.3}", reason.name()),
        )?;
    }
    Ok(())
}

/// The share of the gap that remains after one epoch of N steps of the right size, for a parabola f of curvature `bend`
/// below L22 = kappa lambda.
fn epoch(kappa: f64, bend: f64, n: u64) -> Result<f64, Failure> {
    let set = || Set::interval(-9.0, 9.0).map_err(Failure::from);
    let (f, dx) = (|_: f64, _: f64| 0.0, |_: f64, _: f64| 0.0);
    let mut flat = Formula { x_set: set()?, y_set: set()?, x: 0.0, f, dx, dy: |_, _| 0.0 };
    // A parabola of curvature `bend` plus the regulariser lambda = 1 is a regulariser of weight 1 + bend.
    let whole = Regulariser { lambda: 1.0 + bend, centre: vec![0.0] };
    let mut oracle = Oracle::new(&mut flat, Limits::default());
    oracle.at(&[0.0], Need::Gradients);
    let mut y = [1.0];
    let before = -whole.value(0.0, &y);
    // K = 0 makes one epoch, as printed: floor(K/N) + 1. N = 0 makes no step.
    let mut ascent = Accelerated::new(1.0 / (kappa + 1.0), n, 1);
    let once = Stop::Steps(0).into();
    ascent.answer(&mut oracle, &mut y, &whole, once).map_err(|reason| Failure(reason.name().into()))?;
    Ok(-whole.value(0.0, &y) / before)
}

pub(super) fn e3(page: &mut Page) -> Result<(), Failure> {
    page.say(
        "step 1/(L22 + lambda), kappa = L22/lambda; the lemma leaves 4 (kappa + 1)/(N + 1)^2 of the gap after N steps",
    );
    for kappa in [0.1_f64, 1.0, 12.49] {
        let (printed, corrected) = ((8.0 * kappa).sqrt().floor(), (8.0 * (kappa + 1.0)).sqrt().ceil());
        let bound = |n: f64| 4.0 * (kappa + 1.0) / ((n + 1.0) * (n + 1.0));
        let mut measured = 0.0_f64;
        for tenths in 0..=10 {
            measured = measured.max(epoch(kappa, kappa * f64::from(tenths) / 10.0, printed as u64)?);
        }
        let holds = bound(printed) > 0.5 && bound(corrected) <= 0.5 && (measured > 0.5) == (printed == 0.0);
        page.claim(
            holds,
            format!(
                "kappa = {kappa}: printed N = {printed} leaves at most {:.2} (measured on parabolas {measured:.2}); N = {corrected} leaves {:.2}",
                bound(printed),
                bound(corrected)
            ),
        )?;
    }
    page.say("the bound of one half is not proven for the printed N; a step that is not made (N = 0) halves nothing");
    Ok(())
}

pub(super) fn e7(page: &mut Page) -> Result<(), Failure> {
    // x (1 + y) - 5 y^2 on X = [0, 1]: y = x/10 is the best response, grad g = 1 + x/10 <= 1.1 = g_max = max(L, L12,
    // g_max), L = L12^2/10.
    // At x = 1 with ||e|| = eps^2/256, the largest error that K >= N_K allows, eps = 1: X/L~ = (1.1 + 1/256)/1.1.
    let mut game = Formula {
        x_set: Set::interval(0.0, 1.0)?,
        y_set: Set::interval(-1.0, 1.0)?,
        x: 0.0,
        f: |x, y| x * (1.0 + y) - 5.0 * y * y,
        dx: |_, y| 1.0 + y,
        dy: |x, y| x - 10.0 * y,
    };
    for (label, clip) in [("printed", false), ("clipped", true)] {
        let mut z = Point::new(&[1.0], &[0.1 + 1.0 / 256.0]);
        let mut step = FrankWolfeStep::new(1.1, 1.0, 1);
        step.clip = clip;
        let mut still = Response { inner: Held, regulariser: Regulariser::none(1), request: Stop::Steps(0).into() };
        let moved = step.advance(&mut Oracle::new(&mut game, Limits::default()), &mut z, &mut still);
        moved.map_err(|reason| Failure(reason.name().into()))?;
        let x = z.x[0];
        let holds = if clip { (0.0..1e-12).contains(&x) } else { (-1.0 / 256.0..-0.003).contains(&x) };
        page.claim(holds, format!("{label}: x = 1 moves to {x:.5}; X is [0, 1]"))?;
    }
    page.say("inside the paper's assumptions the step is at most 1 + eps^2/256: 0.4 percent too long, and outside X all the same");
    // Free X: the printed direction is s = -grad with X = ||grad||, so that X s/L = -||grad|| grad/L.
    let (mut printed, mut corrected) = (3.0_f64, 3.0_f64);
    for _ in 0..4 {
        printed -= printed.abs() * printed; // h = x^2/2, L = 1
        corrected -= corrected;
    }
    page.claim(
        printed.abs() > 1e3 && corrected == 0.0,
        format!("free X, x^2/2 from 3, four steps: printed {printed:.1e}, normalised {corrected:.1}"),
    )
}

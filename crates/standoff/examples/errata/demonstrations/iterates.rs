//! E9 and E14: the iterate that is returned, and the batch size that noise needs.

use standoff::methods::Regularised;
use standoff::{Constants, Point, Record, Set, Settings, Trace, solve_with};

use super::{Failure, Formula, Page};

pub(super) fn e9(page: &mut Page) -> Result<(), Failure> {
    // x^3/3 + 0.02 x + 0.001 x y: Algorithm 2 passes the flat part at x = 0, where X = 0.02, and continues to steeper
    // ones.
    let mut game = Formula {
        x_set: Set::interval(-3.0, 3.0)?,
        y_set: Set::interval(-1.0, 1.0)?,
        x: 0.0,
        f: |x, y| x * x * x / 3.0 + 0.02 * x + 0.001 * x * y,
        dx: |x, y| x * x + 0.02 + 0.001 * y,
        dy: |x, _| 0.001 * x,
    };
    let constants = Constants { l11: 6.0, l12: 0.001, ..Constants::default() };
    let method = Regularised { constants: Some(constants), ..Regularised::default() }.into();
    let settings = Settings { method, max_iterations: 110, ..Settings::eps(1e-2) };
    let mut trace = Trace::default();
    let mut built = settings.build(&game)?;
    solve_with(&mut game, &Point::new(&[0.3], &[0.0]), built.as_mut(), &settings, &mut trace)?;
    let gap = |r: &Record| r.certificate.epsilon();
    let best = trace.records.iter().min_by(|a, b| gap(a).total_cmp(&gap(b)));
    let (Some(best), Some(last)) = (best, trace.records.last()) else { return Err(Failure("no iterates".into())) };
    page.claim(
        gap(best) < 0.03 && gap(last) > 10.0 * gap(best) && last.iteration == 110,
        format!(
            "Algorithm 2 on a cubic: max(X, Y) = {:.3} at step {}, and {:.3} at the last step, {}",
            gap(best),
            best.iteration,
            gap(last),
            last.iteration
        ),
    )
}

/// Uniform noise of variance 1 from a linear congruential generator: the same numbers on every machine.
struct Noise(u64);

impl Noise {
    fn sample(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        (2.0 * unit - 1.0) * 3.0_f64.sqrt()
    }
}

/// The mean of X over T steps of Algorithm 1 on `xy - y^2/2`, X = [-1, 1], with batches of `batch` noisy gradients in x.
///
/// The best response is y = x, so g = x^2/2 and L = 1; a feasible step of length at most 1 gains `|x| min(1, 1 + |x|) = |x|`.
fn mean_gap(batch: u64, steps: u64) -> f64 {
    let (mut x, mut sum, mut noise) = (1.0_f64, 0.0, Noise(7));
    for _ in 0..steps {
        let mean = (0..batch).map(|_| noise.sample()).sum::<f64>() / batch as f64;
        x = (x - (x + mean)).clamp(-1.0, 1.0);
        sum += x.abs();
    }
    sum / steps as f64
}

pub(super) fn e14(page: &mut Page) -> Result<(), Failure> {
    // sigma = 1, L = 1, Delta_g = g(1) - g(0) = 1/2.
    let eps = 0.2_f64;
    let (steps, batch) = ((64.0 * 0.5 / (eps * eps)).ceil(), (144.0 / (eps * eps)).ceil());
    page.say(&format!(
        "eps = {eps}, sigma = 1: T = 64 L Delta_g/eps^2 = {steps} as without noise, M = 144 sigma^2/eps^2 = {batch}"
    ));
    for (batch, enough) in [(batch as u64, true), (1, false)] {
        let gap = mean_gap(batch, steps as u64);
        page.claim((gap <= eps) == enough, format!("batches of {batch}: the mean of X over all steps is {gap:.3}"))?;
    }
    page.say("samples in all: eps^-4 for PL games, eps^-5 for concave ones (there L grows like 1/eps)");
    Ok(())
}

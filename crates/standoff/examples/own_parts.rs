//! Compose your own method: the line search for x is written here, the inner loop for y comes from the library.
#![allow(clippy::print_stdout)]

use standoff::inner::{Adaptive, Answer, Inner, Regulariser, Response, Stop};
use standoff::methods::Nested;
use standoff::outer::Outer;
use standoff::{Diagnosis, Error, Game, Oracle, Point, Settings, StopReason, ops, solve_with, zoo};

/// `x := P_X(x - t grad_x f(x, y))`, with t halved until `g(x) = max_y f(x, y)` decreases, and doubled afterwards.
struct Backtracking {
    step: f64,
    slope: Vec<f64>,
    trial: Point<f64>,
}

impl<G: Game<Real = f64>> Outer<G> for Backtracking {
    fn advance<I: Inner<G>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &mut Point<f64>,
        response: &mut Response<I, f64>,
    ) -> Result<(), StopReason> {
        let Answer::Settled { value: before, .. } = response.to(f, &z.x, &mut z.y)? else {
            return Err(StopReason::NonFinite);
        };
        f.grad_x(&z.y, &mut self.slope);
        while self.step > 1e-12 {
            self.trial.copy_from(z);
            ops::axpy(-self.step, &self.slope, &mut self.trial.x);
            f.x_set().project(&mut self.trial.x);
            let moved = ops::distance(&self.trial.x, &z.x);
            let answer = response.to(f, &self.trial.x, &mut self.trial.y)?;
            // An unknown value is NaN and is never accepted.
            if let Answer::Settled { value, .. } = answer
                && value <= before - 1e-4 * moved * moved / self.step
            {
                z.copy_from(&self.trial);
                self.step *= 2.0;
                return Ok(());
            }
            self.step *= 0.5;
        }
        Err(StopReason::Stalled(Diagnosis::NoProgress))
    }
}

fn main() -> Result<(), Error> {
    let mut game = (zoo::find("kink").expect("a game of the zoo").make)();
    let start = &game.start;
    let mut method = Nested {
        response: Response {
            inner: Adaptive::new(start.y.len()),
            regulariser: Regulariser { lambda: 1e-3, centre: start.y.clone() },
            request: Stop::Residual(1e-4).into(),
        },
        outer: Backtracking { step: 1.0, slope: start.x.clone(), trial: start.clone() },
    };
    let found = solve_with(&mut game.game, start, &mut method, &Settings::eps(1e-2), &mut ())?;
    println!("x = {:.4?}, {:?}, {} gradients", found.point.x, found.reason, found.calls.gradients());
    assert_eq!(found.reason, StopReason::Converged);
    Ok(())
}

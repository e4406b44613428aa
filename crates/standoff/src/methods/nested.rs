//! The composition of the paper's methods: an inner member moves y, an outer member moves x.

use crate::inner::{Answer, Inner, Response};
use crate::method::{Method, Visitor};
use crate::outer::Outer;
use crate::{Diagnosis, Game, Oracle, Point, StopReason};

/// A nested method: `y := inner's answer to x;  x := outer's step from (x, y)`, repeated. Algorithms 1 and 2 are nested
/// methods; you can compose your own.
///
/// ```
/// use standoff::inner::{Accelerated, Regulariser, Response, Stop};
/// use standoff::methods::Nested;
/// use standoff::outer::FrankWolfeStep;
/// use standoff::{Settings, solve_with, zoo};
///
/// let mut i = (zoo::find("matrix").expect("a game of the zoo").make)();
/// let (n, m) = (i.start.x.len(), i.start.y.len());
/// let mut method = Nested {
///     response: Response {
///         inner: Accelerated::new(1.0 / 0.01, 3, m),
///         regulariser: Regulariser { lambda: 0.01, centre: i.start.y.clone() },
///         request: Stop::Residual(1e-3).into(),
///     },
///     outer: FrankWolfeStep::new(400.0, 1.0, n),
/// };
/// let settings = Settings { max_iterations: 100, ..Settings::eps(1e-2) };
/// let found = solve_with(&mut i.game, &i.start, &mut method, &settings, &mut ())?;
/// assert!(found.calls.grad_x <= 101);
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug)]
pub struct Nested<I, O, R> {
    /// The inner part: y's response to x.
    pub response: Response<I, R>,
    /// The outer part: the step of x.
    pub outer: O,
}

impl<I, O, R> Nested<I, O, R> {
    /// Ends this method after a number of steps of x.
    pub(super) fn for_steps(self, left: u64) -> Scheduled<Self> {
        Scheduled { method: self, left }
    }
}

impl<G: Game, I: Inner<G>, O: Outer<G>> Method<G> for Nested<I, O, G::Real> {
    fn answer(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        match self.response.to(f, &z.x, &mut z.y)? {
            Answer::Settled { .. } => Ok(()),
            Answer::Rejected => Err(StopReason::NonFinite),
            Answer::Failed => Err(StopReason::Stalled(Diagnosis::NoProgress)),
        }
    }

    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.response.inner.follow(f, &mut z.y)?;
        self.outer.advance(f, z, &mut self.response)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        self.response.inner.visit(visitor);
        self.outer.visit(visitor);
    }
}

/// A method that ends after the number of steps that its theorem gives.
pub(super) struct Scheduled<M> {
    pub(super) method: M,
    /// Number of steps of x that are left.
    pub(super) left: u64,
}

impl<G: Game, M: Method<G>> Method<G> for Scheduled<M> {
    fn answer(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.method.answer(f, z)
    }

    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.left = self.left.checked_sub(1).ok_or(StopReason::Stalled(Diagnosis::ScheduleEnded))?;
        self.method.advance(f, z)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("left", &mut self.left);
        self.method.visit(visitor);
    }
}

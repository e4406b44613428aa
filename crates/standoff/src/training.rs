//! Training: the loop of `solve.rs` under the caller's control. The caller steps, measures, and saves and restores the
//! whole state. The result is the last pair, not the best.

use crate::inner::{Answer, Exact, Inner, Regulariser, Stop};
use crate::measure::Meter;
use crate::method::{Method, Visitor};
use crate::oracle::Limits;
use crate::solve::admit;
use crate::{Calls, Error, Game, Need, Oracle, Point, Record, Settings, StopReason};

/// A run that the caller steps.
///
/// ```
/// use standoff::{Settings, Training, zoo};
///
/// let mut made = (zoo::find("saddle2d").unwrap().make)();
/// let settings = Settings::default();
/// let method = settings.build(&made.game)?;
/// let mut run = Training::new(&mut made.game, &made.start, method)?;
/// for _ in 0..5 {
///     run.step().unwrap();
/// }
/// assert_eq!(run.steps(), 5);
/// assert!(run.measure(0.0).unwrap().value.is_finite());
/// # Ok::<(), standoff::Error>(())
/// ```
pub struct Training<'g, G: Game> {
    f: Oracle<'g, G>,
    method: Box<dyn Method<G>>,
    z: Point<G::Real>,
    /// The measured pair: x, and y's response to it on all the data.
    answered: Point<G::Real>,
    meter: Meter<G::Real>,
    step: u64,
}

impl<'g, G: Game> Training<'g, G> {
    /// Starts at a point, which must have a finite value and finite gradients.
    pub fn new(game: &'g mut G, start: &Point<G::Real>, method: Box<dyn Method<G>>) -> Result<Self, Error> {
        let z = admit(game, start)?;
        let mut f = Oracle::new(game, Limits::default());
        let meter = Meter::new(&Settings::default());
        f.resample(0);
        meter.refuse_bad_start(&mut f, &z)?;
        Ok(Self { f, method, answered: z.clone(), z, meter, step: 0 })
    }

    /// Makes one step: y responds, then x moves. Returns [`StopReason::Completed`] after the last step of the schedule.
    pub fn step(&mut self) -> Result<(), StopReason> {
        self.f.resample(self.step);
        self.method.answer(&mut self.f, &mut self.z)?;
        self.method.advance(&mut self.f, &mut self.z)?;
        self.step += 1;
        Ok(())
    }

    /// Value and certificate on all the data, at x and y's response to it (a y with a memory is measured unchanged).
    /// Not counted as calls; `seconds` is the caller's clock.
    pub fn measure(&mut self, seconds: f64) -> Result<Record, StopReason> {
        let calls = self.f.calls();
        self.answered.clone_from(&self.z);
        self.f.whole();
        if self.f.y_set().dim() != self.z.y.len() {
            let record = self.measure_best_response(seconds)?;
            return Ok(Record { calls, ..record });
        }
        self.method.answer(&mut self.f, &mut self.answered)?;
        let mut record = self.meter.measure(&mut self.f, &self.answered, self.step, seconds);
        self.f.set_calls(calls);
        record.calls = calls;
        Ok(record)
    }

    /// Measures a game whose y has more entries on all the data than on a mini-batch, such as weights for every sample: at x and the
    /// best y there, without a regulariser.
    fn measure_best_response(&mut self, seconds: f64) -> Result<Record, StopReason> {
        let centre = self.f.y_set().centre();
        let Point { x, y } = &mut self.answered;
        y.clone_from(&centre);
        // The oracle of the run keeps vectors of the length of the mini-batch's y.
        let mut f = Oracle::new(self.f.game_mut(), Limits::default());
        f.look(x, Need::Gradients);
        let regulariser = Regulariser { lambda: 0.0, centre };
        match Exact::new(y.len()).answer(&mut f, y, &regulariser, Stop::Steps(1).into())? {
            Answer::Settled { .. } => Ok(self.meter.measure(&mut f, &self.answered, self.step, seconds)),
            _ => {
                f.resample(self.step);
                Err(StopReason::NonFinite)
            }
        }
    }

    /// Number of steps made.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// The current pair.
    pub fn point(&self) -> &Point<G::Real> {
        &self.z
    }

    /// The last measured pair.
    pub fn measured(&self) -> &Point<G::Real> {
        &self.answered
    }

    /// The game.
    pub fn game(&self) -> &G {
        self.f.game()
    }

    /// The value that the last step computed, on its batch and before x moved.
    pub fn step_value(&self) -> f64 {
        self.f.last_value()
    }

    /// The counters so far.
    pub fn calls(&self) -> Calls {
        self.f.calls()
    }

    /// Visits every piece of state, by name, that a continued run needs. Both saving and restoring use it.
    pub fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.vector("x", &mut self.z.x);
        visitor.vector("y", &mut self.z.y);
        visitor.count("training_step", &mut self.step);
        let mut calls = self.f.calls();
        visitor.count("calls_fix", &mut calls.fix);
        visitor.count("calls_value", &mut calls.value);
        visitor.count("calls_grad_x", &mut calls.grad_x);
        visitor.count("calls_grad_y", &mut calls.grad_y);
        self.f.set_calls(calls);
        self.method.visit(visitor);
    }
}

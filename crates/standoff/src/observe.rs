//! What a run says of itself while it goes: records, and who listens.

use crate::{Calls, Certificate, StopReason};

/// One measurement of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// Outer iterations so far.
    pub iteration: u64,
    /// `f(x, y)`.
    pub value: f64,
    /// X and Y, with their bounds.
    pub certificate: Certificate,
    /// The oracle's counts.
    pub calls: Calls,
    /// Seconds spent by the method; measuring is not billed.
    pub seconds: f64,
}

/// Who listens to a run, and may end it.
pub trait Observer {
    /// Called after each measurement; a reason ends the run.
    fn record(&mut self, record: &Record) -> Option<StopReason>;
}

/// Nobody listens.
impl Observer for () {
    fn record(&mut self, _record: &Record) -> Option<StopReason> {
        None
    }
}

/// Every record, kept.
///
/// ```
/// use standoff::{Settings, Trace, solve_with, zoo};
///
/// let mut made = (zoo::find("saddle2d").unwrap().make)();
/// let settings = Settings::eps(1e-6);
/// let mut method = settings.build(&made.game)?;
/// let mut trace = Trace::default();
/// solve_with(&mut made.game, &made.start, method.as_mut(), &settings, &mut trace)?;
/// assert!(trace.records.last().unwrap().certificate.proves(1e-6));
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// In the order they were made.
    pub records: Vec<Record>,
}

impl Observer for Trace {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        self.records.push(*record);
        None
    }
}

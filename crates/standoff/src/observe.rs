//! Records of a run, and observers that receive them.

use crate::{Calls, Certificate, StopReason};

/// One measurement of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// Number of outer iterations so far.
    pub iteration: u64,
    /// `f(x, y)`.
    pub value: f64,
    /// Bounds of X and Y.
    pub certificate: Certificate,
    /// The oracle's counters.
    pub calls: Calls,
    /// Seconds spent by the method, without measuring.
    pub seconds: f64,
}

/// Receives the measurements of a run and may end it.
pub trait Observer {
    /// Called after each measurement; a reason ends the run.
    fn record(&mut self, record: &Record) -> Option<StopReason>;
}

/// Ignores all records.
impl Observer for () {
    fn record(&mut self, _record: &Record) -> Option<StopReason> {
        None
    }
}

/// Keeps every record.
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
    /// The records in the order of the run.
    pub records: Vec<Record>,
}

impl Observer for Trace {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        self.records.push(*record);
        None
    }
}

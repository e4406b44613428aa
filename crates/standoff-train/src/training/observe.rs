//! Progress of runs, as values for an observer.

/// The progress of all runs together.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The name of the experiment; may be empty.
    pub heading: String,
    /// Runs in all.
    pub runs: usize,
    /// Runs that are finished.
    pub finished: usize,
    /// Steps of all runs together.
    pub steps: u64,
    /// Steps made so far, in this process and before it.
    pub made: u64,
    /// Steps that were made before the clock of `elapsed` began.
    pub first: u64,
    /// Seconds since the runs of this process began.
    pub elapsed: f64,
    /// The runs under way, in the order in which they began.
    pub under_way: Vec<RunProgress>,
}

/// The progress of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunProgress {
    /// The name of the run.
    pub name: String,
    /// Steps in all.
    pub steps: u64,
    /// Steps in an epoch.
    pub epoch: u64,
    /// Steps made.
    pub made: u64,
    /// The value of the last step; NaN before the first.
    pub loss: f64,
    /// The key figures of the last measurement as text; empty before the first.
    pub figures: String,
}

/// Receives messages and progress of runs, on the thread that started them.
pub trait Observer {
    /// A message for the user.
    fn warning(&mut self, _text: &str) {}

    /// Called about twenty times a second.
    fn progress(&mut self, _progress: &Progress) {}

    /// No run is under way any more.
    fn end(&mut self) {}
}

/// Observes nothing.
impl Observer for () {}

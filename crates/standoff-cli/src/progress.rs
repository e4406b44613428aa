//! Progress of long commands: bars on a terminal, one plain line a minute elsewhere.

use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use standoff::{Record, StopReason};
use standoff_train::training::{Observer, Progress, RunProgress};

use crate::screen::Screen;
use standoff_present::number::{count, duration, short, upper};
use standoff_present::style::safe;

/// Between updates of a terminal. The first update comes after it, so that a quick command shows nothing.
const PAUSE: Duration = Duration::from_millis(100);
/// Between lines where there is no terminal.
const PLAIN_PAUSE: Duration = Duration::from_secs(60);
/// Runs shown at once, so that a terminal does not scroll.
const MOST: usize = 12;
/// Positions of a bar.
const FULL: u64 = 1000;

/// One line of progress.
#[derive(Debug)]
pub(crate) struct Step {
    /// The share that is done; without it no bar is drawn.
    pub(crate) share: Option<f64>,
    pub(crate) text: String,
}

/// Lines on stderr that show progress and disappear at the end.
#[derive(Debug)]
pub(crate) struct Bars {
    screen: Screen,
    live: bool,
    all: MultiProgress,
    lines: Vec<ProgressBar>,
    due: Instant,
}

impl Bars {
    pub(crate) fn new(screen: &Screen) -> Self {
        let live = screen.is_live();
        let target = if live { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        let pause = if live { PAUSE } else { PLAIN_PAUSE };
        let all = MultiProgress::with_draw_target(target);
        Self { screen: *screen, live, all, lines: Vec::new(), due: Instant::now() + pause }
    }

    /// Shows these lines unless the last ones are too recent.
    pub(crate) fn update(&mut self, steps: impl FnOnce() -> Vec<Step>) {
        if Instant::now() < self.due {
            return;
        }
        self.due = Instant::now() + if self.live { PAUSE } else { PLAIN_PAUSE };
        let steps = steps();
        if !self.live {
            let texts: Vec<String> = steps.into_iter().map(|step| step.text).collect();
            return self.screen.progress(&texts.join("; "));
        }
        self.lines.drain(steps.len().min(self.lines.len())..).for_each(|bar| bar.finish_and_clear());
        while self.lines.len() < steps.len() {
            self.lines.push(self.all.add(ProgressBar::new(FULL)));
        }
        for (bar, step) in self.lines.iter().zip(&steps) {
            bar.set_style(style(step.share.is_some()));
            bar.set_position((step.share.unwrap_or(0.0).clamp(0.0, 1.0) * FULL as f64) as u64);
            bar.set_message(safe(&step.text).into_owned());
        }
    }

    /// Removes the lines.
    pub(crate) fn clear(&mut self) {
        self.lines.drain(..).for_each(|bar| bar.finish_and_clear());
        let _ = self.all.clear();
    }
}

/// A bar of 18 characters and a text that is cut at the edge of the terminal.
fn style(bar: bool) -> ProgressStyle {
    let template = if bar { "{bar:18} {wide_msg}" } else { "{wide_msg}" };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("\u{2501}\u{2501}\u{2500}")
}

/// Progress of trainings: a line for all runs and one for each run under way.
pub(crate) struct RunBars<'a> {
    screen: &'a mut Screen,
    bars: Bars,
}

impl<'a> RunBars<'a> {
    pub(crate) fn new(screen: &'a mut Screen) -> Self {
        let bars = Bars::new(screen);
        Self { screen, bars }
    }
}

impl Observer for RunBars<'_> {
    fn warning(&mut self, text: &str) {
        self.bars.clear();
        self.screen.warn(text);
    }

    fn progress(&mut self, progress: &Progress) {
        let all = || Step { share: Some(part(progress.made, progress.steps)), text: summary(progress) };
        let one = |run: &RunProgress| Step { share: Some(part(run.made, run.steps)), text: described(run) };
        self.bars.update(|| std::iter::once(all()).chain(progress.under_way.iter().take(MOST).map(one)).collect());
    }

    fn end(&mut self) {
        self.bars.clear();
    }
}

/// `3/6 runs  47%  1,240 steps/s  2 minutes left`.
fn summary(progress: &Progress) -> String {
    let Progress { heading, runs, finished, steps, made, .. } = progress;
    let rate = made.saturating_sub(progress.first) as f64 / progress.elapsed;
    let left = steps.saturating_sub(*made) as f64 / rate;
    let left = if rate > 0.0 { format!("  {} left", duration(left.ceil())) } else { String::new() };
    let heading = if heading.is_empty() { String::new() } else { format!("{heading}  ") };
    let percent = (100.0 * part(*made, *steps)).floor();
    format!("{heading}{finished}/{runs} runs  {percent}%  {} steps/s{left}", count(rate.round() as u64))
}

fn part(made: u64, total: u64) -> f64 {
    (made as f64 / total.max(1) as f64).clamp(0.0, 1.0)
}

/// A run with its epoch and its figures.
fn described(run: &RunProgress) -> String {
    let epochs = run.steps.div_ceil(run.epoch.max(1));
    let epoch = (run.made / run.epoch.max(1) + 1).min(epochs.max(1));
    let gap = if run.figures.is_empty() { "" } else { "  " };
    format!("{}  epoch {}/{}{gap}{}", run.name, count(epoch), count(epochs.max(1)), run.figures)
}

impl standoff::Observer for Bars {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        self.update(|| vec![Step { share: None, text: solving(record) }]);
        None
    }
}

/// Short enough for a terminal of 80 columns.
fn solving(record: &Record) -> String {
    let c = &record.certificate;
    let whole = |n: u64| if n < 10_000_000 { count(n) } else { short(n as f64) };
    format!(
        "iter {}  value {}  X {}  Y {}  grads {}",
        whole(record.iteration),
        short(record.value),
        upper(c.x.upper),
        upper(c.y.upper),
        whole(record.calls.gradients()),
    )
}

#[cfg(test)]
mod tests {
    use standoff::{Calls, Certificate, Gap};

    use super::*;

    #[test]
    fn a_run_is_described_by_its_epoch_and_figures_and_all_runs_by_the_time_left() {
        let mut run = RunProgress {
            name: "minmax-seed-2".to_owned(),
            steps: 100,
            epoch: 30,
            made: 60,
            loss: 0.5,
            figures: "loss 0.5".to_owned(),
        };
        assert_eq!(described(&run), "minmax-seed-2  epoch 3/4  loss 0.5");
        run.made = 100;
        assert!(described(&run).contains("epoch 4/4"));
        let progress = Progress {
            heading: "table2".to_owned(),
            runs: 4,
            finished: 1,
            steps: 400,
            made: 160,
            first: 60,
            elapsed: 10.0,
            under_way: vec![run],
        };
        assert_eq!(summary(&progress), "table2  1/4 runs  40%  10 steps/s  24 s left");
        assert!(!summary(&Progress { made: 60, ..progress }).contains("left"));
    }

    #[test]
    fn the_line_of_the_solver_fits_a_terminal() {
        let gap = Gap { lower: 0.0, upper: 1.2345678e-10 };
        let record = Record {
            iteration: 12_345_678_901_234,
            value: -1.23456789e-10,
            certificate: Certificate::as_computed(gap, gap, 1.0),
            calls: Calls { grad_x: 9_999_999, ..Calls::default() },
            seconds: 0.0,
        };
        let line = solving(&record);
        assert_eq!(line, "iter 1.23457e13  value -1.23457e-10  X 1.235e-10  Y 1.235e-10  grads 9,999,999");
        assert!(line.len() < 80);
    }
}

//! Progress of long commands: bars on a terminal, one plain line a minute elsewhere.

use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use standoff::{Record, StopReason};
use standoff_train::training::{Observer, Progress, RunProgress};

use crate::screen::Screen;
use standoff_present::progress::{described, part, solving, summary};
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

impl standoff::Observer for Bars {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        self.update(|| vec![Step { share: None, text: solving(record) }]);
        None
    }
}

//! How far runs are: on a terminal a bar for all of them and one for each that is under way, else a line a minute.

use std::time::{Duration, Instant};

use standoff_train::training::{Observer, Progress, RunProgress};

use crate::number::{count, duration};
use crate::present::live::{LiveBlock, bar};
use crate::present::screen::Screen;

/// Between lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(60);
/// Letters of a bar.
const BAR: usize = 18;
/// Runs shown; more than a terminal has lines for would scroll it.
const MOST: usize = 12;

/// Shows how far runs are.
pub(crate) struct RunBars<'a> {
    screen: &'a mut Screen,
    due: Instant,
    block: LiveBlock,
}

impl<'a> RunBars<'a> {
    pub(crate) fn new(screen: &'a mut Screen) -> Self {
        Self { screen, due: Instant::now() + PAUSE, block: LiveBlock::new() }
    }
}

impl Observer for RunBars<'_> {
    fn warning(&mut self, text: &str) {
        self.block.clear();
        self.screen.warn(text);
    }

    fn progress(&mut self, progress: &Progress) {
        let shown = progress.under_way.iter().take(MOST);
        if self.screen.is_live() {
            self.block.update(|| [all(progress)].into_iter().chain(shown.map(one)).collect());
        } else if Instant::now() >= self.due {
            let figures: Vec<String> = shown.map(described).collect();
            self.screen.progress(&format!("{}; {}", summary(progress), figures.join("; ")));
            self.due = Instant::now() + PAUSE;
        }
    }

    fn end(&mut self) {
        self.block.clear();
    }
}

fn all(progress: &Progress) -> String {
    format!("{} {}", bar(part(progress.made, progress.steps), BAR), summary(progress))
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

/// A run: its bar, its epoch, its figures.
fn one(run: &RunProgress) -> String {
    format!("{} {}", bar(part(run.made, run.steps), BAR), described(run))
}

fn described(run: &RunProgress) -> String {
    let epochs = run.steps.div_ceil(run.epoch.max(1));
    let epoch = (run.made / run.epoch.max(1) + 1).min(epochs.max(1));
    let gap = if run.figures.is_empty() { "" } else { "  " };
    format!("{}  epoch {}/{}{gap}{}", run.name, count(epoch), count(epochs.max(1)), run.figures)
}

#[cfg(test)]
mod tests {
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
        assert_eq!(one(&run), format!("{} minmax-seed-2  epoch 3/4  loss 0.5", bar(0.6, BAR)));
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
}

//! How far runs are: on a terminal a bar for all of them and one for each that is under way, else a line a minute.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Control;
use super::control::{Gauge, held};
use crate::live::{LiveBlock, bar};
use crate::number::{count, duration};
use crate::screen::Screen;

/// Between lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(60);
/// Letters of a bar.
const BAR: usize = 18;
/// Runs shown; more than a terminal has lines for would scroll it.
const MOST: usize = 12;

/// What is to be run: how many, of how many steps each, on how many threads (0 for all).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub runs: usize,
    pub steps: u64,
    pub threads: usize,
}

/// Shows how far runs are.
pub(super) struct Progress<'a> {
    load: Load,
    control: &'a Control,
    begun: Instant,
    /// Steps that were made before.
    first: u64,
    due: Instant,
    block: LiveBlock,
}

impl<'a> Progress<'a> {
    pub(super) fn new(load: Load, control: &'a Control) -> Self {
        let (begun, first) = (Instant::now(), control.steps.load(Ordering::Relaxed));
        Self { load, control, begun, first, due: begun + PAUSE, block: LiveBlock::new() }
    }

    /// Says what there is to say; called often.
    pub(super) fn tell(&mut self, finished: usize, screen: &mut Screen) {
        let warnings = std::mem::take(&mut *held(&self.control.warnings));
        for warning in warnings {
            self.block.clear();
            screen.warn(&warning);
        }
        let (load, control) = (self.load, self.control);
        let elapsed = self.begun.elapsed().as_secs_f64();
        let share = Share { made: control.steps.load(Ordering::Relaxed), first: self.first, elapsed };
        if screen.is_live() {
            self.block.update(|| {
                let mut lines = vec![all(load, control, finished, &share)];
                lines.extend(control.under_way().iter().take(MOST).map(|gauge| one(gauge)));
                lines
            });
        } else if Instant::now() >= self.due {
            let figures: Vec<String> = control.under_way().iter().take(MOST).map(|gauge| told(gauge)).collect();
            screen.progress(&format!("{}; {}", summary(load, control, finished, &share), figures.join("; ")));
            self.due = Instant::now() + PAUSE;
        }
    }

    /// The bars go.
    pub(super) fn end(&mut self) {
        self.block.clear();
    }
}

/// Steps of all runs together.
struct Share {
    made: u64,
    first: u64,
    elapsed: f64,
}

fn all(load: Load, control: &Control, finished: usize, share: &Share) -> String {
    let total = load.steps * load.runs as u64;
    format!("{} {}", bar(part(share.made, total), BAR), summary(load, control, finished, share))
}

/// `3/6 runs  47%  1,240 steps/s  2 minutes left`.
fn summary(load: Load, control: &Control, finished: usize, share: &Share) -> String {
    let total = load.steps * load.runs as u64;
    let rate = share.made.saturating_sub(share.first) as f64 / share.elapsed;
    let left = total.saturating_sub(share.made) as f64 / rate;
    let left = if rate > 0.0 { format!("  {} left", duration(left.ceil())) } else { String::new() };
    let heading = if control.heading.is_empty() { String::new() } else { format!("{}  ", control.heading) };
    let percent = (100.0 * part(share.made, total)).floor();
    format!("{heading}{finished}/{} runs  {percent}%  {} steps/s{left}", load.runs, count(rate.round() as u64))
}

fn part(made: u64, total: u64) -> f64 {
    (made as f64 / total.max(1) as f64).clamp(0.0, 1.0)
}

/// A run: its bar, its epoch, its figures.
fn one(gauge: &Gauge) -> String {
    let made = gauge.made.load(Ordering::Relaxed);
    format!("{} {}", bar(part(made, gauge.steps), BAR), told(gauge))
}

fn told(gauge: &Gauge) -> String {
    let made = gauge.made.load(Ordering::Relaxed);
    let epochs = gauge.steps.div_ceil(gauge.epoch.max(1));
    let epoch = (made / gauge.epoch.max(1) + 1).min(epochs.max(1));
    let figures = held(&gauge.figures);
    let gap = if figures.is_empty() { "" } else { "  " };
    format!("{}  epoch {}/{}{gap}{figures}", gauge.name, count(epoch), count(epochs.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_run_is_told_with_its_epoch_and_figures_and_all_of_them_with_the_time_left() {
        let control = Control { heading: "table2".to_owned(), ..Control::new(Arc::default()) };
        let gauge = Gauge {
            name: "minmax-seed-2".to_owned(),
            steps: 100,
            epoch: 30,
            made: AtomicU64::new(60),
            figures: Mutex::new("loss 0.5".to_owned()),
        };
        let watched = control.watch(gauge);
        assert_eq!(one(&control.under_way()[0]), format!("{} minmax-seed-2  epoch 3/4  loss 0.5", bar(0.6, BAR)));
        watched.made.store(100, Ordering::Relaxed);
        assert!(told(&watched).contains("epoch 4/4"));
        drop(watched);
        assert!(control.under_way().is_empty());
        let load = Load { runs: 4, steps: 100, threads: 1 };
        let share = Share { made: 160, first: 60, elapsed: 10.0 };
        assert_eq!(summary(load, &control, 1, &share), "table2  1/4 runs  40%  10 steps/s  24 s left");
        assert!(!summary(load, &control, 1, &Share { made: 60, ..share }).contains("left"));
    }
}

//! The lines of progress of trainings and of the solver.

use standoff::Record;
use standoff_train::training::{Progress, RunProgress};

use crate::number::{count, duration, short, upper};

/// `3/6 runs  47%  1,240 steps/s  2 minutes left`.
pub fn summary(progress: &Progress) -> String {
    let Progress { heading, runs, finished, steps, made, .. } = progress;
    let rate = made.saturating_sub(progress.first) as f64 / progress.elapsed;
    let left = steps.saturating_sub(*made) as f64 / rate;
    let left = if rate > 0.0 { format!("  {} left", duration(left.ceil())) } else { String::new() };
    let heading = if heading.is_empty() { String::new() } else { format!("{heading}  ") };
    let percent = (100.0 * part(*made, *steps)).floor();
    format!("{heading}{finished}/{runs} runs  {percent}%  {} steps/s{left}", count(rate.round() as u64))
}

/// The share that is done, from 0 to 1.
pub fn part(made: u64, total: u64) -> f64 {
    (made as f64 / total.max(1) as f64).clamp(0.0, 1.0)
}

/// A run with its epoch and its figures.
pub fn described(run: &RunProgress) -> String {
    let epochs = run.steps.div_ceil(run.epoch.max(1));
    let epoch = (run.made / run.epoch.max(1) + 1).min(epochs.max(1));
    let gap = if run.figures.is_empty() { "" } else { "  " };
    format!("{}  epoch {}/{}{gap}{}", run.name, count(epoch), count(epochs.max(1)), run.figures)
}

/// Short enough for a terminal of 80 columns.
pub fn solving(record: &Record) -> String {
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
    use super::*;
    use standoff::{Calls, Certificate, Gap};

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

//! Fair training from Rust: a description, a run folder, progress and results.
//!
//! `cargo run --release -p standoff-train --example own_training` trains on `examples/people.csv` and keeps the run in `runs/`.

use std::sync::Arc;

use standoff_nn::fair::FairMethod;
use standoff_train::Result;
use standoff_train::fair::comparison::summarise;
use standoff_train::fair::config::{Columns, FairConfig};
use standoff_train::training::{Control, Description as _, Experiment, Observer, Progress};

/// Counts the reports; a program would draw a bar.
#[derive(Default)]
struct Watch {
    last: Option<Progress>,
}

impl Observer for Watch {
    fn progress(&mut self, progress: &Progress) {
        self.last = Some(progress.clone());
    }
}

fn main() -> Result<()> {
    let config = FairConfig {
        title: "pay by sex".into(),
        data: concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv").into(),
        columns: Some(Columns { label: "pay".into(), group: vec!["sex".into()], ..Columns::default() }),
        model: "logistic".into(),
        biases: "zero".into(),
        methods: vec![FairMethod::Normal, FairMethod::MinmaxReg],
        schedule: vec![(200, 0.03), (100, 0.003)],
        batch: 0,
        seeds: 2,
        ..FairConfig::default()
    };
    config.check()?;
    let task = config.load()?;
    // `Experiment::resume(folder)` continues a run that was interrupted.
    let experiment = Experiment::begin(config, task, None, false)?;
    let (specs, control, mut watch) = (experiment.specs(), Control::new(Arc::default()), Watch::default());
    let done = experiment.train(&specs, &control, &mut watch)?.unwrap_or_default();
    let results = experiment.conclude(&specs, done)?;
    let steps = watch.last.map_or(0, |progress| progress.made);
    let mut text = format!("{steps} steps, kept in {}\n", experiment.out.display());
    for method in summarise(&results) {
        text +=
            &format!("{:<12} average {:.3}  worst group {:.3}\n", method.label, method.average.mean, method.worst.mean);
    }
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}

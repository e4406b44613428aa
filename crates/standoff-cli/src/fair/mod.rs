//! Results of fair training as tables, charts and a sentence.

pub(crate) mod accuracy_table;
#[cfg(test)]
pub(crate) mod examples;
pub(crate) mod figure;
pub(crate) mod frontier;
mod summary;
pub(crate) mod table;

use anyhow::Result;
use standoff_train::fair::config::FairConfig;
use standoff_train::fair::results::Results;
use standoff_train::fair::train::Spec;
use standoff_train::training::Experiment;

use crate::files;

/// Draws the charts of an experiment into its folder.
pub(crate) fn draw(experiment: &Experiment<FairConfig>, specs: &[Spec], results: &Results) -> Result<()> {
    let out = &experiment.out;
    if experiment.is_sweep() {
        files::replace(&out.join("frontier.svg"), frontier::svg(results).as_bytes())?;
    }
    if let Some(chart) = figure::svg(out, specs, &experiment.config.title) {
        files::replace(&out.join("losses.svg"), chart.as_bytes())?;
    }
    Ok(())
}

//! The charts of fair training, in its run folder.

use anyhow::Result;
use standoff_present::fair::{figure, frontier};
use standoff_train::fair::config::FairConfig;
use standoff_train::fair::results::Results;
use standoff_train::fair::train::Spec;
use standoff_train::files;
use standoff_train::training::Experiment;

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

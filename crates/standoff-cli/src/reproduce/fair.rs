//! The tables on fair classification, and Figure 1.

use anyhow::Result;
use serde_json::json;

use super::{Bench, Made};
use crate::charts;
use crate::files;
use crate::progress::RunBars;
use crate::screen::Screen;
use standoff_nn::fair::FairMethod;
use standoff_present::fair::{figure, table};
use standoff_present::number::plural;
use standoff_train::experiments::ExperimentFile;
use standoff_train::fair::config::FairConfig;
use standoff_train::fair::results::{Results, RunResult};
use standoff_train::fair::train::Spec;
use standoff_train::training::{Claim, Description as _, Experiment};

/// Trains the runs that are missing, and makes the table or the figure of the finished ones.
pub(super) fn make(
    bench: &Bench<'_>,
    source: ExperimentFile,
    figure: &[FairMethod],
    screen: &mut Screen,
) -> Result<Made> {
    let experiment = open(bench, source, figure)?;
    for warning in &experiment.task.warnings {
        screen.warn(warning);
    }
    let all = experiment.specs();
    let own = |spec: &&Spec| bench.owns(&format!("{}/{}", source.name, spec.folder()));
    let asked: Vec<Spec> = all.iter().filter(|spec| wanted(bench, figure, spec)).filter(own).cloned().collect();
    if !bench.ends() {
        experiment.train(&asked, &bench.control(bench.item.name), &mut RunBars::new(screen))?;
    }
    let done = experiment.finished(&all)?;
    let results = experiment.results(done);
    if !results.runs.is_empty() {
        results.save(&experiment.out)?;
        charts::draw(&experiment, &all, &results)?;
    }
    let missing = asked.len() - experiment.finished(&asked)?.len();
    let of = |n: usize| plural(n as u64, "run");
    let left = (missing > 0).then(|| format!("{} of {}", missing, of(asked.len()))).into_iter().collect();
    let results = if figure.is_empty() { results } else { drawn(bench, &experiment, figure, &asked, results)? };
    Ok(shown(&results, left, screen))
}

/// True if a run belongs to the item.
fn wanted(bench: &Bench<'_>, figure: &[FairMethod], spec: &Spec) -> bool {
    let seeds = if figure.is_empty() { bench.request.seeds } else { 1 };
    spec.seed <= seeds && (figure.is_empty() || figure.contains(&spec.method))
}

/// The experiment in its folder, begun or found there.
fn open(bench: &Bench<'_>, source: ExperimentFile, figure: &[FairMethod]) -> Result<Experiment<FairConfig>> {
    let mut config = FairConfig::parse(source.text, source.name)?;
    config.title = bench.title(&config.title);
    config.seeds = if figure.is_empty() { bench.request.seeds } else { 1 };
    if bench.request.shorten > 1 {
        let steps = config.steps();
        config.stretch((steps / bench.request.shorten).max(config.schedule.len() as u64));
        config.measure_every = 0;
    }
    // More seeds are added to those that are there.
    let claim = Claim::fixed(config, &bench.folder(source.name), |wanted, found| {
        (wanted.seeds, found.seeds) = (wanted.seeds.max(found.seeds), wanted.seeds.max(found.seeds));
    })?;
    let mut experiment = claim.load()?;
    experiment.threads = bench.request.threads;
    Ok(experiment)
}

/// The figure as a file of its own, and the results of its runs alone.
fn drawn(
    bench: &Bench<'_>,
    experiment: &Experiment<FairConfig>,
    methods: &[FairMethod],
    asked: &[Spec],
    results: Results,
) -> Result<Results> {
    let title = bench.title("Figure 1 of the paper: training loss with and without the regulariser");
    if let Some(chart) = figure::svg(&experiment.out, asked, &title) {
        files::replace(&bench.folder("figure1.svg"), chart.as_bytes())?;
    }
    let own = |run: &RunResult| run.seed == 1 && methods.iter().any(|method| method.name() == run.method);
    let runs = results.runs.into_iter().filter(own).collect();
    Ok(Results { title, runs, ..results })
}

/// The table for the terminal, as Markdown and as JSON.
fn shown(results: &Results, left: Vec<String>, screen: &Screen) -> Made {
    let mut text = format!("# {}\n\n", results.title);
    if results.runs.is_empty() {
        text.push_str("No run has finished yet.\n");
    } else {
        let (sentence, tables) = table::tables(results);
        text += &format!("{sentence}\n\n");
        tables.iter().for_each(|table| text += &table.markdown());
    }
    left.iter().for_each(|what| text += &format!("Not finished: {what} are left.\n"));
    let json = json!({ "results": results.json(), "left": left });
    Made { text: table::render(results, screen.view()), markdown: text, json, left }
}

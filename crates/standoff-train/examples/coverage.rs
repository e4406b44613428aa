//! Measures how often the 95 percent intervals of `standoff fair` cover: for the difference of two methods in average accuracy, in
//! each group with at least 100 test rows, and in the worst group.
//!
//! `cargo run --release -p standoff-train --example coverage -- FILE LABEL GROUPS [SPLITS] [STEPS] [FIRST] [FOLDER]`; `bench/coverage.sh`
//! runs it on two tables. Models are solved as by `standoff fair`; with a number of STEPS they are trained. FIRST is the first seed. FOLDER keeps the outcomes
//! of all splits, so that another rule is tried without training anew.
//!
//! One split: 8 percent of the rows are for the test, 56 percent are held out; the target is the difference of the same two models on
//! the rows held out. Several splits: 10,000 intervals, each of 3, 5, 10 or 20 splits drawn from one half of all splits; the target is the
//! mean over the other half.
//!
//! SPLITS as `200x4000` (of a file without compression): 200 tables of 4000 rows, drawn from the file, with intervals over splits of each
//! table. The target is the mean over splits of 200 tables more. Nadeau and Bengio's variance is made for this target.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use standoff_nn::data::Dataset;
use standoff_nn::fair::FairMethod;
use standoff_nn::{Engine, Outcome};
use standoff_train::Result;
use standoff_train::fair::comparison::{Measured, differences};
use standoff_train::fair::config::{Columns, FairConfig, Solver};
use standoff_train::fair::results::{Results, RunResult};
use standoff_train::fair::statistics::Summary;
use standoff_train::fair::task::FairTask;
use standoff_train::fair::train::{Spec, fit, judge};
use standoff_train::training::{Control, Description as _};

/// Test rows that a group needs to be counted.
const LEAST_ROWS: usize = 100;
/// Splits of one interval over several splits.
const SEVERAL: [usize; 4] = [3, 5, 10, 20];
/// Intervals over several splits.
const INTERVALS: usize = 10_000;
/// Splits of one table, where tables are drawn.
const SPLITS_OF_A_TABLE: u64 = 10;
/// With fewer steps the rate is larger.
const STEPS: u64 = 800;

/// Counts of intervals that covered their targets.
#[derive(Default, Clone, Copy)]
struct Count {
    covered: usize,
    all: usize,
}

impl Count {
    fn add(&mut self, summary: &Summary, target: f64) {
        if let Some([lower, upper]) = summary.interval {
            self.all += 1;
            self.covered += usize::from(lower <= target && target <= upper);
        }
    }

    fn show(&self) -> String {
        format!("{:5.1} % of {}", 100.0 * self.covered as f64 / self.all.max(1) as f64, self.all)
    }
}

/// The counts of the average, the worst group and the other groups.
struct Counts {
    average: Count,
    worst: Count,
    groups: Vec<Count>,
}

impl Counts {
    fn new(groups: usize) -> Self {
        Self { average: Count::default(), worst: Count::default(), groups: vec![Count::default(); groups] }
    }

    fn add(&mut self, measured: &Measured, target: &Target, counted: &[bool]) {
        self.average.add(&measured.average, target.average);
        self.worst.add(&measured.worst, target.worst);
        let groups = self.groups.iter_mut().zip(&measured.groups).zip(&target.groups).zip(counted);
        groups.filter(|(_, counted)| **counted).for_each(|(((count, own), target), _)| count.add(own, *target));
    }

    fn show(&self, what: &str, names: &[String]) {
        println!("{what}: average {}, worst {}", self.average.show(), self.worst.show());
        for (name, count) in names.iter().zip(&self.groups).filter(|(_, count)| count.all > 0) {
            println!("  {name}: {}", count.show());
        }
    }
}

/// The differences that intervals are to cover.
#[derive(Clone)]
struct Target {
    average: f64,
    worst: f64,
    groups: Vec<f64>,
}

impl Target {
    fn of(runs: &[RunResult]) -> Self {
        let change = |of: &dyn Fn(&RunResult) -> f64| of(&runs[1]) - of(&runs[0]);
        let groups = (0..runs[0].test.len()).map(|g| change(&|run| run.accuracy(g))).collect();
        Self { average: change(&RunResult::average), worst: change(&RunResult::worst), groups }
    }

    fn mean(all: &[Self]) -> Self {
        let mean = |of: &dyn Fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        let groups = (0..all[0].groups.len()).map(|g| mean(&|t| t.groups[g])).collect();
        Self { average: mean(&|t| t.average), worst: mean(&|t| t.worst), groups }
    }
}

/// The runs of one split on its test part, and the same models on the rows held out.
#[derive(serde::Serialize, serde::Deserialize)]
struct Split {
    groups: Vec<String>,
    tested: Vec<RunResult>,
    held: Vec<RunResult>,
}

struct Experiment {
    config: FairConfig,
    control: Control,
    /// The file with the splits that are done.
    kept: Option<PathBuf>,
}

impl Experiment {
    /// The splits of these seeds, from the file as far as it has them.
    fn splits(&self, seeds: std::ops::Range<u64>) -> Result<Vec<Split>> {
        let mut all: Vec<Split> = Vec::new();
        if let Some(file) = self.kept.as_ref().and_then(|path| std::fs::File::open(path).ok()) {
            let lines = std::io::BufReader::new(file).lines().map_while(std::io::Result::ok);
            all.extend(lines.map_while(|line| serde_json::from_str(&line).ok()).take(seeds.clone().count()));
        }
        let open =
            |path| std::fs::File::options().create(true).append(true).open(path).expect("the folder is writable");
        let mut file = self.kept.as_ref().map(open);
        for seed in seeds.skip(all.len()) {
            all.push(self.split(seed)?);
            if let (Some(file), Some(split)) = (&mut file, all.last()) {
                writeln!(file, "{}", serde_json::to_string(split)?).expect("the file is writable");
            }
        }
        Ok(all)
    }

    /// Both methods on the split of a seed.
    fn split(&self, seed: u64) -> Result<Split> {
        let config = FairConfig { seed, ..self.config.clone() };
        let task = config.load()?;
        let (mut tested, mut held) = (Vec::new(), Vec::new());
        for spec in Spec::all(&config, &config.sweep()) {
            let done = fit(&task, &config, &spec, 1, &self.control)?.expect("nothing interrupts it");
            if let Some(part) = &task.validation {
                held.push(judged(&task, part, &done.weights.parameters, &done.outcome)?);
            }
            tested.push(done.outcome);
        }
        Ok(Split { groups: task.groups, tested, held })
    }
}

fn counted(split: &Split) -> Vec<bool> {
    split.tested[0].test.iter().map(|score| score.total >= LEAST_ROWS).collect()
}

fn results(groups: &[String], runs: Vec<RunResult>) -> Results {
    Results {
        title: String::new(),
        group_names: groups.to_vec(),
        class_names: Vec::new(),
        out_of: None,
        runs,
        paper: Vec::new(),
        choice: None,
    }
}

/// The result of a run with the scores of other data.
fn judged(task: &FairTask, data: &Dataset, parameters: &[f32], run: &RunResult) -> Result<RunResult> {
    let mut engine = Engine::new(&task.model, 1)?;
    engine.set_weights(parameters)?;
    let scores = judge(&engine, data, &task.unjudged, &mut Outcome::default())?;
    Ok(RunResult { test: scores.groups, all: scores.all, rows: None, ..run.clone() })
}

fn single(experiment: &Experiment, seeds: std::ops::Range<u64>) -> Result<()> {
    let splits = experiment.splits(seeds)?;
    let Some(groups) = splits.first().map(|split| split.groups.clone()) else { return Ok(()) };
    let mut counts = Counts::new(groups.len());
    for split in &splits {
        let measured = differences(&results(&groups, split.tested.clone()));
        counts.add(&measured[0], &Target::of(&split.held), &counted(split));
    }
    counts.show("one split", &groups);
    Ok(())
}

fn several(experiment: &Experiment, seeds: std::ops::Range<u64>) -> Result<()> {
    let all = experiment.splits(seeds)?;
    let (own, fresh) = all.split_at(all.len() / 2);
    let fresh: Vec<&Split> = fresh.iter().collect();
    let mut bits = Bits(1);
    for j in SEVERAL {
        let part = |_| {
            let mut order: Vec<usize> = (0..own.len()).collect();
            bits.shuffle(&mut order, j);
            order[..j].iter().map(|i| &own[*i]).collect()
        };
        cover(j, (0..if own.len() < j { 0 } else { INTERVALS }).map(part), &fresh);
    }
    Ok(())
}

/// The generator of Knuth's MMIX.
struct Bits(u64);

impl Bits {
    /// Draws the first `n` of a list anew.
    fn shuffle<T>(&mut self, list: &mut [T], n: usize) {
        for i in 0..n {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            list.swap(i, i + (self.0 >> 33) as usize % (list.len() - i));
        }
    }
}

/// Counts the intervals over these parts of `j` splits that hold the mean over fresh splits.
fn cover<'a>(j: usize, parts: impl Iterator<Item = Vec<&'a Split>>, fresh: &[&Split]) {
    let Some(first) = fresh.first() else { return };
    let target = Target::mean(&fresh.iter().map(|split| Target::of(&split.tested)).collect::<Vec<_>>());
    let mut counts = Counts::new(first.groups.len());
    for part in parts {
        let runs = part.iter().flat_map(|split| split.tested.clone()).collect();
        counts.add(&differences(&results(&first.groups, runs))[0], &target, &counted(first));
    }
    counts.show(&format!("{j} splits"), &first.groups);
}

/// Intervals over the splits of one table each; the target is that of all tables.
fn tables(experiment: &Experiment, rows: usize, tables: u64, first: u64) -> Result<()> {
    let text = std::fs::read_to_string(&experiment.config.data).expect("a text file");
    let (header, lines) = text.split_once('\n').expect("a header");
    let mut lines: Vec<&str> = lines.lines().collect();
    let folder = tempfile::tempdir().expect("a folder");
    let mut bits = Bits(first);
    let mut all: Vec<Vec<Split>> = Vec::new();
    for table in 0..2 * tables {
        bits.shuffle(&mut lines, rows);
        let path = folder.path().join(format!("{table}.csv"));
        std::fs::write(&path, format!("{header}\n{}\n", lines[..rows].join("\n"))).expect("the folder is writable");
        let kept = experiment.kept.as_ref().map(|kept| kept.with_extension(format!("{table}.jsonl")));
        let config = FairConfig { data: path.display().to_string(), ..experiment.config.clone() };
        let one = Experiment { config, control: Control::new(Arc::default()), kept };
        // The target needs one split of a table.
        let count = if table < tables { SPLITS_OF_A_TABLE } else { 1 };
        all.push(one.splits(first..first + count)?);
    }
    let (own, fresh) = all.split_at(tables as usize);
    let fresh: Vec<&Split> = fresh.iter().flatten().collect();
    for j in SEVERAL.into_iter().filter(|j| *j as u64 <= SPLITS_OF_A_TABLE) {
        let parts = own.iter().flat_map(|splits| splits.chunks_exact(j)).map(|part| part.iter().collect());
        cover(j, parts, &fresh);
    }
    Ok(())
}

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [data, label, groups, rest @ ..] = given.as_slice() else {
        eprintln!(
            "want FILE LABEL GROUPS [SPLITS] [STEPS] [FIRST] [FOLDER]; GROUPS as --group takes them, `+` at the end for --by-label"
        );
        std::process::exit(2);
    };
    let number = |i: usize, usual: u64| rest.get(i).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (given, first) = (rest.get(1).and_then(|text| text.parse::<u64>().ok()), number(2, 1));
    let (steps, how) = (given.unwrap_or(STEPS), given.map_or("solved".to_owned(), |steps| format!("{steps} steps")));
    let (splits, rows) = match rest.first().and_then(|text| text.split_once('x')) {
        Some((tables, rows)) => (tables.parse().unwrap_or(200), rows.parse().ok()),
        None => (number(0, 200), None),
    };
    let rate = if steps < STEPS { 0.1 } else { 0.03 };
    let columns = Columns {
        label: label.clone(),
        group: groups.trim_end_matches('+').split(',').map(str::to_owned).collect(),
        by_label: groups.ends_with('+'),
        ..Columns::default()
    };
    let config = FairConfig {
        data: data.clone(),
        columns: Some(columns.clone()),
        model: "logistic".into(),
        biases: "zero".into(),
        methods: vec![FairMethod::Normal, FairMethod::Minmax],
        schedule: vec![(steps - steps / 4, rate), (steps / 4, 0.1 * rate)],
        batch: 0,
        solver: if given.is_some() { Solver::Steps } else { Solver::Certificate },
        seeds: 1,
        ..FairConfig::default()
    };
    config.check()?;
    println!(
        "{data}, label {label}, groups {groups}: minmax less normal, {splits} random splits from seed {first}, {how}"
    );
    let experiment = |kind: &str, config| {
        let name = |folder| PathBuf::from(folder).join(format!("{label}-{groups}-{kind}-{how}-{first}.jsonl"));
        Experiment { config, control: Control::new(Arc::default()), kept: rest.get(3).map(name) }
    };
    if let Some(rows) = rows {
        return tables(&experiment(&format!("{rows}-rows"), config), rows, splits, first);
    }
    let held = Columns { test_split: 0.08, ..columns };
    let one = FairConfig { columns: Some(held), validation_split: 0.56, ..config.clone() };
    single(&experiment("one", one), first..first + splits)?;
    several(&experiment("several", config), first..first + 2 * splits)
}

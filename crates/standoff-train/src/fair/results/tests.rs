//! Results on their way to files and back, and the examples that other tests use.

use super::*;

/// A run with these correct answers out of 1000 in each group.
pub(crate) fn run(method: &str, lambda: f64, seed: u64, correct: &[usize]) -> RunResult {
    let score = |correct: &usize| GroupScore { correct: *correct, total: 1000, loss: 1.0 - *correct as f64 / 1000.0 };
    RunResult {
        method: method.to_owned(),
        lambda,
        seed,
        test: correct.iter().map(score).collect(),
        train_losses: correct.iter().map(|c| 0.5 - *c as f64 / 2000.0).collect(),
        weights: vec![1.0 / correct.len() as f64; correct.len()],
        x_gap: [0.001, 0.0012],
        y_gap: [0.0, 0.25],
        value: 0.25,
        steps: 12_000,
        seconds: 61.5,
        variation: 2.5,
        fairness: None,
        confusion: Vec::new(),
    }
}

/// Three methods, three seeds, the paper's groups.
pub(crate) fn example() -> Results {
    let runs = vec![
        run("normal", 0.0, 1, &[850, 840, 660]),
        run("minmax", 0.0, 1, &[770, 750, 760]),
        run("minmax-reg", 0.1, 1, &[780, 760, 770]),
        run("normal", 0.0, 2, &[860, 850, 650]),
        run("minmax", 0.0, 2, &[760, 770, 730]),
        run("minmax-reg", 0.1, 2, &[775, 765, 755]),
        run("normal", 0.0, 3, &[840, 860, 670]),
        run("minmax", 0.0, 3, &[780, 740, 770]),
        run("minmax-reg", 0.1, 3, &[785, 770, 760]),
    ];
    Results {
        title: "fair-gd".to_owned(),
        group_names: ["T-shirt/top", "Coat", "Shirt"].map(str::to_owned).to_vec(),
        class_names: Vec::new(),
        out_of: Some(1000),
        runs,
        paper: vec![PaperRow {
            method: "normal".to_owned(),
            groups: vec![[850.72, 8.58], [843.5, 17.24], [658.74, 17.81]],
            worst: Some([658.74, 17.81]),
        }],
        choice: None,
    }
}

#[test]
fn results_survive_the_way_through_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut results = example();
    results.runs[0].fairness = Some(Fairness { demographic_parity: 0.1 + 0.2, equalised_odds: 1.0 / 3.0 });
    results.save(folder.path()).unwrap();
    assert_eq!(Results::load(folder.path()).unwrap(), results);
    assert_eq!(Results::load(&folder.path().join("results.json")).unwrap(), results);
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["results.csv", "results.json"]);
}

#[test]
fn the_file_has_what_the_table_shows() {
    let json = example().json();
    let number = |path: &str| json.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    assert_eq!(json["differences"]["against"], "normal");
    assert_eq!(json["summary"][2]["lambda"], 0.1);
    assert!((number("/summary/1/worst/mean") - 0.74).abs() < 1e-12, "{json}");
    // 4.30265 * 0.01 / sqrt(3) on either side.
    assert!((number("/summary/1/worst/upper") - 0.764_841).abs() < 1e-6, "{json}");
    assert!((number("/differences/methods/0/worst/mean") - 0.08).abs() < 1e-12, "{json}");
}

#[test]
fn a_run_that_went_astray_is_still_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut results = example();
    let run = &mut results.runs[1];
    run.value = f64::NAN;
    run.x_gap = [0.0, f64::INFINITY];
    run.train_losses[2] = f64::NAN;
    run.test[0].loss = f64::INFINITY;
    results.save(folder.path()).unwrap();
    let back = &Results::load(folder.path()).unwrap().runs[1];
    assert!(back.value.is_nan() && back.train_losses[2].is_nan() && back.test[0].loss.is_nan());
    assert!(back.x_gap[0] == 0.0 && back.x_gap[1].is_nan(), "{:?}", back.x_gap);
}

#[test]
fn the_table_of_runs_has_a_row_for_each_run_and_group() {
    let mut results = example();
    results.group_names[1] = "Coat, \"warm\"".to_owned();
    results.runs.truncate(2);
    let csv = results.csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 3);
    let want = "normal,0.0,1,\"Coat, \"\"warm\"\"\",840,1000,0.84,";
    assert!(lines[2].starts_with(want), "{}", lines[2]);
    assert!(lines[1].ends_with(",0.001,0.0012,0.0,0.25,0.25,12000,61.5,,"), "{}", lines[1]);
    assert!(lines.iter().enumerate().all(|(i, line)| i == 2 || i == 5 || line.split(',').count() == 19), "{csv}");
}

#[test]
fn the_worst_group_is_found_in_every_run() {
    let mut one = run("normal", 0.0, 1, &[850, 840, 660]);
    assert_eq!((one.worst(), one.accuracy(1)), (0.66, 0.84));
    assert!((one.average() - 0.783_333_333_333).abs() < 1e-12);
    // A group without test samples is no group to judge by, and not a perfect or a hopeless one.
    one.test[2] = GroupScore { correct: 0, total: 0, loss: f64::NAN };
    assert_eq!((one.worst(), one.average()), (0.84, 0.845));
    assert!(one.accuracy(2).is_nan());
    one.test.clear();
    assert!(one.worst().is_nan() && one.average().is_nan());
}

#[test]
fn counts_are_shown_only_where_all_groups_have_that_size() {
    let mut results = example();
    assert_eq!(results.counted(), Some(1000));
    results.runs[4].test[1].total = 999;
    assert_eq!(results.counted(), None);
}

#[test]
fn a_method_with_several_lambdas_is_several_methods() {
    let mut results = example();
    let labels = |r: &Results| r.variants().iter().map(|v| r.label(v)).collect::<Vec<_>>();
    assert_eq!(labels(&results), ["normal", "minmax", "minmax-reg"]);
    results.runs.push(run("minmax-reg", 0.5, 1, &[1, 2, 3]));
    assert_eq!(labels(&results), ["normal", "minmax", "minmax-reg 0.1", "minmax-reg 0.5"]);
    assert_eq!(results.of(&results.variants()[2]).count(), 3);
}

#[test]
fn a_file_that_is_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.json");
    for (text, want) in [("[1]", "is not a result of `standoff fair`"), ("", "is empty"), ("{}", "missing field")] {
        std::fs::write(&path, text).unwrap();
        let message = Results::load(&path).unwrap_err().to_string();
        assert!(message.contains(want), "{message}");
    }
    let mut results = example();
    results.runs[1].weights.pop();
    results.save(folder.path()).unwrap();
    let message = Results::load(&path).unwrap_err().to_string();
    assert!(message.contains("the run of minmax with seed 1 does not have 3 groups"), "{message}");
}

//! Results of a small invented experiment, for documentation and for tests of code that shows results.

use super::results::{GroupScore, PaperRow, Results, RunResult};

/// A run with these correct answers out of 1000 in each group.
pub fn run(method: &str, lambda: f64, seed: u64, correct: &[usize]) -> RunResult {
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
        optimality_gap: None,
        value: 0.25,
        steps: 12_000,
        seconds: 61.5,
        variation: 2.5,
        fairness: None,
        confusion: Vec::new(),
        all: None,
        unjudged: Vec::new(),
        split: None,
        rows: None,
    }
}

/// Three methods, three seeds, the paper's groups.
///
/// ```
/// let results = standoff_train::fair::examples::example();
/// assert_eq!((results.runs.len(), results.group_names.len()), (9, 3));
/// ```
pub fn example() -> Results {
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

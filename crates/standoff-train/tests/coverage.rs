//! Intervals over test rows cover as often as they say, on simulated predictions whose true accuracies are known. `bench/coverage.sh`
//! measures it on real tables.

use standoff_nn::data::Groups;
use standoff_train::fair::comparison::differences;
use standoff_train::fair::examples::{example, run};
use standoff_train::fair::results::{GroupScore, Results, RunResult};
use standoff_train::fair::row_hits::RowHits;
use standoff_train::fair::split::SplitRecord;
use standoff_train::fair::statistics::Summary;

/// Test rows of each group.
const SIZES: [usize; 2] = [180, 120];
/// The share that the first method classifies correctly, and the shares of its errors and of its correct rows that the other changes.
const RATES: [[f64; 3]; 2] = [[0.86, 0.1, 0.09], [0.6, 0.5, 0.12]];
const EXPERIMENTS: usize = 400;

/// Deterministic numbers in 0..1.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn method(name: &str, hits: &[bool], groups: &Groups) -> RunResult {
    let score = |g: usize| GroupScore {
        correct: groups.rows(g).iter().filter(|row| hits[**row as usize]).count(),
        total: SIZES[g],
        loss: 1.0,
    };
    let mut new = run(name, 0.0, 1, &[0, 0]);
    new.test = (0..SIZES.len()).map(score).collect();
    new.rows = Some(RowHits::new(groups, hits));
    new.split = Some(SplitRecord { seed: 1, fold: 0, train: 1200, test: hits.len() });
    new
}

#[test]
fn simulated_differences_of_one_split_are_covered() {
    let of_row: Vec<u16> = SIZES.iter().zip(0_u16..).flat_map(|(n, g)| vec![g; *n]).collect();
    let groups = Groups::new(&of_row, SIZES.len()).expect("groups");
    let after = |[right, won, lost]: [f64; 3]| right * (1.0 - lost) + (1.0 - right) * won;
    let change = RATES.map(|rates| after(rates) - rates[0]);
    let worst = RATES.map(after).into_iter().fold(1.0, f64::min) - RATES.iter().fold(1.0, |low: f64, r| low.min(r[0]));
    let average = change.iter().zip(SIZES).map(|(d, n)| d * n as f64).sum::<f64>() / of_row.len() as f64;
    let targets = [change[0], change[1], worst, average];
    let (mut stream, mut covered) = (Stream(7), [0; 4]);
    for _ in 0..EXPERIMENTS {
        let mut hits: [Vec<bool>; 2] = [Vec::new(), Vec::new()];
        for &g in &of_row {
            let [right, won, lost] = RATES[usize::from(g)];
            let first = stream.next() < right;
            let changed = stream.next() < if first { lost } else { won };
            hits[0].push(first);
            hits[1].push(first != changed);
        }
        let runs = vec![method("normal", &hits[0], &groups), method("minmax", &hits[1], &groups)];
        let names = vec!["a".to_owned(), "b".to_owned()];
        let results = Results { group_names: names, runs, paper: Vec::new(), out_of: None, ..example() };
        let all = differences(&results);
        let found: Vec<&Summary> = all[0].columns().collect();
        for (count, (summary, target)) in covered.iter_mut().zip(found.into_iter().zip(targets)) {
            let [lower, upper] = summary.interval.expect("an interval");
            *count += usize::from(lower <= target && target <= upper);
        }
    }
    let percent = covered.map(|count| 100.0 * count as f64 / EXPERIMENTS as f64);
    assert!(percent.iter().all(|share| (90.0..=99.0).contains(share)) && percent[2] >= 93.0, "{percent:?}");
}

//! Statistics over seeds: means, deviations, 95 percent intervals, and paired differences.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::results::{Results, RunResult, Variant};

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Mean, standard deviation and the interval of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The number of values.
    pub count: usize,
    /// Their mean; NaN without values.
    pub mean: f64,
    /// Their standard deviation, with n - 1; nothing for fewer than two values.
    pub deviation: Option<f64>,
    /// Half the width of the 95 percent interval of the mean, by Student's t; nothing for fewer than two values.
    pub half: Option<f64>,
}

/// The accuracies of a method over its seeds, or their differences from another method.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The method.
    pub variant: Variant,
    /// Its name in tables.
    pub label: String,
    /// Per group.
    pub groups: Vec<Summary>,
    /// Of the worst group of each run.
    pub worst: Summary,
    /// Of all test samples of each run together.
    pub average: Summary,
}

impl Summary {
    /// Of these values. A value that is not finite makes the mean so.
    pub fn of(values: &[f64]) -> Self {
        let (count, mean) = (values.len(), mean(values));
        let deviation = deviation(values);
        let half = deviation.map(|d| student(CONFIDENCE, count - 1) * d / (count as f64).sqrt());
        Self { count, mean, deviation, half }
    }

    /// In another unit.
    pub fn times(self, factor: f64) -> Self {
        let by = |v: f64| factor * v;
        Self { count: self.count, mean: by(self.mean), deviation: self.deviation.map(by), half: self.half.map(by) }
    }

    /// True if the interval of the mean does not contain zero.
    pub fn is_clear(&self) -> bool {
        self.half.is_some_and(|half| self.mean.abs() > half)
    }
}

impl Measured {
    /// The groups, then the worst, then the average.
    pub fn columns(&self) -> impl Iterator<Item = &Summary> {
        self.groups.iter().chain([&self.worst, &self.average])
    }
}

/// The mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation with n - 1; nothing for fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The middle value; NaN counts as larger than anything, and is the answer without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().map(|v| if v.is_nan() { f64::NAN.copysign(1.0) } else { *v }).collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// The 95 percent interval of a proportion by Wilson's score: it stays within 0 and 1, and does not vanish where all or none of
/// a few samples came out right. Without samples it is everything.
pub fn wilson(correct: usize, total: usize) -> [f64; 2] {
    // The quantile of the normal distribution for [`CONFIDENCE`].
    const Z: f64 = 1.959_963_984_540_054;
    if total == 0 {
        return [0.0, 1.0];
    }
    let (n, k) = (total as f64, correct as f64);
    let centre = (k + 0.5 * Z * Z) / (n + Z * Z);
    let half = Z / (n + Z * Z) * (k * (n - k) / n + 0.25 * Z * Z).sqrt();
    // The ends are exact where every sample agrees; rounding must not say otherwise.
    [if correct == 0 { 0.0 } else { centre - half }, if correct == total { 1.0 } else { centre + half }]
}

/// The t with `P(|T| <= t) = confidence` for Student's T with that many degrees of freedom, at least 1.
pub fn student(confidence: f64, freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    // The probability grows with the angle; 60 halvings leave nothing of it.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if within(middle, freedom) < confidence { low = middle } else { high = middle }
    }
    (freedom as f64).sqrt() * high.tan()
}

/// `P(|T| <= t)` with n degrees of freedom and `t = sqrt(n) tan a`, a finite sum:
/// for even n, `sin a (1 + 1/2 cos^2 a + (1 3)/(2 4) cos^4 a + ...)`,
/// for odd n, `2/pi (a + sin a (cos a + 2/3 cos^3 a + (2 4)/(3 5) cos^5 a + ...))`, both up to the power n - 2.
fn within(angle: f64, freedom: usize) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut power, mut term) = if odd { (1, cos) } else { (0, 1.0) };
    let mut sum = 0.0;
    while power + 2 <= freedom {
        sum += term;
        power += 2;
        term *= cos * cos * (power - 1) as f64 / power as f64;
    }
    if odd { FRAC_2_PI * (angle + sin * sum) } else { sin * sum }
}

/// Each method over its seeds.
pub fn summarise(results: &Results) -> Vec<Measured> {
    let over = |variant: &Variant, of: &dyn Fn(&RunResult) -> f64| results.of(variant).map(of).collect();
    results.variants().into_iter().map(|variant| measured(results, variant, &over)).collect()
}

/// Each method but the first against the first, over the seeds that both have.
pub fn differences(results: &Results) -> Vec<Measured> {
    let mut variants = results.variants().into_iter();
    let Some(first) = variants.next() else { return Vec::new() };
    let over = |variant: &Variant, of: &dyn Fn(&RunResult) -> f64| paired(results, variant, &first, of);
    variants.map(|variant| measured(results, variant, &over)).collect()
}

/// The difference of two methods for each seed that both have, in the order of the runs of the first.
pub fn paired(results: &Results, one: &Variant, other: &Variant, of: &dyn Fn(&RunResult) -> f64) -> Vec<f64> {
    let partner = |run: &RunResult| results.of(other).find(|r| r.seed == run.seed).map(of);
    results.of(one).filter_map(|run| Some(of(run) - partner(run)?)).collect()
}

/// The values of a measure for a method.
type Over<'a> = dyn Fn(&Variant, &dyn Fn(&RunResult) -> f64) -> Vec<f64> + 'a;

/// Runs in which a group has no test samples are left out for that group.
fn measured(results: &Results, variant: Variant, over: &Over<'_>) -> Measured {
    let summary = |of: &dyn Fn(&RunResult) -> f64| {
        let said: Vec<f64> = over(&variant, of).into_iter().filter(|v| !v.is_nan()).collect();
        Summary::of(&said)
    };
    Measured {
        label: results.label(&variant),
        groups: (0..results.group_names.len()).map(|g| summary(&|run| run.accuracy(g))).collect(),
        worst: summary(&RunResult::worst),
        average: summary(&RunResult::average),
        variant,
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{example, run};
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // From printed tables and their extensions to more digits.
        let cases = [
            (0.95, 1, 12.706_204_736),
            (0.95, 2, 4.302_652_730),
            (0.95, 3, 3.182_446_305),
            (0.95, 4, 2.776_445_105),
            (0.95, 9, 2.262_157_163),
            (0.95, 29, 2.045_229_642),
            (0.95, 49, 2.009_575_237),
            (0.95, 100, 1.983_971_519),
            (0.99, 5, 4.032_142_984),
            (0.99, 10, 3.169_272_673),
            (0.50, 1, 1.0),
        ];
        for (confidence, freedom, want) in cases {
            let got = student(confidence, freedom);
            assert!((got - want).abs() < 1e-8, "{confidence} {freedom}: {got}, not {want}");
        }
        // In the limit, the normal distribution.
        assert!((student(0.95, 100_000) - 1.959_963_985).abs() < 3e-5);
    }

    #[test]
    fn a_proportion_has_the_interval_of_wilson() {
        // The two roots p of (k/n - p)^2 = z^2 p (1 - p) / n.
        for (k, n) in [(8, 10), (1, 3), (444, 500), (9_830, 10_000)] {
            let share = k as f64 / n as f64;
            for p in wilson(k, n) {
                let error = (share - p).powi(2) - 1.959_963_984_540_054_f64.powi(2) * p * (1.0 - p) / n as f64;
                assert!(error.abs() < 1e-15, "{k} of {n}: {p}");
            }
            assert!(wilson(k, n)[0] < share && share < wilson(k, n)[1]);
        }
        assert_eq!((wilson(0, 20)[0], wilson(20, 20)[1], wilson(0, 0)), (0.0, 1.0, [0.0, 1.0]));
        // z^2 / (n + z^2)
        assert!((wilson(0, 20)[1] - 0.161_125_2).abs() < 1e-6, "{:?}", wilson(0, 20));
    }

    #[test]
    fn a_summary_is_what_a_hand_computes() {
        let s = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((s.count, s.mean), (8, 5.0));
        assert!((s.deviation.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-15);
        assert!((s.half.unwrap() - 2.364_624_251_6 * (4.0_f64 / 7.0).sqrt()).abs() < 1e-9);
        let one = Summary::of(&[3.0]);
        assert_eq!((one.mean, one.deviation, one.half), (3.0, None, None));
        assert!(Summary::of(&[]).mean.is_nan());
        assert!(Summary::of(&[1.0, f64::NAN]).mean.is_nan());
        assert_eq!(Summary::of(&[0.25; 4]).times(1000.0).mean, 250.0);
    }

    #[test]
    fn an_interval_is_clear_when_zero_is_outside() {
        assert!(Summary::of(&[-1.0, -1.1, -0.9]).is_clear());
        assert!(!Summary::of(&[-1.0, 3.0, 2.0]).is_clear());
        // One value has no interval.
        assert!(!Summary::of(&[5.0]).is_clear());
        assert!(!Summary::of(&[f64::NAN, 1.0]).is_clear());
    }

    #[test]
    fn a_median_counts_nan_as_largest() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[1.0, -f64::NAN, 2.0]), 2.0);
        assert!(median(&[1.0, -f64::NAN, f64::NAN]).is_nan());
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_worst_group_is_taken_run_by_run() {
        let all = summarise(&example());
        assert_eq!(all.len(), 3);
        // minmax: 750, 730, 740; the means of its groups are 770, 753.3, 753.3.
        let minmax = all[1].worst.times(1000.0);
        assert!((minmax.mean - 740.0).abs() < 1e-9 && (minmax.deviation.unwrap() - 10.0).abs() < 1e-9, "{minmax:?}");
        assert!((all[1].groups[0].mean - 0.77).abs() < 1e-12);
        assert!((all[0].average.mean - 0.786_666_666_667).abs() < 1e-12);
        assert_eq!(all[0].columns().count(), 5);
    }

    #[test]
    fn differences_are_paired_by_seed() {
        let mut results = example();
        // A seed that only one method has does not count.
        results.runs.push(run("normal", 0.0, 9, &[0, 0, 0]));
        let all = differences(&results);
        assert_eq!(all.iter().map(|d| d.label.as_str()).collect::<Vec<_>>(), ["minmax", "minmax-reg"]);
        // 750 - 660, 730 - 650, 740 - 670.
        let worst = all[0].worst.times(1000.0);
        assert_eq!(worst.count, 3);
        assert!((worst.mean - 80.0).abs() < 1e-9 && (worst.deviation.unwrap() - 10.0).abs() < 1e-9, "{worst:?}");
        assert!(worst.is_clear());
        results.runs.clear();
        assert!(differences(&results).is_empty());
    }

    #[test]
    fn a_group_without_test_samples_in_one_run_is_judged_by_the_others() {
        let mut results = example();
        results.runs[0].test[0].total = 0;
        results.runs[0].test[0].correct = 0;
        let first = summarise(&results)[0].groups[0];
        assert_eq!((first.count, first.mean), (2, 0.85));
    }
}

//! The methods of an experiment and their differences, with 95 percent intervals that fit the way the runs were made.

use super::intervals::{JudgedRows, bonett_price, wilson_of};
use super::results::{Results, RunResult, Variant};
use super::row_hits::RowHits;
use super::statistics::{Summary, mean};

/// The accuracies of a method, or their differences from another method.
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

impl Measured {
    /// The groups, then the worst, then the average.
    pub fn columns(&self) -> impl Iterator<Item = &Summary> {
        self.groups.iter().chain([&self.worst, &self.average])
    }
}

/// The source of the intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// Several seeds on one test set: Student's t over the seeds.
    Seeds,
    /// One split, or runs that do not differ: the test rows.
    Rows,
    /// Several random splits of a table: the corrected resampled t.
    Splits {
        /// Test rows for each training row.
        ratio: f64,
    },
}

impl Sampling {
    /// Of the runs of an experiment.
    pub fn of(results: &Results) -> Self {
        let mut splits: Vec<(u64, usize)> =
            results.runs.iter().filter_map(|r| r.split).map(|s| (s.seed, s.fold)).collect();
        splits.sort_unstable();
        splits.dedup();
        if splits.len() > 1 {
            let ratios = results.runs.iter().filter_map(|run| run.split).map(|s| s.test as f64 / s.train.max(1) as f64);
            return Self::Splits { ratio: mean(&ratios.collect::<Vec<_>>()) };
        }
        let same = |variant: &Variant| {
            let mut runs = results.of(variant);
            let first = runs.next();
            runs.all(|run| first.is_some_and(|first| same_scores(first, run)))
        };
        if splits.len() == 1 || results.variants().iter().all(same) { Self::Rows } else { Self::Seeds }
    }
}

fn same_scores(a: &RunResult, b: &RunResult) -> bool {
    let counts = |run: &RunResult| run.test.iter().map(|s| (s.correct, s.total)).collect::<Vec<_>>();
    counts(a) == counts(b)
}

/// Each method over its runs.
pub fn summarise(results: &Results) -> Vec<Measured> {
    let sampling = Sampling::of(results);
    let one = |variant: &Variant| {
        Column { results, sampling, pairs: results.of(variant).map(|run| (run, None)).collect() }.measured(variant)
    };
    results.variants().iter().map(one).collect()
}

/// Each method but the first against the first, over the seeds that both have.
pub fn differences(results: &Results) -> Vec<Measured> {
    let variants = results.variants();
    let Some((first, others)) = variants.split_first() else { return Vec::new() };
    let sampling = Sampling::of(results);
    let partner = |run: &RunResult| results.of(first).find(|r| r.seed == run.seed);
    let one = |variant: &Variant| {
        let pairs = results.of(variant).filter_map(|run| Some((run, Some(partner(run)?)))).collect();
        Column { results, sampling, pairs }.measured(variant)
    };
    others.iter().map(one).collect()
}

/// The difference of two methods for each seed that both have, in the order of the runs of the first.
pub fn paired(results: &Results, one: &Variant, other: &Variant, of: &dyn Fn(&RunResult) -> f64) -> Vec<f64> {
    let partner = |run: &RunResult| results.of(other).find(|r| r.seed == run.seed).map(of);
    results.of(one).filter_map(|run| Some(of(run) - partner(run)?)).collect()
}

/// The runs of a method, each with the run that is subtracted.
struct Column<'a> {
    results: &'a Results,
    sampling: Sampling,
    pairs: Vec<(&'a RunResult, Option<&'a RunResult>)>,
}

impl Column<'_> {
    /// Runs in which a group has no test samples are left out for that group.
    fn measured(&self, variant: &Variant) -> Measured {
        let groups = self.results.group_names.len();
        let mut all = Measured {
            label: self.results.label(variant),
            groups: (0..groups).map(|g| self.summary(&|run| run.accuracy(g))).collect(),
            worst: self.summary(&RunResult::worst),
            average: self.summary(&RunResult::average),
            variant: variant.clone(),
        };
        if self.sampling == Sampling::Rows {
            self.by_rows(&mut all);
        } else if all.columns().any(Summary::is_constant) {
            self.without_spread(&mut all);
        }
        all
    }

    /// Equal values in all runs, as small groups often have, are no certainty: they get the interval over the rows of the first run.
    fn without_spread(&self, all: &mut Measured) {
        let (sampling, pairs) = (Sampling::Rows, self.pairs[..1].to_vec());
        let rows = Column { pairs, sampling, ..*self }.measured(&all.variant);
        let columns = all.groups.iter_mut().chain([&mut all.worst, &mut all.average]);
        for (own, rows) in columns.zip(rows.columns()).filter(|(own, _)| own.is_constant()) {
            *own = Summary { deviation: None, interval: rows.interval, ..*own };
        }
    }

    fn is_difference(&self) -> bool {
        self.pairs.iter().any(|(_, other)| other.is_some())
    }

    fn summary(&self, of: &dyn Fn(&RunResult) -> f64) -> Summary {
        let values: Vec<f64> =
            self.pairs.iter().map(|(run, other)| of(run) - other.map_or(0.0, of)).filter(|v| !v.is_nan()).collect();
        let range = [if self.is_difference() { -1.0 } else { 0.0 }, 1.0];
        match self.sampling {
            Sampling::Splits { ratio } => Summary::resampled(&values, ratio).within(range),
            _ => Summary::of(&values).within(range),
        }
    }

    /// Replaces the intervals by those over test rows. Without the outcome of every row a difference has none.
    fn by_rows(&self, all: &mut Measured) {
        let known = self.rows();
        for (g, summary) in all.groups.iter_mut().enumerate() {
            let group = u16::try_from(g).unwrap_or(u16::MAX);
            replace(summary, known.as_ref().map(|rows| rows.interval(|groups| groups.contains(&group))));
        }
        replace(&mut all.average, known.as_ref().map(|rows| rows.interval(|_| true)));
        let judged = self.judged();
        replace(&mut all.worst, known.as_ref().map(|rows| rows.judged(&judged).worst_interval()));
    }

    /// True for the groups that may be the worst.
    fn judged(&self) -> Vec<bool> {
        let aside = |g: usize| self.pairs.iter().any(|(run, _)| run.unjudged.contains(&g));
        (0..self.results.group_names.len()).map(|g| !aside(g)).collect()
    }

    /// The mean outcome of every test row over the runs of each side.
    fn rows(&self) -> Option<RowMeans> {
        let (first, _) = self.pairs.first()?;
        let hits = |run: &RunResult| -> Option<RowHits> {
            let counts = || RowHits::of_counts(run.test.iter().map(|score| (score.correct, score.total)));
            run.rows.clone().or_else(|| (!self.is_difference() && run.all.is_none()).then(counts))
        };
        let cells = hits(first)?.cells;
        let side = |runs: &mut dyn Iterator<Item = &RunResult>| -> Option<Vec<f64>> {
            let mut sums = vec![0.0; cells.iter().map(|cell| cell.1).sum()];
            let mut count = 0.0;
            for run in runs {
                let own = hits(run).filter(|own| own.cells == cells)?;
                own.bits()?.iter().zip(&mut sums).for_each(|(hit, sum)| *sum += f64::from(u8::from(*hit)));
                count += 1.0;
            }
            sums.iter_mut().for_each(|sum| *sum /= count);
            Some(sums)
        };
        let one = side(&mut self.pairs.iter().map(|pair| pair.0))?;
        let other =
            if self.is_difference() { Some(side(&mut self.pairs.iter().filter_map(|pair| pair.1))?) } else { None };
        let groups = self.results.group_names.len();
        let fits = cells.iter().flat_map(|cell| &cell.0).all(|g| usize::from(*g) < groups);
        fits.then_some(RowMeans { cells, one, other })
    }
}

/// The interval over rows, widened by the interval of the mean over seeds where the seeds differ. A deviation of zero is no information.
fn replace(summary: &mut Summary, rows: Option<[f64; 2]>) {
    // Means of equal shares differ in their last bits.
    if summary.is_constant() {
        summary.deviation = None;
    }
    let seeds = summary.interval.filter(|_| summary.deviation.is_some()).unwrap_or([summary.mean; 2]);
    let lowest = if rows.is_some_and(|[lower, _]| lower < 0.0) || summary.mean < 0.0 { -1.0 } else { 0.0 };
    summary.interval = rows.filter(|_| summary.count > 0).map(|[lower, upper]| {
        let wider = |row: f64, seed: f64| (row - summary.mean).hypot(seed - summary.mean);
        let below = summary.mean - wider(lower.min(summary.mean), seeds[0]);
        let above = summary.mean + wider(upper.max(summary.mean), seeds[1]);
        [below.max(lowest), above.min(1.0)]
    });
}

/// The mean outcome of every test row, cell by cell.
struct RowMeans {
    cells: Vec<(Vec<u16>, usize)>,
    one: Vec<f64>,
    other: Option<Vec<f64>>,
}

impl RowMeans {
    /// Of the rows whose groups are wanted: Wilson's interval, or that of Bonett and Price for a difference.
    fn interval(&self, wanted: impl Fn(&[u16]) -> bool) -> [f64; 2] {
        let mut start = 0;
        let rows: Vec<usize> = self
            .cells
            .iter()
            .flat_map(|(groups, n)| {
                start += n;
                if wanted(groups) { start - n..start } else { 0..0 }
            })
            .collect();
        match &self.other {
            Some(other) => bonett_price(rows.iter().map(|&r| self.one[r] - other[r])),
            None => wilson_of(rows.iter().map(|&r| self.one[r]).sum(), rows.len() as f64),
        }
    }

    fn judged<'a>(&'a self, judged: &'a [bool]) -> JudgedRows<'a> {
        JudgedRows { cells: &self.cells, one: &self.one, other: self.other.as_deref(), judged }
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::{example, run};
    use super::super::results::GroupScore;
    use super::super::split::SplitRecord;
    use super::*;

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

    /// A run on one split: `hits` are the first correct row of each of two groups and the first wrong one after it.
    fn on_rows(method: &str, seed: u64, hits: [[usize; 2]; 2], sizes: [usize; 2]) -> RunResult {
        let flags: Vec<Vec<bool>> = hits
            .iter()
            .zip(sizes)
            .map(|([from, to], n)| (0..n).map(|row| (*from..*to).contains(&row)).collect())
            .collect();
        let groups: Vec<u16> = sizes.iter().enumerate().flat_map(|(g, n)| vec![g as u16; *n]).collect();
        let groups = standoff_nn::data::Groups::new(&groups, 2).expect("groups");
        let mut new = run(method, 0.0, seed, &[0, 0]);
        new.test = hits
            .iter()
            .zip(sizes)
            .map(|(own, total)| GroupScore { correct: own[1] - own[0], total, loss: 1.0 })
            .collect();
        new.rows = Some(RowHits::new(&groups, &flags.concat()));
        new.split = Some(SplitRecord { seed: 1, fold: 0, train: 800, test: sizes.iter().sum() });
        new
    }

    fn two(runs: Vec<RunResult>) -> Results {
        Results { group_names: vec!["a".into(), "b".into()], runs, paper: Vec::new(), out_of: None, ..example() }
    }

    #[test]
    fn one_split_has_intervals_over_its_rows_however_many_seeds_repeat_it() {
        let runs = |seed| {
            [
                on_rows("normal", seed, [[0, 60], [0, 95]], [100, 100]),
                on_rows("minmax", seed, [[0, 80], [5, 95]], [100, 100]),
            ]
        };
        let one = two(runs(1).to_vec());
        assert_eq!(Sampling::of(&one), Sampling::Rows);
        let many = two([runs(1), runs(2), runs(3)].concat());
        for results in [&one, &many] {
            let all = summarise(results);
            let [lower, upper] = all[0].groups[0].interval.expect("an interval");
            assert!((lower - 0.502_0).abs() < 1e-3 && (upper - 0.690_6).abs() < 1e-3, "{lower} {upper}");
            assert_eq!(all[0].groups[0].deviation, None, "seeds that do not differ say nothing");
            let change = &differences(results)[0];
            // 20 won, none lost of 100: (20 + 1 - 1) / 102 and its deviation.
            let [lower, upper] = change.groups[0].interval.expect("an interval");
            assert!(lower > 0.1 && upper < 0.3 && change.worst.is_clear(), "{change:?}");
            let [lower, upper] = change.worst.interval.expect("an interval");
            assert!(lower > 0.08 && upper < 0.32, "{lower} {upper}");
            assert!(!change.groups[1].is_clear());
        }
    }

    #[test]
    fn without_the_outcome_of_every_row_a_difference_has_no_interval() {
        let mut results = two(vec![
            on_rows("normal", 1, [[0, 60], [0, 95]], [100, 100]),
            on_rows("minmax", 1, [[0, 80], [5, 95]], [100, 100]),
        ]);
        results.runs.iter_mut().for_each(|run| run.rows = None);
        assert!(summarise(&results)[1].worst.interval.is_some());
        assert!(differences(&results)[0].worst.interval.is_none() && !differences(&results)[0].worst.is_clear());
    }

    #[test]
    fn seeds_that_differ_on_one_split_widen_the_interval() {
        let runs = |k: usize, seed| on_rows("normal", seed, [[0, k], [0, 95]], [100, 100]);
        let apart = two(vec![runs(40, 1), runs(60, 2), runs(80, 3)]);
        let same = two(vec![runs(60, 1), runs(60, 2), runs(60, 3)]);
        let width =
            |results: &Results| summarise(results)[0].groups[0].interval.map(|[a, b]| b - a).expect("an interval");
        assert!(width(&apart) > 2.0 * width(&same), "{} {}", width(&apart), width(&same));
    }

    #[test]
    fn several_splits_have_the_corrected_interval_within_its_range() {
        let mut results = example();
        for run in &mut results.runs {
            run.split = Some(SplitRecord { seed: run.seed, fold: 0, train: 12_000, test: 3000 });
        }
        assert_eq!(Sampling::of(&results), Sampling::Splits { ratio: 0.25 });
        // 4.30265 * 0.01 * sqrt(1/3 + 1/4)
        let half = differences(&results)[0].worst.half().expect("an interval");
        assert!((half - 0.032_862).abs() < 1e-5, "{half}");
    }

    #[test]
    fn a_group_that_is_not_judged_is_no_worst_group() {
        let mut results = example();
        results.runs.iter_mut().for_each(|run| run.unjudged = vec![2]);
        let all = summarise(&results);
        assert!((all[0].worst.mean - 2.53 / 3.0).abs() < 1e-12, "{:?}", all[0].worst);
        assert!((all[0].groups[2].mean - 0.66).abs() < 1e-12, "it is still shown");
    }

    #[test]
    fn splits_that_agree_by_chance_prove_nothing() {
        // In both splits 2 of 10 rows more are right: the deviation is zero, and so would be the width of the interval.
        let on = |method: &str, seed, k| {
            let mut run = on_rows(method, seed, [[0, k], [0, 95]], [10, 100]);
            run.split = Some(SplitRecord { seed, fold: 0, train: 440, test: 110 });
            run
        };
        let results = two((1..=2).flat_map(|seed| [on("normal", seed, 5), on("minmax", seed, 7)]).collect());
        assert!(matches!(Sampling::of(&results), Sampling::Splits { .. }));
        let change = &differences(&results)[0];
        for summary in [&change.groups[0], &change.worst, &change.average] {
            let [lower, upper] = summary.interval.expect("an interval");
            assert!(lower < 0.0 && upper > summary.mean && !summary.is_clear(), "{change:?}");
        }
        let own = summarise(&results)[0].groups[0];
        assert_eq!((own.mean, own.deviation, own.interval), (0.5, None, Some(wilson_of(5.0, 10.0))));
    }
}

//! 95 percent intervals over test rows: of a proportion, of the difference of two methods on the same rows, and of the worst group.

use std::collections::BTreeMap;

/// The quantile of the normal distribution for 95 percent.
const Z: f64 = 1.959_963_984_540_054;
/// Resamples of the bootstrap; fewer for very many rows, see [`MOST_DRAWS`].
const RESAMPLES: usize = 1000;
/// The most rows that are drawn in all resamples together.
const MOST_DRAWS: usize = 200_000_000;

/// The 95 percent interval of a proportion by Wilson's score: it stays within 0 and 1, and does not vanish where all or none of
/// a few samples came out right. Without samples it is everything.
pub fn wilson(correct: usize, total: usize) -> [f64; 2] {
    wilson_of(correct as f64, total as f64)
}

/// The same where every sample counts for its mean over several runs.
pub fn wilson_of(correct: f64, total: f64) -> [f64; 2] {
    if total <= 0.0 {
        return [0.0, 1.0];
    }
    let (n, k) = (total, correct);
    let centre = (k + 0.5 * Z * Z) / (n + Z * Z);
    let half = Z / (n + Z * Z) * (k * (n - k) / n + 0.25 * Z * Z).sqrt();
    // The ends are exact where every sample agrees; rounding must not say otherwise.
    [if correct <= 0.0 { 0.0 } else { centre - half }, if correct >= total { 1.0 } else { centre + half }]
}

/// The 95 percent interval of a difference of two proportions on the same rows, by Bonett and Price: Wald's interval after one row
/// more was won and one more was lost. `differences` are those of the rows, each from -1 to 1; the result is within this range.
pub fn bonett_price(differences: impl Iterator<Item = f64>) -> [f64; 2] {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for d in differences {
        n += 1.0;
        sum += d;
        squares += d * d;
    }
    let centre = sum / (n + 2.0);
    let half = Z * (((squares + 2.0) / (n + 2.0) - centre * centre).max(0.0) / (n + 2.0)).sqrt();
    [(centre - half).max(-1.0), (centre + half).min(1.0)]
}

/// The mean correctness of test rows for one method, or for two on the same rows.
#[derive(Debug)]
pub struct JudgedRows<'a> {
    /// The groups of some rows, and the number of these rows.
    pub cells: &'a [(Vec<u16>, usize)],
    /// For each row, cell by cell: its mean over runs, from 0 to 1.
    pub one: &'a [f64],
    /// The same for the method that is subtracted.
    pub other: Option<&'a [f64]>,
    /// True for each group that may be the worst.
    pub judged: &'a [bool],
}

impl JudgedRows<'_> {
    /// The 95 percent interval of the worst group's accuracy, or of the difference of two such accuracies: the union of the percentile
    /// and of the basic bootstrap interval. Every resample draws the rows of each cell anew and chooses its own worst group. The two
    /// ends differ from the estimate even where no resample does, by the interval of the worst group itself.
    pub fn worst_interval(&self) -> [f64; 2] {
        let estimate = self.estimate();
        if estimate.is_nan() {
            return [if self.other.is_some() { -1.0 } else { 0.0 }, 1.0];
        }
        let mut drawn = self.resamples();
        drawn.sort_by(f64::total_cmp);
        let at = |share: f64| drawn[((share * drawn.len() as f64) as usize).min(drawn.len() - 1)];
        let [low, high] = [at(0.025), at(0.975)];
        let [lower, upper] = self.floor(estimate);
        let range = [if self.other.is_some() { -1.0 } else { 0.0 }, 1.0];
        [
            low.min(2.0 * estimate - high).min(lower).max(range[0]),
            high.max(2.0 * estimate - low).max(upper).min(range[1]),
        ]
    }

    /// The accuracy of the worst group of the first method, less that of the second.
    pub fn estimate(&self) -> f64 {
        self.worst(self.one).1 - self.other.map_or(0.0, |other| self.worst(other).1)
    }

    /// The worst group of a method and its accuracy.
    fn worst(&self, values: &[f64]) -> (usize, f64) {
        let mut sums = vec![0.0; self.judged.len()];
        let mut start = 0;
        for (groups, n) in self.cells {
            let sum: f64 = values[start..start + n].iter().sum();
            groups.iter().for_each(|g| sums[usize::from(*g)] += sum);
            start += n;
        }
        self.smallest(&sums, &self.sizes())
    }

    fn sizes(&self) -> Vec<f64> {
        let mut sizes = vec![0.0; self.judged.len()];
        for (groups, n) in self.cells {
            groups.iter().for_each(|g| sizes[usize::from(*g)] += *n as f64);
        }
        sizes
    }

    fn smallest(&self, sums: &[f64], sizes: &[f64]) -> (usize, f64) {
        let shares = (0..sums.len()).filter(|g| self.judged[*g] && sizes[*g] > 0.0).map(|g| (g, sums[g] / sizes[g]));
        shares.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::NAN))
    }

    /// The interval of the worst group for its own rows, as if it were certain which group is the worst.
    fn floor(&self, estimate: f64) -> [f64; 2] {
        let (group, share) = self.worst(self.one);
        let n = self.sizes()[group];
        match self.other {
            None => wilson_of(share * n, n),
            Some(other) if self.worst(other).0 == group => {
                bonett_price(self.rows(group).map(|r| self.one[r] - other[r]))
            }
            Some(other) => {
                // Two groups: with rows that all agree, the two intervals alone say how much they can be off.
                let (second, low) = self.worst(other);
                let width = |g: usize, share: f64| {
                    let n = self.sizes()[g];
                    let [lower, upper] = wilson_of(share * n, n);
                    [share - lower, upper - share]
                };
                let ([a, b], [c, d]) = (width(group, share), width(second, low));
                [estimate - a.hypot(d), estimate + b.hypot(c)]
            }
        }
    }

    /// The places of the rows of a group.
    fn rows(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        let mut start = 0;
        self.cells.iter().flat_map(move |(groups, n)| {
            let own = groups.contains(&(group as u16));
            start += n;
            if own { start - n..start } else { 0..0 }
        })
    }

    /// The estimate of every resample.
    fn resamples(&self) -> Vec<f64> {
        // Rows of a cell with the same values are the same to the bootstrap: a code for each pair of values.
        let pair = |row: usize| [self.one[row], self.other.map_or(0.0, |other| other[row])];
        let mut codes: BTreeMap<[u64; 2], u32> = BTreeMap::new();
        let mut pairs = Vec::new();
        let code_of: Vec<u32> = (0..self.one.len())
            .map(|row| {
                *codes.entry(pair(row).map(f64::to_bits)).or_insert_with(|| {
                    pairs.push(pair(row));
                    pairs.len() as u32 - 1
                })
            })
            .collect();
        let times = (MOST_DRAWS / self.one.len().max(1)).clamp(100, RESAMPLES);
        let (sizes, mut bits) = (self.sizes(), Bits(0x9e37_79b9_7f4a_7c15));
        let mut sums = [vec![0.0; sizes.len()], vec![0.0; sizes.len()]];
        let mut counts = vec![0u32; pairs.len()];
        let mut one = |_| {
            sums.iter_mut().for_each(|sums| sums.fill(0.0));
            let mut start = 0;
            for (groups, n) in self.cells {
                counts.fill(0);
                let own = &code_of[start..start + n];
                (0..*n).for_each(|_| counts[own[bits.below(*n)] as usize] += 1);
                start += n;
                for (k, sums) in sums.iter_mut().enumerate() {
                    let sum: f64 = counts.iter().zip(&pairs).map(|(n, pair)| f64::from(*n) * pair[k]).sum();
                    groups.iter().for_each(|g| sums[usize::from(*g)] += sum);
                }
            }
            let other = if self.other.is_some() { self.smallest(&sums[1], &sizes).1 } else { 0.0 };
            self.smallest(&sums[0], &sizes).1 - other
        };
        (0..times).map(&mut one).collect()
    }
}

/// Random bits that are the same everywhere: splitmix64.
struct Bits(u64);

impl Bits {
    /// A number below `n`. Its bias, below n / 2^32, is no matter here.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((z ^ (z >> 31)) >> 32) * n as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proportion_has_the_interval_of_wilson() {
        // The two roots p of (k/n - p)^2 = z^2 p (1 - p) / n.
        for (k, n) in [(8, 10), (1, 3), (444, 500), (9_830, 10_000)] {
            let share = k as f64 / n as f64;
            for p in wilson(k, n) {
                let error = (share - p).powi(2) - Z.powi(2) * p * (1.0 - p) / n as f64;
                assert!(error.abs() < 1e-15, "{k} of {n}: {p}");
            }
            assert!(wilson(k, n)[0] < share && share < wilson(k, n)[1]);
        }
        assert_eq!((wilson(0, 20)[0], wilson(20, 20)[1], wilson(0, 0)), (0.0, 1.0, [0.0, 1.0]));
        // z^2 / (n + z^2)
        assert!((wilson(0, 20)[1] - 0.161_125_2).abs() < 1e-6, "{:?}", wilson(0, 20));
    }

    #[test]
    fn a_paired_difference_is_what_a_hand_computes_and_never_leaves_its_range() {
        // 10 rows: won 3, lost 1. (3 + 1 + 2) / 12 - ((3 - 1) / 12)^2 over 12.
        let rows = [1.0, 1.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let half = Z * ((0.5 - (1.0_f64 / 6.0).powi(2)) / 12.0).sqrt();
        let [lower, upper] = bonett_price(rows.into_iter());
        assert!((lower - (1.0 / 6.0 - half)).abs() < 1e-15 && (upper - (1.0 / 6.0 + half)).abs() < 1e-15);
        assert_eq!(bonett_price([1.0; 3].into_iter())[1], 1.0);
        let [lower, upper] = bonett_price([0.0; 50].into_iter());
        assert!(lower < 0.0 && upper > 0.0, "no difference in 50 rows is no proof that there is none");
    }

    /// Bernoulli rows of some groups.
    fn rows(counts: &[(usize, usize)]) -> (Vec<(Vec<u16>, usize)>, Vec<f64>) {
        let cells = counts.iter().enumerate().map(|(g, (_, n))| (vec![g as u16], *n)).collect();
        let values = counts.iter().flat_map(|(k, n)| (0..*n).map(move |i| if i < *k { 1.0 } else { 0.0 })).collect();
        (cells, values)
    }

    #[test]
    fn one_group_far_below_the_others_has_about_its_own_interval() {
        let (cells, one) = rows(&[(300, 500), (950, 1000)]);
        let judged = JudgedRows { cells: &cells, one: &one, other: None, judged: &[true, true] };
        let ([lower, upper], [a, b]) = (judged.worst_interval(), wilson(300, 500));
        assert!((judged.estimate() - 0.6).abs() < 1e-12);
        assert!((lower - a).abs() < 0.006 && (upper - b).abs() < 0.006, "{lower} {upper}, not {a} {b}");
        assert_eq!([lower, upper], judged.worst_interval(), "the same every time");
    }

    #[test]
    fn the_worst_of_equal_groups_is_below_each_and_the_interval_knows_it() {
        // Every resample has a worst group below 0.8; the basic interval reaches above it.
        let (cells, one) = rows(&[(80, 100), (80, 100), (80, 100), (80, 100)]);
        let [lower, upper] = JudgedRows { cells: &cells, one: &one, other: None, judged: &[true; 4] }.worst_interval();
        assert!(lower < 0.72 && upper > 0.86, "{lower} {upper}");
    }

    #[test]
    fn rows_that_all_agree_still_have_an_interval_and_small_groups_do_not_decide() {
        let (cells, one) = rows(&[(50, 50), (0, 5)]);
        let judged = JudgedRows { cells: &cells, one: &one, other: None, judged: &[true, false] };
        assert_eq!((judged.estimate(), judged.worst_interval()), (1.0, wilson(50, 50)));
        let judged = JudgedRows { cells: &cells, one: &one, other: Some(&one), judged: &[true, false] };
        let [lower, upper] = judged.worst_interval();
        assert!(lower < -0.01 && upper > 0.01 && judged.estimate() == 0.0, "{lower} {upper}");
        let nothing = JudgedRows { cells: &[], one: &[], other: None, judged: &[] };
        assert_eq!(nothing.worst_interval(), [0.0, 1.0]);
    }
}

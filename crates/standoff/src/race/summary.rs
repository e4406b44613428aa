//! Summary of a race: wins and near-wins per method, and medians over the instances of a family.

use super::TrialResult;

/// A trial is near the winner if it needs at most this many times its gradients.
const NEAR: f64 = 2.0;

/// Totals of a method over all games and accuracies.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The method.
    pub method: &'static str,
    /// Number of entries: games times accuracies.
    pub entries: usize,
    /// Number of entries that converged.
    pub solved: usize,
    /// Number of entries in which no other method needed fewer gradients.
    pub won: usize,
    /// Number of entries within twice the gradients of the winner, including wins.
    pub near: usize,
    /// The median of its gradients divided by the winner's, with failures as infinite; `None` if the median is a
    /// failure.
    pub ratio: Option<f64>,
}

/// Result of a method on the instances of a family, at one accuracy.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The family.
    pub family: String,
    /// The method.
    pub method: &'static str,
    /// The accuracy.
    pub eps: f64,
    /// Number of instances.
    pub entries: usize,
    /// Number of instances that converged.
    pub solved: usize,
    /// The median of the gradients, with failures as infinite; `None` if the median is a failure.
    pub gradients: Option<f64>,
}

/// Summary of a race.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// One line per method, in the order of the race.
    pub standings: Vec<Standing>,
    /// One line per family, method and accuracy, in that order.
    pub rows: Vec<Row>,
}

/// Summarises the results of a race, all of which have the same accuracies.
pub fn summarise(results: &[TrialResult]) -> Summary {
    let methods = distinct(results.iter().map(|l| l.method));
    let families = distinct(results.iter().map(|l| l.family.as_str()));
    let standings = methods.iter().map(|m| standing(m, results)).collect();
    let mut rows = Vec::new();
    for family in families {
        for method in &methods {
            let own: Vec<&TrialResult> = results.iter().filter(|l| l.family == family && l.method == *method).collect();
            let columns = own.first().map_or(0, |l| l.scores.len());
            rows.extend((0..columns).map(|k| row(&own, k)));
        }
    }
    Summary { standings, rows }
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

fn standing(method: &'static str, results: &[TrialResult]) -> Standing {
    let mut ratios = Vec::new();
    for result in results.iter().filter(|l| l.method == method) {
        let rivals: Vec<&TrialResult> = results.iter().filter(|l| l.game == result.game).collect();
        for (k, score) in result.scores.iter().enumerate() {
            let best = rivals.iter().filter_map(|l| l.scores.get(k)?.gradients()).min();
            // A start that is already an equilibrium costs 0 gradients; count it as 1, so that the ratio is 1.
            ratios.push(score.gradients().zip(best).map(|(own, best)| (own.max(1)) as f64 / best.max(1) as f64));
        }
    }
    let within = |most: f64| ratios.iter().flatten().filter(|r| **r <= most).count();
    Standing {
        method,
        entries: ratios.len(),
        solved: ratios.iter().flatten().count(),
        won: within(1.0),
        near: within(NEAR),
        ratio: median(&ratios),
    }
}

fn row(results: &[&TrialResult], column: usize) -> Row {
    let counts: Vec<Option<f64>> = results.iter().map(|l| l.scores[column].gradients().map(|g| g as f64)).collect();
    Row {
        family: results[0].family.clone(),
        method: results[0].method,
        eps: results[0].scores[column].eps,
        entries: counts.len(),
        solved: counts.iter().flatten().count(),
        gradients: median(&counts),
    }
}

/// The median with `None` as infinite. Between two numbers it is their mean, or `None` if one of them is `None`.
pub fn median(values: &[Option<f64>]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().map(|v| v.unwrap_or(f64::INFINITY)).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let middle = sorted.get(n / 2)?;
    let result = if n % 2 == 1 { *middle } else { 0.5 * (sorted[n / 2 - 1] + middle) };
    result.is_finite().then_some(result)
}

#[cfg(test)]
mod tests {
    use super::super::{Ending, Score};
    use super::*;
    use crate::Calls;

    fn result(game: &str, method: &'static str, counts: &[Option<u64>]) -> TrialResult {
        let score = |c: &Option<u64>| Score {
            eps: 0.1,
            ending: if c.is_some() { Ending::Converged } else { Ending::Cycled },
            calls: Calls { grad_x: c.unwrap_or(100_000), ..Calls::default() },
            value: 0.0,
            certificate: None,
            seconds: 0.0,
        };
        let family = game.split('-').next().unwrap_or(game).to_owned();
        let scores = counts.iter().map(score).collect();
        TrialResult { game: game.to_owned(), family, method, estimated: false, scores, curve: Vec::new() }
    }

    #[test]
    fn failures_count_as_infinite_in_medians() {
        assert_eq!(median(&[Some(1.0), None, Some(3.0)]), Some(3.0));
        assert_eq!(median(&[Some(1.0), None, None]), None);
        assert_eq!(median(&[Some(1.0), None]), None);
        assert_eq!(median(&[Some(4.0), Some(2.0)]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn wins_ties_and_near_wins_are_counted_per_game_and_accuracy() {
        let results = [
            result("a-1", "m", &[Some(10), Some(100)]),
            result("a-1", "n", &[Some(10), Some(40)]),
            result("a-2", "m", &[Some(30), None]),
            result("a-2", "n", &[Some(20), None]),
        ];
        let s = summarise(&results);
        let [m, n] = s.standings.as_slice() else { panic!("{s:?}") };
        assert_eq!((m.entries, m.solved, m.won, m.near), (4, 3, 1, 2));
        assert_eq!((n.entries, n.solved, n.won, n.near), (4, 3, 3, 3));
        assert_eq!(m.ratio, Some(2.0), "ratios 1, 1.5, 2.5 and a failure");
        assert_eq!(s.rows.len(), 4);
        assert_eq!((s.rows[0].gradients, s.rows[0].solved), (Some(20.0), 2));
        assert_eq!((s.rows[1].gradients, s.rows[1].solved), (None, 1));
    }
}

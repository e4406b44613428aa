//! Fairness measures, by the definitions of fairlearn.

use standoff_nn::data::Groups;

use super::results::Fairness;

/// The values of the samples group by group, and the group of each: a sample in several groups is there several times.
pub fn repeated(groups: &Groups, values: &[u16]) -> (Vec<u16>, Vec<u16>) {
    let values = groups.order().iter().map(|row| values[*row as usize]).collect();
    let of = (0..groups.len()).flat_map(|g| std::iter::repeat_n(g as u16, groups.rows(g).len())).collect();
    (values, of)
}

/// Samples of a group, and how many of them were predicted to be of a class.
#[derive(Debug, Clone, Copy, Default)]
struct GroupRate {
    predicted: usize,
    total: usize,
}

impl GroupRate {
    fn add(&mut self, predicted: bool) {
        self.total += 1;
        self.predicted += usize::from(predicted);
    }
}

/// Demographic-parity and equalised-odds differences.
///
/// For a class c, one against the rest, the first is the largest difference between two groups of `P(prediction = c)`, the
/// second the largest of `P(prediction = c | label = c)` or of `P(prediction = c | label != c)`. With two classes that is the
/// definition for the last class as the positive one, as it gives the same for the other; with several the largest difference
/// over the classes counts. A group without the samples that a rate is about has no such rate and is left out of it
/// ([`unjudged`] lists them). The result is NaN where no two groups can be compared.
///
/// # Panics
/// When the slices differ in length.
pub fn fairness(predictions: &[u16], labels: &[u16], groups: &[u16], classes: usize) -> Fairness {
    assert_eq!(predictions.len(), labels.len());
    assert_eq!(predictions.len(), groups.len());
    let count = groups.iter().max().map_or(0, |g| usize::from(*g) + 1);
    let mut parity = f64::NAN;
    let mut odds = f64::NAN;
    let mut tallies = vec![[GroupRate::default(); 3]; count];
    for class in 0..classes {
        tallies.fill([GroupRate::default(); 3]);
        for ((prediction, label), group) in predictions.iter().zip(labels).zip(groups) {
            let tally = &mut tallies[usize::from(*group)];
            let predicted = usize::from(*prediction) == class;
            tally[0].add(predicted);
            tally[if usize::from(*label) == class { 1 } else { 2 }].add(predicted);
        }
        parity = larger(parity, spread(&tallies, 0));
        odds = larger(odds, larger(spread(&tallies, 1), spread(&tallies, 2)));
    }
    Fairness { demographic_parity: parity, equalised_odds: odds }
}

/// The largest rate less the smallest, among the groups that have one; NaN for fewer than two.
fn spread(tallies: &[[GroupRate; 3]], which: usize) -> f64 {
    let present = tallies.iter().map(|t| t[which]).filter(|t| t.total > 0);
    let mut rates: Vec<f64> = present.map(|t| t.predicted as f64 / t.total as f64).collect();
    rates.sort_by(f64::total_cmp);
    match rates.as_slice() {
        [low, .., high] => high - low,
        _ => f64::NAN,
    }
}

/// NaN is a difference that does not exist.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b > a { b } else { a }
}

/// The groups that have no sample of a class, as `(group, class)`: equalised odds say nothing about them there.
pub fn unjudged(labels: &[u16], groups: &[u16], classes: usize) -> Vec<(u16, u16)> {
    let count = groups.iter().max().map_or(0, |g| usize::from(*g) + 1);
    let mut has = vec![false; count * classes];
    let mut occurs = vec![false; count];
    for (label, group) in labels.iter().zip(groups) {
        occurs[usize::from(*group)] = true;
        if usize::from(*label) < classes {
            has[usize::from(*group) * classes + usize::from(*label)] = true;
        }
    }
    let pairs = (0..count).flat_map(|g| (0..classes).map(move |c| (g, c)));
    pairs.filter(|(g, c)| occurs[*g] && !has[g * classes + c]).map(|(g, c)| (g as u16, c as u16)).collect()
}

/// The same as a message for the user; `None` when every group has every class.
pub fn remark(unjudged: &[(u16, u16)], group_names: &[String], class_names: &[String]) -> Option<String> {
    const SHOWN: usize = 5;
    let name = |names: &[String], i: u16| names.get(usize::from(i)).cloned().unwrap_or_else(|| i.to_string());
    let one = |(g, c): &(u16, u16)| format!("{} has no {}", name(group_names, *g), name(class_names, *c));
    let mut listed: Vec<String> = unjudged.iter().take(SHOWN).map(one).collect();
    if unjudged.len() > SHOWN {
        listed.push(format!("and {} more", unjudged.len() - SHOWN));
    }
    (!listed.is_empty())
        .then(|| format!("left out of equalised odds where they have no samples: {}", listed.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-15
    }

    #[test]
    fn two_classes_and_two_groups_by_hand() {
        // Group 0: labels 1 1 1 0 0, predictions 1 1 0 1 0: chosen 3/5, true 2/3, false 1/2.
        // Group 1: labels 1 1 0 0 0, predictions 1 0 0 0 0: chosen 1/5, true 1/2, false 0.
        let labels = [1, 1, 1, 0, 0, 1, 1, 0, 0, 0];
        let predictions = [1, 1, 0, 1, 0, 1, 0, 0, 0, 0];
        let groups = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1];
        let f = fairness(&predictions, &labels, &groups, 2);
        assert!(close(f.demographic_parity, 0.4) && close(f.equalised_odds, 0.5), "{f:?}");
        assert!(unjudged(&labels, &groups, 2).is_empty());
    }

    #[test]
    fn the_largest_difference_over_three_classes_and_groups_counts() {
        // Class 0 is predicted for 2/2, 1/2, 0/2 of the groups; of those labelled 0, for 1/1, 1/1 and 0/1.
        let labels = [0, 1, 0, 1, 0, 2];
        let predictions = [0, 0, 0, 1, 1, 2];
        let groups = [0, 0, 1, 1, 2, 2];
        let f = fairness(&predictions, &labels, &groups, 3);
        assert!(close(f.demographic_parity, 1.0) && close(f.equalised_odds, 1.0), "{f:?}");
    }

    #[test]
    fn equal_treatment_is_zero() {
        let labels = [0, 1, 0, 1];
        let f = fairness(&labels, &labels, &[0, 0, 1, 1], 2);
        assert_eq!((f.demographic_parity, f.equalised_odds), (0.0, 0.0));
    }

    #[test]
    fn a_group_without_a_class_is_left_out_of_its_rate_and_named() {
        // Group 2 has only label 0. Were its missing rate for label 1 read as 0, odds would be 1.
        let labels = [0, 1, 0, 1, 0, 0];
        let predictions = [0, 1, 0, 1, 0, 0];
        let groups = [0, 0, 1, 1, 2, 2];
        let f = fairness(&predictions, &labels, &groups, 2);
        assert!(close(f.demographic_parity, 0.5) && close(f.equalised_odds, 0.0), "{f:?}");
        let missing = unjudged(&labels, &groups, 2);
        assert_eq!(missing, [(2, 1)]);
        let text = remark(&missing, &["a", "b", "c"].map(str::to_owned), &["no", "yes"].map(str::to_owned));
        assert_eq!(text.as_deref(), Some("left out of equalised odds where they have no samples: c has no yes"));
        assert_eq!(remark(&[], &[], &[]), None);
    }

    #[test]
    fn groups_that_cannot_be_compared_are_not_called_fair() {
        let f = fairness(&[0, 1], &[0, 1], &[0, 0], 2);
        assert!(f.demographic_parity.is_nan() && f.equalised_odds.is_nan());
        let f = fairness(&[], &[], &[], 2);
        assert!(f.demographic_parity.is_nan() && f.equalised_odds.is_nan());
        // A group number without samples is no group.
        let f = fairness(&[0, 0], &[0, 0], &[0, 2], 2);
        assert_eq!(f.demographic_parity, 0.0);
    }

    #[test]
    fn an_output_beyond_the_classes_is_a_prediction_of_none() {
        let f = fairness(&[7, 1], &[1, 1], &[0, 1], 2);
        assert!(close(f.demographic_parity, 1.0) && close(f.equalised_odds, 1.0), "{f:?}");
    }
}

//! The results in a sentence or two: what the worst group gains, what the average pays, and how sure that is.

use super::table::Unit;
use standoff_train::fair::results::Results;
use standoff_train::fair::statistics::{Measured, Summary, differences};

/// The method with the best worst group, against the first one. Nothing where there is nothing to compare.
pub(super) fn in_short(results: &Results, unit: &Unit, measured: &[Measured]) -> Option<String> {
    let (first, others) = measured.split_first()?;
    let known = others.iter().filter(|m| m.worst.mean.is_finite());
    let best = known.max_by(|a, b| a.worst.mean.total_cmp(&b.worst.mean))?;
    let pairs = differences(results);
    let change = pairs.iter().find(|m| m.label == best.label)?;
    let (old, own) = (&first.label, &best.label);
    if !(change.worst.mean > 0.0) {
        return Some(format!("in short: no method does better for the worst group than {old} here"));
    }
    let [from, to] = [&first.worst, &best.worst].map(|s| unit.mean(s));
    let gain = interval(unit, &change.worst);
    let mut text = format!("in short: {own} lifts the worst group from {from} to {to} ({gain})");
    let average = interval(unit, &change.average);
    text += &match change.average.mean {
        d if d < 0.0 => format!(" and pays for it in the average ({average})"),
        d if d > 0.0 => format!(", and the average too ({average})"),
        _ => ", and the average stays".to_owned(),
    };
    text += match change.worst.half {
        None => "; one seed says little, --seeds 5 says more",
        Some(_) if change.worst.is_clear() || change.worst.deviation == Some(0.0) => "",
        Some(_) => "; the gain is not larger than what seeds differ by, more --seeds would tell",
    };
    Some(text)
}

fn interval(unit: &Unit, s: &Summary) -> String {
    format!("{} {}", unit.difference(s), unit.half(s)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::examples::{example, run};
    use standoff_train::fair::statistics::summarise;

    fn said(results: &Results) -> Option<String> {
        in_short(results, &Unit::of(results), &summarise(results))
    }

    #[test]
    fn the_gain_of_the_worst_group_and_its_price_are_said() {
        let text = said(&example()).unwrap();
        let want = "in short: minmax-reg lifts the worst group from 660 to 758.33 (+98.33 \u{b1} 18.97) and pays for it in the \
                    average (-17.78 \u{b1} 10.42)";
        assert_eq!(text, want);
    }

    #[test]
    fn one_seed_or_a_gain_within_the_noise_is_no_proof() {
        let mut results = example();
        results.runs.truncate(3);
        assert!(said(&results).unwrap().contains("one seed says little"));
        let mut results = example();
        results.runs.retain(|run| run.method == "normal");
        for (seed, worst) in [(1, 900), (2, 400), (3, 690)] {
            results.runs.push(run("minmax", 0.0, seed, &[950, 950, worst]));
        }
        assert!(said(&results).unwrap().contains("not larger than what seeds differ by"));
    }

    #[test]
    fn no_gain_is_not_called_one() {
        let mut results = example();
        results.runs.iter_mut().filter(|run| run.method != "normal").for_each(|run| run.test[0].correct = 10);
        assert!(said(&results).unwrap().contains("no method does better"));
        results.runs.retain(|run| run.method == "normal");
        assert_eq!(said(&results), None);
    }
}

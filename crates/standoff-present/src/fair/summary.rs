//! The result of an experiment in one sentence.

use super::unit::Unit;
use standoff_train::fair::comparison::{Measured, Sampling, differences};
use standoff_train::fair::results::Results;
use standoff_train::fair::statistics::Summary;

/// Compares the method with the best worst group with the first method. Empty if no method has a result.
pub(super) fn sentence(results: &Results, unit: &Unit, measured: &[Measured]) -> String {
    let Some((first, others)) = measured.split_first() else { return String::new() };
    let pairs = differences(results);
    let known = others.iter().filter(|m| m.worst.mean.is_finite());
    let best = known.max_by(|a, b| a.worst.mean.total_cmp(&b.worst.mean));
    let compared = best.and_then(|best| Some((best, pairs.iter().find(|m| m.label == best.label)?)));
    let Some((best, change)) = compared else {
        let [worst, average] = [&first.worst, &first.average].map(|s| unit.mean(s));
        return format!("{}: worst group {worst}, average {average}", first.label);
    };
    if !(change.worst.mean > 0.0) {
        return format!("no method improves the worst group over {}", first.label);
    }
    let [from, to] = [&first.worst, &best.worst].map(|s| unit.mean(s));
    let (gain, average) = (interval(unit, &change.worst), interval(unit, &change.average));
    if !change.worst.is_clear() {
        let doubt = match (change.worst.interval, Sampling::of(results)) {
            (None, _) => "these runs have no interval: use --seeds 5",
            (Some(_), Sampling::Rows) => "more test rows or more --seeds, each with its own split, would tell",
            (Some(_), _) => "use more --seeds",
        };
        let (first, best) = (&first.label, &best.label);
        return format!(
            "no method is shown to improve the worst group over {first}: {best} changes it from {from} to {to} ({gain}); {doubt}"
        );
    }
    let mut text = format!("{} raises the worst group from {from} to {to} ({gain})", best.label);
    text += &match change.average.mean {
        _ if !change.average.is_clear() => format!("; no change of the average is shown ({average})"),
        d if d < 0.0 => format!(" and lowers the average ({average})"),
        _ => format!(" and the average too ({average})"),
    };
    text
}

fn interval(unit: &Unit, s: &Summary) -> String {
    let range = unit.signed_interval(s);
    let range = if s.half().is_none() && !range.is_empty() { format!("[{range}]") } else { range };
    format!("{} {range}", unit.difference(s)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use standoff_train::fair::comparison::summarise;
    use standoff_train::fair::examples::{example, run};

    fn of(results: &Results) -> String {
        sentence(results, &Unit::of(results), &summarise(results))
    }

    #[test]
    fn the_gain_of_the_worst_group_and_the_change_of_the_average_are_given() {
        let want = "minmax-reg raises the worst group from 660 to 758.33 (+98.33 \u{b1} 18.97) and lowers the average \
                    (-17.78 \u{b1} 10.42)";
        assert_eq!(of(&example()), want);
    }

    #[test]
    fn one_seed_or_a_gain_within_the_noise_is_no_proof() {
        let mut results = example();
        results.runs.truncate(3);
        assert!(of(&results).contains("these runs have no interval"), "{}", of(&results));
        let mut results = example();
        results.runs.retain(|run| run.method == "normal");
        for (seed, worst) in [(1, 900), (2, 400), (3, 690)] {
            results.runs.push(run("minmax", 0.0, seed, &[950, 950, worst]));
        }
        assert!(
            of(&results).starts_with("no method is shown to improve the worst group over normal"),
            "{}",
            of(&results)
        );
    }

    #[test]
    fn no_gain_is_not_called_one() {
        let mut results = example();
        results.runs.iter_mut().filter(|run| run.method != "normal").for_each(|run| run.test[0].correct = 10);
        assert!(of(&results).contains("no method improves the worst group"));
        results.runs.retain(|run| run.method == "normal");
        assert_eq!(of(&results), "normal: worst group 660, average 786.67");
    }
}

//! The results of an attack as CSV, with a row per attack and class or per image.

use std::fmt::Write as _;

use standoff_train::attack::report::{ImageOutcome, Report, Row};
use standoff_train::fair::accuracy::{Accuracy, GroupAccuracy};
use standoff_train::files::field;

/// A row for every eps, attack and class, with one for all classes together.
pub fn csv(report: &Report) -> String {
    let mut out =
        "eps,attack,class,correct,total,accuracy,lower,upper,tried,broken,forward,gradients,reach,seconds\n".to_owned();
    for block in &report.blocks {
        let mut add = |name: &str, accuracy: &Accuracy, rest: &str| {
            for judged in [&accuracy.all].into_iter().chain(&accuracy.groups) {
                let GroupAccuracy { name: class, correct, total } = judged;
                let [lower, upper] = judged.interval();
                let _ = write!(out, "{:?},{},{},{correct},{total},", block.eps, field(name), field(class));
                let _ = writeln!(out, "{:?},{lower:?},{upper:?},{rest}", judged.accuracy());
            }
        };
        add("natural", &block.natural, ",,,,,");
        for row in &block.attacks {
            let Row { tried, broken, cost, .. } = row;
            let rest = format!("{tried},{broken},{},{},", cost.forward, cost.gradients);
            add(&row.name, &row.left, &format!("{rest}{:?},{:.3}", row.reach.largest, row.seconds));
        }
        add("worst case", &block.worst_case, ",,,,,");
        if let Some(proven) = &block.certified {
            add("certified", &proven.accuracy, &format!(",,,,,{:.3}", proven.seconds));
        }
    }
    out
}

/// A row for every eps and image.
pub fn images_csv(report: &Report) -> String {
    let mut out = "eps,image,label,natural,fallen_to,prediction,margin,certified\n".to_owned();
    for block in &report.blocks {
        for outcome in &block.outcomes {
            let ImageOutcome { image, natural, margin, .. } = outcome;
            let [label, prediction] = [&outcome.label, &outcome.prediction].map(|name| field(name));
            let to = field(outcome.fallen_to.as_deref().unwrap_or_default());
            let certified = outcome.certified.map(|c| c.to_string()).unwrap_or_default();
            let _ = write!(out, "{:?},{image},{label},{natural},{to},", block.eps);
            let _ = writeln!(out, "{prediction},{margin:?},{certified}");
        }
    }
    out
}

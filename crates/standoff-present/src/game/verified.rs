//! The verdict of `standoff verify`.

use std::fmt::Write as _;

use serde_json::{Value, json};
use standoff::{Claim, Point, Verdict};
use standoff_train::document;
use standoff_train::game_file::layout::Layout;

use super::{PointMeasures, certificate, derivatives, gap_json, variables};
use crate::facts::Facts;
use crate::number::short;
use crate::style::{BAD, GOOD, paint};
use crate::table::wrapped;
use crate::view::View;

/// A point, the claim about it and the verdict.
#[derive(Debug)]
pub struct VerifiedPoint<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// True if eps is the one that the file records.
    pub eps_from_file: bool,
    /// The same for the radius.
    pub radius_from_file: bool,
    /// The verdict.
    pub verdict: &'a Verdict,
    /// Names of the variables.
    pub layout: &'a Layout,
    /// The point.
    pub point: &'a Point<f64>,
    /// Measures at the point.
    pub measures: &'a PointMeasures,
}

impl VerifiedPoint<'_> {
    /// One JSON object.
    pub fn json(&self) -> Value {
        let verdict = self.verdict;
        let (c, d) = (&verdict.certificate, &verdict.derivatives);
        let mut all = json!({
            "verified": verdict.verified(),
            "reasons": verdict.failures,
            "proof": c.proof.name(),
            "value": verdict.value,
            "gap": gap_json(c),
            "eps": self.claim.eps,
            "eps_from_file": self.eps_from_file,
            "radius": c.radius,
            "radius_from_file": self.radius_from_file,
            "outside": { "min": c.outside[0], "max": c.outside[1] },
            "at_kink": verdict.at_kink,
            "derivatives": { "grad_x": d.x, "grad_y": d.y, "compared": d.compared, "skipped": d.skipped },
        });
        self.measures.write_json(&mut all);
        document::VERIFY.stamp(all)
    }

    /// For the terminal: the verdict with its reasons, then the point and its certificate.
    pub fn terminal(&self, view: View) -> String {
        let (verdict, width) = (self.verdict, view.width);
        let mut out = if verdict.verified() {
            let promise = "neither player is able to gain more than eps to first order";
            format!("{}: {promise}\n\n", paint(GOOD, "verified"))
        } else {
            let reasons: String = verdict
                .failures
                .iter()
                .map(|f| format!("  {}\n", wrapped(f, width.saturating_sub(2)).replace('\n', "\n  ")))
                .collect();
            format!("{}:\n{reasons}\n", paint(BAD, "not verified"))
        };
        let mut facts = Facts::default();
        facts.add("value", short(verdict.value));
        variables(&mut facts, self.layout, self.point, view.verbose);
        certificate(&mut facts, &verdict.certificate, self.claim.eps);
        self.measures.add_to(&mut facts, true);
        out.push_str(&facts.terminal(width));
        let _ = writeln!(out, "\n{}", derivatives(&verdict.derivatives, "the point"));
        let from_file = [(self.eps_from_file, "eps"), (self.radius_from_file, "radius")];
        let names: Vec<&str> = from_file.into_iter().filter(|(from, _)| *from).map(|(_, name)| name).collect();
        if !names.is_empty() {
            let options: Vec<String> = names.iter().map(|n| format!("--{n}")).collect();
            let _ =
                writeln!(out, "{} as recorded in the file; choose with {}", names.join(" and "), options.join(" and "));
        }
        out
    }
}

//! `standoff verify`: the claim of a result file, and the verdict as text and as JSON.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use standoff::{Claim, Point, Verdict};
use standoff_train::document;

use crate::extra::Extra;
use crate::layout::Layout;
use crate::point::PointFile;
use crate::present::facts::Facts;
use crate::present::number::short;
use crate::present::screen::{BAD, GOOD, Screen, paint};
use crate::present::table::wrapped;
use crate::report;

/// A claim, and which parts of it come from the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileClaim {
    pub(crate) claim: Claim,
    eps_from_file: bool,
    radius_from_file: bool,
}

impl FileClaim {
    /// Options given by the user override what the file records.
    pub(crate) fn new(file: &PointFile, eps: Option<f64>, radius: Option<f64>) -> Result<Self> {
        let recorded = |key: &str| file.number(&[key]).filter(|v| *v > 0.0 && v.is_finite());
        let Some(used_eps) = eps.or(recorded("eps")) else {
            bail!("the point records no eps; give one with --eps");
        };
        let used_radius = radius.or(recorded("radius"));
        // Gaps at another radius are other numbers.
        let gap = ["x", "y"].map(|side| {
            let same = recorded("radius").is_none_or(|r| used_radius == Some(r));
            file.number(&["gap", side, "upper"]).filter(|_| same)
        });
        let claim = Claim { eps: used_eps, radius: used_radius.unwrap_or(1.0), value: file.number(&["value"]), gap };
        Ok(Self { claim, eps_from_file: eps.is_none(), radius_from_file: radius.is_none() && used_radius.is_some() })
    }

    pub(crate) fn json(&self, verdict: &Verdict) -> Value {
        let (c, d) = (&verdict.certificate, &verdict.derivatives);
        document::VERIFY.stamp(json!({
            "verified": verdict.verified(),
            "reasons": verdict.failures,
            "proof": c.proof.name(),
            "value": verdict.value,
            "gap": report::gap_json(c),
            "eps": self.claim.eps,
            "eps_from_file": self.eps_from_file,
            "radius": c.radius,
            "radius_from_file": self.radius_from_file,
            "outside": { "min": c.outside[0], "max": c.outside[1] },
            "at_kink": verdict.at_kink,
            "derivatives": { "grad_x": d.x, "grad_y": d.y, "compared": d.compared, "skipped": d.skipped },
        }))
    }

    pub(crate) fn human(
        &self,
        verdict: &Verdict,
        layout: &Layout,
        (point, extra): (&Point<f64>, &Extra),
        screen: &Screen,
    ) -> String {
        let width = screen.width();
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
        report::variables(&mut facts, layout, point, screen.is_verbose());
        report::certificate(&mut facts, &verdict.certificate, self.claim.eps);
        extra.add_to(&mut facts, true);
        out.push_str(&facts.terminal(width));
        let _ = writeln!(out, "\n{}", report::derivatives(&verdict.derivatives, "the point"));
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

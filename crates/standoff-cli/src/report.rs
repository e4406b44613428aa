//! The result of `solve`, as text and as JSON.

use serde_json::{Value, json};
use standoff::check::Derivatives;
use standoff::{Certificate, Gap, Point, Proof, Solution, StopReason};
use standoff_train::document;

use crate::extra::Extra;
use crate::layout::{Layout, to_json};
use crate::present::facts::Facts;
use crate::present::number::{self, count, duration, lower, plural, short, upper};
use crate::present::screen::{BAD, GOOD, Screen, WARN, paint};
use crate::present::table::wrapped;

/// A finished run with its settings.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) solution: &'a Solution<f64>,
    pub(crate) extra: &'a Extra,
    pub(crate) layout: &'a Layout,
    pub(crate) eps: f64,
    pub(crate) method: &'a str,
    pub(crate) warnings: &'a [String],
}

impl Report<'_> {
    /// One JSON object. Numbers that are not finite become `null`.
    pub(crate) fn json(&self) -> Value {
        let s = self.solution;
        let mut all = json!({
            "status": s.reason.name(),
            "value": s.value,
            "min": to_json(&self.layout.min, &s.point.x),
            "max": to_json(&self.layout.max, &s.point.y),
            "proof": s.certificate.proof.name(),
            "gap": gap_json(&s.certificate),
            "smallest_eps": s.certificate.epsilon(),
            "outside": { "min": s.certificate.outside[0], "max": s.certificate.outside[1] },
            "warnings": self.warnings,
            "eps": self.eps,
            "radius": s.certificate.radius,
            "calls": { "value": s.calls.value, "grad_x": s.calls.grad_x, "grad_y": s.calls.grad_y },
            "iterations": s.iterations,
            "seconds": s.seconds,
            "method": self.method,
        });
        self.extra.write_json(&mut all);
        document::SOLVE.stamp(all)
    }

    /// For the terminal: one sentence, then the point and its certificate; with `--verbose` every measure and the cost.
    pub(crate) fn human(&self, screen: &Screen) -> String {
        let (s, width) = (self.solution, screen.width());
        let style = if s.reason == StopReason::Converged { GOOD } else { WARN };
        let name = s.reason.name();
        let sentence = wrapped(&format!("{name}: {}", s.reason.advice()), width);
        let mut out = format!("{}{}\n\n", paint(style, name), &sentence[name.len()..]);
        if let Some(warning) = self.extra.warning() {
            out += &format!("{}\n\n", paint(WARN, &wrapped(&warning, width)));
        }
        if let StopReason::RoundingLimit = s.reason {
            let smallest = upper(s.certificate.epsilon());
            out += &format!("the smallest eps that can be proven at this point is {smallest}\n\n");
        }
        let mut facts = Facts::default();
        facts.add("value", short(s.value));
        variables(&mut facts, self.layout, &s.point, screen.is_verbose());
        certificate(&mut facts, &s.certificate, self.eps);
        self.extra.add_to(&mut facts, screen.is_verbose());
        if screen.is_verbose() {
            facts.add(
                "cost",
                format!(
                    "{} in x, {} in y, {}; {}, {}, method {}",
                    plural(s.calls.grad_x, "gradient"),
                    count(s.calls.grad_y),
                    plural(s.calls.value, "value"),
                    plural(s.iterations, "iteration"),
                    duration(s.seconds),
                    self.method
                ),
            );
        }
        out + &facts.terminal(width)
    }
}

/// `{"x": {"lower", "upper"}, "y": {...}}`.
pub(crate) fn gap_json(c: &Certificate) -> Value {
    let side = |g: &Gap| json!({ "lower": g.lower, "upper": g.upper });
    json!({ "x": side(&c.x), "y": side(&c.y) })
}

/// Each variable on a line of its own; `whole` shows every entry of long vectors.
pub(crate) fn variables(facts: &mut Facts, layout: &Layout, point: &Point<f64>, whole: bool) {
    for ((player, slots), entries) in layout.players().into_iter().zip([&point.x, &point.y]) {
        for slot in slots {
            let v = slot.of(entries);
            let shown = if slot.scalar { short(v[0]) } else { number::vector(v, whole) };
            facts.add(&format!("{player} {}", slot.name), shown);
        }
    }
}

/// X and Y with their bounds, and eps.
pub(crate) fn certificate(facts: &mut Facts, c: &Certificate, eps: f64) {
    for (name, gap, player) in [("X", &c.x, "min"), ("Y", &c.y, "max")] {
        // Usually the two agree to more digits than are shown.
        let bounds = if gap.upper - gap.lower <= 1e-3 * gap.upper {
            format!("at most {}", upper(gap.upper))
        } else {
            format!("between {} and {}", lower(gap.lower), upper(gap.upper))
        };
        facts.note(name, bounds, &format!("what {player} could still gain to first order"));
    }
    facts.note("eps", short(eps), &format!("by a step of length at most {}", short(c.radius)));
    let (proof, meaning) = match c.proof {
        Proof::Rigorous => ("rigorous", "the bounds hold in spite of all rounding errors"),
        Proof::AsComputed => ("as computed", "the bounds hold for the gradients as computed"),
    };
    facts.note("proof", proof, meaning);
    let farthest = if c.outside[0] >= c.outside[1] { c.outside[0] } else { c.outside[1] };
    if farthest > 0.0 {
        let bound = format!("at most {}", upper(farthest));
        facts.note("outside", bound, "distance of the point from its sets, by rounding");
    }
}

/// The comparison of the gradients with central differences at a place, in a sentence.
pub(crate) fn derivatives(d: &Derivatives, place: &str) -> String {
    let verdict = if d.agree() { paint(GOOD, "agree") } else { paint(BAD, "do not agree") };
    let worst = if d.x > d.y { d.x } else { d.y };
    let off = if worst == 0.0 { String::new() } else { format!(", off by {} of their size", short(worst)) };
    let skipped = if d.skipped > 0 { format!(", {} not possible", d.skipped) } else { String::new() };
    let compared = plural(d.compared as u64, "comparison");
    format!("derivatives {verdict} with central differences at {place} ({compared}{skipped}{off})")
}

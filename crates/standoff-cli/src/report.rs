//! The result of a run, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};
use standoff::check::Derivatives;
use standoff::{Certificate, Gap, Point, Proof, Solution, StopReason};

use crate::extra::Extra;
use crate::layout::{Layout, to_json};
use crate::number::{self, count, duration, lower, plural, short, upper};
use crate::present::screen::{BAD, DIM, GOOD, NAME, WARN, paint};

/// A finished run with what it was asked.
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
        all
    }

    /// A block to read. `whole` shows every entry of long vectors.
    pub(crate) fn human(&self, whole: bool) -> String {
        let s = self.solution;
        let style = if s.reason == StopReason::Converged { GOOD } else { WARN };
        let mut out = format!("{}: {}\n\n", paint(style, s.reason.name()), s.reason.advice());
        if let Some(warning) = self.extra.warning() {
            let _ = writeln!(out, "{}\n", paint(WARN, &warning));
        }
        if let StopReason::RoundingLimit = s.reason {
            let smallest = upper(s.certificate.epsilon());
            let _ = writeln!(out, "the smallest eps that can be proven at this point is {smallest}\n");
        }
        let _ = writeln!(out, "{}  {}", label("value"), short(s.value));
        out.push_str(&variables(self.layout, &s.point, whole));
        out.push('\n');
        out.push_str(&certificate(&s.certificate, self.eps));
        out.push_str(&self.extra.human());
        let _ = writeln!(
            out,
            "\n{}  {} in x, {} in y, {}; {}, {}, method {}",
            label("cost"),
            plural(s.calls.grad_x, "gradient"),
            count(s.calls.grad_y),
            plural(s.calls.value, "value"),
            plural(s.iterations, "iteration"),
            duration(s.seconds),
            self.method
        );
        out
    }
}

/// `{"x": {"lower", "upper"}, "y": {...}}`.
pub(crate) fn gap_json(c: &Certificate) -> Value {
    let side = |g: &Gap| json!({ "lower": g.lower, "upper": g.upper });
    json!({ "x": side(&c.x), "y": side(&c.y) })
}

/// The name of a row, all of one width.
pub(crate) fn label(name: &str) -> String {
    paint(NAME, &format!("{name:<8}"))
}

/// Each variable on a line of its own.
pub(crate) fn variables(layout: &Layout, point: &Point<f64>, whole: bool) -> String {
    let mut out = String::new();
    for ((player, slots), entries) in layout.players().into_iter().zip([&point.x, &point.y]) {
        for slot in slots {
            let v = slot.of(entries);
            let shown = if slot.scalar { short(v[0]) } else { number::vector(v, whole) };
            let _ = writeln!(out, "{}  {shown}", label(&format!("{player} {}", slot.name)));
        }
    }
    out
}

/// X and Y with their bounds, and what they are measured against.
pub(crate) fn certificate(c: &Certificate, eps: f64) -> String {
    let mut out = String::new();
    for (name, gap, player) in [("X", &c.x, "min"), ("Y", &c.y, "max")] {
        // Usually the two agree to more digits than are shown.
        let bounds = if gap.upper - gap.lower <= 1e-3 * gap.upper {
            format!("at most {}", upper(gap.upper))
        } else {
            format!("between {} and {}", lower(gap.lower), upper(gap.upper))
        };
        let note = paint(DIM, &format!("what {player} could still gain to first order"));
        let _ = writeln!(out, "{}  {bounds:<24}  {note}", label(name));
    }
    let _ = writeln!(
        out,
        "{}  {:<24}  {}",
        label("eps"),
        short(eps),
        paint(DIM, &format!("by a step of length at most {}", short(c.radius)))
    );
    let (proof, meaning) = match c.proof {
        Proof::Rigorous => ("rigorous", "the bounds hold in spite of all rounding errors"),
        Proof::AsComputed => ("as computed", "the bounds hold for the gradients as computed"),
    };
    let _ = writeln!(out, "{}  {proof:<24}  {}", label("proof"), paint(DIM, meaning));
    let farthest = if c.outside[0] >= c.outside[1] { c.outside[0] } else { c.outside[1] };
    if farthest > 0.0 {
        let note = paint(DIM, "how far the point may be from its sets, by rounding");
        let _ = writeln!(out, "{}  {:<24}  {note}", label("outside"), format!("at most {}", upper(farthest)));
    }
    out
}

/// How the gradients compare with central differences at a place, in a sentence.
pub(crate) fn derivatives(d: &Derivatives, place: &str) -> String {
    let verdict = if d.agree() { paint(GOOD, "agree") } else { paint(BAD, "do not agree") };
    let worst = if d.x > d.y { d.x } else { d.y };
    let off = if worst == 0.0 { String::new() } else { format!(", off by {} of their size", short(worst)) };
    let skipped = if d.skipped > 0 { format!(", {} not possible", d.skipped) } else { String::new() };
    let compared = plural(d.compared as u64, "comparison");
    format!("derivatives {verdict} with central differences at {place} ({compared}{skipped}{off})")
}

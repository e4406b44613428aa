//! Results of the solver for the terminal and as JSON documents: a solution, a verified point, measures, plans and sampled constants.

mod constants;
mod estimate;
mod imitation;
mod measures;
mod noise;
mod plan;
mod solved;
mod verified;

use serde_json::{Value, json};
use standoff::check::Derivatives;
use standoff::{Certificate, Gap, Point, Proof};
use standoff_train::game_file::layout::Layout;

use crate::facts::Facts;
use crate::number::{self, lower, plural, short, upper};
use crate::style::{BAD, GOOD, paint};

pub use constants::constants_table;
pub use estimate::SampledGame;
pub use imitation::ImitationResult;
pub use measures::PointMeasures;
pub use noise::NoiseRows;
pub use plan::{PlanRow, PlanRows};
pub use solved::SolvedGame;
pub use verified::VerifiedPoint;

/// `{"x": {"lower", "upper"}, "y": {...}}`.
fn gap_json(c: &Certificate) -> Value {
    let side = |g: &Gap| json!({ "lower": g.lower, "upper": g.upper });
    json!({ "x": side(&c.x), "y": side(&c.y) })
}

/// Each variable on a line of its own; `whole` shows every entry of long vectors.
fn variables(facts: &mut Facts, layout: &Layout, point: &Point<f64>, whole: bool) {
    for ((player, slots), entries) in layout.players().into_iter().zip([&point.x, &point.y]) {
        for slot in slots {
            let v = slot.of(entries);
            let shown = if slot.scalar { short(v[0]) } else { number::vector(v, whole) };
            facts.add(&format!("{player} {}", slot.name), shown);
        }
    }
}

/// X and Y with their bounds, and eps.
fn certificate(facts: &mut Facts, c: &Certificate, eps: f64) {
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
        Proof::AsComputed => ("as computed", "the bounds leave out rounding errors of f and its gradients"),
    };
    facts.note("proof", proof, meaning);
    let farthest = if c.outside[0] >= c.outside[1] { c.outside[0] } else { c.outside[1] };
    if farthest > 0.0 {
        let bound = format!("at most {}", upper(farthest));
        facts.note("outside", bound, "distance of the point from its sets, by rounding");
    }
}

/// The comparison of the gradients with central differences at a place, in a sentence.
fn derivatives(d: &Derivatives, place: &str) -> String {
    let verdict = if d.agree() { paint(GOOD, "agree") } else { paint(BAD, "do not agree") };
    let worst = if d.x > d.y { d.x } else { d.y };
    let off = if worst == 0.0 { String::new() } else { format!(", off by {} of their size", short(worst)) };
    let skipped = if d.skipped > 0 { format!(", {} not possible", d.skipped) } else { String::new() };
    let compared = plural(d.compared as u64, "comparison");
    format!("derivatives {verdict} with central differences at {place} ({compared}{skipped}{off})")
}

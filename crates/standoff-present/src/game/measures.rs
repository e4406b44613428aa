//! Measures beside X and Y: residuals, the duality gap, the Moreau envelope, curvature.

use serde_json::{Value, json};
use standoff::certify::Residual;
use standoff::curvature::{CurvatureReport, WrongCurvature};
use standoff::measures::Measures;

use crate::facts::Facts;
use crate::number::upper;

/// The measures of a point.
#[derive(Debug)]
pub struct PointMeasures {
    /// Residuals, the duality gap and the Moreau envelope.
    pub measures: Measures,
    /// The check of the curvature, where it was made.
    pub curvature: Option<CurvatureReport>,
    /// For x and for y: true if no step inside the set is longer than the radius.
    pub covers: [bool; 2],
}

impl PointMeasures {
    /// Adds its fields to a JSON object.
    pub fn write_json(&self, all: &mut Value) {
        let m = &self.measures;
        let residual = |r: Option<Residual>| r.map(|r| json!({ "norm": r.norm, "slack": r.slack }));
        all["radius_covers_set"] = json!({ "x": self.covers[0], "y": self.covers[1] });
        all["residual"] =
            json!({ "x": residual(m.residuals.x), "y": residual(m.residuals.y), "proof": m.residuals.proof.name() });
        all["duality_gap"] = json!(m.duality.map(|d| json!({
            "upper": d.gap(),
            "x": d.x,
            "y": d.y,
            "holds_if": d.condition(),
            "estimated": d.estimated,
        })));
        all["moreau"] = json!(m.moreau.map(|b| json!({
            "upper": b.norm,
            "weak_convexity": b.weak_convexity,
            "inner_gap": b.inner_gap,
            "holds_if": b.condition(),
            "estimated": b.estimated,
        })));
        all["curvature"] = json!(self.curvature.as_ref().map(curvature_json));
    }

    /// A warning if a direction of wrong curvature was found.
    pub(super) fn warning(&self) -> Option<String> {
        self.curvature.as_ref().filter(|c| c.found()).map(|c| format!("warning: {}", c.sentence()))
    }

    /// Adds the duality gap if it is valid; with `all` every measure that is valid.
    pub(super) fn add_to(&self, facts: &mut Facts, all: bool) {
        let m = &self.measures;
        let estimate = |estimated: bool| if estimated { " (an estimate: the constants are estimated)" } else { "" };
        let bound = |v: f64| format!("at most {}", upper(v));
        if let Some(d) = &m.duality {
            let condition = d.condition().map_or("f is linear in x and in y".to_owned(), |c| format!("if {c}"));
            facts.note("duality", bound(d.gap()), &format!("duality gap, {condition}{}", estimate(d.estimated)));
        }
        if !all {
            return;
        }
        for (name, residual, player) in [("R_x", m.residuals.x, "min"), ("R_y", m.residuals.y, "max")] {
            if let Some(r) = residual.filter(|r| r.norm.is_finite()) {
                facts.note(name, bound(r.norm), &format!("normal-cone residual of {player}"));
            }
        }
        if let Some(b) = &m.moreau {
            let note = format!("gradient of the Moreau envelope, if {}{}", b.condition(), estimate(b.estimated));
            facts.note("moreau", bound(b.norm), &note);
        }
        if let Some(seen) = self.curvature.as_ref().filter(|c| !c.found()) {
            facts.add("look", seen.sentence());
        }
    }
}

fn curvature_json(seen: &CurvatureReport) -> Value {
    let one = |w: &Option<WrongCurvature>| {
        w.as_ref().map(|w| {
            json!({
                "curvature": w.curvature,
                "slope": w.slope,
                "step": w.step,
                "change": w.change,
                "direction": w.direction,
            })
        })
    };
    json!({
        "found": seen.found(),
        "sentence": seen.sentence(),
        "x": one(&seen.x),
        "y": one(&seen.y),
        "directions": { "x": seen.directions[0], "y": seen.directions[1] },
        "dimensions": { "x": seen.dims[0], "y": seen.dims[1] },
        "gradients": seen.gradients,
    })
}

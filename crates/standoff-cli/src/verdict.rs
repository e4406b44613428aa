//! The verdict on a point: recomputed from the game, with the reasons when it fails.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use standoff::check::{Derivatives, derivatives};
use standoff::gap::{Ask, Gauge, Side};
use standoff::{Certificate, Game, Need, Point, Set, ops};

use crate::layout::Layout;
use crate::number::{short, upper};
use crate::point::PointFile;
use crate::report;
use crate::screen::{BAD, GOOD, paint};

/// A point may be this far outside its set, relative to its size: rounding, and the accuracy of a projection onto a polyhedron.
const ROUNDING: f64 = 1e-8;
/// A claimed number may differ from the recomputed one by this, relative to its size: another machine's `exp`.
const CLAIM: f64 = 1e-9;
/// Coordinates of each player whose derivative is compared.
const COMPARED: usize = 200;

/// What is to be shown, and what the file says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    eps: f64,
    eps_from_file: bool,
    radius: f64,
    radius_from_file: bool,
    value: Option<f64>,
    gap: [Option<f64>; 2],
}

impl Claim {
    /// What the user asks for stands above what the file records.
    pub(crate) fn new(file: &PointFile, eps: Option<f64>, radius: Option<f64>) -> Result<Self> {
        let recorded = |key: &str| file.number(&[key]).filter(|v| *v > 0.0 && v.is_finite());
        let Some(used_eps) = eps.or(recorded("eps")) else {
            bail!("the point records no eps; give one with --eps");
        };
        let used_radius = radius.or(recorded("radius"));
        Ok(Self {
            eps: used_eps,
            eps_from_file: eps.is_none(),
            radius: used_radius.unwrap_or(1.0),
            radius_from_file: radius.is_none() && used_radius.is_some(),
            value: file.number(&["value"]),
            // Gaps at another radius are other numbers.
            gap: ["x", "y"].map(|side| {
                let same = recorded("radius").is_none_or(|r| used_radius == Some(r));
                file.number(&["gap", side, "upper"]).filter(|_| same)
            }),
        })
    }
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Verdict {
    value: f64,
    certificate: Certificate,
    outside: [f64; 2],
    derivatives: Derivatives,
    failures: Vec<String>,
}

impl Verdict {
    /// Computes everything again.
    pub(crate) fn reach<G: Game<Real = f64>>(game: &mut G, z: &Point<f64>, claim: &Claim) -> Self {
        let (mut gx, mut gy) = (vec![0.0; z.x.len()], vec![0.0; z.y.len()]);
        game.fix(&z.x, Need::Gradients);
        let value = game.value(&z.y);
        game.grad_x(&z.y, &mut gx);
        game.grad_y(&z.y, &mut gy);
        let mut gauge = Gauge::new(claim.radius);
        let x = gauge.measure(game.x_set(), &z.x, &gx, Side::Min, Ask::Exact);
        let y = gauge.measure(game.y_set(), &z.y, &gy, Side::Max, Ask::Exact);
        let outside = [outside(game.x_set(), &z.x), outside(game.y_set(), &z.y)];
        let certificate = Certificate { x, y, radius: claim.radius };
        let derivatives = derivatives(game, z, COMPARED);
        let mut verdict = Self { value, certificate, outside, derivatives, failures: Vec::new() };
        verdict.judge(claim);
        verdict
    }

    pub(crate) fn verified(&self) -> bool {
        self.failures.is_empty()
    }

    /// Collects everything that speaks against the point. Each test is written so that NaN fails it.
    fn judge(&mut self, claim: &Claim) {
        let mut failures = Vec::new();
        let mut demand = |fine: bool, reason: String| {
            if !fine {
                failures.push(reason);
            }
        };
        let c = &self.certificate;
        demand(self.value.is_finite(), format!("the value is {}", short(self.value)));
        for (name, distance) in ["min", "max"].into_iter().zip(self.outside) {
            let text =
                format!("the {name} variables are outside their set, by {} relative to their size", short(distance));
            demand(distance <= ROUNDING, text);
        }
        for (name, gap, claimed) in [("X", &c.x, claim.gap[0]), ("Y", &c.y, claim.gap[1])] {
            let bound = upper(gap.upper);
            demand(
                gap.upper <= claim.eps,
                format!("{name} is proven to be at most {bound} only, above eps = {}", short(claim.eps)),
            );
            let claimed = claimed.unwrap_or(f64::INFINITY);
            let text =
                format!("the file claims {name} <= {}, but {name} is at least {}", short(claimed), short(gap.lower));
            demand(gap.lower <= claimed + CLAIM * (1.0 + claimed.abs()), text);
        }
        let claimed = claim.value.unwrap_or(self.value);
        let text = format!("the file claims the value {}, it is {}", short(claimed), short(self.value));
        demand((claimed - self.value).abs() <= CLAIM * (1.0 + claimed.abs()), text);
        let d = &self.derivatives;
        let off =
            |side, by| format!("the derivatives in {side} differ from central differences by {} (relative)", short(by));
        demand(d.x <= Derivatives::TOLERANCE, off("x", d.x));
        demand(d.y <= Derivatives::TOLERANCE, off("y", d.y));
        demand(d.compared > 0, "no derivative could be compared: f is not finite around the point".to_owned());
        self.failures = failures;
    }

    pub(crate) fn json(&self, claim: &Claim) -> Value {
        json!({
            "verified": self.verified(),
            "reasons": self.failures,
            "value": self.value,
            "gap": report::gap_json(&self.certificate),
            "eps": claim.eps,
            "eps_from_file": claim.eps_from_file,
            "radius": claim.radius,
            "radius_from_file": claim.radius_from_file,
            "outside": { "min": self.outside[0], "max": self.outside[1] },
            "derivatives": {
                "grad_x": self.derivatives.x,
                "grad_y": self.derivatives.y,
                "compared": self.derivatives.compared,
                "skipped": self.derivatives.skipped,
            },
        })
    }

    pub(crate) fn human(&self, claim: &Claim, layout: &Layout, point: &Point<f64>, whole: bool) -> String {
        let mut out = if self.verified() {
            let promise = "neither player is able to gain more than eps to first order";
            format!("{}: {promise}\n\n", paint(GOOD, "verified"))
        } else {
            let reasons: String = self.failures.iter().map(|f| format!("  {f}\n")).collect();
            format!("{}:\n{reasons}\n", paint(BAD, "not verified"))
        };
        let _ = writeln!(out, "{}  {}", report::label("value"), short(self.value));
        out.push_str(&report::variables(layout, point, whole));
        out.push('\n');
        out.push_str(&report::certificate(&self.certificate, claim.eps));
        let _ = writeln!(out, "\n{}", report::derivatives(&self.derivatives, "the point"));
        let from_file = [(claim.eps_from_file, "eps"), (claim.radius_from_file, "radius")];
        let names: Vec<&str> = from_file.into_iter().filter(|(from, _)| *from).map(|(_, name)| name).collect();
        if !names.is_empty() {
            let options: Vec<String> = names.iter().map(|n| format!("--{n}")).collect();
            let _ =
                writeln!(out, "{} as recorded in the file; choose with {}", names.join(" and "), options.join(" and "));
        }
        out
    }
}

/// How far `v` is outside the set, relative to its size.
fn outside(set: &Set<f64>, v: &[f64]) -> f64 {
    let mut nearest = v.to_vec();
    set.project(&mut nearest);
    ops::distance(v, &nearest) / (1.0 + ops::norm(v))
}

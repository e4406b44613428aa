//! The constants of a game: where they come from, and how they are shown.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};
use standoff::Constants;
use standoff::estimate::estimate;

use crate::number::short;
use crate::report::label;
use crate::source::Loaded;

/// Points looked at by `--estimate`.
const SAMPLES: u64 = 100;

/// The constants sampled from a game, for `--estimate`.
pub(crate) fn sampled(loaded: &mut Loaded, seed: u64) -> Result<Constants> {
    loaded.require_finite_start()?;
    Ok(estimate(&mut loaded.game, &loaded.start, SAMPLES, seed).constants)
}

/// Each constant with its name and what it is.
fn rows(c: &Constants) -> [(&'static str, &'static str, Option<f64>); 9] {
    [
        ("l11", "Lipschitz constant of grad_x in x", Some(c.l11)),
        ("l12", "of grad_x in y, and of grad_y in x", Some(c.l12)),
        ("l22", "of grad_y in y", Some(c.l22)),
        ("mu", "Polyak-Lojasiewicz or strong concavity in y", Some(c.mu)),
        ("delta-g", "max over y at the start, less its minimum over x", c.delta_g),
        ("delta", "what y has left to climb, at most", c.delta),
        ("g-max", "largest gradient of max over y", c.g_max),
        ("radius-x", "radius of the set of x", c.radius_x),
        ("radius-y", "radius of the set of y", c.radius_y),
    ]
}

/// One per line.
pub(crate) fn table(c: &Constants) -> String {
    let mut out = String::new();
    for (name, meaning, value) in rows(c) {
        let value = value.map_or("unknown".to_owned(), short);
        let _ = writeln!(out, "{}  {value:<12}  {meaning}", label(name));
    }
    out
}

/// By name; `null` for those that nobody knows.
pub(crate) fn to_json(c: &Constants) -> Value {
    let mut object: serde_json::Map<String, Value> =
        rows(c).into_iter().map(|(name, _, value)| (name.replace('-', "_"), json!(value))).collect();
    object.insert("estimated".to_owned(), json!(c.estimated));
    Value::Object(object)
}

//! The constants of a game: where they come from, and how they are shown.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};
use standoff::estimate::estimate;
use standoff::{CONSTANTS, Constants};

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

/// One per line.
pub(crate) fn table(c: &Constants) -> String {
    let mut out = String::new();
    for info in CONSTANTS {
        let value = (info.value)(c).map_or("unknown".to_owned(), short);
        let _ = writeln!(out, "{}  {value:<12}  {}", label(info.flag), info.meaning);
    }
    out
}

/// By name; `null` for those that nobody knows.
pub(crate) fn to_json(c: &Constants) -> Value {
    let mut object: serde_json::Map<String, Value> =
        CONSTANTS.iter().map(|info| (info.key.to_owned(), json!((info.value)(c)))).collect();
    object.insert("estimated".to_owned(), json!(c.estimated));
    Value::Object(object)
}

//! The constants of a game: sampling and output.

use anyhow::Result;
use serde_json::{Value, json};
use standoff::estimate::estimate;
use standoff::{CONSTANTS, Constants};

use crate::present::facts::Facts;
use crate::present::number::short;
use crate::source::Loaded;

/// Points looked at by `--estimate`.
const SAMPLES: u64 = 100;

/// The constants sampled from a game, for `--estimate`.
pub(crate) fn sampled(loaded: &mut Loaded, seed: u64) -> Result<Constants> {
    loaded.require_finite_start()?;
    Ok(estimate(&mut loaded.game, &loaded.start, SAMPLES, seed).constants)
}

/// One per line.
pub(crate) fn table(c: &Constants, width: usize) -> String {
    let mut facts = Facts::default();
    for info in CONSTANTS {
        facts.note(info.flag, (info.value)(c).map_or("unknown".to_owned(), short), info.meaning);
    }
    facts.terminal(width)
}

/// By name; `null` for unknown constants.
pub(crate) fn to_json(c: &Constants) -> Value {
    let mut object: serde_json::Map<String, Value> =
        CONSTANTS.iter().map(|info| (info.key.to_owned(), json!((info.value)(c)))).collect();
    object.insert("estimated".to_owned(), json!(c.estimated));
    Value::Object(object)
}

//! The constants of a game.

use serde_json::{Map, Value, json};
use standoff::{CONSTANTS, Constants};

use crate::facts::Facts;
use crate::number::short;

/// The constants of a game, one per line.
pub fn constants_table(c: &Constants, width: usize) -> String {
    let mut facts = Facts::default();
    for info in CONSTANTS {
        facts.note(info.flag, (info.value)(c).map_or("unknown".to_owned(), short), info.meaning);
    }
    facts.terminal(width)
}

/// By name; `null` for unknown constants.
pub(super) fn constants_json(c: &Constants) -> Value {
    let mut object: Map<String, Value> =
        CONSTANTS.iter().map(|info| (info.key.to_owned(), json!((info.value)(c)))).collect();
    object.insert("estimated".to_owned(), json!(c.estimated));
    Value::Object(object)
}

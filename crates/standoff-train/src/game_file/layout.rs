//! Which entries of x and y belong to which named variable, and a point as JSON by those names.

use std::ops::Range;

use serde_json::{Map, Value};
use standoff::Point;
use standoff::error::nearest;

use crate::error::{Error, Result, error, refuse};

/// A named variable of one player.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// Its name in the game file.
    pub name: String,
    /// A scalar is one entry, written as a number and not as a list.
    pub scalar: bool,
    /// Its entries in the player's vector.
    pub range: Range<usize>,
}

/// The variables of both players, in the order of their entries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layout {
    /// Those that minimise.
    pub min: Vec<Slot>,
    /// Those that maximise.
    pub max: Vec<Slot>,
}

impl Layout {
    /// One variable per player, as in the zoo.
    pub fn plain(n: usize, m: usize) -> Self {
        let slot = |name: &str, len| Slot { name: name.to_owned(), scalar: len == 1, range: 0..len };
        Self { min: vec![slot("x", n)], max: vec![slot("y", m)] }
    }

    /// The players, by the names they have in files.
    pub fn players(&self) -> [(&'static str, &[Slot]); 2] {
        [("min", &self.min), ("max", &self.max)]
    }

    /// The point that a result file holds under `min` and `max`. Every variable must be there, and no other.
    pub fn point(&self, file: &Value) -> Result<Point<f64>> {
        Ok(Point { x: self.player(file, "min", &self.min)?, y: self.player(file, "max", &self.max)? })
    }

    fn player(&self, file: &Value, player: &'static str, slots: &[Slot]) -> Result<Vec<f64>> {
        let Some(Value::Object(given)) = file.get(player) else {
            refuse!(
                Document,
                "the point has no `{player}`: it must hold {{\"min\": {{name: number or list}}, \"max\": {{...}}}}"
            );
        };
        if let Some(name) = given.keys().find(|name| slots.iter().all(|s| s.name != **name)) {
            return Err(self.stranger(player, name));
        }
        let mut entries = Vec::new();
        for slot in slots {
            let value = given.get(&slot.name).ok_or_else(|| {
                error!(Document, "the point has no `{}`: the game needs it under `{player}`", slot.name)
            })?;
            slot.read(value, &mut entries)?;
        }
        Ok(entries)
    }

    /// A variable that the player does not have.
    fn stranger(&self, player: &str, name: &str) -> Error {
        let (own, other, other_name) =
            if player == "min" { (&self.min, &self.max, "max") } else { (&self.max, &self.min, "min") };
        let names: Vec<&str> = own.iter().map(|s| s.name.as_str()).collect();
        if other.iter().any(|s| s.name == name) {
            return error!(Document, "the point has `{name}` under `{player}`, in the game it is under `{other_name}`");
        }
        let hint = nearest(name, names.iter().copied()).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        error!(Document, "the game has no variable `{name}` under `{player}`{hint} (it has: {})", names.join(", "))
    }
}

impl Slot {
    /// The entries of this variable.
    pub fn of<'a>(&self, player: &'a [f64]) -> &'a [f64] {
        &player[self.range.clone()]
    }

    fn read(&self, value: &Value, entries: &mut Vec<f64>) -> Result<()> {
        let want = self.range.len();
        let list = match value {
            Value::Array(list) => list.as_slice(),
            other => std::slice::from_ref(other),
        };
        if list.len() != want {
            refuse!(Document, "`{}` has {} in the point, the game needs {want}", self.name, entries_text(list.len()));
        }
        for (i, entry) in list.iter().enumerate() {
            let at = if value.is_array() { format!("{}[{i}]", self.name) } else { self.name.clone() };
            match entry.as_f64() {
                Some(v) if v.is_finite() => entries.push(v),
                // `null` is how a number that is not finite is written.
                _ => refuse!(Document, "`{at}` is {}, a finite number was expected", brief(entry)),
            }
        }
        Ok(())
    }
}

fn entries_text(n: usize) -> String {
    if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") }
}

/// A JSON value, short enough for a message.
fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.len() > 40 => "a text".to_owned(),
        other => other.to_string(),
    }
}

/// One player's variables as a JSON object. Numbers that are not finite become `null`.
pub fn to_json(slots: &[Slot], player: &[f64]) -> Value {
    let mut object = Map::new();
    for slot in slots {
        let entries = slot.of(player);
        let value = if slot.scalar { Value::from(entries[0]) } else { Value::from(entries) };
        object.insert(slot.name.clone(), value);
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn layout() -> Layout {
        let slot = |name: &str, scalar, range| Slot { name: name.to_owned(), scalar, range };
        Layout { min: vec![slot("w", false, 0..2), slot("t", true, 2..3)], max: vec![slot("p", false, 0..1)] }
    }

    #[test]
    fn a_point_survives_the_way_through_json_bit_by_bit() {
        let point = Point { x: vec![0.1 + 0.2, -0.0, f64::MIN_POSITIVE / 3.0], y: vec![1.0 / 3.0] };
        let file = json!({ "min": to_json(&layout().min, &point.x), "max": to_json(&layout().max, &point.y) });
        let text = serde_json::to_string(&file).unwrap();
        assert!(text.contains("\"w\":[0.30000000000000004,-0.0]") && text.contains("\"p\":[0.333"), "{text}");
        let back = layout().point(&serde_json::from_str(&text).unwrap()).unwrap();
        for (a, b) in back.x.iter().chain(&back.y).zip(point.x.iter().chain(&point.y)) {
            assert_eq!(a.to_bits(), b.to_bits());
        }
    }

    #[test]
    fn a_point_that_does_not_fit_names_the_variable() {
        let cases = [
            (json!([]), "has no `min`"),
            (json!({"min": {"w": [1, 2]}, "max": {"p": 1}}), "has no `t`"),
            (json!({"min": {"w": [1], "t": 0}, "max": {"p": 1}}), "`w` has 1 entry in the point, the game needs 2"),
            (json!({"min": {"w": [1, null], "t": 0}, "max": {"p": 1}}), "`w[1]` is null"),
            (json!({"min": {"w": [1, "2"], "t": 0}, "max": {"p": 1}}), "`w[1]` is \"2\""),
            (json!({"min": {"w": [1, 2], "t": {}}, "max": {"p": 1}}), "`t` is an object"),
            (json!({"min": {"w": [1, 2], "t": 0, "p": 1}, "max": {"p": 1}}), "in the game it is under `max`"),
            (json!({"min": {"w": [1, 2], "t": 0}, "max": {"p": 1, "pp": 1}}), "did you mean `p`?"),
        ];
        for (file, want) in cases {
            let message = layout().point(&file).unwrap_err().to_string();
            assert!(message.contains(want), "{message}");
        }
    }
}

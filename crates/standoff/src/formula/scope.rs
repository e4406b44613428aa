//! The names that an expression may use, and their values.

use std::collections::HashMap;
use std::sync::Arc;

use super::data::Array;
use super::functions;
use super::graph::{Graph, Id};
use super::place::short;
use crate::error::nearest;

#[derive(Debug)]
enum Meaning {
    Node(Id),
    /// Data that no expression has used yet; it is added to the graph at its first use.
    Waiting(Array),
}

#[derive(Debug)]
struct NameEntry {
    meaning: Meaning,
    used: bool,
}

#[derive(Debug, Default)]
pub(super) struct Scope {
    names: HashMap<String, NameEntry>,
}

impl Scope {
    pub(super) fn define(&mut self, name: &str, id: Id) {
        self.names.insert(name.to_owned(), NameEntry { meaning: Meaning::Node(id), used: false });
    }

    /// Adds data; `used` is true if a set or a start has already used it.
    pub(super) fn data(&mut self, name: &str, array: Array, used: bool) {
        self.names.insert(name.to_owned(), NameEntry { meaning: Meaning::Waiting(array), used });
    }

    /// True if nothing used the name.
    pub(super) fn idle(&self, name: &str) -> bool {
        self.names.get(name).is_some_and(|entry| !entry.used)
    }

    /// The value of a name.
    pub(super) fn value(&mut self, name: &str, graph: &mut Graph) -> Result<Id, String> {
        if let Some(entry) = self.names.get_mut(name) {
            entry.used = true;
            if let Meaning::Waiting(array) = &entry.meaning {
                if let Some((place, value)) = array.first(|v| !v.is_finite()) {
                    let name = short(name);
                    return Err(format!("data `{name}` has {value} at {place}; an objective needs finite numbers"));
                }
                entry.meaning = Meaning::Node(graph.constant(array.shape, Arc::clone(&array.values))?);
            }
            if let Meaning::Node(id) = entry.meaning {
                return Ok(id);
            }
        }
        match functions::constant(name) {
            Some(value) => graph.literal(value),
            None if functions::find(name).is_some() => Err(format!("`{name}` is a function: write {name}(...)")),
            None => Err(format!("unknown name `{}`{}", short(name), self.suggest(name))),
        }
    }

    /// The error for calling `name`, which is not a function.
    pub(super) fn not_a_function(&self, name: &str) -> String {
        if self.names.contains_key(name) || functions::constant(name).is_some() {
            let name = short(name);
            return format!("`{name}` is not a function; for a product write {name} * (...)");
        }
        let hint = match functions::elsewhere(name) {
            Some(here) => format!("; write {here}"),
            None => match nearest(name, functions::names()) {
                Some(known) => format!("; did you mean `{known}`?"),
                None => String::new(),
            },
        };
        format!("unknown function `{}`{hint}", short(name))
    }

    fn suggest(&self, name: &str) -> String {
        let mut known: Vec<&str> = self.names.keys().map(String::as_str).collect();
        known.sort_unstable();
        match nearest(name, known.iter().copied()) {
            Some(close) => format!("; did you mean `{}`?", short(close)),
            None if known.len() <= 12 => {
                let known: Vec<String> = known.into_iter().map(short).collect();
                format!("; known names are {}", known.join(", "))
            }
            None => "; declare it under [min], [max], [data] or [define]".into(),
        }
    }
}

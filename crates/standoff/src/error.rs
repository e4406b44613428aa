//! Errors found before a run starts. The reason why a run *ended* is a [`StopReason`](crate::StopReason), never an
//! error.

use thiserror::Error;

/// Bad input, found before the loop. Every message says what was given, what is needed and what to do.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The start has the wrong length.
    #[error("start {player} has {got} entries, the game needs {want}")]
    StartLength {
        /// `x` or `y`.
        player: &'static str,
        /// The given length.
        got: usize,
        /// The dimension of the player's set.
        want: usize,
    },
    /// The start has a NaN or infinite entry.
    #[error("start {player} has a value that is not finite ({value}) at index {index}")]
    StartNotFinite {
        /// `x` or `y`.
        player: &'static str,
        /// Index of the entry.
        index: usize,
        /// The entry.
        value: f64,
    },
    /// The objective or a gradient is NaN or infinite at the (projected) start.
    #[error("{what} is not finite at the start; choose a start inside the function's domain")]
    NotFiniteAtStart {
        /// `f`, `grad_x f` or `grad_y f`.
        what: &'static str,
    },
    /// A setting is outside its range.
    #[error("{name} = {value} is not allowed: it must be {want}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The allowed range, in words.
        want: &'static str,
    },
    /// The radius is infinite and a set is unbounded.
    #[error(
        "radius = inf needs bounded sets, and the set of {player} is unbounded (or its bound is unknown); give a finite radius, or bounds"
    )]
    UnboundedSet {
        /// `x` or `y`.
        player: &'static str,
    },
    /// A set cannot be built: it is empty, has dimension zero, has NaN in its data, ...
    #[error("{set}: {problem}")]
    Set {
        /// The kind of set.
        set: &'static str,
        /// The problem, and what to do.
        problem: String,
    },
    /// The projection of a custom set contradicts itself.
    #[error(
        "the projection onto the set of {player} is wrong: {problem}; it must return the nearest point of a convex set"
    )]
    NotAProjection {
        /// `x` or `y`.
        player: &'static str,
        /// The contradiction.
        problem: String,
    },
    /// No method has this name.
    #[error("unknown method `{name}`{}; there are {}", hint(.nearest), .known)]
    UnknownMethod {
        /// The given name.
        name: String,
        /// The closest known name.
        nearest: Option<String>,
        /// The names of all methods.
        known: String,
    },
    /// The method has no parameter of this name.
    #[error("method `{method}` has no parameter `{name}`; it has: {known}")]
    UnknownParameter {
        /// The method.
        method: &'static str,
        /// The given name.
        name: String,
        /// The names of its parameters.
        known: String,
    },
    /// No constant has this name.
    #[error("there is no constant `{name}`; there are: {known}")]
    UnknownConstant {
        /// The given name.
        name: String,
        /// The names of all constants.
        known: String,
    },
    /// The method needs a constant that was not given.
    #[error(
        "method `{method}` needs {constant}; give it, or estimate it by sampling, or use method `auto`, which needs no constants"
    )]
    MissingConstant {
        /// The method.
        method: &'static str,
        /// The constant's name.
        constant: &'static str,
    },
    /// The method cannot solve this game.
    #[error("method `{method}` does not fit this game: {why}")]
    Unsuitable {
        /// The method.
        method: &'static str,
        /// The reason, and what to try instead.
        why: String,
    },
    /// A game written as text does not parse; the message shows the position.
    #[error("{0}")]
    Formula(String),
    /// A race cannot run: an unknown game, family or range of seeds.
    #[error("{0}")]
    Race(String),
    /// An unknown instruction set, or one that this machine does not support.
    #[error("{0}")]
    Isa(String),
    /// The operating system cannot start the threads.
    #[error("cannot start {count} threads: {why}; ask for fewer")]
    Threads {
        /// The number of threads requested.
        count: usize,
        /// The message of the operating system.
        why: String,
    },
    /// A linear-quadratic problem is invalid: shapes, definiteness or stability.
    #[error("lqr: {0}")]
    Lqr(String),
}

/// The suggestion of the nearest known name, for a message.
fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
}

/// The known name closest to `name`, if it is close enough to be a typing mistake.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1) + 1;
    known
        .into_iter()
        .map(|k| (edit_distance(&name.to_lowercase(), &k.to_lowercase()), k))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Levenshtein distance: insertions, deletions and replacements.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_finds_the_nearest_name() {
        assert_eq!(nearest("simplx", ["simplex", "ball"]), Some("simplex"));
        assert_eq!(nearest("qqqq", ["simplex", "ball"]), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }
}

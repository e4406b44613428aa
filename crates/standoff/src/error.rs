//! What can be wrong before a run starts. How a run *ended* is a [`StopReason`](crate::StopReason), never an error.

use thiserror::Error;

/// Bad input, found before the loop. Every message says what was got, what was wanted and what to do.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A start of the wrong length.
    #[error("start {player} has {got} entries, the game needs {want}")]
    StartLength {
        /// `x` or `y`.
        player: &'static str,
        /// The length given.
        got: usize,
        /// The dimension of the player's set.
        want: usize,
    },
    /// A start with NaN or an infinite entry.
    #[error("start {player} has a value that is not finite ({value}) at index {index}")]
    StartNotFinite {
        /// `x` or `y`.
        player: &'static str,
        /// Where.
        index: usize,
        /// What stands there.
        value: f64,
    },
    /// The objective or a gradient is NaN or infinite at the (projected) start.
    #[error("{what} is not finite at the start; choose a start inside the function's domain")]
    NotFiniteAtStart {
        /// `f`, `grad_x f` or `grad_y f`.
        what: &'static str,
    },
    /// A setting outside its range.
    #[error("{name} = {value} is not allowed: it must be {want}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// What was given.
        value: f64,
        /// The allowed range, in words.
        want: &'static str,
    },
    /// An infinite radius beside a set that has points arbitrarily far apart.
    #[error(
        "radius = inf needs bounded sets, and the set of {player} is unbounded (or its bound is unknown); give a finite radius, or bounds"
    )]
    UnboundedSet {
        /// `x` or `y`.
        player: &'static str,
    },
    /// A set that cannot be built: empty, of length zero, with NaN in its data, ...
    #[error("{set}: {problem}")]
    Set {
        /// Which set.
        set: &'static str,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A set of one's own whose projection contradicts itself.
    #[error(
        "the projection onto the set of {player} is none: {problem}; it must return the nearest point of a convex set"
    )]
    NotAProjection {
        /// `x` or `y`.
        player: &'static str,
        /// What was seen.
        problem: String,
    },
    /// No method of that name.
    #[error("unknown method `{name}`{}", hint(.nearest))]
    UnknownMethod {
        /// The name given.
        name: String,
        /// The closest known name.
        nearest: Option<String>,
    },
    /// A method parameter that the method does not have.
    #[error("method `{method}` has no parameter `{name}`; it has: {known}")]
    UnknownParameter {
        /// The method.
        method: &'static str,
        /// The name given.
        name: String,
        /// The names it knows.
        known: String,
    },
    /// No constant of that name.
    #[error("there is no constant `{name}`; there are: {known}")]
    UnknownConstant {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A method that needs a constant nobody gave.
    #[error(
        "method `{method}` needs {constant}; give it, or estimate it by sampling, or use method `auto`, which needs no constants"
    )]
    MissingConstant {
        /// The method.
        method: &'static str,
        /// The constant's name.
        constant: &'static str,
    },
    /// A method that cannot work on this game.
    #[error("method `{method}` does not fit this game: {why}")]
    Unsuitable {
        /// The method.
        method: &'static str,
        /// Why, and what to try instead.
        why: String,
    },
    /// A game written as text that does not parse; the message shows the place.
    #[error("{0}")]
    Formula(String),
    /// A race that cannot be held: a game, a family or seeds that there are not.
    #[error("{0}")]
    Race(String),
    /// An instruction set that the machine or the program does not have.
    #[error("{0}")]
    Isa(String),
    /// Threads that the operating system does not give.
    #[error("cannot start {count} threads: {why}; ask for fewer")]
    Threads {
        /// How many were asked for.
        count: usize,
        /// What the operating system says.
        why: String,
    },
    /// A linear-quadratic problem that cannot be posed: shapes, definiteness, stability.
    #[error("lqr: {0}")]
    Lqr(String),
}

/// How the nearest known name is offered.
fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
}

/// The known name closest to `name`, if it is close enough to be a slip of the finger.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1) + 1;
    known
        .into_iter()
        .map(|k| (edit_distance(&name.to_lowercase(), &k.to_lowercase()), k))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Levenshtein's distance: insertions, deletions and replacements.
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
    fn a_slip_of_the_finger_finds_its_neighbour() {
        assert_eq!(nearest("simplx", ["simplex", "ball"]), Some("simplex"));
        assert_eq!(nearest("qqqq", ["simplex", "ball"]), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }
}

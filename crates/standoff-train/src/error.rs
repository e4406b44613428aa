//! Errors of this crate: one variant for each kind of cause. Messages are lower case and say what was got, what is needed and what to do.

use std::fmt;

use crate::training::manifest::RunChange;

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of a failed call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting of an experiment that cannot be run.
    #[error("{0}")]
    Setting(String),
    /// A dataset that was not found or cannot be used.
    #[error("{0}")]
    Data(String),
    /// A model file that cannot be used.
    #[error("{0}")]
    Model(String),
    /// A file that cannot be read or written, or holds something else.
    #[error("{0}")]
    File(String),
    /// A run folder that cannot be made, cleared or resumed.
    #[error("{0}")]
    Folder(String),
    /// A run folder that another process is writing.
    #[error("{folder} is in use by {holder}; wait until it ends, or stop it")]
    InUse {
        /// The folder, in quotes.
        folder: String,
        /// The process that holds the lock, its host and since when.
        holder: String,
    },
    /// A run folder whose data, configuration or version is not the one that the run was begun with.
    #[error("{folder} cannot be resumed: {change}")]
    Changed {
        /// The folder, in quotes.
        folder: String,
        /// The difference.
        change: RunChange,
    },
    /// A checkpoint that cannot be used.
    #[error("{0}")]
    Checkpoint(String),
    /// A JSON document of another format or of a newer version.
    #[error("{0}")]
    Document(String),
    /// A proof file that cannot be written.
    #[error("{0}")]
    Proof(String),
    /// A download that failed.
    #[error("{0}")]
    Download(String),
    /// A training whose numbers are no longer finite.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// A training that stopped before the end of its schedule.
    #[error("{0}")]
    EndedEarly(String),
    /// An error of the solver.
    #[error(transparent)]
    Solver(#[from] standoff::Error),
    /// An error of the networks.
    #[error(transparent)]
    Network(#[from] standoff_nn::Error),
    /// An error of the operating system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Text that is not JSON, or not the JSON that was expected.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Text that is not TOML, or not the TOML that was expected.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A value that cannot be written as TOML.
    #[error(transparent)]
    WriteToml(#[from] toml::ser::Error),
    /// An error with the place where it happened.
    #[error("{place}")]
    In {
        /// The place: a file, a part of the data, a step of the work.
        place: String,
        /// The error there.
        source: Box<Error>,
    },
}

impl Error {
    /// The message and those of its sources, from the outside in: `a: b: c`.
    pub fn full(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text += &format!(": {error}");
            source = error.source();
        }
        text
    }

    /// The same error with the place where it happened.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self::In { place: place.into(), source: Box::new(self) }
    }
}

/// Names the place of an error.
pub(crate) trait At<T> {
    /// The error becomes the source of one that names the place.
    fn at<P: Into<String>>(self, place: impl FnOnce() -> P) -> Result<T>;
}

impl<T, E: Into<Error>> At<T> for Result<T, E> {
    fn at<P: Into<String>>(self, place: impl FnOnce() -> P) -> Result<T> {
        self.map_err(|error| error.into().at(place()))
    }
}

/// Returns an error of this variant with a formatted message.
macro_rules! refuse {
    ($variant:ident, $($text:tt)+) => {
        return Err($crate::error::Error::$variant(format!($($text)+)))
    };
}
pub(crate) use refuse;

/// An error of this variant with a formatted message.
macro_rules! error {
    ($variant:ident, $($text:tt)+) => {
        $crate::error::Error::$variant(format!($($text)+))
    };
}
pub(crate) use error;

/// A run whose numbers are no longer finite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diverged {
    /// The name of the run.
    pub name: String,
    /// The step at which it stopped.
    pub step: u64,
    /// The first number that was not finite, if it is known.
    pub why: Option<String>,
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, step, why } = self;
        write!(f, "{name} diverged at step {step}")?;
        if let Some(why) = why {
            write!(f, ": {why}")?;
        }
        f.write_str("; a smaller --lr may help, and so may --scale unit")
    }
}

impl std::error::Error for Diverged {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_places_from_the_outside_in() {
        let error = Error::Data("no rows".into()).at("the test part").at("`people.csv`");
        assert_eq!(error.to_string(), "`people.csv`");
        assert_eq!(error.full(), "`people.csv`: the test part: no rows");
        let from: Result<()> = Err(standoff_nn::Error::Mismatch("3 groups".into())).at(|| "the training part");
        assert_eq!(from.unwrap_err().full(), "the training part: 3 groups");
    }
}

//! Methods by name, for the command and for Python, where a user enters names of methods and parameters.

use super::{AnyMethod, METHODS, MethodInfo};
use crate::error::nearest;
use crate::{Constants, Error};

/// Stopping rule of a method's inner loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Stop when a computable residual is small enough.
    #[default]
    Certificate,
    /// Stop after the number of steps that the theorems give for the constants.
    Theory,
}

/// Parameters of a method by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NamedParameters {
    /// Constants of the game, for the methods that need them.
    pub constants: Option<Constants>,
    /// Stopping rule of the inner loops.
    pub mode: Mode,
    /// True to follow the paper exactly as printed, including its errors.
    pub as_printed: bool,
    /// The method's own parameters. The last value of a name counts.
    pub values: Vec<(String, f64)>,
}

impl From<Option<Constants>> for NamedParameters {
    /// Defaults, for a game with these constants.
    fn from(constants: Option<Constants>) -> Self {
        Self { constants, ..Self::default() }
    }
}

impl NamedParameters {
    /// The given value, if any.
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.values.iter().rev().find(|(n, _)| n == name).map(|(_, v)| *v)
    }

    /// The given value, or the default.
    pub(super) fn or(&self, name: &str, default: f64) -> f64 {
        self.get(name).unwrap_or(default)
    }

    /// A switch, 0 or 1; off by default.
    pub(super) fn switch(&self, name: &'static str) -> Result<bool, Error> {
        match self.or(name, 0.0) {
            0.0 => Ok(false),
            1.0 => Ok(true),
            value => Err(Error::Setting { name, value, want: "0 or 1" }),
        }
    }
}

impl MethodInfo {
    /// Finds the row of a method by name.
    pub fn find(name: &str) -> Result<&'static Self, Error> {
        METHODS.iter().find(|m| m.name == name).ok_or_else(|| Error::UnknownMethod {
            name: name.to_owned(),
            nearest: nearest(name, METHODS.iter().map(|m| m.name)).map(str::to_owned),
            known: METHODS.iter().map(|m| m.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// Makes the method with these parameters; refuses names that it does not have. The values are checked when it is
    /// built for a game.
    pub fn method(&self, given: &NamedParameters) -> Result<AnyMethod, Error> {
        let known = |name: &str| self.params.iter().any(|(n, _)| *n == name);
        if let Some((name, _)) = given.values.iter().find(|(name, _)| !known(name)) {
            let names: Vec<&str> = self.params.iter().map(|p| p.0).collect();
            let known = if names.is_empty() { "none".into() } else { names.join(", ") };
            return Err(Error::UnknownParameter { method: self.name, name: name.clone(), known });
        }
        (self.constructor)(given)
    }
}

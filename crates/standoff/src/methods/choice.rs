//! Which method: by name, with its constants and parameters.

use super::{
    Agda, Auto, DsGda, Extragradient, FastNash, GdMax, Gda, HiBsa, LocalMultistep, METHODS, Method, MethodInfo,
    Multistep, NegativeMomentum, Optimistic, PerturbedSmoothedGda, Regularised, SmoothedGda, TiAda, TwoTimeScale,
};
use crate::error::nearest;
use crate::{Constants, Error, Game, Settings};

/// Where a method's inner loops stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// On their computable residual.
    #[default]
    Certificate,
    /// After the numbers of steps that the theorems give for the constants.
    Theory,
}

/// Which method, with everything it was given.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The name, one of [`METHODS`].
    pub name: String,
    /// Constants of the game, for the methods that need them.
    pub constants: Option<Constants>,
    /// Where inner loops stop.
    pub mode: Mode,
    /// Follow the paper to the letter, errors included.
    pub as_printed: bool,
    /// The method's own parameters, by name.
    pub params: Vec<(String, f64)>,
}

impl Default for Choice {
    fn default() -> Self {
        Self::named("auto")
    }
}

impl Choice {
    /// A method by name, with its defaults.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), constants: None, mode: Mode::Certificate, as_printed: false, params: Vec::new() }
    }

    /// The same with constants.
    pub fn with(mut self, constants: Constants) -> Self {
        self.constants = Some(constants);
        self
    }

    /// The table's line for this method.
    pub fn info(&self) -> Result<&'static MethodInfo, Error> {
        METHODS.iter().find(|m| m.name == self.name).ok_or_else(|| Error::UnknownMethod {
            name: self.name.clone(),
            nearest: nearest(&self.name, METHODS.iter().map(|m| m.name)).map(str::to_owned),
        })
    }

    /// Whether `multistep` has to find local constants by itself: none are given, and no schedule is asked for that needs them.
    fn finds_constants(&self) -> bool {
        self.constants.is_none() && self.mode == Mode::Certificate && !self.as_printed
    }

    /// The method, ready for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, settings: &Settings) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let info = self.info()?;
        let settings = &Settings { radius: crate::radius::resolve(game, settings.radius)?, ..settings.clone() };
        if game.draws_batches() && !info.noise {
            let able: Vec<&str> = METHODS.iter().filter(|m| m.noise).map(|m| m.name).collect();
            let why = format!(
                "it needs exact gradients, and the game draws batches; remove [batch], or use one of {}",
                able.join(", ")
            );
            return Err(Error::Unsuitable { method: info.name, why });
        }
        let known: Vec<&str> = info.params.iter().map(|p| p.0).collect();
        Params::new(info.name, self, &known)?;
        let constants = || {
            let constant = "the constants L11, L12, L22 (and mu, where it assumes one)";
            self.constants.as_ref().ok_or(Error::MissingConstant { method: info.name, constant })
        };
        Ok(match info.name {
            "multistep" if self.finds_constants() => Box::new(LocalMultistep::new(game, settings)),
            "multistep" => Box::new(Multistep::new(game, settings, self, constants()?)?),
            "regularised" => Box::new(Regularised::new(game, settings, self, constants()?, false)?),
            "frank-wolfe" => Box::new(Regularised::new(game, settings, self, constants()?, true)?),
            "gda" => Box::new(Gda::new(game, settings, self)?),
            "agda" => Box::new(Agda::new(game, settings, self)?),
            "ttgda" => Box::new(TwoTimeScale::new(game, settings, self)?),
            "gdmax" => Box::new(GdMax::new(game, settings, self)?),
            "extragradient" => Box::new(Extragradient::new(game, settings, self)?),
            "ogda" => Box::new(Optimistic::new(game, settings, self)?),
            "negative-momentum" => Box::new(NegativeMomentum::new(game, settings, self)?),
            "hibsa" => Box::new(HiBsa::new(game, settings, self)?),
            "smoothed-gda" => Box::new(SmoothedGda::new(game, settings, self)?),
            "perturbed-smoothed-gda" => Box::new(PerturbedSmoothedGda::new(game, settings, self)?),
            "ds-gda" => Box::new(DsGda::new(game, settings, self)?),
            "tiada" => Box::new(TiAda::new(game, settings, self)?),
            "fastnash" => Box::new(FastNash::new(game, settings, self)?),
            _ => Box::new(Auto::new(game, settings)),
        })
    }
}

/// A method's parameters, checked against the names it knows.
pub(crate) struct Params<'c> {
    given: &'c [(String, f64)],
}

impl<'c> Params<'c> {
    pub(crate) fn new(method: &'static str, choice: &'c Choice, known: &[&str]) -> Result<Self, Error> {
        match choice.params.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(Self { given: &choice.params }),
            Some((name, _)) => {
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                Err(Error::UnknownParameter { method, name: name.clone(), known })
            }
        }
    }

    /// The value given, if any. The last one counts.
    pub(crate) fn given(&self, name: &str) -> Option<f64> {
        self.given.iter().rev().find(|(n, _)| n == name).map(|(_, v)| *v)
    }

    /// The value given, or the default.
    pub(crate) fn get(&self, name: &str, default: f64) -> f64 {
        self.given(name).unwrap_or(default)
    }
}

//! The baselines: they converge on the games of their theory, fail on known counterexamples, follow the published
//! updates, and continue bit for bit.

#[path = "../common/mod.rs"]
mod common;

mod converge;
mod fastnash;
mod noise;
mod refuse;
mod state;
mod updates;

use standoff::methods::{METHODS, MethodInfo, NamedParameters};
use standoff::oracle::{Limits, Oracle};
use standoff::zoo::{self, Instance};
use standoff::{AnyMethod, Constants, Error, Method, Settings, Solution, solve};

type Zoo = Box<dyn standoff::Game<Real = f64> + Send>;

/// The methods tested here: all except the paper's own and the default.
fn baselines() -> impl Iterator<Item = &'static MethodInfo> {
    METHODS.iter().filter(|m| !["auto", "multistep", "regularised", "frank-wolfe"].contains(&m.name))
}

fn instance(game: &str) -> Instance {
    (zoo::find(game).expect("a game of that name").make)()
}

fn choice(method: &str, constants: Option<Constants>, params: &[(&str, f64)]) -> AnyMethod {
    checked(method, constants, params).expect("the method has these parameters")
}

/// Same as [`choice`], but names may be refused.
fn checked(method: &str, constants: Option<Constants>, params: &[(&str, f64)]) -> Result<AnyMethod, Error> {
    let values = params.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    AnyMethod::named(method, &NamedParameters { constants, values, ..NamedParameters::default() })
}

/// A run from the game's own start, with its constants.
fn run(method: &str, instance: &mut Instance, eps: f64, params: &[(&str, f64)], max_gradients: u64) -> Solution<f64> {
    let method = choice(method, instance.constants, params);
    let settings = Settings { method, max_gradients, ..Settings::eps(eps) };
    solve(&mut instance.game, &instance.start, &settings).expect("the method fits the game")
}

/// Constants of a game, with values for those it does not state.
fn complete(constants: Option<Constants>) -> Constants {
    let c = constants.unwrap_or_default();
    Constants { g_max: c.g_max.or(Some(10.0)), ..c }
}

/// An oracle without limits.
fn oracle<G: standoff::Game>(game: &mut G) -> Oracle<'_, G> {
    Oracle::new(game, Limits::default())
}

fn build<G: standoff::Game + 'static>(game: &G, choice: &AnyMethod, eps: f64) -> Box<dyn Method<G>> {
    choice.build(game, eps.into()).expect("the method fits the game")
}

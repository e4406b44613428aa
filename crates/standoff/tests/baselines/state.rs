//! Saving and restoring by a visitor: a restored run continues with the same bits, for every method.

use std::collections::BTreeMap;

use standoff::methods::{METHODS, Multistep};
use standoff::{AnyMethod, Point, StopReason, Visitor};

use super::{build, choice, complete, instance, oracle};

/// A method's state, by name.
#[derive(Default)]
struct Saved {
    vectors: BTreeMap<String, Vec<f64>>,
    scalars: BTreeMap<String, f64>,
    counts: BTreeMap<String, u64>,
}

fn once<T>(map: &mut BTreeMap<String, T>, name: &str, value: T) {
    assert!(map.insert(name.to_owned(), value).is_none(), "two pieces of state are called {name}");
}

impl Visitor<f64> for Saved {
    fn vector(&mut self, name: &str, v: &mut Vec<f64>) {
        once(&mut self.vectors, name, v.clone());
    }
    fn scalar(&mut self, name: &str, v: &mut f64) {
        once(&mut self.scalars, name, *v);
    }
    fn count(&mut self, name: &str, v: &mut u64) {
        once(&mut self.counts, name, *v);
    }
}

/// Writes a saved state into another method.
struct Load<'s>(&'s Saved);

impl Visitor<f64> for Load<'_> {
    fn vector(&mut self, name: &str, v: &mut Vec<f64>) {
        v.clone_from(&self.0.vectors[name]);
    }
    fn scalar(&mut self, name: &str, v: &mut f64) {
        *v = self.0.scalars[name];
    }
    fn count(&mut self, name: &str, v: &mut u64) {
        *v = self.0.counts[name];
    }
}

fn bits(z: &Point<f64>) -> Vec<u64> {
    z.x.iter().chain(&z.y).map(|v| v.to_bits()).collect()
}

/// Same as [`continues_as`], with the game's constants.
fn continues(method: &str, game: &str, params: &[(&str, f64)], rounds: (usize, usize)) {
    continues_as(&choice(method, Some(complete(instance(game).constants)), params), game, rounds);
}

/// Runs `before` rounds, saves, and runs `after` rounds both with the same method and with a new one that was loaded.
fn continues_as(chosen: &AnyMethod, game: &str, (before, after): (usize, usize)) {
    let method = chosen.info().name;
    let (mut game, mut other_game) = (instance(game), instance(game));
    let (mut first, mut second) = (build(&game.game, chosen, 1e-6), build(&other_game.game, chosen, 1e-6));
    let (mut f, mut other_f) = (oracle(&mut game.game), oracle(&mut other_game.game));
    let mut z = game.start.clone();
    let round = |m: &mut Box<dyn standoff::Method<super::Zoo>>, f: &mut standoff::Oracle<'_, super::Zoo>, z: &mut _| {
        m.answer(f, z)?;
        m.advance(f, z)
    };
    for _ in 0..before {
        round(&mut first, &mut f, &mut z).unwrap_or_else(|end| panic!("{method}: {end:?} too early"));
    }
    let mut saved = Saved::default();
    first.visit(&mut saved);
    second.visit(&mut Load(&saved));
    let mut other_z = z.clone();
    let mut moved = false;
    for k in 0..after {
        let old = bits(&z);
        let ends: [Result<(), StopReason>; 2] =
            [round(&mut first, &mut f, &mut z), round(&mut second, &mut other_f, &mut other_z)];
        assert_eq!(ends[0], ends[1], "{method}, round {k}");
        assert_eq!(bits(&z), bits(&other_z), "{method}, round {k}");
        moved |= old != bits(&z);
        if ends[0].is_err() {
            break;
        }
    }
    assert!(moved, "{method} had nothing left to do: this shows nothing");
}

#[test]
fn every_method_continues_bit_for_bit() {
    for info in METHODS {
        for rounds in [(1, 6), (4, 10)] {
            continues(info.name, "robust-regression", &[], rounds);
            if info.name != "multistep" {
                continues(info.name, "quadmax", &[], rounds);
            }
        }
    }
}

#[test]
fn a_stage_of_the_continuation_is_state() {
    for method in ["regularised", "frank-wolfe"] {
        continues(method, "kink", &[("continuation", 2.0)], (60, 60));
    }
}

#[test]
fn a_doubled_weight_is_state() {
    continues("fastnash", "kink", &[("adaptive", 1.0), ("m", 1e-3)], (2, 4));
}

#[test]
fn local_constants_are_state() {
    for (game, rounds) in [("robust-regression", (3, 6)), ("lqr-scalar-pl", (1, 5)), ("lqr-random-pl", (4, 5))] {
        continues_as(&Multistep::default().into(), game, rounds);
    }
}

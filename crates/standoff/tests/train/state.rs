//! Training that is saved at any step and continued elsewhere gives the same bits.

use std::collections::BTreeMap;

use proptest::prelude::*;
use standoff::Visitor;
use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Rule, Schedule, SgdOptions};
use standoff::{Game, Method, Point, Real, StopReason};

use crate::game::{Groups, oracle, wavy};

/// An exact state by name: numbers as the bits of `f64`, in which every `f32` is exact.
#[derive(Default)]
struct Saved {
    vectors: BTreeMap<String, Vec<u64>>,
    counts: BTreeMap<String, u64>,
}

impl<R: Real> Visitor<R> for Saved {
    fn vector(&mut self, name: &str, v: &mut Vec<R>) {
        let bits = v.iter().map(|e| e.to_f64().to_bits()).collect();
        assert!(self.vectors.insert(name.into(), bits).is_none(), "two vectors are called {name}");
    }
    fn scalar(&mut self, name: &str, _: &mut f64) {
        panic!("{name} is not expected");
    }
    fn count(&mut self, name: &str, v: &mut u64) {
        assert!(self.counts.insert(name.into(), *v).is_none(), "two counts are called {name}");
    }
}

struct Load<'s>(&'s Saved);

impl<R: Real> Visitor<R> for Load<'_> {
    fn vector(&mut self, name: &str, v: &mut Vec<R>) {
        *v = self.0.vectors[name].iter().map(|bits| R::from_f64(f64::from_bits(*bits))).collect();
    }
    fn scalar(&mut self, name: &str, _: &mut f64) {
        panic!("{name} is not expected");
    }
    fn count(&mut self, name: &str, v: &mut u64) {
        *v = self.0.counts[name];
    }
}

/// Continues to the end of the schedule; returns every coordinate of every x.
fn finish<R: Real>(game: &mut Groups<R>, method: &mut Train<Groups<R>>, z: &mut Point<R>, most: u64) -> Vec<u64> {
    let (mut f, mut trail) = (oracle(game), Vec::new());
    for _ in 0..most {
        f.resample(method.optimiser().step());
        match method.answer(&mut f, z).and_then(|()| method.advance(&mut f, z)) {
            Ok(()) => trail.extend(z.x.iter().chain(&z.y).map(|e| e.to_f64().to_bits())),
            Err(reason) => {
                assert_eq!(reason, StopReason::Completed);
                break;
            }
        }
    }
    trail
}

fn continues<R: Real>(recipe: &Recipe, reply: Reply, stop_at: u64) {
    let build = |game: &Groups<R>| Train::new(game, reply, recipe).unwrap();
    let (mut game, mut other) = (wavy::<R>(), wavy::<R>());
    let (mut first, mut second) = (build(&game), build(&other));
    let mut z = Point { x: vec![R::from_f64(0.3); 3], y: game.y_set().centre() };
    finish(&mut game, &mut first, &mut z, stop_at);
    let mut saved = Saved::default();
    first.visit(&mut saved);
    second.visit(&mut Load(&saved));
    let mut there = z.clone();
    let unbroken = finish(&mut game, &mut first, &mut z, u64::MAX);
    assert_eq!(unbroken.len() as u64, 6 * (recipe.schedule.total() - stop_at));
    assert_eq!(unbroken, finish(&mut other, &mut second, &mut there, u64::MAX));
}

fn rules() -> impl Strategy<Value = Rule> {
    let sgd = |momentum, nesterov, weight_decay| Rule::Sgd(SgdOptions { momentum, nesterov, weight_decay });
    let adam = |betas, weight_decay| Rule::Adam(AdamOptions { betas, weight_decay, ..Default::default() });
    prop_oneof![
        Just(sgd(0.0, false, 0.0)),
        Just(sgd(0.9, false, 0.01)),
        Just(sgd(0.7, true, 0.0)),
        Just(adam((0.9, 0.999), 0.0)),
        Just(adam((0.4, 0.9), 0.1)),
    ]
}

proptest! {
    #[test]
    fn a_run_saved_at_any_step_continues_bit_for_bit(
        rule in rules(),
        anew in any::<bool>(),
        lengths in (1..12_u64, 1..12_u64),
        share in 0.0..1.0_f64,
        lambda in prop_oneof![Just(0.0), Just(0.1)],
    ) {
        let schedule = Schedule::new(&[(lengths.0, 0.05), (lengths.1, 0.01)]).unwrap();
        let stop_at = (share * schedule.total() as f64) as u64;
        let recipe = Recipe { rule, schedule, anew };
        continues::<f32>(&recipe, Reply::Exact { lambda }, stop_at);
        continues::<f64>(&recipe, Reply::Exact { lambda }, stop_at);
    }
}

//! Ten steps of every optimiser against PyTorch; the numbers come from `golden.py`, PyTorch 2.15 in float32.

use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Rule, Schedule, SgdOptions};
use standoff::{Game, Method, Point, Set};

use crate::game::{Groups, oracle};

const A: [f64; 4] = [1.5, -0.7, 2.1, 0.0];
const B: [f64; 4] = [0.3, 1.1, -0.9, 0.2];

/// The mean of `(a_i x_i - b_i)^2 / 2`.
fn game() -> Groups<f32> {
    // PyTorch computes with float32 numbers.
    let single = |v: f64| f64::from(v as f32);
    let row = |i: usize| ((0..4).map(|j| if i == j { single(A[i]) } else { 0.0 }).collect(), single(B[i]));
    Groups::new(vec![(0..4).map(row).collect()], Set::free(4))
}

fn ten_steps(rule: Rule) -> Vec<f32> {
    let schedule = Schedule::new(&[(6, 0.1), (4, 0.03)]).unwrap();
    let mut game = game();
    let mut method = Train::new(&game, Reply::Held, &Recipe { rule, schedule, anew: false }).unwrap();
    let mut z = Point { x: vec![0.5, -1.0, 2.0, 3.0], y: game.y_set().centre() };
    let mut f = oracle(&mut game);
    while method.advance(&mut f, &mut z).is_ok() {}
    z.x
}

#[test]
fn ten_steps_equal_those_of_pytorch() {
    let sgd = |momentum, nesterov, weight_decay| Rule::Sgd(SgdOptions { momentum, nesterov, weight_decay });
    let adam = |betas, eps, weight_decay| Rule::Adam(AdamOptions { betas, eps, weight_decay });
    let cases: [(Rule, [f64; 4]); 6] = [
        (sgd(0.0, false, 0.0), [0.398014933, -1.04849279, 0.624675095, 3.0]),
        (sgd(0.9, false, 0.01), [0.188711777, -1.13863707, -1.48532236, 2.92573142]),
        (sgd(0.8, true, 0.0), [0.238818079, -1.14994419, -0.801123559, 3.0]),
        (adam((0.9, 0.999), 1e-8, 0.0), [0.0734707639, -1.63046217, 1.28775871, 3.0]),
        (adam((0.8, 0.9), 1e-3, 0.1), [0.0748660415, -0.885560572, 1.28858018, 2.2887125]),
        (adam((0.3, 0.99), 1e-8, 0.0), [0.196240723, -1.50333822, 1.31965578, 3.0]),
    ];
    for (rule, want) in cases {
        let got = ten_steps(rule);
        for i in 0..4 {
            assert!((f64::from(got[i]) - want[i]).abs() <= 1e-6 * want[i].abs(), "{rule:?}: {got:?}, PyTorch {want:?}");
        }
    }
}

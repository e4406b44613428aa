//! The game of groups: its shortcuts change no bits.

use standoff::{Game, Need};
use standoff_nn::data::{Batching, Dataset, Order};
use standoff_nn::fair::GroupGame;
use standoff_nn::{Biases, Model, Shape};
use std::sync::Arc;

fn game(model: &Model, threads: usize) -> GroupGame {
    let pixels = model.input().size();
    let labels: Vec<u16> = (0..97).map(|i| (i * i % 7 % 3) as u16).collect();
    let bytes = (0..97 * pixels).map(|i| (i * 7919 % 251) as u8).collect();
    let data = Dataset::bytes(bytes, 255.0, model.input(), labels).and_then(|d| d.grouped_by_label(3)).expect("data");
    let batching = Batching::Balanced { size: 30, order: Order::Shuffled(5) };
    GroupGame::new(model, Arc::new(data), batching, threads).expect("a game")
}

#[test]
fn gradients_that_wait_for_y_have_the_same_bits() {
    let model = Model::preset("fair-cnn", Shape::new(1, 28, 28), 3).expect("a preset");
    let x = model.initialise(Biases::Fair, 1);
    for threads in [1, 2] {
        let (mut at_once, mut late) = (game(&model, threads), game(&model, threads).at_corners());
        let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        for step in 0..4 {
            for y in [[0.0, 0.0, 1.0], [0.25, 0.0, 0.75], [1.0, 0.0, 0.0]] {
                for game in [&mut at_once, &mut late] {
                    if step == 3 {
                        game.whole()
                    } else {
                        game.resample(step)
                    };
                    game.fix(&x, Need::Gradients);
                }
                assert_eq!(at_once.grad_x(&y, &mut a).to_bits(), late.grad_x(&y, &mut b).to_bits());
                assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()), "step {step}, y {y:?}");
            }
        }
    }
}

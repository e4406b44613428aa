//! The game of groups: its shortcuts change no bits, and groups may overlap.

use standoff::{Game, Need};
use standoff_nn::data::{Batching, Dataset, Groups, Order};
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

/// Two partitions of 97 samples side by side, without the last sample.
fn overlapping(model: &Model) -> Arc<Dataset> {
    let labels: Vec<u16> = (0..97).map(|i| (i * i % 7 % 3) as u16).collect();
    let values = (0..97 * model.input().size()).map(|i| (i * 7919 % 251) as f32 / 125.0 - 1.0).collect();
    let by = |k: u32, of: u32| (0..96).filter(|i| i % of == k).collect();
    let members = vec![by(0, 2), by(1, 2), by(0, 3), by(1, 3), by(2, 3)];
    let groups = Groups::overlapping(&members, 97).expect("groups");
    Arc::new(Dataset::floats(values, model.input(), labels).and_then(|d| d.in_groups(groups)).expect("data"))
}

fn difference(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|d| d * d).sum::<f64>().sqrt();
    let apart = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b)));
    apart / norm(&mut b.iter().map(|b| f64::from(*b)))
}

#[test]
fn a_sample_in_two_groups_is_evaluated_once_and_counts_twice() {
    let model = Model::preset("mlp", Shape::vector(12), 3).expect("a preset");
    let data = overlapping(&model);
    let x = model.initialise(Biases::Fair, 3);
    let batching = Batching::Balanced { size: 20, order: Order::Shuffled(5) };
    let new = || GroupGame::new(&model, data.clone(), batching, 1).expect("a game");
    let (mut once, mut repeating) = (new(), new().repeating());
    let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    for step in [None, Some(0), Some(7)] {
        for game in [&mut once, &mut repeating] {
            match step {
                Some(step) => game.resample(step),
                None => game.whole(),
            };
            game.fix(&x, Need::Gradients);
        }
        for y in [[0.2; 5], [0.0, 1.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.25, 0.25]] {
            let (f, g) = (once.grad_x(&y, &mut a), repeating.grad_x(&y, &mut b));
            assert!((f - g).abs() < 1e-6 && difference(&a, &b) < 1e-5, "{step:?} {y:?}: {f} {g}");
        }
        let losses = once.group_losses().iter().zip(repeating.group_losses());
        assert!(losses.clone().count() == 5 && losses.into_iter().all(|(a, b)| (a - b).abs() < 1e-6));
        assert_eq!(once.outcome().group_correct, repeating.outcome().group_correct);
    }
}

#[test]
fn fixed_weights_of_samples_give_their_weighted_sum() {
    let model = Model::preset("mlp", Shape::vector(12), 3).expect("a preset");
    let data = overlapping(&model);
    let x = model.initialise(Biases::Fair, 3);
    let new = |batching| GroupGame::new(&model, data.clone(), batching, 1).expect("a game");
    let y = [0.3, 0.1, 0.2, 0.4, 0.0];
    let mut weights = vec![0.0_f32; 97];
    data.groups().sample_weights(&y, &mut weights);
    let (mut grouped, mut fixed) =
        (new(Batching::Whole), new(Batching::Whole).weighted(weights.clone()).expect("a game"));
    let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    grouped.fix(&x, Need::Gradients);
    fixed.fix(&x, Need::Gradients);
    let (f, g) = (grouped.grad_x(&y, &mut a), fixed.grad_x(&[1.0], &mut b));
    assert!((f - g).abs() < 1e-6 && difference(&a, &b) < 1e-5, "{f} {g}");
    // The mean over the mini-batches of an epoch is the sum over all data: each group has 32 or 48 samples, drawn by fours.
    let batching = Batching::Balanced { size: 20, order: Order::Shuffled(5) };
    let mut drawn = new(batching).weighted(weights).expect("a game");
    let values: Vec<f64> = (0..24)
        .map(|step| {
            drawn.resample(step);
            drawn.fix(&x, Need::Values);
            drawn.value(&[1.0])
        })
        .collect();
    let mean = values.iter().sum::<f64>() / 24.0;
    assert!((mean - f).abs() < 1e-5, "{mean} {f}");
    let refused = |weights| new(Batching::Whole).weighted(weights).unwrap_err().to_string();
    assert!(refused(vec![1.0; 3]).contains("3 weights for 97 samples"));
    assert!(refused(vec![f32::NAN; 97]).contains("NaN") && refused(vec![-1.0; 97]).contains("-1"));
}

#[test]
fn errors_and_offsets_have_the_gradients_of_their_values() {
    let model = Model::preset("logistic", Shape::vector(6), 3).expect("a preset");
    let x = model.initialise(Biases::Fair, 3);
    let data = overlapping(&model);
    let made = || GroupGame::new(&model, data.clone(), Batching::Whole, 1).expect("a game");
    let y = [0.1, 0.3, 0.2, 0.15, 0.25];
    let offsets = vec![0.5, 0.25, 0.0, 1.0, 0.125];
    let (mut plain, mut excess, mut errors) =
        (made(), made().minus(offsets.clone()).expect("numbers"), made().of_errors());
    for game in [&mut plain, &mut excess, &mut errors] {
        game.fix(&x, Need::Gradients);
    }
    for (g, offset) in offsets.iter().enumerate() {
        assert!((plain.group_losses()[g] - excess.group_losses()[g] - offset).abs() < 1e-12);
        assert!((0.0..1.0).contains(&errors.group_losses()[g]), "an error is a probability");
    }
    let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    plain.grad_x(&y, &mut a);
    excess.grad_x(&y, &mut b);
    assert_eq!(a, b, "a constant has no gradient");
    errors.grad_x(&y, &mut a);
    for (i, slope) in a.iter().enumerate() {
        let mut at = |h: f32| {
            let mut moved = x.clone();
            moved[i] += h;
            errors.fix(&moved, Need::Values);
            errors.value(&y)
        };
        let difference = (at(0.01) - at(-0.01)) / 0.02;
        assert!((difference - f64::from(*slope)).abs() < 2e-4, "{i}: {difference} {slope}");
    }
    assert!(made().minus(vec![1.0]).is_err() && made().minus(vec![f64::NAN; 5]).is_err());
}

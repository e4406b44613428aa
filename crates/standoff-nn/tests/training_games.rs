//! Games of networks with batch normalisation and dropout: the gradients of a mini-batch are those of a training pass, everything else
//! uses population statistics.

mod common;

use common::{Stream, apart, weights};
use standoff::{Game, Need};
use standoff_nn::data::{Batching, Dataset, Order};
use standoff_nn::engine::Draw;
use standoff_nn::fair::GroupGame;
use standoff_nn::reference::TrainingStep;
use standoff_nn::robust::{Objective, Options, RobustGame, Targets, TrainingAttack};
use standoff_nn::{Ask, Batch, Engine, Loss, Model, Outcome};
use std::sync::Arc;

const SEED: u64 = 9;

fn model() -> Model {
    let text = "input = [2, 6, 5]\nlayers = [\"conv(3, 4, pad=1)\", \"batchnorm\", \"relu\", \"avgpool(2)\", \"flatten\", \"dropout(0.2)\", \
                \"dense(5)\", \"batchnorm\", \"tanh\", \"dense(3)\"]";
    Model::from_toml(text).expect("fits")
}

/// Data in two groups of different sizes.
fn data(model: &Model, n: usize) -> Arc<Dataset> {
    let mut stream = Stream::new(301);
    let rows = (0..n * model.input().size()).map(|_| stream.signed().abs()).collect();
    let labels: Vec<u16> = (0..n).map(|_| stream.below(3) as u16).collect();
    let groups: Vec<u16> = (0..n).map(|i| u16::from(i % 3 == 0)).collect();
    let data = Dataset::floats(rows, model.input(), labels).expect("data");
    Arc::new(data.grouped(&groups, 2).expect("groups"))
}

fn wide(v: &[f32]) -> Vec<f64> {
    v.iter().map(|&v| f64::from(v)).collect()
}

/// The gradient of the training step of some rows with weights, by the reference.
fn reference(model: &Model, params: &[f32], data: &Dataset, rows: &[u32], weights: &[f64]) -> Vec<f64> {
    let all = data.all();
    let standoff_nn::Samples::Floats(pixels) = all.samples else { unreachable!("made of numbers") };
    let width = model.input().size();
    let images: Vec<Vec<f64>> = rows.iter().map(|&r| wide(&pixels[r as usize * width..][..width])).collect();
    let labels: Vec<u16> = rows.iter().map(|&r| data.labels()[r as usize]).collect();
    let (loss, draw) = (Loss::CrossEntropy, Draw { seed: SEED, step: 4 });
    let step = TrainingStep { rows: &images, labels: &labels, weights, loss, draw };
    step.run(model, &wide(params)).gradient
}

#[test]
fn group_losses_use_population_statistics_and_gradients_those_of_the_whole_mini_batch() {
    let (model, mut stream) = (model(), Stream::new(302));
    let (data, params) = (data(&model, 90), weights(&model, &mut stream));
    let batching = Batching::Balanced { size: 20, order: Order::Shuffled(SEED) };
    let mut engine = Engine::new(&model, 1).expect("engine");
    engine.set_weights(&params).expect("finite");
    for late in [false, true] {
        let game = GroupGame::new(&model, data.clone(), batching, 1).expect("a game");
        let mut game = if late { game.at_corners() } else { game };
        game.resample(4);
        game.fix(&params, Need::Gradients);
        let mut out = Outcome::default();
        let ends = [10, 20];
        let batch = Batch { rows: Some(game.rows()), ends: &ends, ..data.all() };
        engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut out).expect("finite");
        assert_eq!(game.group_losses(), out.group_losses);
        for y in [[0.3, 0.7], [0.0, 1.0]] {
            let mut gradient = vec![0.0; model.size()];
            let value = game.grad_x(&y, &mut gradient);
            let mixed = f64::from(y[0]) * out.group_losses[0] + f64::from(y[1]) * out.group_losses[1];
            assert!((value - mixed).abs() < 1e-9);
            let shares: Vec<f64> = (0..20).map(|i| f64::from(y[i / 10]) / 10.0).collect();
            let want = reference(&model, &params, &data, game.rows(), &shares);
            let found = apart(&gradient, &want, &want);
            assert!(found < 1e-4, "y {y:?}, late {late}: {found:.1e}");
        }
        // On all data, for certificates and measurements, nothing changes.
        game.whole();
        game.fix(&params, Need::Gradients);
        let mut gradient = vec![0.0; model.size()];
        game.grad_x(&[1.0, 0.0], &mut gradient);
        let only: Vec<u32> = data.groups().rows(0).to_vec();
        let ends = [only.len()];
        let batch = Batch { rows: Some(&only), ends: &ends, ..data.all() };
        engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut out).expect("finite");
        assert!(apart(&gradient, &wide(&out.gradients[0]), &wide(&out.gradients[0])) < 1e-6);
    }
}

#[test]
fn the_tail_and_fixed_weights_train_on_the_mini_batch() {
    let (model, mut stream) = (model(), Stream::new(303));
    let (data, params) = (data(&model, 90), weights(&model, &mut stream));
    let batching = Batching::Balanced { size: 20, order: Order::Shuffled(SEED) };
    let game = || GroupGame::new(&model, data.clone(), batching, 2).expect("a game");
    for (name, mut game) in [
        ("tail", game().tail(1.0).expect("a share")),
        ("fixed", game().weighted(vec![1.0 / 90.0; 90]).expect("weights")),
        ("errors", game().of_errors()),
    ] {
        game.resample(4);
        game.fix(&params, Need::Gradients);
        let y = if name == "errors" { vec![0.5, 0.5] } else { vec![1.0] };
        let mut gradient = vec![0.0; model.size()];
        game.grad_x(&y, &mut gradient);
        // A group of 60 has 10 of 60 samples in the batch, one of 30 has 10 of 30.
        let weight = |(i, loss): (usize, &f32)| match name {
            "tail" => 1.0 / 20.0,
            "fixed" => [6.0, 3.0][i / 10] / 90.0,
            _ => 0.05 * (-f64::from(*loss)).exp(),
        };
        let shares: Vec<f64> = game.outcome().losses.iter().enumerate().map(weight).collect();
        let want = reference(&model, &params, &data, game.rows(), &shares);
        let found = apart(&gradient, &want, &want);
        assert!(found < 1e-4, "{name}: {found:.1e}");
    }
}

fn robust(model: &Model, data: &Arc<Dataset>, objective: Objective) -> RobustGame {
    let attack = TrainingAttack { steps: 3, ..TrainingAttack::published(0.05) };
    let batching = Batching::Size { size: 20, order: Order::Shuffled(SEED) };
    let options = Options { objective, attack, batching, seed: SEED };
    RobustGame::new(model, data.clone(), &options, 1).expect("a game")
}

#[test]
fn natural_and_madry_steps_have_the_value_and_the_gradient_of_their_training_pass() {
    let (model, mut stream) = (model(), Stream::new(304));
    let (data, params) = (data(&model, 90), weights(&model, &mut stream));
    for objective in [Objective::Natural, Objective::Madry] {
        let mut game = robust(&model, &data, objective);
        game.resample(4);
        game.fix(&params, Need::Gradients);
        let mut gradient = vec![0.0; model.size()];
        let value = game.grad_x(&[1.0], &mut gradient);
        let images: Vec<Vec<f64>> = (0..20).map(|image| wide(game.corner(image, 0).expect("attacked").0)).collect();
        let labels: Vec<u16> = game.rows().iter().map(|&r| data.labels()[r as usize]).collect();
        let (loss, draw) = (Loss::CrossEntropy, Draw { seed: SEED, step: 4 });
        let weights = [0.05; 20];
        let step = TrainingStep { rows: &images, labels: &labels, weights: &weights, loss, draw };
        let want = step.run(&model, &wide(&params));
        assert!((value - want.value).abs() < 1e-5, "{objective:?}: {value} {}", want.value);
        assert!(apart(&gradient, &want.gradient, &want.gradient) < 1e-4, "{objective:?}");
    }
}

#[test]
fn trades_and_the_paper_train_through_the_statistics() {
    let (model, mut stream) = (model(), Stream::new(305));
    let (data, params) = (data(&model, 90), weights(&model, &mut stream));
    for objective in [Objective::Trades { beta: 2.0 }, Objective::Paper { targets: Targets::All }] {
        let mut game = robust(&model, &data, objective);
        let run = |game: &mut RobustGame| {
            game.resample(4);
            game.fix(&params, Need::Gradients);
            let (y, mut gradient) = (game.y_set().centre(), vec![0.0; model.size()]);
            let value = game.grad_x(&y, &mut gradient);
            (value, gradient)
        };
        let (value, gradient) = run(&mut game);
        assert!(value.is_finite() && gradient.iter().any(|g| *g != 0.0));
        // A bias before batch normalisation changes nothing but the statistics, which take it out again.
        let bias = model.views().iter().find(|view| view.name == "conv1.bias").expect("a bias").range.clone();
        let largest = gradient.iter().fold(0.0f32, |a, g| if g.abs() > a { g.abs() } else { a });
        assert!(gradient[bias].iter().all(|g| g.abs() < 1e-4 * largest), "{objective:?}");
        assert_eq!(run(&mut robust(&model, &data, objective)), (value, gradient), "{objective:?}");
    }
}

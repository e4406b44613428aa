//! The game against plain slow code: the paper's formula, and differences of the frozen value.

use super::{CLASSES, Stream, attack, batches, data, fixed, objectives, paper, small};
use standoff::Game;
use standoff_nn::data::Dataset;
use standoff_nn::robust::{Objective, Options, RobustGame, Targets, TrainingAttack};
use standoff_nn::{Loss, Model, StepKind, reference};

/// Cross-entropy and its gradient in the parameters and the input, in `f64`.
fn plain_loss(model: &Model, x: &[f64], image: &[f64], label: usize, loss: Loss<'_>) -> (f64, Vec<f64>) {
    let values = reference::forward(model, x, image);
    let z = values.last().expect("logits");
    let mut dz = vec![0.0; z.len()];
    let l = loss.sample(&mut dz, z, label, 0);
    (l, reference::backward(model, x, &values, &dz).1)
}

pub(crate) fn wide(v: &[f32]) -> Vec<f64> {
    v.iter().map(|&v| f64::from(v)).collect()
}

pub(crate) fn image(data: &Dataset, i: usize) -> Vec<f64> {
    let standoff_nn::Samples::Floats(pixels) = data.samples() else { unreachable!("floats went in") };
    wide(&pixels[i * 64..(i + 1) * 64])
}

/// The paper's formula: every image, every target, one step after the other.
fn slow_losses(model: &Model, x: &[f32], data: &Dataset, a: &TrainingAttack) -> Vec<Vec<f64>> {
    let x = wide(x);
    let one = |i: usize, target: usize| {
        let (clean, label) = (image(data, i), usize::from(data.labels()[i]));
        let mut moved = clean.clone();
        for _ in 0..a.steps {
            let (_, slope) = plain_loss(model, &x, &moved, label, Loss::Margin(&[target as u16]));
            let slope: Vec<f64> = if target == label { vec![0.0; 64] } else { slope };
            let mean = slope.iter().map(|v| v.abs()).sum::<f64>() / 64.0;
            for ((v, c), g) in moved.iter_mut().zip(&clean).zip(&slope) {
                let step = match a.kind {
                    StepKind::Sign if *g == 0.0 => 0.0,
                    StepKind::Sign => g.signum(),
                    StepKind::Plain => *g,
                    StepKind::Scaled => {
                        if mean == 0.0 {
                            0.0
                        } else {
                            g / mean
                        }
                    }
                };
                let (eps, size) = (f64::from(a.eps), f64::from(a.size));
                *v = (*v + size * step).clamp(c - eps, c + eps).clamp(0.0, 1.0);
            }
        }
        plain_loss(model, &x, &moved, label, Loss::CrossEntropy).0
    };
    (0..data.len()).map(|i| (0..CLASSES).map(|j| one(i, j)).collect()).collect()
}

#[test]
fn the_paper_objective_is_the_plain_formula() {
    for kind in [StepKind::Sign, StepKind::Plain, StepKind::Scaled] {
        let options = Options { attack: attack(kind), ..paper(Targets::All) };
        let (mut game, x, y) = fixed(&options, 13, 2);
        let want = slow_losses(&small(), &x, &data(13, 7), &options.attack);
        let mut value = 0.0;
        for (i, losses) in want.iter().enumerate() {
            for (j, loss) in losses.iter().enumerate() {
                let got = game.corner(i, j).expect("fixed").1;
                assert!((got - loss).abs() < 1e-4, "{kind:?}: image {i}, target {j}: {got} against {loss}");
                value += f64::from(y[i * CLASSES + j]) * loss / 13.0;
            }
        }
        assert!((game.value(&y) - value).abs() < 1e-5);
        let most: f64 = want.iter().map(|l| l.iter().copied().fold(0.0, f64::max)).sum::<f64>() / 13.0;
        let measured = game.measure(&x, 0.0).expect("finite");
        assert!((measured.value - most).abs() < 1e-5, "{} is not the maximum {most}", measured.value);
    }
}

/// f with the frozen images of the game, in `f64`, at other parameters.
fn frozen_value(game: &RobustGame, data: &Dataset, x: &[f64], y: &[f32]) -> f64 {
    let (model, n) = (small(), game.rows().len());
    let ce = |image: &[f64], label| plain_loss(&model, x, image, label, Loss::CrossEntropy).0;
    let one = |i: usize| {
        let row = game.rows()[i] as usize;
        let (clean, label) = (image(data, row), usize::from(data.labels()[row]));
        let moved = |j: usize| wide(game.corner(i, j).expect("fixed").0);
        match game.options().objective {
            Objective::Paper { .. } => {
                (0..CLASSES).map(|j| f64::from(y[i * CLASSES + j]) * ce(&moved(j), label)).sum::<f64>()
            }
            Objective::Trades { beta } => {
                let softmax = |image: &[f64]| {
                    let values = reference::forward(&model, x, image);
                    let z = values.last().expect("logits").clone();
                    let sum: f64 = z.iter().map(|v| v.exp()).sum();
                    z.iter().map(|v| v.exp() / sum).collect::<Vec<f64>>()
                };
                let (p, q) = (softmax(&clean), softmax(&moved(0)));
                let kl: f64 = p.iter().zip(&q).map(|(p, q)| p * (p / q).ln()).sum();
                ce(&clean, label) + beta * kl
            }
            _ => ce(&moved(0), label),
        }
    };
    (0..n).map(one).sum::<f64>() / n as f64
}

#[test]
fn gradients_are_those_of_the_frozen_game() {
    for (objective, start) in objectives() {
        let attack = TrainingAttack { start, ..attack(StepKind::Sign) };
        let options = Options { objective, attack, batching: batches(6), seed: 4 };
        let (mut game, x, y) = fixed(&options, 10, 1);
        let data = data(10, 7);
        let mut gradient = vec![0.0; x.len()];
        let value = game.grad_x(&y, &mut gradient);
        assert!((value - frozen_value(&game, &data, &wide(&x), &y)).abs() < 1e-5, "{objective:?}");
        let mut stream = Stream::new(31);
        for _ in 0..6 {
            // Along a random direction; short, because ReLU and pooling have corners.
            let direction: Vec<f64> = x.iter().map(|_| f64::from(stream.signed())).collect();
            let (h, along) = (1e-6, |s: f64| x.iter().zip(&direction).map(|(&x, d)| f64::from(x) + s * d).collect());
            let (up, down): (Vec<f64>, Vec<f64>) = (along(h), along(-h));
            let difference = (frozen_value(&game, &data, &up, &y) - frozen_value(&game, &data, &down, &y)) / (2.0 * h);
            let slope: f64 = gradient.iter().zip(&direction).map(|(&g, d)| f64::from(g) * d).sum();
            let size = 1e-4 * (1.0 + slope.abs());
            assert!((slope - difference).abs() < size, "{objective:?}: {slope} against {difference}");
        }
        let mut in_y = vec![0.0; y.len()];
        game.grad_y(&y, &mut in_y);
        let linear: f64 = in_y.iter().zip(&y).map(|(&g, &y)| f64::from(g) * f64::from(y)).sum();
        assert!((linear - value).abs() < 1e-5, "{objective:?} is not linear in y");
    }
}

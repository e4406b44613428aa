//! The passes and the Hessian against plain sums and central differences.

use super::*;
use crate::data::Groups;
use standoff::{Game, Need};

/// Deterministic numbers in -1..1.
pub(super) fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

const LOSSES: [LinearLoss; 5] = [
    LinearLoss::Logistic { classes: 2 },
    LinearLoss::Logistic { classes: 3 },
    LinearLoss::Squared,
    LinearLoss::Huber { delta: 0.3 },
    LinearLoss::Absolute { delta: 0.2 },
];

fn targets(loss: LinearLoss, n: usize) -> Vec<f64> {
    let raw = numbers(n, 5);
    match loss {
        LinearLoss::Logistic { classes } => raw.iter().map(|t| ((t + 1.0) / 2.0 * classes as f64).floor()).collect(),
        _ => raw,
    }
}

/// The loss of one row, written as in a textbook.
fn plain(loss: LinearLoss, z: &[f64], t: f64) -> f64 {
    let r = z[0] - t;
    match loss {
        LinearLoss::Logistic { classes: 2 } => (1.0 + (-(2.0 * t - 1.0) * z[0]).exp()).ln(),
        LinearLoss::Logistic { .. } => z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[t as usize],
        LinearLoss::Squared => r * r / 2.0,
        LinearLoss::Huber { delta } => {
            if r.abs() <= delta {
                r * r / 2.0
            } else {
                delta * (r.abs() - delta / 2.0)
            }
        }
        LinearLoss::Absolute { delta } => {
            if r.abs() <= delta {
                r * r / 2.0 / delta
            } else {
                r.abs() - delta / 2.0
            }
        }
    }
}

#[test]
fn values_are_those_of_the_plain_sums_and_gradients_those_of_central_differences() {
    let (n, width) = (137, 11);
    let (rows, weights) = (numbers(n * width, 1), numbers(n, 2).iter().map(|w| w + 1.0).collect::<Vec<_>>());
    let of_row: Vec<u16> = (0..n).map(|i| (i % 3) as u16).collect();
    let groups = Groups::new(&of_row, 3).unwrap();
    for loss in LOSSES {
        let targets = targets(loss, n);
        let problem = LinearProblem::new(Rows::dense(Numbers::F64(&rows), width).unwrap(), &targets, &groups, loss);
        let problem = problem.unwrap().weighted(&weights).unwrap();
        let mut game = LinearGame::new(&problem, Mixing::Worst { lambda: 0.2 }, 0.05, 1).unwrap();
        let (x, y) = (numbers(problem.parameters(), 3), [0.2, 0.5, 0.3]);
        game.fix(&x, Need::Gradients);
        let outputs = loss.outputs();
        let (mut sums, mut totals) = ([0.0; 3], [0.0; 3]);
        for i in 0..n {
            let z: Vec<f64> = (0..outputs)
                .map(|k| {
                    x[outputs * width + k] + (0..width).map(|j| x[k * width + j] * rows[i * width + j]).sum::<f64>()
                })
                .collect();
            sums[usize::from(of_row[i])] += weights[i] * plain(loss, &z, targets[i]);
            totals[usize::from(of_row[i])] += weights[i];
        }
        for g in 0..3 {
            assert!((game.losses[g] - sums[g] / totals[g]).abs() < 1e-13, "{loss:?} group {g}");
        }
        let (mut gradient, mut hessian) = (vec![0.0; x.len()], vec![0.0; x.len() * x.len()]);
        game.grad_x(&y, &mut gradient);
        game.hessian(&x, &y, &mut hessian);
        let step = 1e-5;
        for j in 0..x.len() {
            let mut at = |sign: f64| {
                let mut moved = x.clone();
                moved[j] += sign * step;
                game.fix(&moved, Need::Gradients);
                let mut gradient = vec![0.0; x.len()];
                (game.grad_x(&y, &mut gradient), gradient)
            };
            let ((up, g_up), (down, g_down)) = (at(1.0), at(-1.0));
            assert!(((up - down) / (2.0 * step) - gradient[j]).abs() < 1e-8, "{loss:?} gradient {j}");
            // The second derivative of Huber losses jumps.
            if !matches!(loss, LinearLoss::Huber { .. } | LinearLoss::Absolute { .. }) {
                for l in 0..x.len() {
                    let want = (g_up[l] - g_down[l]) / (2.0 * step);
                    assert!((want - hessian[j * x.len() + l]).abs() < 1e-8, "{loss:?} hessian {j} {l}");
                }
            }
        }
    }
}

/// All bits of losses and gradients at a point.
fn bits(problem: &LinearProblem<'_>, threads: usize) -> Vec<u64> {
    let mut game = LinearGame::new(problem, Mixing::Worst { lambda: 0.0 }, 0.1, threads).unwrap();
    let x = numbers(problem.parameters(), 3);
    game.fix(&x, Need::Gradients);
    let mut hessian = vec![0.0; x.len() * x.len()];
    game.hessian(&x, &[0.3, 0.7], &mut hessian);
    game.losses.iter().chain(&game.gradients).chain(&hessian).map(|v| v.to_bits()).collect()
}

#[test]
fn bits_do_not_depend_on_threads_and_all_forms_of_rows_agree() {
    let (n, width) = (9001, 7);
    let single: Vec<f32> = numbers(n * width, 1).iter().map(|v| if *v > 0.5 { 0.0 } else { *v as f32 }).collect();
    let double: Vec<f64> = single.iter().map(|v| f64::from(*v)).collect();
    let (mut columns, mut starts, mut values) = (Vec::new(), vec![0_i64], Vec::new());
    for row in double.chunks(width) {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            columns.push(j as i32);
            values.push(*v);
        }
        starts.push(values.len() as i64);
    }
    let groups = Groups::new(&(0..n).map(|i| (i % 5 == 0) as u16).collect::<Vec<_>>(), 2).unwrap();
    for loss in [LinearLoss::Logistic { classes: 2 }, LinearLoss::Logistic { classes: 3 }, LinearLoss::Squared] {
        let targets = targets(loss, n);
        let make = |rows| LinearProblem::new(rows, &targets, &groups, loss).unwrap();
        let dense = make(Rows::dense(Numbers::F64(&double), width).unwrap());
        let want = bits(&dense, 1);
        assert_eq!(want, bits(&dense, 2));
        assert_eq!(want, bits(&dense, 3));
        assert_eq!(want, bits(&make(Rows::dense(Numbers::F32(&single), width).unwrap()), 2));
        let sparse = make(Rows::sparse(Numbers::F64(&values), &columns, &starts, width).unwrap());
        let other = bits(&sparse, 1);
        assert_eq!(other, bits(&sparse, 2));
        for (a, b) in want.iter().zip(&other) {
            let (a, b) = (f64::from_bits(*a), f64::from_bits(*b));
            assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()), "{loss:?}: {a} {b}");
        }
    }
}

#[test]
fn the_gap_bounds_the_distance_to_the_optimum_at_every_point() {
    let (n, width) = (200, 4);
    let rows = numbers(n * width, 1);
    let groups = Groups::new(&(0..n).map(|i| (i % 4) as u16).collect::<Vec<_>>(), 4).unwrap();
    for loss in LOSSES {
        let targets = targets(loss, n);
        let problem =
            LinearProblem::new(Rows::dense(Numbers::F64(&rows), width).unwrap(), &targets, &groups, loss).unwrap();
        for (lambda, mu) in [(0.0, 0.01), (0.1, 0.1)] {
            let options = LinearOptions { mixing: Mixing::Worst { lambda }, mu, eps: 1e-9, ..Default::default() };
            let best = solve_linear(&problem, &options, &mut ()).unwrap();
            assert_eq!(best.reason, standoff::StopReason::Converged, "{loss:?}");
            let exact = best.gap.unwrap() - loss.smoothing();
            assert!(exact <= 1e-9, "{loss:?}: {exact}");
            let mut game = LinearGame::new(&problem, options.mixing, mu, 1).unwrap();
            let mut y = vec![0.0; 4];
            game.fix(&best.x, Need::Gradients);
            let optimum = game.best_response(&mut y);
            for seed in 0..20 {
                let x: Vec<f64> = best.x.iter().zip(numbers(best.x.len(), seed)).map(|(x, d)| x + 0.3 * d).collect();
                game.fix(&x, Need::Gradients);
                let value = game.best_response(&mut y);
                assert!(value >= optimum - 1e-9);
                // At any y, here the best response: x's part alone covers the distance.
                let mut gradient = vec![0.0; x.len()];
                game.gradient(&y, &mut gradient);
                assert!(value - optimum <= game.x_gap(&gradient) + 1e-9, "{loss:?}");
            }
        }
    }
}

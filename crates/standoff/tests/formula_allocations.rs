//! Nothing is allocated while a game written as text is evaluated.
#[path = "common/counting.rs"]
mod counting;

use counting::{allocations, so_far};
use standoff::formula::FormulaGame;
use standoff::{Game, Need};

#[test]
fn evaluating_allocates_nothing() {
    let text = "objective = 'sum(p * softplus(-b * (A @ w))) + norm(w[1:]) + logsumexp(A.T @ p) - max(p) * (w @ w)^1.5'\n\
                [min.w]\ndim = 2\n[max.p]\ndim = 3\nset = 'simplex'\n[data]\nA = [[1, 2], [3, 4], [5, 6]]\nb = [1, -1, 1]\n";
    let mut game = FormulaGame::from_toml(text, &mut |_| Err(String::new())).unwrap();
    let (mut gx, mut gy) = ([0.0; 2], [0.0; 3]);
    assert!(so_far() > 0, "the counter counts");
    let count = allocations(|| {
        for i in 0..100 {
            let v = f64::from(i) * 0.01;
            game.fix(&[v, 1.0], Need::Gradients);
            game.value(&[0.2, 0.3, v]);
            game.grad_x(&[0.2, v, 0.5], &mut gx);
            game.grad_y(&[v, 0.3, 0.5], &mut gy);
        }
    });
    assert_eq!(count, 0);
    assert!(gx.iter().chain(&gy).all(|g| g.is_finite()));
}

#[test]
fn evaluating_a_large_game_on_one_thread_allocates_nothing() {
    let rows: Vec<String> = (0..700).map(|i| format!("{i},{}", vec![format!("{}.5", i % 7); 199].join(","))).collect();
    let text = "objective = 'logsumexp(A @ x) + sum((A @ x) * p) + x @ x'\n[min.x]\ndim = 200\n[max.p]\ndim = 700\nset = 'simplex'\n\
                [data]\nA = 'A.csv'\n";
    let mut game = FormulaGame::from_toml(text, &mut |_| Ok(rows.join("\n").into_bytes())).unwrap();
    let (mut gx, mut gy) = (vec![0.0; 200], vec![0.0; 700]);
    let (mut x, p) = (vec![0.01; 200], vec![0.5; 700]);
    let count = allocations(|| {
        for i in 0..3 {
            x[0] = f64::from(i);
            game.fix(&x, Need::Gradients);
            game.grad_x(&p, &mut gx);
            game.grad_y(&p, &mut gy);
        }
    });
    assert_eq!(count, 0);
    assert!(gx.iter().chain(&gy).all(|g| g.is_finite()));
}

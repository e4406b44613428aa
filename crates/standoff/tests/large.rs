//! Games with large data: the same bits on any number of threads, gradients that match the definition, data read in pieces.

use std::io::Read;

use standoff::formula::FormulaGame;
use standoff::oracle::Limits;
use standoff::{AnyMethod, Calls, Game, Need, Oracle, Proof, Set, Settings, solve};

/// Numbers between -1 and 1.
fn numbers(count: usize, seed: f64) -> Vec<f64> {
    (0..count).map(|i| ((i as f64 + seed) * 12.9898).sin()).collect()
}

/// A `.npy` file of `f64`.
fn npy(shape: &str, values: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    bytes
}

/// A reader that returns a few bytes at a time.
struct Trickle(std::io::Cursor<Vec<u8>>, usize);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}

/// A game with a matrix `A` of `rows x cols` and a vector `b` of `rows`.
fn game(objective: &str, (rows, cols): (usize, usize), (n, m): (usize, usize)) -> FormulaGame {
    let text = format!(
        "objective = '{objective}'\n[min.x]\ndim = {n}\nlower = -1\nupper = 1\n[max.y]\ndim = {m}\nset = 'simplex'\n\
         [data]\nA = 'A.npy'\nb = 'b.npy'\n"
    );
    let mut open = |path: &str| -> Result<Box<dyn Read>, String> {
        let bytes = match path {
            "A.npy" => npy(&format!("({rows}, {cols})"), &numbers(rows * cols, 0.5)),
            _ => npy(&format!("({rows},)"), &numbers(rows, 0.25)),
        };
        Ok(Box::new(Trickle(std::io::Cursor::new(bytes), 9_999)))
    };
    FormulaGame::from_readers(&text, &mut open).expect("a game")
}

/// Formulas that use every path through the products: tall and wide matrices, from either side, several columns, and
/// long vectors.
fn large_games() -> Vec<FormulaGame> {
    vec![
        game("mean(softplus(-(b * (A @ x)))) + x @ y", (700, 200), (200, 200)),
        game("y @ (A @ x)", (70_000, 4), (4, 70_000)),
        game("(y @ A) @ x", (701, 203), (203, 701)),
        game("sum((y @ A) * x)^2", (30, 5_000), (5_000, 30)),
        game("norm(A @ x) - sum(exp((b * y) @ A))", (30, 5_001), (5_001, 30)),
        game("logsumexp(b * y) + max(y - b) + sum(abs(tanh(A @ x) - b))", (70_001, 2), (2, 70_001)),
    ]
}

fn gradients(game: &mut FormulaGame, threads: usize) -> Vec<u64> {
    game.set_threads(threads).expect("threads");
    let (n, m) = (game.x_set().dim(), game.y_set().dim());
    let (x, y) = (numbers(n, 3.0), numbers(m, 7.0));
    let (mut gx, mut gy) = (vec![0.0; n], vec![0.0; m]);
    game.fix(&x, Need::Gradients);
    let value = game.grad_x(&y, &mut gx);
    game.grad_y(&y, &mut gy);
    [value].iter().chain(&gx).chain(&gy).map(|v| v.to_bits()).collect()
}

#[test]
fn gradients_have_the_same_bits_on_any_number_of_threads() {
    for (i, game) in large_games().into_iter().enumerate() {
        let one = gradients(&mut game.clone(), 1);
        for threads in [2, 3, 7] {
            let mut shared = game.clone();
            assert_eq!(gradients(&mut shared, threads), one, "game {i} on {threads} threads");
            let expected = if cfg!(feature = "threads") { threads } else { 1 };
            assert_eq!(shared.threads(), expected, "game {i} is large");
        }
    }
}

#[test]
fn several_columns_have_the_same_bits_on_any_number_of_threads() {
    // A is 500 x 30; its product with the 30 x 10 matrix made from x has 150,000 multiplications.
    let columns: Vec<String> = (0..10).map(|j| format!("sum((A @ (C * x[{j}]))^2)")).collect();
    let text = format!(
        "objective = '{} - sum((A @ (C * y))^2)'\n[min.x]\ndim = 10\n[max.y]\n[data]\nA = 'A.npy'\nC = 'C.npy'\n",
        columns.join(" + ")
    );
    let read = || {
        FormulaGame::from_toml(&text, &mut |path| {
            Ok(match path {
                "A.npy" => npy("(500, 30)", &numbers(15_000, 0.5)),
                _ => npy("(30, 10)", &numbers(300, 0.25)),
            })
        })
        .expect("a game")
    };
    let one = gradients(&mut read(), 1);
    assert_eq!(gradients(&mut read(), 2), one);
    assert_eq!(gradients(&mut read(), 3), one);
}

#[test]
fn a_large_gradient_matches_the_definition() {
    let (rows, cols) = (70_000, 4);
    let mut game = game("y @ (A @ x)", (rows, cols), (cols, rows));
    let a = numbers(rows * cols, 0.5);
    let (x, y) = (numbers(cols, 3.0), numbers(rows, 7.0));
    let (mut gx, mut gy) = (vec![f64::NAN; cols], vec![f64::NAN; rows]);
    game.fix(&x, Need::Gradients);
    game.grad_x(&y, &mut gx);
    game.grad_y(&y, &mut gy);
    for j in 0..cols {
        let want: f64 = (0..rows).map(|i| y[i] * a[i * cols + j]).sum();
        assert!((gx[j] - want).abs() <= 1e-9, "{} {want}", gx[j]);
    }
    for i in 0..rows {
        let want: f64 = (0..cols).map(|j| a[i * cols + j] * x[j]).sum();
        assert!((gy[i] - want).abs() <= 1e-12, "{} {want}", gy[i]);
    }
}

#[test]
fn whole_runs_have_the_same_bits_on_any_number_of_threads() {
    let plain = game("mean(softplus(-(b * (A @ x)))) + 0.1 * (x @ y) + x @ x / 20", (700, 200), (200, 200));
    for name in ["auto", "extragradient"] {
        let run = |threads: usize| {
            let mut game = plain.clone();
            game.set_threads(threads).expect("threads");
            let start = game.start();
            let settings = Settings {
                eps: 1e-2,
                max_gradients: 3_000,
                method: AnyMethod::named(name, &Default::default()).unwrap(),
                ..Settings::default()
            };
            solve(&mut game, &start, &settings).expect("a solution")
        };
        let one = run(1);
        assert_eq!(one.certificate.proof, Proof::Rigorous);
        for threads in [2, 3] {
            let other = run(threads);
            assert_eq!((&other.point, other.calls, other.reason), (&one.point, one.calls, one.reason), "{name}");
            assert_eq!(other.certificate, one.certificate, "{name}");
        }
    }
}

#[test]
fn a_small_game_stays_on_one_thread() {
    let mut small = game("mean(softplus(-(b * (A @ x)))) + x @ y", (70, 20), (20, 20));
    small.set_threads(2).expect("threads");
    assert_eq!(small.threads(), 1);
}

/// A game that counts its calls.
struct Counted {
    sets: [Set<f64>; 2],
    x: f64,
    asked: [u32; 2],
}

impl Game for Counted {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.sets[0]
    }

    fn y_set(&self) -> &Set<f64> {
        &self.sets[1]
    }

    fn fix(&mut self, x: &[f64], _: Need) {
        self.x = x[0];
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        self.x * y[0]
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.asked[0] += 1;
        out[0] = y[0];
        self.value(y)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.asked[1] += 1;
        out[0] = self.x;
        self.value(y)
    }
}

#[test]
fn a_gradient_is_cached_until_the_next_of_its_kind() {
    let mut game = Counted { sets: [Set::free(1), Set::free(1)], x: 0.0, asked: [0; 2] };
    let mut f = Oracle::new(&mut game, Limits::default());
    let mut g = [0.0];
    f.at(&[2.0], Need::Gradients);
    // Two different y: both gradients are cached, in any order.
    for _ in 0..3 {
        assert_eq!((f.grad_x(&[5.0], &mut g), g), (10.0, [5.0]));
        assert_eq!((f.grad_y(&[7.0], &mut g), g), (14.0, [2.0]));
    }
    assert_eq!(f.game().asked, [1, 1]);
    // The same y for both: one of them is computed, then none.
    for _ in 0..3 {
        assert_eq!(f.grad_both(&[7.0]), 14.0);
        assert_eq!(f.gradients(), ([7.0].as_slice(), [2.0].as_slice()));
    }
    assert_eq!(f.game().asked, [2, 1]);
    // The gradient in y stays cached at 7 while that in x moves away and back.
    f.grad_x(&[1.0], &mut g);
    assert_eq!((f.grad_y(&[7.0], &mut g), f.game().asked), (14.0, [3, 1]));
    assert_eq!((f.grad_x(&[1.0], &mut g), f.game().asked), (2.0, [3, 1]));
    assert_eq!(f.grad_both(&[1.0]), 2.0);
    assert_eq!(f.game().asked, [3, 2]);
    f.at(&[3.0], Need::Gradients);
    assert_eq!((f.grad_both(&[1.0]), f.game().asked), (3.0, [4, 3]));
    assert_eq!(f.calls(), Calls { fix: 2, value: 0, grad_x: 10, grad_y: 9 });
    // NaN is not equal to itself, so it is never found in the cache.
    f.grad_both(&[f64::NAN]);
    assert!(f.grad_both(&[f64::NAN]).is_nan());
    assert_eq!(f.game().asked, [6, 5]);
}

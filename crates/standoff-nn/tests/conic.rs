//! The logistic game has one answer, and an interior-point solver finds it too: `min over W of the largest L_g(W)` on 200 images.

use std::path::Path;
use std::sync::Arc;

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{ExponentialConeT, NonnegativeConeT};
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use standoff::{Point, Settings, solve};
use standoff_nn::Model;
use standoff_nn::data::{Batching, Dataset, Groups, ImageSet, Table};
use standoff_nn::fair::GroupGame;

const IMAGES: usize = 200;
const FEATURES: usize = 20;
const CLASSES: usize = 3;

/// The first T-shirts, pullovers and shirts of the bundled images, as the means of 4 x 5 blocks, standardised. No linear
/// classifier separates them, so the game has a solution.
fn blocks() -> Table {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/fashion-tops");
    let file = |name: &str| data.join(format!("t10k-{name}-ubyte.gz"));
    let all = ImageSet::open(&file("images-idx3"), &file("labels-idx1")).expect("the bundled images");
    let set = all.select(&[0, 2, 6]).expect("three classes");
    let mut columns = vec![vec![0.0f64; IMAGES]; FEATURES];
    for i in 0..IMAGES {
        for (p, byte) in set.image(i).iter().enumerate() {
            columns[p / 28 * 4 / 28 * 5 + p % 28 * 5 / 28][i] += f64::from(*byte);
        }
    }
    let mut features = vec![0.0; IMAGES * FEATURES];
    for (j, column) in columns.iter().enumerate() {
        let mean = column.iter().sum::<f64>() / IMAGES as f64;
        let deviation = (column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / IMAGES as f64).sqrt();
        for (i, v) in column.iter().enumerate() {
            features[i * FEATURES + j] = ((v - mean) / deviation) as f32;
        }
    }
    let labels: Vec<u16> = set.labels[..IMAGES].iter().map(|l| u16::from(*l)).collect();
    let names: Vec<String> = ["T-shirt/top", "Pullover", "Shirt"].map(str::to_owned).to_vec();
    Table {
        features,
        width: FEATURES,
        groups: Groups::new(&labels, names.len()).expect("groups"),
        labels,
        group_names: names.clone(),
        class_names: names,
    }
}

/// The largest mean cross-entropy of a class, summed plainly in f64. `weights` is a row per class, then the biases.
fn worst_loss(table: &Table, weights: &[f64]) -> f64 {
    let mut sums = [0.0; CLASSES];
    for (i, label) in table.labels.iter().enumerate() {
        let row = |c: usize| &weights[c * FEATURES..(c + 1) * FEATURES];
        let score = |c: usize| -> f64 {
            let products = table.row(i).iter().zip(row(c)).map(|(x, w)| f64::from(*x) * w);
            products.sum::<f64>() + weights[CLASSES * FEATURES + c]
        };
        let own = score(usize::from(*label));
        sums[usize::from(*label)] += (0..CLASSES).map(|c| (score(c) - own).exp()).sum::<f64>().ln();
    }
    let means = sums.iter().zip(table.class_sizes()).map(|(sum, n)| sum / n as f64);
    means.max_by(f64::total_cmp).expect("three classes")
}

/// The same problem in cones, as sparse rows of `A v + s = b`. The variables are the weights, then the loss of each image, then
/// for each image and class an exponential, then the largest mean loss.
struct Conic {
    entries: Vec<(usize, usize, f64)>,
    right: Vec<f64>,
}

const LOSSES: usize = CLASSES * (FEATURES + 1);
const POWERS: usize = LOSSES + IMAGES;
const LARGEST: usize = POWERS + IMAGES * CLASSES;

impl Conic {
    /// The slack of a row is `constant + sum of c v`.
    fn slack(&mut self, constant: f64, terms: impl IntoIterator<Item = (usize, f64)>) {
        let row = self.right.len();
        self.entries.extend(terms.into_iter().map(|(variable, c)| (row, variable, -c)));
        self.right.push(constant);
    }

    /// `sum over c of exp(z_c - z_label - loss) <= 1`, with `z` the scores, says `loss >= -log softmax`: each exponential is below
    /// a variable of its own (the cone holds `(a, 1, u)` with `exp(a) <= u`), and these sum to at most 1.
    fn of(table: &Table) -> (Self, Vec<SupportedConeT<f64>>) {
        let mut all = Self { entries: Vec::new(), right: Vec::new() };
        for g in 0..CLASSES {
            let share = 1.0 / table.class_sizes()[g] as f64;
            let own = (0..IMAGES).filter(|i| usize::from(table.labels[*i]) == g);
            all.slack(0.0, own.map(|i| (LOSSES + i, -share)).chain([(LARGEST, 1.0)]));
        }
        for i in 0..IMAGES {
            all.slack(1.0, (0..CLASSES).map(|c| (POWERS + i * CLASSES + c, -1.0)));
        }
        let mut cones = vec![NonnegativeConeT(all.right.len())];
        for i in 0..IMAGES {
            let label = usize::from(table.labels[i]);
            for c in 0..CLASSES {
                let score = |c: usize, sign: f64| {
                    let products = table.row(i).iter().enumerate();
                    products
                        .map(move |(j, x)| (c * FEATURES + j, sign * f64::from(*x)))
                        .chain([(CLASSES * FEATURES + c, sign)])
                };
                let difference: Vec<(usize, f64)> =
                    if c == label { Vec::new() } else { score(c, 1.0).chain(score(label, -1.0)).collect() };
                all.slack(0.0, difference.into_iter().chain([(LOSSES + i, -1.0)]));
                all.slack(1.0, []);
                all.slack(0.0, [(POWERS + i * CLASSES + c, 1.0)]);
                cones.push(ExponentialConeT());
            }
        }
        (all, cones)
    }
}

/// The value and the weights that Clarabel finds.
fn by_cones(table: &Table) -> (f64, Vec<f64>) {
    let n = LARGEST + 1;
    let (Conic { mut entries, right }, cones) = Conic::of(table);
    entries.sort_by_key(|(row, column, _)| (*column, *row));
    let mut starts = vec![0; n + 1];
    entries.iter().for_each(|(_, column, _)| starts[column + 1] += 1);
    (0..n).for_each(|column| starts[column + 1] += starts[column]);
    let (rows, values) = (entries.iter().map(|e| e.0).collect(), entries.iter().map(|e| e.2).collect());
    let a = CscMatrix::new(right.len(), n, starts, rows, values);
    let mut objective = vec![0.0; n];
    objective[LARGEST] = 1.0;
    let settings = DefaultSettings { verbose: false, max_threads: 1, ..DefaultSettings::default() };
    let mut solver = DefaultSolver::new(&CscMatrix::zeros((n, n)), &objective, &a, &right, &cones, settings)
        .expect("a problem in cones");
    solver.solve();
    assert_eq!(solver.solution.status, SolverStatus::Solved);
    (solver.solution.obj_val, solver.solution.x[..LOSSES].to_vec())
}

#[test]
fn the_logistic_game_has_the_value_that_a_conic_solver_finds() {
    let table = blocks();
    let (value, weights) = by_cones(&table);
    assert!((worst_loss(&table, &weights) - value).abs() < 1e-6, "the cones say something else than the losses");
    assert!(value > 0.1, "{value}: these images are separable and test nothing");

    let data = Arc::new(Dataset::table(&table).expect("groups"));
    let model = Model::preset("logistic", data.input(), CLASSES).expect("a model");
    let mut game = GroupGame::new(&model, data, Batching::Whole, 1).expect("a game");
    let start = Point::new(&vec![0.0; model.size()], &[1.0 / 3.0; CLASSES]);
    let settings = Settings { max_gradients: 20_000, ..Settings::eps(3e-5) };
    let found = solve(&mut game, &start, &settings).expect("a solution");
    let ours = worst_loss(&table, &found.point.x.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
    assert!((ours - value).abs() < 1e-4, "solved {ours}, by cones {value}, {:?}", found.reason);
    // No point is better than the solution, and, rounding aside, no weights of the groups are.
    assert!(ours > value - 1e-6 && (found.value - ours).abs() < 1e-5, "{} {ours} {value}", found.value);
}

//! Fair linear models: groups that overlap against a conic solver, and tables on which methods for the worst group fail.

use standoff::StopReason;
use standoff_nn::data::Groups;
use standoff_nn::linear::{
    LinearLoss, LinearOptions, LinearProblem, LinearSolution, Mixing, Numbers, Rows, solve_linear,
};

const N: usize = 60;
const WIDTH: usize = 3;

/// The table of `conic.py`: rows, groups that overlap, labels and targets.
fn table() -> (Vec<f64>, Groups, Vec<f64>, Vec<f64>) {
    let cell = |i: usize, j: usize| ((37 * i + 101 * j + i * i * (j + 3)) % 211) as f64 / 105.5 - 1.0;
    let rows: Vec<f64> = (0..N * WIDTH).map(|p| cell(p / WIDTH, p % WIDTH)).collect();
    let of = |keep: fn(usize) -> bool| (0..N).filter(|i| keep(*i)).map(|i| i as u32).collect::<Vec<_>>();
    let members = [of(|i| i % 2 == 0), of(|i| i % 3 == 0), of(|i| i < 20), of(|i| i % 5 == 1)];
    let labels = (0..N).map(|i| f64::from(u8::from((53 * i + 17 * (i % 3)) % 7 < 3))).collect();
    let targets = (0..N).map(|i| cell(i, 0) * ((i % 3) as f64 - 1.0) + ((29 * i) % 31) as f64 / 31.0).collect();
    (rows, Groups::overlapping(&members, N).unwrap(), labels, targets)
}

fn close(found: &[f64], want: &[f64], by: f64) -> bool {
    found.len() == want.len() && found.iter().zip(want).all(|(a, b)| (a - b).abs() <= by)
}

#[test]
fn overlapping_groups_have_the_solution_of_a_conic_solver() {
    let (rows, groups, labels, targets) = table();
    assert!((0..N as u32).any(|i| (0..4).filter(|&g| groups.rows(g).contains(&i)).count() > 1));
    let known = [
        (
            LinearLoss::Logistic { classes: 2 },
            &labels,
            0.675_955_410,
            [0.117112, 0.430321, -0.288252, -0.138370],
            [0.0, 0.0, 0.338025, 0.661975],
        ),
        (
            LinearLoss::Squared,
            &targets,
            0.113_630_506,
            [-0.259368, -0.159659, 0.126967, 0.239742],
            [0.0, 0.336670, 0.0, 0.663330],
        ),
    ];
    for (loss, targets, value, x, y) in known {
        let rows = Rows::dense(Numbers::F64(&rows), WIDTH).unwrap();
        let problem = LinearProblem::new(rows, targets, &groups, loss).unwrap();
        let options = LinearOptions { mu: 0.01, eps: 1e-9, ..Default::default() };
        let found = solve_linear(&problem, &options, &mut ()).unwrap();
        assert_eq!(found.reason, StopReason::Converged, "{loss:?}");
        assert!((found.value - value).abs() < 1e-8, "{loss:?}: {}", found.value);
        assert!(close(&found.x, &x, 1e-4) && close(&found.y, &y, 1e-4), "{loss:?}: {:?} {:?}", found.x, found.y);
        assert!(found.gap.is_some_and(|gap| gap <= 1e-9));
    }
}

/// Deterministic numbers in 0..1.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
}

/// Categories as one column each, whose sums are all 1; a copy of a column; a column of large numbers; a group of 2 percent, another of 9
/// rows. Every fourth table has the label in the group, so that groups hold one class.
fn hard_table(seed: u64, n: usize, categories: usize) -> (Vec<f64>, usize, Vec<f64>, Vec<u16>) {
    let mut stream = Stream(seed + 1);
    let width = 3 * categories + 3;
    let (mut rows, mut labels, mut groups) = (vec![0.0; n * width], Vec::new(), Vec::new());
    let slopes: Vec<f64> = (0..width).map(|_| 2.0 * stream.next() - 1.0).collect();
    for (i, row) in rows.chunks_exact_mut(width).enumerate() {
        for part in 0..3 {
            row[part * categories + stream.below(categories)] = 1.0;
        }
        row[width - 3] = stream.next();
        row[width - 2] = row[width - 3];
        row[width - 1] = 1e5 * stream.next();
        let group = if i < 9 {
            3
        } else if stream.next() < 0.02 {
            2
        } else {
            stream.below(2)
        };
        let margin: f64 = row[..width - 1].iter().zip(&slopes).map(|(x, s)| 2.0 * x * s).sum::<f64>() + group as f64;
        let label = usize::from(stream.next() < 1.0 / (1.0 + (-margin).exp()));
        labels.push(label as f64);
        groups.push(if seed % 4 == 3 { 2 * (group.min(1)) + label } else { group } as u16);
    }
    (rows, width, labels, groups)
}

fn solved(seed: u64, (n, categories): (usize, usize), options: &LinearOptions) -> LinearSolution {
    let (rows, width, labels, groups) = hard_table(seed, n, categories);
    let groups = Groups::new(&groups, 4).unwrap();
    let rows = Rows::dense(Numbers::F64(&rows), width).unwrap();
    let problem = LinearProblem::new(rows, &labels, &groups, LinearLoss::Logistic { classes: 2 }).unwrap();
    solve_linear(&problem, options, &mut ()).unwrap()
}

#[test]
fn collinear_columns_and_small_groups_are_solved_to_the_gap() {
    let mut most = 0;
    for seed in 0..20 {
        for penalty in [0.01, 1.0, 100.0] {
            for lambda in [0.0, 0.1] {
                let mu = penalty / 600.0;
                let options = LinearOptions { mixing: Mixing::Worst { lambda }, mu, eps: 1e-6, ..Default::default() };
                let found = solved(seed, (600, 8), &options);
                let at =
                    format!("seed {seed}, penalty {penalty}, lambda {lambda}: {:?} {}", found.gap, found.iterations);
                assert_eq!(found.reason, StopReason::Converged, "{at}");
                assert!(found.gap.is_some_and(|gap| gap <= 1e-6), "{at}");
                most = most.max(found.iterations);
            }
        }
    }
    assert!(most <= 100, "{most} steps");
}

#[test]
fn without_a_penalty_x_and_y_are_small_also_where_the_hessian_is_singular() {
    for seed in 0..8 {
        let options = LinearOptions { eps: 1e-4, ..Default::default() };
        let found = solved(seed, (2000, 4), &options);
        assert_eq!(found.reason, StopReason::Converged, "seed {seed}: {:?}", found.certificate);
        assert!(found.gap.is_none() && found.certificate.x.upper <= 1e-4 && found.certificate.y.upper <= 1e-4);
    }
}

#[test]
fn a_large_model_with_a_limited_memory_is_solved_too() {
    let options = LinearOptions { mu: 1.0 / 600.0, eps: 1e-3, ..Default::default() };
    let found = solved(0, (600, 140), &options);
    assert_eq!(found.reason, StopReason::Converged, "{:?} {}", found.gap, found.iterations);
}

#[test]
fn offsets_are_subtracted_from_the_losses_that_are_compared() {
    // The best constants of the groups alone are their means, 0.5 and 3; the losses there are 0.125 and 0.5.
    let targets = [0.0, 1.0, 2.0, 4.0];
    let rows = Rows::dense(Numbers::F64(&[0.0; 4]), 1).unwrap();
    let groups = Groups::new(&[0, 0, 1, 1], 2).unwrap();
    let problem = || LinearProblem::new(rows, &targets, &groups, LinearLoss::Squared).unwrap();
    let options = LinearOptions { mu: 1e-6, eps: 1e-9, ..Default::default() };
    let found = solve_linear(&problem().minus(&[0.125, 0.5]).unwrap(), &options, &mut ()).unwrap();
    // The excess of a constant c is half the square of its distance from the mean of the group: equal in the middle.
    assert!((found.x[1] - 1.75).abs() < 1e-4, "{:?}", found.x);
    assert!(close(&found.group_losses, &[0.90625, 1.28125], 1e-4), "{:?}", found.group_losses);
    assert!(found.gap.is_some_and(|gap| gap <= 1e-9) && (found.value - 0.78125).abs() < 1e-4);
    let raw = solve_linear(&problem(), &options, &mut ()).unwrap();
    assert!(raw.x[1] > 1.76, "{:?}", raw.x);
    let mean = LinearOptions { mixing: Mixing::Mean, ..options };
    let less = solve_linear(&problem().minus(&[0.125, 0.5]).unwrap(), &mean, &mut ()).unwrap();
    assert_eq!(less.value, solve_linear(&problem(), &mean, &mut ()).unwrap().value);
    let refusal = problem().minus(&[0.0]).expect_err("one number for two groups").to_string();
    assert!(refusal.contains("[0.0] to subtract from 2 losses"), "{refusal}");
}

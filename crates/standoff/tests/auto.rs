//! The default method on games that were hard for it, each with a bound on its gradients.

use standoff::methods::NamedParameters;
use standoff::zoo::{self, Class, Instance};
use standoff::{AnyMethod, Game, Need, Set, Settings, Solution, StopReason, solve};

fn run(instance: &mut Instance, name: &str, eps: f64, max_gradients: u64) -> Solution<f64> {
    let method = AnyMethod::named(name, &NamedParameters::default()).unwrap();
    let settings = Settings { method, max_gradients, ..Settings::eps(eps) };
    solve(&mut instance.game, &instance.start, &settings).unwrap()
}

fn family(name: &str, seed: u64) -> Instance {
    let family = zoo::families().iter().find(|f| f.name == name).expect("a family of that name");
    (family.make)(seed).unwrap()
}

fn formula(text: &str) -> Instance {
    let game = standoff::formula::FormulaGame::from_toml(text, &mut |_| Err("no files".into())).unwrap();
    let start = game.start();
    Instance { game: Box::new(game), start, constants: None, answers: Vec::new() }
}

#[test]
fn a_stiff_game_costs_no_more_than_with_exact_constants() {
    // `fastnash` with exact constants needs about 10,000 gradients, extragradient about 120,000.
    for seed in [101, 102, 103] {
        let end = run(&mut family("stiff", seed), "auto", 1e-3, 20_000);
        assert_eq!(end.reason, StopReason::Converged, "{seed}: {end:?}");
        assert!(end.calls.gradients() < 10_738, "{seed}: {:?}", end.calls);
    }
}

#[test]
fn a_matrix_game_of_50_by_60_reaches_1e_8() {
    for seed in [101, 102, 103] {
        let end = run(&mut zoo::random_matrix_game(50, 60, seed).unwrap(), "auto", 1e-8, 20_000);
        assert_eq!(end.reason, StopReason::Converged, "{seed}: {end:?}");
    }
}

#[test]
fn at_least_half_of_the_badly_scaled_games_are_solved() {
    let (mut entries, mut solved) = (0, 0);
    for seed in 101..=104 {
        for name in ["scaled-quadratic", "scaled-matrix-wide", "scaled-matrix-skew"] {
            let end = run(&mut family(name, seed), "auto", 1e-2, 50_000);
            entries += 1;
            solved += u32::from(end.reason == StopReason::Converged);
        }
    }
    assert!(2 * solved >= entries, "{solved} of {entries}");
}

#[test]
fn a_loose_box_of_y_costs_little() {
    let counts = [2.0, 1e4].map(|side| {
        let mut game = formula(&format!(
            "objective = \"0.5*dot(x, H@x) + dot(p, x) + dot(y, B@x + q) - 0.5*sum(y^2)\"\n\
             [min.x]\ndim = 3\nset = {{ box = {{ lower = -1, upper = 1 }} }}\nstart = [0.3, -0.2, 0.1]\n\
             [max.y]\ndim = 2\nset = {{ box = {{ lower = -{side}, upper = {side} }} }}\nstart = [0.0, 0.0]\n\
             [data]\nH = [[1, 2, 0], [2, -3, 1], [0, 1, 0.5]]\nB = [[1, -1, 2], [0.5, 1, 1]]\np = [0.3, -0.1, 0.2]\nq = [0.1, -0.4]\n"
        ));
        let end = run(&mut game, "auto", 1e-4, 10_000);
        assert_eq!(end.reason, StopReason::Converged, "{side}: {end:?}");
        end.calls.gradients()
    });
    assert!(counts[1] <= 4 * counts[0], "{counts:?}");
}

#[test]
fn polytopes_cost_no_more_than_three_times_extragradient_in_all() {
    let total = |name: &str| -> u64 {
        let runs = (101..=106).map(|seed| run(&mut family("polytope", seed), name, 1e-2, 10_000));
        runs.map(|end| {
            assert_eq!(end.reason, StopReason::Converged, "{name}: {end:?}");
            end.calls.gradients()
        })
        .sum()
    };
    let (auto, extragradient) = (total("auto"), total("extragradient"));
    assert!(auto <= 3 * extragradient, "{auto} and {extragradient}");
}

#[test]
fn a_game_that_is_not_concave_and_that_extragradient_solves_is_solved() {
    for e in zoo::all().iter().filter(|e| e.class == Class::NonConcave) {
        let other = run(&mut (e.make)(), "extragradient", 1e-4, 100_000);
        let end = run(&mut (e.make)(), "auto", 1e-4, 100_000);
        if other.reason == StopReason::Converged {
            assert_eq!(end.reason, StopReason::Converged, "{}: {end:?}", e.name);
        }
    }
}

/// `sum_i y_i (x_i - c_i)^2` with x in a box and y in a simplex.
struct Tracking {
    c: Vec<f64>,
    x_set: Set<f64>,
    y_set: Set<f64>,
    off: Vec<f64>,
}

impl Game for Tracking {
    type Real = f64;
    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }
    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }
    fn fix(&mut self, x: &[f64], _: Need) {
        self.off.iter_mut().zip(x.iter().zip(&self.c)).for_each(|(o, (x, c))| *o = x - c);
    }
    fn value(&mut self, y: &[f64]) -> f64 {
        self.off.iter().zip(y).map(|(o, y)| y * o * o).sum()
    }
    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out.iter_mut().zip(self.off.iter().zip(y)).for_each(|(g, (o, y))| *g = 2.0 * y * o);
        self.value(y)
    }
    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out.iter_mut().zip(&self.off).for_each(|(g, o)| *g = o * o);
        self.value(y)
    }
    fn linear_in_y(&self) -> bool {
        true
    }
}

#[test]
fn a_game_with_a_simplex_of_100_000_entries_reaches_1e_3() {
    const N: usize = 100_000;
    let c: Vec<f64> = (0..N).map(|i| (0.7 * i as f64).sin()).collect();
    let mut game = Tracking {
        c,
        x_set: Set::boxed(vec![-1.0; N], vec![1.0; N]).unwrap(),
        y_set: Set::simplex(N, 1.0).unwrap(),
        off: vec![0.0; N],
    };
    let start = standoff::Point { x: vec![0.0; N], y: vec![1.0 / N as f64; N] };
    let end = solve(&mut game, &start, &Settings { max_gradients: 2_000, ..Settings::eps(1e-3) }).unwrap();
    assert_eq!(end.reason, StopReason::Converged, "{:?} {:?}", end.reason, end.certificate);
}

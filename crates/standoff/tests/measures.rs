//! The measures beside X and Y: closed forms compared with limits, brute force and known values.

use standoff::certify::residuals;
use standoff::curvature::{CurvatureSettings, look};
use standoff::formula::FormulaGame;
use standoff::gap::{Ask, Gauge, Side};
use standoff::measures::{Assumptions, ConvexityAssumption, measure};
use standoff::methods::{AnyMethod, NamedParameters};
use standoff::sets::Matrix;
use standoff::{
    Certificate, Claim, Constants, Game, Need, Point, Proof, Set, Settings, StopReason, certify, radius, solve, verify,
    zoo,
};

/// `<a, x> + <b, y>`.
struct Linear {
    sets: [Set<f64>; 2],
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Linear {
    fn new(set: Set<f64>, a: &[f64]) -> Self {
        Self { sets: [set, Set::interval(-1.0, 1.0).unwrap()], a: a.to_vec(), b: vec![0.0] }
    }
}

impl Game for Linear {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.sets[0]
    }

    fn y_set(&self) -> &Set<f64> {
        &self.sets[1]
    }

    fn fix(&mut self, _: &[f64], _: Need) {}

    fn value(&mut self, _: &[f64]) -> f64 {
        0.0
    }

    fn grad_x(&mut self, _: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(&self.a);
        0.0
    }

    fn grad_y(&mut self, _: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(&self.b);
        0.0
    }
}

fn formula(text: &str) -> FormulaGame {
    FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}"))).unwrap()
}

/// Deterministic numbers between -1 and 1.
fn wave(n: usize, k: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * i * 37 + i * k * 11 + k * 101 + 13) as f64 * 0.7391).sin()).collect()
}

/// Sets with points on their borders.
fn cases(k: usize) -> Vec<(Set<f64>, Vec<f64>)> {
    let v = wave(4, k);
    let projected = |set: Set<f64>, far: f64| {
        let mut x: Vec<f64> = v.iter().map(|v| far * v).collect();
        set.project(&mut x);
        (set, x)
    };
    let rows: Vec<Vec<f64>> = (0..6).map(|i| wave(4, 50 + i)).collect();
    let polyhedron = || Set::polyhedron(Matrix::from_rows(&rows).unwrap(), &[0.3; 6]).unwrap();
    let affine = Set::affine(Matrix::from_rows(&rows[..2]).unwrap(), &[0.3, -0.2]).unwrap();
    let parts = vec![Set::interval(-0.1, 0.2).unwrap(), Set::simplex(3, 1.0).unwrap()];
    vec![
        projected(Set::free(4), 1.0),
        projected(Set::boxed(vec![-0.3; 4], vec![0.25, f64::INFINITY, 0.1, 0.4]).unwrap(), 1.0),
        projected(Set::simplex(4, 1.0).unwrap(), 1.0),
        projected(Set::simplex(4, 2.0).unwrap(), 9.0),
        projected(Set::ball(vec![0.1, 0.0, -0.2, 0.0], 0.5).unwrap(), 3.0),
        projected(Set::ball(vec![0.0; 4], 50.0).unwrap(), 1.0),
        projected(Set::l1_ball(4, 0.5).unwrap(), 3.0),
        projected(Set::halfspace(wave(4, 7), 0.01).unwrap(), 2.0),
        projected(affine, 1.0),
        projected(polyhedron(), 3.0),
        projected(Set::product(parts).unwrap(), 1.0),
    ]
}

#[test]
fn the_residual_is_the_limit_of_the_gap_over_the_radius() {
    for k in 0..40 {
        for (i, (set, x)) in cases(k).into_iter().enumerate() {
            let g = wave(4, 1000 + k);
            let small = 1e-6;
            let limit = Gauge::new(small).measure(&set, &x, &g, Side::Min, Ask::Exact).upper / small;
            let mut game = Linear::new(set, &g);
            let found = residuals(&mut game, &Point::new(&x, &[0.0])).x.unwrap();
            assert!((found.norm - limit).abs() <= 1e-5, "case {k}, set {i}: {found:?} and {limit}");
            assert!(found.slack <= 1e-11, "case {k}, set {i}: {found:?}");
        }
    }
}

#[test]
fn a_residual_bounds_the_gap_at_every_radius() {
    for k in 0..20 {
        for (i, (set, x)) in cases(k).into_iter().enumerate() {
            let g = wave(4, 2000 + k);
            let mut game = Linear::new(set, &g);
            let z = Point::new(&x, &[0.0]);
            let found = residuals(&mut game, &z).x.unwrap();
            for r in [1e-3, 0.1, 1.0, 10.0] {
                let lower = Gauge::new(r).measure(game.x_set(), &x, &g, Side::Min, Ask::Exact).lower;
                assert!(
                    lower <= found.gain(r) * (1.0 + 1e-12) + 1e-15 * r,
                    "case {k}, set {i}, radius {r}: {lower} {found:?}"
                );
            }
        }
    }
}

#[test]
fn strictly_inside_the_residual_is_the_length_of_the_gradient() {
    let mut game = Linear::new(Set::boxed(vec![0.0; 2], vec![1.0; 2]).unwrap(), &[3.0, -4.0]);
    let at = |game: &mut Linear, x: [f64; 2]| residuals(game, &Point::new(&x, &[0.0])).x.unwrap().norm;
    assert!((at(&mut game, [1e-9, 0.5]) - 5.0).abs() < 1e-14);
    assert!((at(&mut game, [0.0, 0.5]) - 4.0).abs() < 1e-14);
    assert_eq!(at(&mut game, [0.0, 1.0]), 0.0);
}

#[test]
fn a_formula_has_rigorous_residuals_and_other_games_do_not() {
    let mut game = formula("objective = \"x^2*y - y^2\"\n[min.x]\nlower = 0.1\nupper = 1\n[max.y]\n");
    let found = residuals(&mut game, &Point::new(&[0.1], &[0.005]));
    assert_eq!(found.proof, Proof::Rigorous);
    let (x, y) = (found.x.unwrap(), found.y.unwrap());
    assert!(x.norm < 1e-15 && y.norm < 1e-15, "{x:?} {y:?}");
    let mut game = Linear::new(Set::free(1), &[0.5]);
    assert_eq!(residuals(&mut game, &Point::new(&[0.0], &[0.0])).proof, Proof::AsComputed);
}

#[test]
fn the_best_slope_of_a_kink_is_used() {
    let mut game = formula("objective = \"abs(x) - y^2\"\n[min.x]\n[max.y]\n");
    let found = residuals(&mut game, &Point::new(&[0.0], &[0.0]));
    assert!(found.x.unwrap().norm < 1e-15, "{found:?}");
    let mut game = formula("objective = \"-abs(x) - y^2\"\n[min.x]\nlower = -1\nupper = 1\n[max.y]\n");
    assert!(residuals(&mut game, &Point::new(&[0.0], &[0.0])).x.unwrap().norm >= 1.0);
}

#[test]
fn an_infinite_radius_covers_both_sets() {
    let mut made = (zoo::find("rps").unwrap().make)();
    let z = Point::new(&[0.2, 0.3, 0.5], &[0.6, 0.1, 0.3]);
    let c = certify(&mut made.game, &z, f64::INFINITY);
    let a = [[0.0, 1.0, -2.0], [-1.0, 0.0, 3.0], [2.0, -3.0, 0.0]];
    let ay: Vec<f64> = a.iter().map(|row| row.iter().zip(&z.y).map(|(a, y)| a * y).sum()).collect();
    let atx: Vec<f64> = (0..3).map(|j| (0..3).map(|i| a[i][j] * z.x[i]).sum()).collect();
    let value: f64 = z.x.iter().zip(&ay).map(|(x, a)| x * a).sum();
    let least = ay.iter().copied().fold(f64::MAX, f64::min);
    let most = atx.iter().copied().fold(f64::MIN, f64::max);
    assert!((c.x.upper - (value - least)).abs() < 1e-12, "{c:?}");
    assert!((c.y.upper - (most - value)).abs() < 1e-12, "{c:?}");
    let found = measure(&mut made.game, &z, &c, &Assumptions::default()).duality.unwrap();
    assert!((found.gap() - (most - least)).abs() < 1e-12);
    assert_eq!(found.condition(), None, "a matrix game is linear in both");
    // Any larger radius gives the same result.
    let larger = certify(&mut made.game, &z, 1e3);
    assert!((larger.x.upper - c.x.upper).abs() < 1e-10 && (larger.y.upper - c.y.upper).abs() < 1e-10);
}

#[test]
fn an_infinite_radius_is_refused_on_unbounded_sets() {
    let mut game = formula("objective = \"x*y\"\n[min.x]\nlower = 0\n[max.y]\nlower = 0\nupper = 1\n");
    let z = Point::new(&[0.5], &[0.5]);
    let settings = Settings { radius: f64::INFINITY, ..Settings::default() };
    let error = solve(&mut game, &z, &settings).unwrap_err().to_string();
    assert!(error.contains("radius = inf") && error.contains("set of x"), "{error}");
    let claim = Claim { radius: f64::INFINITY, ..Claim::eps(1.0) };
    assert!(verify(&mut game, &z, &claim).is_err());
    assert!(certify(&mut game, &z, f64::INFINITY).epsilon().is_nan());
}

#[test]
fn solving_with_an_infinite_radius_bounds_the_duality_gap() {
    for method in ["auto", "extragradient"] {
        let mut made = (zoo::find("matrix-2x2").unwrap().make)();
        let settings = Settings {
            radius: f64::INFINITY,
            method: AnyMethod::named(method, &NamedParameters::default()).unwrap(),
            ..Settings::eps(1e-6)
        };
        let solution = solve(&mut made.game, &made.start, &settings).unwrap();
        assert_eq!(solution.reason, StopReason::Converged, "{method}");
        assert!(radius::covers(made.game.x_set(), solution.certificate.radius));
        let assumed = Assumptions::default();
        let found = measure(&mut made.game, &solution.point, &solution.certificate, &assumed).duality.unwrap();
        assert!(found.gap() <= 2.1e-6, "{found:?}");
        // The value is 1/5; the guaranteed payoffs of the players bracket it within the gap.
        let a = [[2.0, -1.0], [-1.0, 1.0]];
        let z = &solution.point;
        let secured = (0..2).map(|j| a[0][j] * z.x[0] + a[1][j] * z.x[1]).fold(f64::MIN, f64::max);
        let promised = (0..2).map(|i| a[i][0] * z.y[0] + a[i][1] * z.y[1]).fold(f64::MAX, f64::min);
        assert!(promised <= 0.2 + 1e-12 && 0.2 <= secured + 1e-12);
        assert!(secured - promised <= found.gap() * (1.0 + 1e-9) + 1e-15);
    }
}

#[test]
fn the_duality_gap_needs_a_covering_radius_or_a_modulus() {
    let mut made = (zoo::find("rps").unwrap().make)();
    let c = certify(&mut made.game, &made.start, 0.5);
    assert_eq!(measure(&mut made.game, &made.start, &c, &Assumptions::default()).duality, None);
}

#[test]
fn strong_convexity_bounds_the_duality_gap_on_free_sets() {
    // f = x^2 + x y - y^2 at (0.3, -0.2): max over y is x^2 + x^2/4, min over x is -y^2/4 - y^2.
    let mut game = formula("objective = \"x^2 + x*y - y^2\"\n[min.x]\n[max.y]\n");
    let z = Point::new(&[0.3], &[-0.2]);
    let c = certify(&mut game, &z, 1.0);
    let constants = Some(Constants { mu: 2.0, l11: 2.0, l12: 1.0, l22: 2.0, ..Constants::default() });
    let assumed = Assumptions { constants, mu_x: Some(2.0) };
    let found = measure(&mut game, &z, &c, &assumed).duality.unwrap();
    let f = 0.09 - 0.06 - 0.04;
    let (x_part, y_part) = (f - (-0.01 - 0.04), (0.09 + 0.0225) - f);
    assert!((found.x - x_part).abs() < 1e-12 && (found.y - y_part).abs() < 1e-12, "{found:?} {x_part} {y_part}");
    assert_eq!((found.x_shape, found.y_shape), (ConvexityAssumption::Strong(2.0), ConvexityAssumption::Strong(2.0)));
    assert!(found.condition().unwrap().contains("strongly convex in x (modulus 2) and strongly concave in y"));
    assert_eq!(measure(&mut game, &z, &c, &Assumptions::default()).duality, None);
}

/// `2 l ||x - p||` with the minimiser p of `phi(z) + l (z - x)^2` over [-2, 2], by a grid and a finer grid around its
/// best point.
fn envelope(phi: impl Fn(f64) -> f64, l: f64, x: f64) -> f64 {
    let best = |low: f64, high: f64| {
        let at = |i: u32| low + (high - low) * f64::from(i) / 20_000.0;
        let cost = |z: f64| phi(z) + l * (z - x) * (z - x);
        (0..=20_000).map(at).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap()
    };
    let coarse = best(-2.0, 2.0);
    2.0 * l * (x - best((coarse - 1e-3).max(-2.0), (coarse + 1e-3).min(2.0))).abs()
}

#[test]
fn the_moreau_bound_is_above_the_gradient_of_the_envelope() {
    let text =
        "objective = \"0.25*cos(3*x) + y*(x - 0.5)\"\n[min.x]\nlower = -2\nupper = 2\n[max.y]\nlower = -1\nupper = 1\n";
    let mut game = formula(text);
    let constants = Some(Constants { l11: 2.25, l12: 1.0, ..Constants::default() });
    let phi = |z: f64| 0.25 * (3.0 * z).cos() + (z - 0.5).abs();
    let mut tightest = f64::INFINITY;
    for i in 0..60 {
        let x = -2.0 + 4.0 * f64::from(i) / 59.0;
        for y in [-1.0, -0.4, 0.2, 0.748, 1.0] {
            let z = Point::new(&[x], &[y]);
            for r in [0.3, 1.0, f64::INFINITY] {
                let c = certify(&mut game, &z, r);
                let found = measure(&mut game, &z, &c, &Assumptions { constants, mu_x: None }).moreau.unwrap();
                let exact = envelope(phi, 2.25, x);
                assert!(exact <= found.norm + 1e-6, "({x}, {y}), radius {r}: {exact} above {found:?}");
                assert!(!found.estimated && found.condition().contains("weakly convex"));
                if exact > 1e-3 && found.norm / exact < tightest {
                    tightest = found.norm / exact;
                }
            }
        }
    }
    assert!(tightest < 2.5, "the bound is never near: {tightest}");
}

#[test]
fn the_moreau_bound_needs_a_bounded_set_or_a_modulus() {
    let mut game = formula("objective = \"cos(x) + x*y - y^2\"\n[min.x]\n[max.y]\n");
    let z = Point::new(&[0.1], &[0.05]);
    let c = certify(&mut game, &z, 1.0);
    let with = |mu: f64| Assumptions {
        constants: Some(Constants { l11: 1.0, l12: 1.0, l22: 2.0, mu, estimated: true, ..Constants::default() }),
        mu_x: None,
    };
    assert_eq!(measure(&mut game, &z, &c, &with(0.0)).moreau, None);
    let found = measure(&mut game, &z, &c, &with(2.0)).moreau.unwrap();
    assert!(found.estimated && found.norm < 0.1, "{found:?}");
    assert_eq!(measure(&mut game, &z, &c, &Assumptions::default()).moreau, None);
}

#[test]
fn a_bad_gradient_has_no_measures() {
    let mut game = Linear::new(Set::simplex(2, 1.0).unwrap(), &[f64::NAN, 1.0]);
    let z = Point::new(&[0.5, 0.5], &[0.0]);
    assert!(residuals(&mut game, &z).x.unwrap().norm.is_nan());
    let unknown = Certificate::as_computed(standoff::Gap::UNKNOWN, standoff::Gap::ZERO, 10.0);
    assert_eq!(measure(&mut game, &z, &unknown, &Assumptions::default()).duality, None);
}

fn seen(text: &str, z: &Point<f64>) -> standoff::curvature::CurvatureReport {
    look(&mut formula(text), z, &CurvatureSettings::default())
}

#[test]
fn a_start_that_is_stationary_by_symmetry_is_not_reported_as_a_maximum() {
    let text = "objective = \"x*y + y^2\"\n[min.x]\n[max.y]\n";
    let z = Point::new(&[0.0], &[0.0]);
    let solution = solve(&mut formula(text), &z, &Settings::default()).unwrap();
    assert_eq!((solution.reason, solution.iterations), (StopReason::Converged, 0));
    let report = seen(text, &z);
    let y = report.y.as_ref().unwrap();
    assert!((y.curvature - 2.0).abs() < 1e-6 && y.slope == 0.0 && y.step == 1.0 && y.change == 1.0, "{y:?}");
    let said = report.sentence();
    assert!(said.contains("(curvature 2, slope 0): a step of length 1 along it raises f by 1"), "{said}");
    assert!(said.ends_with("so y does not maximise f(x, .)"), "{said}");
    assert!(report.gradients <= 20);
}

#[test]
fn a_saddle_of_the_right_kind_shows_no_wrong_curvature() {
    let report = seen("objective = \"x^2 + 3*x*y - y^2\"\n[min.x]\n[max.y]\n", &Point::new(&[0.0], &[0.0]));
    assert!(!report.found(), "{report:?}");
    assert_eq!(report.directions, [1, 1]);
    // f curves downward in x, but max over y does not: x^2 (-1 + 9/4).
    let report = seen("objective = \"-x^2 + 3*x*y - y^2\"\n[min.x]\n[max.y]\n", &Point::new(&[0.0], &[0.0]));
    assert!(!report.found(), "{report:?}");
}

#[test]
fn a_maximum_of_the_outer_function_is_seen() {
    // max over y is x^2 (-1 + 1/4).
    let report = seen("objective = \"-x^2 + x*y - y^2\"\n[min.x]\n[max.y]\n", &Point::new(&[0.0], &[0.0]));
    let x = report.x.as_ref().unwrap();
    assert!((x.curvature + 1.5).abs() < 1e-5 && x.change < 0.0, "{x:?}");
    assert!(report.sentence().contains("max over y curves downward"), "{}", report.sentence());
}

#[test]
fn only_directions_inside_the_sets_count() {
    // f increases with y^2, but y is fixed at the corner: no direction is feasible both ways.
    let text = "objective = \"x^2 + y^2\"\n[min.x]\n[max.y]\nlower = -1\nupper = 1\n";
    let report = seen(text, &Point::new(&[0.0], &[1.0]));
    assert!(!report.found() && report.dims == [1, 0], "{report:?}");
    // On the sphere f = -y1^2 - 2 y2^2 is largest at (1, 0), where its second derivative along the arc is -4 + 2.
    let text =
        "objective = \"x^2 - y[0]^2 - 2*y[1]^2\"\n[min.x]\n[max.y]\ndim = 2\nset = { ball = { radius = 1.0 } }\n";
    let report = seen(text, &Point::new(&[0.0], &[1.0, 0.0]));
    assert!(!report.found() && report.dims == [1, 1], "{report:?}");
    let report = seen(&text.replace("- 2*y[1]^2", "+ 2*y[1]^2"), &Point::new(&[0.0], &[1.0, 0.0]));
    assert!((report.y.unwrap().curvature - 6.0).abs() < 1e-5);
}

#[test]
fn a_few_products_find_the_extreme_direction_among_many() {
    let text = "objective = \"x^2 - sum((y - 0.1*w)^2) + 2*(w @ y)^2\"\n[min.x]\n[max.y]\ndim = 40\n[data]\nw = W\n";
    let w: Vec<f64> = wave(40, 3);
    let norm = w.iter().map(|w| w * w).sum::<f64>().sqrt();
    let unit: Vec<f64> = w.iter().map(|w| w / norm).collect();
    let text = text.replace('W', &format!("{unit:?}"));
    // Stationary at 0 up to the gradient 0.2 w.
    let report = look(&mut formula(&text), &Point::new(&[0.0], &[0.0; 40]), &CurvatureSettings::default());
    let y = report.y.as_ref().unwrap();
    assert!((y.curvature - 2.0).abs() < 1e-4, "{y:?}");
    assert!(report.gradients <= 20 && report.directions[1] < 10);
    let again = look(&mut formula(&text), &Point::new(&[0.0], &[0.0; 40]), &CurvatureSettings::default());
    assert_eq!(report, again, "the same seed, the same directions");
}

#[test]
fn the_zoo_has_wrong_curvature_only_at_known_solutions() {
    let wrong: Vec<&str> = zoo::all()
        .iter()
        .filter(|entry| {
            let made = (entry.make)();
            made.answers.iter().any(|a| {
                let mut fresh = (entry.make)();
                look(&mut fresh.game, &a.point, &CurvatureSettings { gradients: 200, ..Default::default() }).found()
            })
        })
        .map(|entry| entry.name)
        .collect();
    assert!(wrong.contains(&"second-order"), "{wrong:?}");
    assert!(!wrong.contains(&"rps") && !wrong.contains(&"trap") && !wrong.contains(&"kink"), "{wrong:?}");
}

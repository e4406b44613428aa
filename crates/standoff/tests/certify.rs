//! The certificate as a library call: bounds of known gaps, feasibility, kinks, stated errors, and verification of
//! claims.

mod common;

use standoff::certify::outside;
use standoff::formula::FormulaGame;
use standoff::gap::{Ask, Gauge, Side};
use standoff::sets::Matrix;
use standoff::{Claim, Game, Need, Point, Proof, Set, Settings, StopReason, certify, solve, verify};

/// `min over x in C of <c, x>` (independent of y), with gradients that may have a stated error.
struct Linear {
    set: Set<f64>,
    nothing: Set<f64>,
    c: Vec<f64>,
    error: f64,
}

impl Linear {
    fn new(set: Set<f64>, c: &[f64]) -> Self {
        Self { set, nothing: Set::interval(0.0, 0.0).unwrap(), c: c.to_vec(), error: 0.0 }
    }

    fn bound(mut self, x: &[f64]) -> f64 {
        certify(&mut self, &Point::new(x, &[0.0]), 1.0).x.upper
    }
}

impl Game for Linear {
    type Real = f64;
    fn x_set(&self) -> &Set<f64> {
        &self.set
    }
    fn y_set(&self) -> &Set<f64> {
        &self.nothing
    }
    fn fix(&mut self, _: &[f64], _: Need) {}
    fn value(&mut self, _: &[f64]) -> f64 {
        0.0
    }
    fn grad_x(&mut self, _: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(&self.c);
        0.0
    }
    fn grad_y(&mut self, _: &[f64], out: &mut [f64]) -> f64 {
        out.fill(0.0);
        0.0
    }
    fn grad_error(&self) -> f64 {
        self.error
    }
}

fn matrix(rows: &[&[f64]]) -> Matrix {
    Matrix::from_rows(&rows.iter().map(|r| r.to_vec()).collect::<Vec<_>>()).unwrap()
}

fn formula(text: &str) -> FormulaGame {
    FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}"))).unwrap()
}

/// X at x of a game in one free variable.
fn gap_of(objective: &str, x: f64) -> f64 {
    let mut game = formula(&format!("objective = \"{objective} - y^2\"\n[min.x]\n[max.y]\n"));
    certify(&mut game, &Point::new(&[x], &[0.0]), 1.0).x.upper
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * (1.0 + b.abs())
}

/// A set, a gradient, a point and X there.
type KnownGap = (Set<f64>, Vec<f64>, Vec<f64>, f64);

#[test]
fn known_gaps_are_bounded_to_the_last_digits() {
    let root = 0.5f64.sqrt();
    let cases: Vec<KnownGap> = vec![
        (Set::free(2), vec![3.0, 4.0], vec![1.0, 1.0], 5.0),
        (Set::boxed(vec![0.0; 2], vec![9.0; 2]).unwrap(), vec![3.0, 4.0], vec![0.0, 0.25], 1.0),
        (Set::ball(vec![0.0; 2], 2.0).unwrap(), vec![-3.0, -4.0], vec![0.0, 0.0], 5.0),
        (Set::ball(vec![0.0; 2], 0.5).unwrap(), vec![-3.0, -4.0], vec![0.0, 0.0], 2.5),
        (Set::l1_ball(2, 1.0).unwrap(), vec![1.0, 0.0], vec![0.0, 0.0], 1.0),
        (Set::simplex(2, 1.0).unwrap(), vec![1.0, 0.0], vec![1.0, 0.0], root),
        (Set::halfspace(vec![1.0, 0.0], 0.0).unwrap(), vec![-1.0, 1.0], vec![0.0, 0.0], 1.0),
        (Set::halfspace(vec![2.0, 0.0], 0.5).unwrap(), vec![-1.0, 0.0], vec![0.0, 0.0], 0.25),
        (Set::affine(matrix(&[&[1.0, 1.0]]), &[1.0]).unwrap(), vec![1.0, 0.0], vec![0.5, 0.5], root),
        (
            Set::polyhedron(matrix(&[&[1.0, 0.0], &[0.0, 1.0]]), &[0.0, 0.5]).unwrap(),
            vec![-1.0, -1.0],
            vec![0.0, 0.0],
            0.5,
        ),
    ];
    for (set, c, x, want) in cases {
        let name = format!("{set:?}").chars().take(12).collect::<String>();
        let got = Linear::new(set, &c).bound(&x);
        assert!(got >= want - 1e-15 && close(got, want), "{name}: {got}, not {want}");
    }
}

#[test]
fn a_product_shares_one_radius() {
    let part = || Set::interval(0.0, 9.0).unwrap();
    let got = Linear::new(Set::product(vec![part(), part()]).unwrap(), &[-3.0, -4.0]).bound(&[1.0, 1.0]);
    assert!(close(got, 5.0), "{got}");
}

#[test]
fn random_sets_have_bounds_that_meet() {
    let mut state = 7u64;
    let mut dice = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    for round in 0..300 {
        let n = 1 + round % 6;
        let v: Vec<f64> = (0..n).map(|_| dice()).collect();
        let set = match round % 6 {
            0 => Set::boxed(vec![-0.5; n], vec![0.7; n]).unwrap(),
            1 => Set::ball(v.clone(), 0.8).unwrap(),
            2 => Set::l1_ball(n, 1.3).unwrap(),
            3 => Set::simplex(n, 1.5).unwrap(),
            4 => Set::halfspace(v.iter().map(|v| v + 1.5).collect(), 0.3).unwrap(),
            _ => Set::affine(Matrix::new(1, n, v.iter().map(|v| v + 1.5).collect()).unwrap(), &[0.4]).unwrap(),
        };
        let mut x: Vec<f64> = (0..n).map(|_| 2.0 * dice()).collect();
        set.project(&mut x);
        set.project(&mut x);
        let c: Vec<f64> = (0..n).map(|_| dice()).collect();
        let measured = Gauge::new(1.0).measure(&set, &x, &c, Side::Min, Ask::Exact);
        let upper = Linear::new(set, &c).bound(&x);
        assert!(upper >= measured.lower * (1.0 - 1e-13), "round {round}: {upper} {measured:?}");
        assert!(upper <= measured.lower * (1.0 + 1e-10) + 1e-13, "round {round}: {upper} {measured:?}");
    }
}

#[test]
fn a_point_is_inside_exactly_or_its_distance_is_bounded() {
    let edge = 1.0 + f64::EPSILON;
    let cases: Vec<(Set<f64>, Vec<f64>, bool)> = vec![
        (Set::interval(0.0, 1.0).unwrap(), vec![1.0], true),
        (Set::interval(0.0, 1.0).unwrap(), vec![edge], false),
        (Set::ball(vec![0.0; 2], 5.0).unwrap(), vec![3.0, 4.0], true),
        (Set::ball(vec![0.0; 2], 5.0).unwrap(), vec![3.0, 4.0 * edge], false),
        (Set::l1_ball(2, 1.0).unwrap(), vec![0.5, -0.5], true),
        (Set::l1_ball(2, 1.0).unwrap(), vec![0.5, -0.5 * edge], false),
        (Set::simplex(2, 1.0).unwrap(), vec![0.25, 0.75], true),
        (Set::simplex(2, 1.0).unwrap(), vec![0.25, 0.75 * edge], false),
        (Set::halfspace(vec![1.0, 1.0], 1.0).unwrap(), vec![0.5, 0.5], true),
        (Set::halfspace(vec![1.0, 1.0], 1.0).unwrap(), vec![0.5, 0.5 * edge], false),
        (Set::affine(matrix(&[&[1.0, 2.0]]), &[1.0]).unwrap(), vec![0.5, 0.25], true),
        (Set::affine(matrix(&[&[1.0, 2.0]]), &[1.0]).unwrap(), vec![0.5, 0.25 * edge], false),
        (Set::polyhedron(matrix(&[&[1.0, 2.0]]), &[1.0]).unwrap(), vec![0.5, 0.25], true),
        (Set::polyhedron(matrix(&[&[1.0, 2.0]]), &[1.0]).unwrap(), vec![0.5, 0.25 * edge], false),
    ];
    for (set, x, inside) in cases {
        let by = outside(&set, &x);
        assert_eq!(by == 0.0, inside, "{set:?} {x:?}: {by}");
        assert!(inside || by > 0.0 && by < 1e-12, "{set:?} {x:?}: {by}");
    }
    assert!(outside(&Set::free(1), &[f64::NAN]).is_nan());
    // For far points, the bound is an upper bound of the distance.
    for (set, x, least) in [
        (Set::interval(0.0, 1.0).unwrap(), vec![4.0], 3.0),
        (Set::affine(matrix(&[&[3.0, 4.0]]), &[0.0]).unwrap(), vec![3.0, 4.0], 5.0),
        (Set::ball(vec![0.0], 1.0).unwrap(), vec![4.0], 3.0),
        (Set::ball(vec![3.0], 1.0).unwrap(), vec![7.0], 3.0),
        (Set::halfspace(vec![3.0, 4.0], 5.0).unwrap(), vec![3.0, 4.0], 4.0),
        (
            Set::product(vec![Set::interval(0.0, 1.0).unwrap(), Set::interval(0.0, 1.0).unwrap()]).unwrap(),
            vec![4.0, -4.0],
            5.0,
        ),
    ] {
        let by = outside(&set, &x);
        assert!(by >= least && by <= least * (1.0 + 1e-12), "{set:?}: {by}");
    }
    // Bounds that are not tight: at least the distance, at most a small multiple of it.
    for (set, x, least, most) in [
        (Set::simplex(2, 1.0).unwrap(), vec![-0.5, 1.5], 0.5f64.sqrt(), 1.0),
        (Set::simplex(2, 1.0).unwrap(), vec![0.0, 0.0], 0.5f64.sqrt(), 1.0),
        (Set::l1_ball(2, 1.0).unwrap(), vec![1.0, 1.0], 0.5f64.sqrt(), 1.0),
    ] {
        let by = outside(&set, &x);
        assert!(by >= least && by <= most * (1.0 + 1e-12), "{set:?}: {by}");
    }
}

#[test]
fn repeated_rows_are_accepted() {
    let rows = matrix(&[&[1.0, 1.0, 0.0], &[0.0, 1.0, 1.0], &[1.0, 2.0, 1.0]]);
    let set = Set::<f64>::affine(rows, &[1.0, 1.0, 2.0]).unwrap();
    assert_eq!(outside(&set, &[0.5, 0.5, 0.5]), 0.0);
    let by = outside(&set, &[0.5, 0.5, 0.75]);
    assert!((0.2..0.3).contains(&by), "{by}");
}

#[test]
fn equations_written_as_two_inequalities_count_as_equations() {
    let text = "objective = \"dot(c, x) - y^2\"\n[min.x]\ndim = 2\nset = { polyhedron = { A = [[3, 3], [-3, -3], [-1, 0], [0, -1]], b = [1, -1, 0, 0] } }\n\
                [max.y]\n[data]\nc = [1, 2]\n";
    let found = solve(&mut formula(text), &Point::new(&[0.1, 0.2], &[0.0]), &Settings::eps(1e-6)).unwrap();
    assert_eq!(found.reason, StopReason::Converged);
    assert!(found.certificate.outside[0] <= 1e-12, "{:?}", found.certificate);
    assert!(found.point.x.iter().all(|v| *v >= 0.0));
    // The same set with rows that are not exactly opposite contains no pair of f64.
    let text = text.replace("[-3, -3]", "[-6, -6]").replace("[1, -1, 0, 0]", "[1, -2, 0, 0]");
    let found = solve(&mut formula(&text), &Point::new(&[0.1, 0.2], &[0.0]), &Settings::eps(1e-6)).unwrap();
    assert_eq!(found.reason, StopReason::NotInside);
}

#[test]
fn the_best_slope_of_a_harmless_kink_is_found() {
    for (objective, want) in [
        ("abs(x)", 0.0),
        ("abs(x) + 0.5*x", 0.0),
        ("abs(x) - 2*x", 1.0),
        ("2*abs(x) + abs(3*x) - 4*x", 0.0),
        ("max(x, -2*x)", 0.0),
        ("max(x, 3*x)", 1.0),
        ("-min(x, -x)", 0.0),
        ("relu(x) - 0.3*x", 0.0),
        ("relu(x) - 1.5*x", 0.5),
        ("-abs(x)", 1.0),
        ("-relu(x)", 1.0),
        ("min(x, -x)", 1.0),
    ] {
        let got = gap_of(objective, 0.0);
        assert!((got - want).abs() < 1e-9 && got >= want - 1e-15, "{objective}: {got}, not {want}");
    }
    // Beside the kink only the derivative counts, however close the kink is.
    assert_eq!(gap_of("abs(x)", 1e-300), 1.0);
}

#[test]
fn kinks_of_vectors_have_their_own_hulls() {
    let gap = |objective: &str| {
        let text = format!(
            "objective = \"{objective} - y^2\"\n[min.x]\ndim = 3\n[max.y]\n[data]\nc = [0.2, -0.3, 0.4]\nd = [3, 0, 0]\n"
        );
        certify(&mut formula(&text), &Point::new(&[0.0; 3], &[0.0]), 1.0).x.upper
    };
    assert!(gap("sum(abs(x)) + dot(c, x)") < 1e-9);
    assert!(gap("norm(x) + dot(c, x)") < 1e-9);
    assert!((gap("norm(x) + dot(d, x)") - 2.0).abs() < 1e-9);
    assert!(gap("max(x) - sum(x)/3") < 1e-9);
    // Covered by one interval per entry: at least the true value, 1.
    assert!(gap("-norm(x)") >= 1.0);
    assert!(gap("-max(x)") >= 1.0);
}

#[test]
fn a_stated_error_is_added_to_the_bounds() {
    let mut game = Linear::new(Set::free(1), &[1.0]);
    game.error = 0.25;
    let c = certify(&mut game, &Point::new(&[0.0], &[0.0]), 2.0);
    assert!(close(c.x.upper, 2.5) && close(c.x.lower, 1.5), "{c:?}");
    assert_eq!(c.proof, Proof::AsComputed);
}

#[test]
fn numbers_that_are_not_finite_prove_nothing() {
    let mut game = Linear::new(Set::free(1), &[f64::NAN]);
    let z = Point::new(&[0.0], &[0.0]);
    assert!(!certify(&mut game, &z, 1.0).proves(f64::MAX));
    game.c = vec![0.0];
    assert!(certify(&mut game, &z, 1.0).proves(0.0));
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(!certify(&mut game, &z, radius).proves(f64::MAX), "{radius}");
    }
    assert!(!certify(&mut game, &Point::new(&[f64::NAN], &[0.0]), 1.0).proves(f64::MAX));
    let mut undefined = formula("objective = \"log(x) - y^2\"\n[min.x]\n[max.y]\n");
    assert!(!certify(&mut undefined, &Point::new(&[0.0], &[0.0]), 1.0).proves(f64::MAX));
}

#[test]
fn every_part_of_a_claim_is_checked() {
    let mut game = formula("objective = \"x*y - y^2 + 1\"\n[min.x]\nlower = -1\nupper = 1\n[max.y]\n");
    let z = Point::new(&[0.0], &[0.0]);
    let claim = |change: fn(&mut Claim)| {
        let mut claim = Claim::eps(1e-9);
        change(&mut claim);
        claim
    };
    let mut reasons = |claim: &Claim, z: &Point<f64>| verify(&mut game, z, claim).unwrap().failures;
    assert!(reasons(&claim(|_| ()), &z).is_empty());
    assert!(reasons(&claim(|c| c.value = Some(1.0)), &z).is_empty());
    assert!(reasons(&claim(|c| c.value = Some(1.1)), &z)[0].starts_with("the claimed value is 1.1"));
    assert!(reasons(&claim(|_| ()), &Point::new(&[1.5], &[0.75]))[0].starts_with("the min variables are outside"));
    let off = Point::new(&[0.5], &[0.25]);
    assert!(reasons(&claim(|_| ()), &off)[0].starts_with("X is proven to be at most"));
    assert!(
        reasons(&claim(|c| (c.eps, c.gap) = (1.0, [Some(0.1), None])), &off)[0].starts_with("the claim is X <= 1e-1")
    );
    assert!(reasons(&claim(|c| (c.eps, c.gap) = (1.0, [Some(0.25), None])), &off).is_empty());
    assert!(verify(&mut game, &Point::new(&[0.0, 1.0], &[0.0]), &Claim::eps(1.0)).is_err());
}

#[test]
fn both_kinds_of_enclosures_and_the_tape_agree_on_every_game_file() {
    use standoff::enclosure::{Precision, Slopes};
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/zoo");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        files += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let mut load = |name: &str| std::fs::read(folder.join(name)).map_err(|e| e.to_string());
        let mut game = FormulaGame::from_toml(&text, &mut load).unwrap();
        for k in 0..5 {
            let mut z = game.start();
            for (i, v) in z.x.iter_mut().chain(&mut z.y).enumerate() {
                *v += 0.3 * (f64::from(k) + 0.7 * i as f64).sin();
            }
            game.x_set().project(&mut z.x);
            game.y_set().project(&mut z.y);
            let fast = game.enclose(&z, Precision::Fast, &Slopes::default()).unwrap();
            let double = game.enclose(&z, Precision::Double, &Slopes::default()).unwrap();
            let (mut gx, mut gy) = (vec![0.0; z.x.len()], vec![0.0; z.y.len()]);
            game.fix(&z.x, Need::Gradients);
            game.grad_x(&z.y, &mut gx);
            game.grad_y(&z.y, &mut gy);
            let size = 1.0 + gx.iter().chain(&gy).fold(0.0, |m: f64, g| m.max(g.abs()));
            let all = [(&fast.x, &double.x, &gx), (&fast.y, &double.y, &gy)];
            for (fast, double, tape) in all {
                for i in 0..tape.len() {
                    let (f, d) = (fast.entries[i], double.entries[i]);
                    assert!(f.lower() <= d.upper() && d.lower() <= f.upper(), "{}: {f:?} {d:?}", path.display());
                    assert!(d.error() <= 1e-24 * size && f.error() <= 1e-9 * size, "{}: {f:?} {d:?}", path.display());
                    assert!((tape[i] - d.upper()).abs() <= 1e-9 * size, "{}: {} {d:?}", path.display(), tape[i]);
                }
            }
        }
    }
    assert!(files >= 15, "{files}");
}

#[test]
fn the_maximiser_has_the_best_slope_of_a_harmless_kink_too() {
    for (objective, want) in [("-abs(y) - 0.5*y", 0.0), ("min(y, -2*y)", 0.0), ("-abs(y) + 2*y", 1.0), ("abs(y)", 1.0)]
    {
        let mut game = formula(&format!("objective = \"x^2 + {objective}\"\n[min.x]\n[max.y]\n"));
        let got = certify(&mut game, &Point::new(&[0.0], &[0.0]), 1.0).y.upper;
        assert!((got - want).abs() < 1e-9 && got >= want - 1e-15, "{objective}: {got}, not {want}");
    }
}

#[test]
fn runs_that_end_on_a_curved_or_slanted_border_end_inside_exactly() {
    for set in [
        "{ halfspace = { a = [0.1, 0.3], b = 0.7 } }",
        "{ ball = { radius = 0.7, center = [0.1, 0.2] } }",
        "{ l1 = { radius = 0.7 } }",
        "{ polyhedron = { A = [[0.1, 0.3], [0.3, -0.1]], b = [0.7, 0.9] } }",
    ] {
        let text = format!(
            "objective = \"sum((x - c)^2) - y^2\"\n[min.x]\ndim = 2\nset = {set}\n[max.y]\n[data]\nc = [3.1, 4.7]\n"
        );
        let mut game = formula(&text);
        let start = game.start();
        let found = solve(&mut game, &start, &Settings::eps(1e-6)).unwrap();
        assert_eq!((found.reason, found.certificate.outside[0]), (StopReason::Converged, 0.0), "{set}");
        assert!(standoff::certify::is_inside(game.x_set(), &found.point.x));
        let beyond: Vec<f64> = found.point.x.iter().map(|v| v + 1e-9).collect();
        assert!(!standoff::certify::is_inside(game.x_set(), &beyond), "{set}");
    }
}

//! The formula files in `examples/zoo` are the same games as the zoo games of the same name: sets, starts, constants,
//! values, gradients, outcome.

use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use standoff::formula::FormulaGame;
use standoff::zoo::{self, Instance};
use standoff::{Game, Need, Set, Settings, StopReason, ops, solve};

const ROUNDING: f64 = 1e-12;

/// A file and the zoo game of the same name.
struct Pair {
    name: String,
    file: FormulaGame,
    twin: Instance,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/zoo")
}

/// Every formula file, with the zoo game of the same name.
fn pairs() -> Vec<Pair> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder()).expect("examples/zoo").map(|e| e.expect("readable").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    paths.iter().map(|path| pair(path)).collect()
}

fn pair(path: &Path) -> Pair {
    let name = path.file_stem().and_then(|n| n.to_str()).expect("a file name").to_owned();
    let text = std::fs::read_to_string(path).expect("readable");
    let mut load = |data: &str| std::fs::read(folder().join(data)).map_err(|e| e.to_string());
    let file = FormulaGame::from_toml(&text, &mut load).unwrap_or_else(|e| panic!("{name}: {e}"));
    let entry = zoo::find(&name).unwrap_or_else(|| panic!("{name}: the zoo has no game of this name"));
    Pair { name, file, twin: (entry.make)() }
}

/// Random points around a set and inside it.
struct Sampler(ChaCha8Rng);

impl Sampler {
    fn new() -> Self {
        Self(ChaCha8Rng::seed_from_u64(11))
    }

    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * 2.0_f64.powi(-53)
    }

    /// A point around the centre, up to about twice the radius away.
    fn around(&mut self, set: &Set<f64>) -> Vec<f64> {
        let mut v = set.centre();
        let radius = set.radius_around(&v);
        let spread = if radius.is_finite() { 4.0 * radius / (v.len() as f64).sqrt() } else { 4.0 } * self.unit();
        for e in &mut v {
            *e += spread * (2.0 * self.unit() - 1.0);
        }
        v
    }

    fn inside(&mut self, set: &Set<f64>) -> Vec<f64> {
        let mut v = self.around(set);
        set.project(&mut v);
        v
    }
}

fn close(a: &[f64], b: &[f64], scale: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= ROUNDING * scale)
}

/// `f` and both gradients.
fn look(game: &mut dyn Game<Real = f64>, x: &[f64], y: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let (mut gx, mut gy) = (vec![f64::NAN; x.len()], vec![f64::NAN; y.len()]);
    game.fix(x, Need::Gradients);
    game.grad_x(y, &mut gx);
    let f = game.grad_y(y, &mut gy);
    (f, gx, gy)
}

#[test]
fn there_are_at_least_15_files_with_a_name_and_a_description() {
    let pairs = pairs();
    assert!(pairs.len() >= 15, "{} files", pairs.len());
    for Pair { name, file, .. } in pairs {
        assert_eq!(file.name(), Some(&name[..]), "the name in the file differs from the name of the file");
        let description = file.description().unwrap_or_else(|| panic!("{name}: no description"));
        assert!(description.ends_with('.') && !description.contains('\n'), "{name}: {description}");
        assert!(file.warnings().is_empty(), "{name}: {:?}", file.warnings());
    }
}

#[test]
fn dimensions_starts_and_linearity_equal_those_of_the_zoo_game() {
    for Pair { name, file, twin } in pairs() {
        let dims = |game: &dyn Game<Real = f64>| (game.x_set().dim(), game.y_set().dim(), game.linear_in_y());
        assert_eq!(dims(&file), dims(&*twin.game), "{name}: dimensions, and whether f is linear in y");
        assert_eq!(file.start(), twin.start, "{name}: the start");
    }
}

#[test]
fn constants_equal_those_of_the_zoo_game() {
    for Pair { name, file, twin } in pairs() {
        assert_eq!(file.constants(), twin.constants, "{name}");
    }
}

#[test]
fn projections_agree_with_the_zoo_game() {
    let mut sampler = Sampler::new();
    for Pair { name, file, twin } in pairs() {
        for (a, b) in [(file.x_set(), twin.game.x_set()), (file.y_set(), twin.game.y_set())] {
            for _ in 0..20 {
                let v = sampler.around(b);
                let (mut p, mut q) = (v.clone(), v.clone());
                a.project(&mut p);
                b.project(&mut q);
                assert!(close(&p, &q, 1.0 + ops::norm(&v)), "{name}: {v:?} is projected to {p:?} and to {q:?}");
            }
        }
    }
}

#[test]
fn values_and_gradients_agree_with_the_zoo_game_at_random_points() {
    let mut sampler = Sampler::new();
    for Pair { name, mut file, mut twin } in pairs() {
        for _ in 0..100 {
            let (x, y) = (sampler.inside(twin.game.x_set()), sampler.inside(twin.game.y_set()));
            let (f, gx, gy) = look(&mut file, &x, &y);
            let (twin_f, twin_gx, twin_gy) = look(&mut *twin.game, &x, &y);
            // The terms of f have about this size.
            let terms = 1.0 + twin_f.abs() + ops::norm(&twin_gx) * ops::norm(&x) + ops::norm(&twin_gy) * ops::norm(&y);
            let slopes = 1.0 + ops::norm(&twin_gx) + ops::norm(&twin_gy);
            assert!((f - twin_f).abs() <= ROUNDING * terms, "{name}: f is {f} or {twin_f} at {x:?}, {y:?}");
            assert!(close(&gx, &twin_gx, slopes), "{name}: grad_x is {gx:?} or {twin_gx:?} at {x:?}, {y:?}");
            assert!(close(&gy, &twin_gy, slopes), "{name}: grad_y is {gy:?} or {twin_gy:?} at {x:?}, {y:?}");
        }
    }
}

#[test]
fn a_file_converges_if_and_only_if_the_zoo_game_does() {
    for Pair { name, mut file, twin } in pairs() {
        let settings = Settings::eps(1e-3);
        let start = file.start();
        let mut game = twin.game;
        let ends = solve(&mut file, &start, &settings).map(|s| s.reason).unwrap_or_else(|e| panic!("{name}: {e}"));
        let twin_ends =
            solve(&mut game, &twin.start, &settings).map(|s| s.reason).unwrap_or_else(|e| panic!("{name}: {e}"));
        let converged = |reason| reason == StopReason::Converged;
        assert_eq!(converged(ends), converged(twin_ends), "{name}: {ends:?}, the twin {twin_ends:?}");
    }
}

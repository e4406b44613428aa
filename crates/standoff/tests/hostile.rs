//! Games made to obtain a false certificate (`tests/hostile/`, written by `make.py`). Each has a point, and either a
//! rigorous lower bound of the true X and Y there or a point outside its set. No upper bound may be below the true
//! value, and no point outside may be verified.

use std::path::{Path, PathBuf};

use standoff::formula::FormulaGame;
use standoff::{Claim, Point, certify, verify};

enum Truth {
    AtLeast(f64, f64),
    Outside,
}

struct Case {
    name: String,
    game: FormulaGame,
    point: Point<f64>,
    truth: Truth,
}

fn numbers(text: &str, key: &str) -> Vec<f64> {
    let list = text.split(&format!("\"{key}\": [")).nth(1).unwrap().split(']').next().unwrap();
    list.split(',').map(|v| v.trim().parse().unwrap()).collect()
}

fn bound(text: &str, name: &str) -> f64 {
    let after = text.split(&format!("{name} >= ")).nth(1);
    after.map_or(0.0, |t| t.split([',', ' ']).next().unwrap().parse().unwrap())
}

fn read(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).unwrap();
    let line = |start: &str| text.lines().find_map(|l| l.strip_prefix(start)).unwrap();
    let (point, truth) = (line("# point: "), line("# truth: "));
    let truth = if truth.starts_with("outside") {
        Truth::Outside
    } else {
        Truth::AtLeast(bound(truth, "X"), bound(truth, "Y"))
    };
    let folder = path.parent().unwrap();
    let mut load = |name: &str| std::fs::read(folder.join(name)).map_err(|e| e.to_string());
    let name = format!("{}/{}", folder.file_name().unwrap().display(), path.file_name().unwrap().display());
    let game = FormulaGame::from_toml(&text, &mut load).unwrap_or_else(|e| panic!("{name}: {e}"));
    Case { name, game, point: Point::new(&numbers(point, "x"), &numbers(point, "y")), truth }
}

fn files(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile").join(kind);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    files.sort();
    assert!(files.len() >= 30, "{kind} has {} cases", files.len());
    files
}

/// All false claims of a kind, as messages.
fn false_claims(kind: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for path in files(kind) {
        let Case { name, mut game, point, truth } = read(&path);
        let c = certify(&mut game, &point, 1.0);
        let verified = |game: &mut FormulaGame, eps: f64| verify(game, &point, &Claim::eps(eps)).unwrap().verified();
        match truth {
            Truth::AtLeast(x, y) => {
                let below = c.x.upper < x || c.y.upper < y;
                let most = if x > y { x } else { y };
                if below || most > 0.0 && verified(&mut game, 0.99 * most) {
                    wrong.push(format!("{name}: X <= {:e}, Y <= {:e}; truth {x:e}, {y:e}", c.x.upper, c.y.upper));
                }
            }
            Truth::Outside => {
                if c.outside == [0.0, 0.0] || verified(&mut game, 1e300) {
                    wrong.push(format!("{name}: taken to be inside, {:?}", c.outside));
                }
            }
        }
    }
    wrong
}

macro_rules! kinds {
    ($($test:ident: $kind:literal,)*) => {$(
        #[test]
        fn $test() {
            let wrong = false_claims($kind);
            assert!(wrong.is_empty(), "{} false claims:\n{}", wrong.len(), wrong.join("\n"));
        }
    )*};
}

kinds! {
    cancellation_yields_no_false_claim: "cancellation",
    saturation_yields_no_false_claim: "saturation",
    kinks_yield_no_false_claim: "kinks",
    points_outside_are_not_taken_for_inside: "outside",
    extreme_scales_yield_no_false_claim: "scales",
    ill_conditioned_sets_yield_no_false_claim: "conditioning",
}

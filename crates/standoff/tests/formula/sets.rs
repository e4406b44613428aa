//! Sets and starts in game files.

use standoff::formula::FormulaGame;
use standoff::{Game, Set};

use crate::{read, refusal};

fn game(variable: &str) -> String {
    format!(
        "objective = 'sum(w) * y'\n[max.y]\n[data]\nG = [[1, 1], [-1, 2]]\nh = [1, 2]\nr = 2.5\n[min.w]\n{variable}\n"
    )
}

/// The game in which `w` (dim 2) has this set and start.
fn set(variable: &str) -> FormulaGame {
    read(&game(&format!("dim = 2\n{variable}"))).unwrap_or_else(|e| panic!("{variable}: {e}"))
}

/// The projection of a point onto the set of `w`.
fn projected(variable: &str, mut v: [f64; 2]) -> [f64; 2] {
    set(variable).x_set().project(&mut v);
    v
}

fn near(a: [f64; 2], b: [f64; 2]) {
    assert!((a[0] - b[0]).abs() + (a[1] - b[1]).abs() < 1e-6, "{a:?} {b:?}");
}

#[test]
fn every_set_is_built_from_text() {
    near(projected("", [3.0, 4.0]), [3.0, 4.0]);
    near(projected("set = 'free'", [3.0, 4.0]), [3.0, 4.0]);
    near(projected("set = { free = {} }", [3.0, 4.0]), [3.0, 4.0]);
    near(projected("set = 'simplex'", [3.0, 4.0]), [0.0, 1.0]);
    near(projected("set = { simplex = {} }", [3.0, 4.0]), [0.0, 1.0]);
    near(projected("set = { simplex = { scale = 2 } }", [3.0, 4.0]), [0.5, 1.5]);
    near(projected("set = { box = { lower = -1, upper = [1, 2] } }", [3.0, 4.0]), [1.0, 2.0]);
    near(projected("lower = -1\nupper = [1, inf]", [3.0, 4.0]), [1.0, 4.0]);
    near(projected("lower = 0", [-3.0, 4.0]), [0.0, 4.0]);
    near(projected("upper = 'h'", [3.0, 4.0]), [1.0, 2.0]);
    near(projected("set = { ball = { radius = 'r' } }", [3.0, 4.0]), [1.5, 2.0]);
    near(projected("set = { ball = { center = [3, 0], radius = 1 } }", [3.0, 4.0]), [3.0, 1.0]);
    near(projected("set = { ball = { centre = 'h', radius = 0 } }", [3.0, 4.0]), [1.0, 2.0]);
    near(projected("set = { l1 = { radius = 1 } }", [3.0, 4.0]), [0.0, 1.0]);
    near(projected("set = { halfspace = { a = [0, 1], b = 1 } }", [3.0, 4.0]), [3.0, 1.0]);
    near(projected("set = { affine = { A = [[0, 1]], b = [1] } }", [3.0, 4.0]), [3.0, 1.0]);
    near(projected("set = { affine = { A = [0, 1], b = 1 } }", [3.0, 4.0]), [3.0, 1.0]);
    near(projected("set = { polyhedron = { A = 'G', b = 'h' } }", [1.0, 1.0]), [0.5, 0.5]);
}

#[test]
fn files_describe_sets_too() {
    let text = game("dim = 2\nset = { polyhedron = { A = { file = 'A.csv' }, b = 'b.csv' } }");
    let game = FormulaGame::from_toml(&text, &mut |path| match path {
        "A.csv" => Ok(b"1,0\n0,1\n-1,0\n0,-1\n".to_vec()),
        "b.csv" => Ok(b"1\n1\n1\n1\n".to_vec()),
        other => Err(format!("no {other}")),
    });
    let mut v = [3.0, -0.5];
    game.unwrap().x_set().project(&mut v);
    near(v, [1.0, -0.5]);
}

#[test]
fn scalars_have_sets_of_one_coordinate() {
    for (variable, from, to) in [
        ("lower = -1\nupper = 1", 5.0, 1.0),
        ("set = { ball = { center = 1, radius = 2 } }", 5.0, 3.0),
        ("set = { l1 = { radius = 2 } }", 5.0, 2.0),
        ("set = { halfspace = { a = 2, b = 3 } }", 5.0, 1.5),
        ("set = { affine = { A = 2, b = 3 } }", 5.0, 1.5),
        ("set = { polyhedron = { A = [1, -1], b = [2, 0] } }", 5.0, 2.0),
    ] {
        let game = read(&format!("objective = 'w * y'\n[max.y]\n[min.w]\n{variable}\n")).unwrap();
        let mut v = [from];
        game.x_set().project(&mut v);
        assert!((v[0] - to).abs() < 1e-6, "{variable}: {v:?}");
    }
}

#[test]
fn several_variables_are_a_product_in_the_order_of_the_file() {
    let text = "objective = 'sum(z)*b + sum(a)'\n[min.z]\ndim = 2\nset = 'simplex'\n[min.a]\ndim = 3\nlower = 0\nupper = 2\n[max.b]\n";
    let game = read(text).unwrap();
    assert!(matches!(game.x_set(), Set::Product(_)));
    assert_eq!(game.start().x, [0.5, 0.5, 1.0, 1.0, 1.0]);
    let mut v = [4.0, 0.0, 3.0, 1.0, -1.0];
    game.x_set().project(&mut v);
    assert_eq!(v, [1.0, 0.0, 2.0, 1.0, 0.0]);
}

#[test]
fn a_start_is_a_number_a_list_data_or_the_centre() {
    assert_eq!(set("start = 2").start().x, [2.0, 2.0]);
    assert_eq!(set("start = [2, -1]").start().x, [2.0, -1.0]);
    assert_eq!(set("start = 'h'").start().x, [1.0, 2.0]);
    assert_eq!(set("").start().x, [0.0, 0.0]);
    assert_eq!(set("set = 'simplex'").start().x, [0.5, 0.5]);
    assert_eq!(set("lower = 1").start().x, [1.0, 1.0]);
    assert_eq!(set("set = { ball = { center = [3, 1], radius = 1 } }").start().x, [3.0, 1.0]);
}

#[test]
fn impossible_sets_are_refused_with_their_variable() {
    let says = |variable: &str, expected: &str| assert_eq!(refusal(&game(variable)), expected, "{variable}");
    for (variable, start, end) in [
        (
            "dim = 2\nlower = [0, 2]\nupper = 1",
            "box: coordinate 1 has lower = 2 and upper = 1",
            "(line 9: `min.w.lower`)",
        ),
        ("dim = 2\nset = { simplex = { scale = 0 } }", "simplex: the scale is 0", "(line 9: `min.w.set.simplex`)"),
        ("dim = 2\nset = { ball = { radius = -1 } }", "ball: the radius is -1", "(line 9: `min.w.set.ball`)"),
        (
            "dim = 2\nset = { halfspace = { a = 0, b = 1 } }",
            "half-space: the normal a is zero",
            "(line 9: `min.w.set.halfspace`)",
        ),
    ] {
        let message = refusal(&game(variable));
        assert!(message.starts_with(start) && message.ends_with(end), "{message}");
    }
    says(
        "set = 'simplex'",
        "line 8: `min.w.set` is a simplex, but `w` is a scalar; give `dim`, or use lower = 0, upper = 1",
    );
    says("set = 'box'", "line 8: `min.w.set` needs bounds: write { box = { lower = 0, upper = 1 } }");
    says("set = 'ball'", "line 8: `min.w.set` needs a radius: write { ball = { radius = 1 } }");
    says("set = 3", "line 8: `min.w.set` must be a set, such as \"simplex\" or { ball = { radius = 1 } }, got 3");
    says("set = {}", "line 8: `min.w.set` is empty; write \"free\" or { ball = { radius = 1 } }");
    says(
        "set = { ball = { radius = 1 }, l1 = { radius = 1 } }",
        "line 8: `min.w.set` names two sets; remove `l1`, or use a polyhedron",
    );
    says("set = { ball = {} }", "line 8: `min.w.set.ball` has no `radius`; add one, such as radius = 1");
    says(
        "set = { ball = { radius = [1, 2] } }",
        "line 8: `min.w.set.ball.radius` must be a number, got a vector of length 2",
    );
    says("set = { ball = 3 }", "line 8: `min.w.set.ball` must be a table of center, centre, radius, got 3");
    says("set = 'free'\nlower = 1", "line 9: `min.w.lower` cannot be combined with `set`; give only one of the two");
    says(
        "dim = 2\nlower = [1, 2, 3]",
        "line 9: `min.w.lower` is a vector of length 3, but `w` has 2 entries; give 2 numbers",
    );
    says("lower = [1]", "line 8: `min.w.lower` is a vector of length 1, but `w` is a scalar; give a number, or `dim`");
    says(
        "dim = 2\nstart = [1, 2, 3]",
        "line 9: `min.w.start` is a vector of length 3, but `w` has 2 entries; give 2 numbers",
    );
    says("start = inf", "line 8: `min.w.start` has inf; a start is finite");
    says("lower = nan", "line 8: `min.w.lower` has NaN at its only entry; give a number");
    says(
        "lower = 'rr'",
        "line 8: `min.w.lower` is \"rr\", neither an entry of [data] nor a file ending in .npy or .csv; did you mean `r`?",
    );
    says(
        "dim = 3\nset = { polyhedron = { A = 'G', b = 'h' } }",
        "line 9: `min.w.set.polyhedron.A` has 2 columns, but `w` has 3 entries; give one column each",
    );
    says(
        "dim = 2\nset = { affine = { A = 'G', b = [1, 2, 3] } }",
        "line 9: `min.w.set.affine.b` is a vector of length 3, but A has 2 rows; give one number per row",
    );
}

#[test]
fn an_empty_polyhedron_is_refused() {
    let message = refusal(&game("set = { polyhedron = { A = [1, -1], b = [0, -1] } }"));
    assert!(message.starts_with("polyhedron: ") && message.contains("`min.w.set.polyhedron`"), "{message}");
}

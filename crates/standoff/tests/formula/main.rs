//! Games as text, tested from outside: the meaning of the language and its error messages.

mod batch;
mod derivatives;
mod errors;
mod files;
mod fuzz;
mod language;
mod limits;
mod linear;
mod reference;
mod sets;

use standoff::formula::FormulaGame;
use standoff::{Error, Game, Need};

/// Parses a game without files.
fn read(text: &str) -> Result<FormulaGame, Error> {
    FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path} in this test")))
}

/// The error message of a game that must be refused.
fn refusal(text: &str) -> String {
    match read(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    }
}

/// Scalars s (min) and t (max), vectors u (min) and v (max) of length 3, a 2x3 matrix A, a 3x3 matrix B, a vector c of
/// length 3 and a number k.
fn around(objective: &str) -> String {
    format!(
        "objective = '''{objective}'''\n[min.s]\n[min.u]\ndim = 3\n[max.t]\n[max.v]\ndim = 3\n[data]\n\
         A = [[1, 2, 3], [4, 5, 6]]\nB = [[1, 0, 2], [-1, 3, 1], [0.5, 1, -2]]\nc = [1, -2, 0.5]\nk = 2.5\n"
    )
}

/// The value of an objective with the names above, at s = 0.5, u = (1, 2, 3), t = -2, v = (0.1, 0.2, 0.3).
fn value(objective: &str) -> f64 {
    let mut game = read(&around(objective)).unwrap_or_else(|e| panic!("{objective}: {e}"));
    game.fix(&[0.5, 1.0, 2.0, 3.0], Need::Values);
    game.value(&[-2.0, 0.1, 0.2, 0.3])
}

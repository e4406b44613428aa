//! Game files with random data, as a user would write them.

use std::fmt::Write as _;

use crate::Error;
use crate::formula::FormulaGame;
use crate::zoo::Instance;
use crate::zoo::random::Random;

/// Builder of a game file.
pub(super) struct Text {
    pub(super) random: Random,
    variables: String,
    data: String,
}

impl Text {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), variables: String::new(), data: "[data]\n".to_owned() }
    }

    /// Adds a variable `min.x` or `max.y`, with its set as in a game file and a start.
    pub(super) fn variable(&mut self, name: &str, set: &str, start: &[f64]) {
        let _ = writeln!(self.variables, "[{name}]\ndim = {}\nset = {set}\nstart = {start:?}", start.len());
    }

    /// Adds a vector of data.
    pub(super) fn vector(&mut self, name: &str, values: &[f64]) {
        let _ = writeln!(self.data, "{name} = {values:?}");
    }

    /// Adds a matrix of data, row by row.
    pub(super) fn matrix(&mut self, name: &str, columns: usize, values: &[f64]) {
        let rows: Vec<&[f64]> = values.chunks(columns).collect();
        let _ = writeln!(self.data, "{name} = {rows:?}");
    }

    /// Adds a matrix of normal numbers with columns of about the given length.
    pub(super) fn normals(&mut self, name: &str, rows: usize, columns: usize, length: f64) {
        let values = self.random.normals(rows * columns, length / (rows as f64).sqrt());
        self.matrix(name, columns, &values);
    }

    /// Adds a symmetric matrix of normal numbers, of norm about `2 size`.
    pub(super) fn symmetric(&mut self, name: &str, n: usize, size: f64) {
        let g = self.random.normals(n * n, size / (2.0 * n as f64).sqrt());
        let values: Vec<f64> = (0..n * n).map(|at| g[at] + g[at % n * n + at / n]).collect();
        self.matrix(name, n, &values);
    }

    /// Parses the file and returns the game.
    pub(super) fn game(self, objective: &str) -> Result<Instance, Error> {
        let text = format!("objective = \"{objective}\"\n{}{}", self.variables, self.data);
        let game = FormulaGame::from_toml(&text, &mut |path| Err(format!("no file {path}")))?;
        let start = game.start();
        Ok(Instance::new(game, &start.x, &start.y))
    }
}

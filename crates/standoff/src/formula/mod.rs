//! Games written as text: an objective in NumPy's notation, with exact derivatives, over sets named in a TOML file.
//!
//! ```
//! use standoff::formula::FormulaGame;
//! use standoff::{Game, Need};
//!
//! let text = r#"
//!     objective = "x*y - y^2"
//!     [min.x]
//!     lower = -1
//!     upper = 1
//!     start = 0.5
//!     [max.y]
//!     set = "free"
//! "#;
//! let mut game = FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}")))?;
//! game.fix(&[0.5], Need::Gradients);
//! let mut slope = [0.0];
//! assert_eq!(game.grad_y(&[2.0], &mut slope), 0.5 * 2.0 - 4.0);
//! assert_eq!(slope, [0.5 - 2.0 * 2.0]);
//! # Ok::<(), standoff::Error>(())
//! ```
//!
//! The text becomes a graph while it is parsed (`parser.rs`, `graph.rs`), and the graph becomes a flat tape (`tape.rs`)
//! that runs forward for values (`forward.rs`) and backward for gradients (`backward.rs`).

mod backward;
mod batch;
mod csv;
mod data;
mod enclose;
mod file;
mod forward;
mod functions;
mod graph;
mod index;
mod lexer;
mod npy;
mod op;
mod parser;
mod place;
mod product;
mod reader;
mod scope;
mod sets;
mod shape;
mod tape;

use std::io::{Cursor, Read};
use std::ops::Range;
use std::sync::Arc;

use crate::enclosure::{EnclosedGradients, Precision, Slopes};
use crate::{Constants, Error, Game, Need, Point, Set};

/// A reader of a data file, or a message why it cannot be opened.
pub type OpenedFile = Result<Box<dyn Read>, String>;

/// A variable of a game file.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name in the file.
    pub name: String,
    /// Its length; `None` for a scalar, which takes one entry.
    pub dim: Option<usize>,
    /// Its entries in the player's vector.
    pub range: Range<usize>,
}

/// Variables, set and start of one player.
#[derive(Debug, Clone)]
struct Player {
    set: Arc<Set<f64>>,
    start: Vec<f64>,
    variables: Vec<Variable>,
}

/// A game read from a file.
///
/// ```
/// use standoff::formula::FormulaGame;
/// use standoff::{Settings, solve};
///
/// let text = "objective = \"x*y - y^2\"\n[min.x]\nlower = -1\nupper = 1\n[max.y]\n";
/// let mut game = FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}")))?;
/// let start = game.start();
/// assert!(solve(&mut game, &start, &Settings::eps(1e-6))?.certificate.proves(1e-6));
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FormulaGame {
    name: Option<String>,
    description: Option<String>,
    objective: String,
    constants: Option<Constants>,
    affine_in_x: bool,
    affine_in_y: bool,
    tape: tape::Tape,
    program: Arc<enclose::Program>,
    batch: Option<batch::Batch>,
    warnings: Vec<String>,
    x: Player,
    y: Player,
}

impl FormulaGame {
    /// Reads a game file. `load` returns the bytes of each data file by its path exactly as written in the game file;
    /// the library itself opens no files.
    pub fn from_toml(text: &str, load: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>) -> Result<Self, Error> {
        Self::from_readers(text, &mut |path| Ok(Box::new(Cursor::new(load(path)?))))
    }

    /// Same as [`from_toml`](Self::from_toml), for large data: `open` returns a reader of each file, and numbers are
    /// decoded while they are read. The numbers of a `.npy` file then take the memory of one `f64` each and nothing
    /// else.
    ///
    /// ```
    /// use standoff::formula::FormulaGame;
    ///
    /// let text = "objective = \"x*y + sum(A)\"\n[min.x]\n[max.y]\n[data]\nA = \"A.csv\"\n";
    /// let file: &[u8] = b"1,2\n3,4\n"; // std::fs::File in earnest
    /// let game = FormulaGame::from_readers(text, &mut |path| match path {
    ///     "A.csv" => Ok(Box::new(file)),
    ///     _ => Err(format!("no file {path}")),
    /// })?;
    /// assert_eq!(game.min_variables().len(), 1);
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn from_readers(text: &str, open: &mut dyn FnMut(&str) -> OpenedFile) -> Result<Self, Error> {
        file::read(text, open)
    }

    /// Same as [`from_toml`](Self::from_toml), for bytes that may not be text.
    pub fn from_bytes(bytes: &[u8], load: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>) -> Result<Self, Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::from_toml(text, load),
            Err(e) => Err(Error::Formula(format!(
                "the game file is not text (at byte {}); give a TOML file in UTF-8",
                e.valid_up_to()
            ))),
        }
    }

    /// Sets the number of threads, 0 for one per core; the default is one. Threads change no result. A small game stays
    /// on the caller's thread.
    pub fn set_threads(&mut self, count: usize) -> Result<(), Error> {
        self.tape.set_threads(count)
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.tape.threads()
    }

    /// The starts in the file; if one is missing, the centre of the variable's set or the projection of 0.
    pub fn start(&self) -> Point<f64> {
        Point::new(&self.x.start, &self.y.start)
    }

    /// The minimising player's variables, in the order of the file.
    pub fn min_variables(&self) -> &[Variable] {
        &self.x.variables
    }

    /// The maximising player's variables, in the order of the file.
    pub fn max_variables(&self) -> &[Variable] {
        &self.y.variables
    }

    /// Notes for the user: functions that are not differentiable everywhere (at a kink the certificate uses one-sided
    /// slopes), and names without effect.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The constants given in the file, if any.
    pub fn constants(&self) -> Option<Constants> {
        self.constants
    }

    /// The objective as written in the file.
    pub fn objective(&self) -> &str {
        &self.objective
    }

    /// The game's name, if the file gives one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The game's description, if the file gives one.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }
}

impl Game for FormulaGame {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x.set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y.set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        match &mut self.batch {
            // All rows are evaluated only when something needs them.
            Some(batch) if batch.is_on() => batch.fix(x),
            _ => self.tape.fix(x),
        }
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        match &mut self.batch {
            Some(batch) if batch.is_on_for_y() => return batch.value(y),
            Some(batch) if batch.is_on() => self.tape.fix(batch.x()),
            _ => {}
        }
        self.tape.value(y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        match &mut self.batch {
            Some(batch) if batch.is_on() => batch.grad_x(y, out),
            _ => self.tape.grad_x(y, out),
        }
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        match &mut self.batch {
            Some(batch) if batch.is_on_for_y() => return batch.grad_y(y, out),
            Some(batch) if batch.is_on() => self.tape.fix(batch.x()),
            _ => {}
        }
        self.tape.grad_y(y, out)
    }

    fn draws_batches(&self) -> bool {
        self.batch.is_some()
    }

    fn resample(&mut self, step: u64) -> bool {
        self.batch.as_mut().is_some_and(|batch| batch.draw(step))
    }

    fn whole(&mut self) -> bool {
        self.batch.as_mut().is_some_and(batch::Batch::leave)
    }

    fn linear_in_y(&self) -> bool {
        self.affine_in_y
    }

    fn linear_in_x(&self) -> bool {
        self.affine_in_x
    }

    fn enclose(&mut self, z: &Point<f64>, precision: Precision, slopes: &Slopes) -> Option<EnclosedGradients> {
        Some(self.program.enclose(z, precision, slopes))
    }
}

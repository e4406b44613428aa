//! Loads a game from a file, from standard input, or from the zoo.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use standoff::error::nearest;
use standoff::formula::{FormulaGame, Variable};
use standoff::{Constants, Game, Need, Point, zoo};

use super::layout::{Layout, Slot};
use super::proof::GameFiles;
use crate::error::{Error, Result, error, refuse};
use crate::files;

/// The argument `GAME`.
#[derive(Debug, Clone, PartialEq)]
pub enum GameSource {
    /// A game file, or `-` for standard input.
    File(PathBuf),
    /// `zoo:NAME`.
    Zoo(String),
}

impl GameSource {
    /// Anything that does not start with `zoo:` is a path.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(match text.strip_prefix("zoo:") {
            Some(name) => Self::Zoo(name.to_owned()),
            None => Self::File(PathBuf::from(text)),
        })
    }

    /// True if this reads standard input.
    pub fn is_stdin(&self) -> bool {
        matches!(self, Self::File(path) if path == Path::new("-"))
    }

    /// Refuses an output file that is the game file or one of its data files.
    pub fn refuse_overwriting(&self, output: &Path, loaded: &Loaded) -> Result<()> {
        let Self::File(game) = self else { return Ok(()) };
        let folder = game.parent().unwrap_or(Path::new(""));
        let data = loaded.files.iter().flat_map(|read| read.files.keys()).map(|name| folder.join(name));
        match std::iter::once(game.clone()).chain(data).find(|input| files::is_same(input, output)) {
            Some(input) => {
                refuse!(File, "{} is read by this command; write the output to another file", files::name(&input))
            }
            None => Ok(()),
        }
    }

    /// Reads and builds the game.
    pub fn load(&self) -> Result<Loaded> {
        self.load_for(Use { threads: 1, keeps_files: false })
    }

    /// As [`load`](Self::load), for a purpose.
    pub fn load_for(&self, purpose: Use) -> Result<Loaded> {
        match self {
            Self::Zoo(name) => from_zoo(name),
            Self::File(path) => from_file(path, purpose),
        }
    }
}

/// Options for loading a game.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// Number of threads; 0 for all.
    pub threads: usize,
    /// Keep the bytes of its files, for a proof file.
    pub keeps_files: bool,
}

impl fmt::Display for GameSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zoo(name) => write!(f, "zoo:{name}"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A game ready to play, with the names of its variables.
pub struct Loaded {
    /// The game.
    pub game: Box<dyn Game<Real = f64> + Send>,
    /// Where to begin.
    pub start: Point<f64>,
    /// Its variables.
    pub layout: Layout,
    /// Its constants, where they are known.
    pub constants: Option<Constants>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// The files it was read from, the data files only if they are kept; nothing for a game of the zoo.
    pub files: Option<GameFiles>,
}

impl Loaded {
    /// Refuses a game whose value is not finite at the start: samples around it would be meaningless.
    pub fn require_finite_start(&mut self) -> Result<(), standoff::Error> {
        let Point { mut x, mut y } = self.start.clone();
        self.game.x_set().project(&mut x);
        self.game.y_set().project(&mut y);
        self.game.fix(&x, Need::Values);
        if self.game.value(&y).is_finite() { Ok(()) } else { Err(standoff::Error::NotFiniteAtStart { what: "f" }) }
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("layout", &self.layout).field("start", &self.start).finish_non_exhaustive()
    }
}

fn from_zoo(name: &str) -> Result<Loaded> {
    let Some(entry) = zoo::find(name) else {
        let hint = nearest(name, zoo::all().iter().map(|e| e.name));
        let hint = hint.map(|n| format!("; did you mean `zoo:{n}`?")).unwrap_or_default();
        refuse!(File, "the zoo has no game `{name}`{hint} (`standoff zoo` lists them)");
    };
    let made = (entry.make)();
    let layout = Layout::plain(made.start.x.len(), made.start.y.len());
    Ok(Loaded {
        game: made.game,
        start: made.start,
        layout,
        constants: made.constants,
        warnings: Vec::new(),
        files: None,
    })
}

/// A game file.
pub fn formula(path: &Path) -> Result<FormulaGame> {
    Ok(formula_and_files(path, false)?.0)
}

fn formula_and_files(path: &Path, keep: bool) -> Result<(FormulaGame, GameFiles)> {
    let text = files::game(path, "a game").map_err(|error| with_zoo_hint(error, path))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut seen = BTreeMap::new();
    let mut open = |name: &str| -> Result<Box<dyn Read>, String> {
        let path = folder.join(name);
        if !keep {
            return Ok(Box::new(files::open_numbers(&path).map_err(|error| error.to_string())?));
        }
        let bytes = files::numbers(&path).map_err(|error| error.to_string())?;
        seen.insert(name.to_owned(), bytes.clone());
        Ok(Box::new(Cursor::new(bytes)))
    };
    let game =
        FormulaGame::from_readers(&text, &mut open).map_err(|error| error!(File, "{}: {error}", files::name(path)))?;
    Ok((game, GameFiles { toml: text, files: seen }))
}

fn from_file(path: &Path, purpose: Use) -> Result<Loaded> {
    let (mut game, files) = formula_and_files(path, purpose.keeps_files)?;
    game.set_threads(purpose.threads)?;
    Ok(Loaded {
        files: Some(files),
        start: game.start(),
        layout: Layout { min: slots(game.min_variables()), max: slots(game.max_variables()) },
        constants: game.constants(),
        warnings: game.warnings().to_vec(),
        game: Box::new(game),
    })
}

fn slots(variables: &[Variable]) -> Vec<Slot> {
    let slot = |v: &Variable| Slot { name: v.name.clone(), scalar: v.dim.is_none(), range: v.range.clone() };
    variables.iter().map(slot).collect()
}

/// `standoff solve kink` probably means the zoo's game.
fn with_zoo_hint(error: Error, path: &Path) -> Error {
    match path.to_str().and_then(zoo::find) {
        Some(entry) if !path.exists() => error!(File, "no file `{0}`; did you mean `zoo:{0}`?", entry.name),
        _ => error,
    }
}

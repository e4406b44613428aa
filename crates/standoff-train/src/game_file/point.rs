//! A result file: the point in it, and what else it says.

use std::path::Path;

use serde_json::Value;
use standoff::Point;

use super::layout::Layout;
use super::source::GameSource;
use crate::document;
use crate::error::{At, Result, refuse};
use crate::files;

/// A result file, read but not believed.
#[derive(Debug)]
pub struct PointFile {
    name: String,
    content: Value,
}

impl PointFile {
    /// Reads a file, or standard input for `-`.
    pub fn read(path: &Path) -> Result<Self> {
        let name = files::name(path);
        let text = files::text(path, "a result in JSON")?;
        let content = serde_json::from_str(&text).at(|| format!("{name} is not JSON"))?;
        document::SOLVE.check(&content).at(|| format!("{name} cannot be used"))?;
        Ok(Self { name, content })
    }

    /// The point it holds, in the order of a game's variables.
    pub fn point(&self, layout: &Layout) -> Result<Point<f64>> {
        layout.point(&self.content).at(|| format!("{} does not fit the game", self.name))
    }

    /// A number it records, such as `["gap", "x", "upper"]`.
    pub fn number(&self, keys: &[&str]) -> Option<f64> {
        keys.iter().try_fold(&self.content, |value, key| value.get(key))?.as_f64()
    }

    /// Standard input can be read once.
    pub fn refuse_shared_stdin(game: &GameSource, path: &Path) -> Result<()> {
        if game.is_stdin() && path == Path::new("-") {
            refuse!(Document, "the game and the point cannot both come from standard input");
        }
        Ok(())
    }
}

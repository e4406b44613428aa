//! A result file: the point in it, and what else it says.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use standoff::Point;

use crate::files;
use crate::layout::Layout;
use crate::source::GameSource;
use standoff_train::document;

/// A result file, read but not believed.
#[derive(Debug)]
pub(crate) struct PointFile {
    name: String,
    content: Value,
}

impl PointFile {
    /// Reads a file, or standard input for `-`.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = files::name(path);
        let text = files::text(path, "a result in JSON")?;
        let content = serde_json::from_str(&text).with_context(|| format!("{name} is not JSON"))?;
        document::SOLVE.check(&content).with_context(|| format!("{name} cannot be used"))?;
        Ok(Self { name, content })
    }

    /// The point it holds, in the order of a game's variables.
    pub(crate) fn point(&self, layout: &Layout) -> Result<Point<f64>> {
        layout.point(&self.content).with_context(|| format!("{} does not fit the game", self.name))
    }

    /// A number it records, such as `["gap", "x", "upper"]`.
    pub(crate) fn number(&self, keys: &[&str]) -> Option<f64> {
        keys.iter().try_fold(&self.content, |value, key| value.get(key))?.as_f64()
    }

    /// Standard input can be read once.
    pub(crate) fn refuse_shared_stdin(game: &GameSource, path: &Path) -> Result<()> {
        if game.is_stdin() && path == Path::new("-") {
            bail!("the game and the point cannot both come from standard input");
        }
        Ok(())
    }
}

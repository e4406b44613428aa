//! The constants of a game, sampled.

use anyhow::Result;
use standoff::Constants;
use standoff::estimate::estimate;

use standoff_train::game_file::source::Loaded;

/// Points looked at by `--estimate`.
const SAMPLES: u64 = 100;

/// The constants sampled from a game, for `--estimate`.
pub(crate) fn sampled(loaded: &mut Loaded, seed: u64) -> Result<Constants> {
    loaded.require_finite_start()?;
    Ok(estimate(&mut loaded.game, &loaded.start, SAMPLES, seed).constants)
}

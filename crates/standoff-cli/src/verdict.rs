//! `standoff verify`: the claim of a result file.

use anyhow::{Context as _, Result};
use standoff::Claim;
use standoff_train::game_file::point::PointFile;

/// A claim, and which parts of it come from the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileClaim {
    pub(crate) claim: Claim,
    pub(crate) eps_from_file: bool,
    pub(crate) radius_from_file: bool,
}

impl FileClaim {
    /// Options given by the user override what the file records.
    pub(crate) fn new(file: &PointFile, eps: Option<f64>, radius: Option<f64>) -> Result<Self> {
        let recorded = |key: &str| file.number(&[key]).filter(|v| *v > 0.0 && v.is_finite());
        let used_eps = eps.or(recorded("eps")).context("the point records no eps; give one with --eps")?;
        let used_radius = radius.or(recorded("radius"));
        // Gaps at another radius are other numbers.
        let gap = ["x", "y"].map(|side| {
            let same = recorded("radius").is_none_or(|r| used_radius == Some(r));
            file.number(&["gap", side, "upper"]).filter(|_| same)
        });
        let claim = Claim { eps: used_eps, radius: used_radius.unwrap_or(1.0), value: file.number(&["value"]), gap };
        Ok(Self { claim, eps_from_file: eps.is_none(), radius_from_file: radius.is_none() && used_radius.is_some() })
    }
}

//! What a finished robust training leaves behind, and how it is told.

use serde::{Deserialize, Serialize};

use crate::fair::grid::{Cell, Grid, wrapped};
use crate::number::{count, duration, short, upper};
use crate::screen::{DIM, HEAD, NAME, paint};

/// Images classified as labelled, of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// As labelled.
    pub correct: usize,
    /// All.
    pub total: usize,
}

impl Share {
    /// In percent.
    pub fn percent(self) -> f64 {
        100.0 * self.correct as f64 / self.total as f64
    }
}

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RobustResult {
    /// What stood for the inner maximum.
    pub method: String,
    /// The eps of training.
    pub eps: f64,
    /// The seed.
    pub seed: u64,
    /// Test images as they are, all of them.
    pub natural: Share,
    /// The first test images under PGD of 40 steps at the eps of training, as the paper measures.
    pub pgd: Share,
    /// The first test images that are proven to stand at the eps of training; for any network, large only where it was trained for.
    pub certified: Share,
    /// f on the fixed training images, frozen.
    pub value: f64,
    /// Lower and upper bound of what x could still gain there.
    pub x_gap: [f64; 2],
    /// Lower and upper bound of what y could still gain there.
    pub y_gap: [f64; 2],
    /// Steps of x.
    pub steps: u64,
    /// How long it took.
    pub seconds: f64,
}

impl RobustResult {
    /// For the terminal.
    pub fn render(&self, title: &str, width: usize) -> String {
        let mut out = String::new();
        if !title.is_empty() {
            out += &format!("{}\n", paint(NAME, &wrapped(title, width)));
        }
        let Self { eps, pgd, certified, natural, .. } = self;
        let of = |share: &Share| Cell {
            lines: vec![format!("{:.2} %", share.percent()), format!("of {}", count(share.total as u64))],
            style: None,
        };
        let heads = vec!["natural".into(), format!("PGD-40 at {eps}"), format!("proven at {eps}")];
        let rows = vec![(self.method.clone(), vec![of(natural), of(pgd), of(certified)])];
        out += &Grid { corner: "method", layers: vec!["", "images"], heads, rows }.render(width);
        let heading =
            "certificate of the frozen game on fixed training images: what x and y could still gain to first order";
        out += &format!("\n{}\n", paint(HEAD, &wrapped(heading, width)));
        let cells =
            [upper(self.x_gap[1]), upper(self.y_gap[1]), short(self.value), count(self.steps), duration(self.seconds)];
        let heads = ["X at most", "Y at most", "value", "steps", "time"].map(str::to_owned).to_vec();
        let rows = vec![(self.method.clone(), cells.map(Cell::plain).to_vec())];
        out += &Grid { corner: "method", layers: vec![""], heads, rows }.render(width);
        let hint = "PGD-40 alone flatters a network; `standoff attack` measures with the whole ensemble";
        out += &format!("\n{}\n", paint(DIM, &wrapped(hint, width)));
        out
    }
}

//! The smallest change of each image (`standoff attack --minimal`): as text and as JSON.

use std::fmt::Write as _;

use crate::number::{count, plural, short};
use crate::style::{NAME, paint};
use crate::table::wrapped;
use serde_json::{Value, json};

/// The smallest changes of the images of a dataset.
#[derive(Debug, Clone, Copy)]
pub struct SmallestTable<'a> {
    /// Which images are classified correctly without a change.
    pub natural: &'a [bool],
    /// The size of the change of each image; infinite where none was found.
    pub distances: &'a [f64],
    /// Passes forward, and with gradients.
    pub passes: [u64; 2],
    /// True if Ctrl-C ended the search.
    pub interrupted: bool,
    /// The file of the network.
    pub model: &'a str,
    /// A short description of the images.
    pub images: &'a str,
    /// The index of each image in its part of the dataset.
    pub places: &'a [usize],
    /// The norm of the changes.
    pub norm: &'a str,
    /// The eps of the curve.
    pub eps: &'a [f64],
}

impl SmallestTable<'_> {
    /// Distances of the images that are classified correctly and changed, in order.
    fn sorted(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.distances.iter().copied().filter(|d| d.is_finite() && *d > 0.0).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// The share of images that no change found of at most eps turns.
    fn accuracy(&self, eps: f64) -> f64 {
        self.distances.iter().filter(|&&d| d > eps).count() as f64 / self.distances.len().max(1) as f64
    }

    /// For the terminal.
    pub fn render(&self, width: usize) -> String {
        let (all, n) = (self.sorted(), self.natural.len());
        let at = |share: f64| {
            all.get((share * all.len() as f64) as usize).or(all.last()).map_or("none".into(), |&d| short(d))
        };
        let mut out = String::new();
        let title = format!(
            "smallest changes found ({}): a quarter of the images up to {}, half up to {}, three quarters up to {}",
            self.norm,
            at(0.25),
            at(0.5),
            at(0.75)
        );
        let _ = writeln!(out, "{}\n", wrapped(&title, width));
        let _ = writeln!(out, "{}", paint(NAME, &wrapped(&format!("{}: {}", self.model, self.images), width)));
        let _ = writeln!(out, "{:>12}  accuracy under every change found", "eps");
        for &eps in [0.0].iter().chain(self.eps) {
            let _ = writeln!(out, "{:>12}  {:.2}", short(eps), 100.0 * self.accuracy(eps));
        }
        let (open, cost) = (self.distances.iter().filter(|d| d.is_infinite()).count(), self.passes);
        if open > 0 {
            let _ = writeln!(out, "no change was found for {} of {n}", plural(open as u64, "image"));
        }
        let _ = writeln!(out, "passes: {} forward, {} with gradients", count(cost[0]), count(cost[1]));
        out
    }

    /// One object; a distance that is infinite is `null`.
    pub fn json(&self) -> Value {
        let curve = self.eps.iter().map(|&eps| json!({ "eps": eps, "accuracy": self.accuracy(eps) }));
        let image = |(i, &d): (usize, &f64)| json!({ "image": self.places[i], "natural": self.natural[i], "distance": d.is_finite().then_some(d) });
        json!({
            "model": self.model,
            "images": self.images,
            "norm": self.norm,
            "interrupted": self.interrupted,
            "curve": curve.collect::<Vec<_>>(),
            "distances": self.distances.iter().enumerate().map(image).collect::<Vec<_>>(),
            "passes": { "forward": self.passes[0], "gradients": self.passes[1] },
        })
    }
}

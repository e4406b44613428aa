//! `standoff attack` on the page: what every attack leaves, against eps, and the images that fell.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::files;
use crate::number::{count, short};
use crate::present::chart::{Axis, Chart, End, Join, Line, Look};
use crate::present::page;
use crate::present::screen::{GOOD, WARN};
use crate::present::table::{Cell, Table};

/// The `results.json` of an attack, as far as the page needs it.
#[derive(Debug, Deserialize)]
pub(crate) struct Attacked {
    pub(super) model: String,
    images: String,
    protocol: String,
    norm: String,
    grid: String,
    seed: u64,
    pub(super) interrupted: bool,
    seconds: Option<f64>,
    pub(super) budgets: Vec<Budget>,
}

/// One eps.
#[derive(Debug, Deserialize)]
pub(super) struct Budget {
    pub(super) eps: f64,
    natural: Accuracy,
    attacks: Vec<Attack>,
    worst_case: Accuracy,
    certified: Option<Accuracy>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Attack {
    name: String,
    accuracy: Accuracy,
}

#[derive(Debug, Deserialize)]
struct Accuracy {
    worst: Option<GroupAccuracy>,
    all: GroupAccuracy,
}

#[derive(Debug, Deserialize)]
struct GroupAccuracy {
    name: String,
    correct: usize,
    total: usize,
    lower: Option<f64>,
    upper: Option<f64>,
}

impl GroupAccuracy {
    fn percent(&self) -> f64 {
        100.0 * self.correct as f64 / self.total as f64
    }
}

impl Budget {
    /// Every line of the table: its name and what it leaves.
    fn lines(&self) -> Vec<(&str, &Accuracy)> {
        let mut all = vec![("natural", &self.natural)];
        all.extend(self.attacks.iter().map(|attack| (attack.name.as_str(), &attack.accuracy)));
        all.push(("worst case", &self.worst_case));
        all.extend(self.certified.as_ref().map(|accuracy| ("certified", accuracy)));
        all
    }
}

impl Attacked {
    /// Reads the `results.json` of a folder.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("results.json");
        let text = files::text(&path, "a result of `standoff attack`")?;
        serde_json::from_str(&text).with_context(|| format!("{} is no result of `standoff attack`", files::name(&path)))
    }

    /// Whether all of these eps were measured to the end.
    pub(crate) fn is_whole(&self, eps: &[f64]) -> bool {
        !self.interrupted && eps.iter().all(|eps| self.budgets.iter().any(|b| b.eps == *eps))
    }

    /// How many images were attacked.
    pub(crate) fn images_in_all(&self) -> usize {
        self.budgets.first().map_or(0, |b| b.natural.all.total)
    }

    /// What is left at an eps, in percent, by the name of its line; the first eps for none.
    pub(crate) fn percent(&self, eps: Option<f64>, name: &str) -> Option<f64> {
        let found = self.budgets.iter().find(|b| eps.is_none_or(|eps| b.eps == eps))?;
        found.lines().into_iter().find(|line| line.0.split(':').next() == Some(name)).map(|line| line.1.all.percent())
    }

    /// What was asked.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let mut facts: Vec<(&str, String)> = vec![
            ("model", self.model.clone()),
            ("images", self.images.clone()),
            ("protocol", self.protocol.clone()),
            ("norm", self.norm.clone()),
            ("grid", self.grid.clone()),
            ("seed", self.seed.to_string()),
        ];
        facts.extend(self.seconds.map(|s| ("seconds", format!("{s:.1}"))));
        facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The curves: of `name` over the eps, where it was measured.
    fn curve(&self, name: &str) -> Vec<(f64, f64)> {
        let at = |b: &Budget| b.lines().iter().find(|l| l.0 == name).map(|l| (b.eps, l.1.all.percent()));
        let mut points: Vec<(f64, f64)> = self.budgets.iter().filter_map(at).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// What is left in the worst case, and what is proven, from the untouched images on.
    pub(super) fn bracket(&self) -> [Vec<(f64, f64)>; 2] {
        ["worst case", "certified"].map(|name| {
            let mut points = self.curve(name);
            if let (Some(first), false) = (self.budgets.first(), points.is_empty()) {
                points.insert(0, (0.0, first.natural.all.percent()));
            }
            points
        })
    }

    /// The section.
    pub(super) fn render(&self, out: &mut String, picture: Option<&[u8]>) {
        let images = self.images_in_all();
        let caption = format!(
            "accuracy in percent on {} images after each attack; in the worst case an image counts only if every attack left it \
             right; certified is what no attack can turn",
            count(images as u64)
        );
        page::table(out, &caption, &self.table());
        for b in &self.budgets {
            for warning in &b.warnings {
                page::paragraph(out, "soft", &format!("eps {}: {warning}", short(b.eps)));
            }
        }
        out.push_str("<div class=\"figures\">\n");
        page::figure(out, self.chart(), "Every attack alone, all together (worst case), and what is proven.");
        out.push_str("</div>\n");
        if let Some(png) = picture {
            let caption = "Above the original, then what was added to it (red is brighter, blue darker), below the sum; each with its \
                           class and what the network takes it for.";
            page::picture(out, png, "images that fell, what was added to them, and the originals", caption);
        }
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.budgets.iter().flat_map(Budget::lines) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn table(&self) -> Table {
        let row = |name: &str| {
            let cell = |b: &Budget| match b.lines().iter().find(|l| l.0 == name) {
                None => Cell::plain("-".to_owned()),
                Some((_, accuracy)) => {
                    let all = &accuracy.all;
                    let ends = all.lower.zip(all.upper);
                    let interval = ends.map(|(l, u)| format!("{:.2} to {:.2}", 100.0 * l, 100.0 * u));
                    let worst = accuracy.worst.as_ref().map(|w| format!("{}: {:.2}", w.name, w.percent()));
                    let style = match name {
                        "worst case" => Some(WARN),
                        "certified" => Some(GOOD),
                        _ => None,
                    };
                    let first = format!("{:.2}", all.percent());
                    Cell { lines: vec![first, interval.unwrap_or_default(), worst.unwrap_or_default()], style }
                }
            };
            (name.to_owned(), self.budgets.iter().map(cell).collect())
        };
        Table {
            corner: "attack",
            layers: vec!["", "95%", "worst class"],
            heads: self.budgets.iter().map(|b| format!("eps {}", short(b.eps))).collect(),
            rows: self.names().into_iter().map(row).collect(),
        }
    }

    fn chart(&self) -> Chart {
        let mut chart = Chart::new("accuracy against eps", Axis::linear("eps"), Axis::linear("accuracy in percent"));
        (chart.y.lower, chart.y.upper) = (Some(0.0), Some(100.0));
        for (i, line) in self.names().into_iter().enumerate() {
            chart.lines.push(Line {
                name: line.to_owned(),
                points: self.curve(line),
                look: Look { strong: line == "worst case", ..Look::of(i) },
                join: Join::Marked,
                end: End::Dot,
                ..Line::default()
            });
        }
        chart
    }
}

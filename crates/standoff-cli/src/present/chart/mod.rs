//! Line charts as SVG: self-contained text, legible in light and dark and by the colour-blind, with no script in it.
//!
//! A [`Chart`] is data; [`Chart::svg`] draws it. The same text stands in a file of its own ([`Chart::file`]) or in a page that holds
//! [`STYLE`] once.

mod label;
mod layout;
mod legend;
mod scale;
mod style;
mod svg;

pub(crate) use scale::Kind;
pub(crate) use style::{LineStyle, STYLE};
pub(crate) use svg::escape;

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// What is along it.
    pub label: String,
    /// Logarithmic or linear.
    pub kind: Kind,
    /// Values below are drawn at the edge: where a logarithm should begin.
    pub lower: Option<f64>,
    /// Values above are drawn at the edge.
    pub upper: Option<f64>,
}

impl Axis {
    /// A logarithmic axis that shows all of its data.
    pub(crate) fn log(label: &str) -> Self {
        Self { label: label.to_owned(), kind: Kind::Log, lower: None, upper: None }
    }

    /// A linear axis that shows all of its data.
    pub(crate) fn linear(label: &str) -> Self {
        Self { kind: Kind::Linear, ..Self::log(label) }
    }
}

/// What stands where a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum End {
    /// Nothing.
    #[default]
    Plain,
    /// A dot: it arrived.
    Dot,
    /// A cross: it did not.
    Cross,
}

/// How the points of a line are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Join {
    /// Straight from point to point.
    #[default]
    Straight,
    /// A value holds until the next point: a staircase.
    Steps,
    /// Straight, and every point marked: measurements.
    Marked,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Line {
    /// Its name in the legend and beside its end.
    pub name: String,
    /// Beside the name in the legend: how it ended, a slope, a final value.
    pub note: String,
    /// What a pointer resting on it is told; name and note when empty.
    pub hover: String,
    /// The points, from left to right. Those that are not finite break the line.
    pub points: Vec<(f64, f64)>,
    /// How far each point may be off, to either side along x and along y; empty for points without bars.
    pub errors: Vec<(f64, f64)>,
    /// A band around the line: x, and between which values it is; empty for none.
    pub band: Vec<(f64, f64, f64)>,
    /// Colour, dashes and weight.
    pub look: LineStyle,
    /// How the points are joined.
    pub join: Join,
    /// What stands where it ends.
    pub end: End,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    /// Above it.
    pub title: String,
    /// Along the bottom.
    pub x: Axis,
    /// Up the left side.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
    /// Width and height in pixels.
    pub size: (f64, f64),
    /// The legend stands below the chart, which grows by it, and not to its right: for narrow columns.
    pub below: bool,
}

impl Chart {
    /// A chart without lines.
    pub(crate) fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self { title: title.to_owned(), x, y, lines: Vec::new(), size: (760.0, 400.0), below: false }
    }

    /// The `<svg>` element, for a page that holds [`STYLE`].
    pub(crate) fn svg(&self) -> String {
        layout::draw(self, (0.0, 0.0), "")
    }

    /// A whole SVG file.
    pub(crate) fn file(&self) -> String {
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", layout::draw(self, (0.0, 0.0), STYLE))
    }
}

/// Several charts in one SVG file, in that many columns.
pub(crate) fn sheet(charts: &[Chart], columns: usize) -> String {
    layout::sheet(charts, columns.max(1))
}

#[cfg(test)]
mod tests;

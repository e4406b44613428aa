//! Line charts as SVG: self-contained text, legible in light and dark and by the colour-blind, with no script in it.
//!
//! A [`Chart`] is data; [`Chart::svg`] draws it for a page that contains [`STYLE`], [`Chart::file`] as a file of its own.

mod label;
mod layout;
mod legend;
mod scale;
mod style;
mod svg;

pub use scale::Kind;
pub use style::{LineStyle, STYLE};
pub use svg::escape;

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity.
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
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), kind: Kind::Log, lower: None, upper: None }
    }

    /// A linear axis that shows all of its data.
    pub fn linear(label: &str) -> Self {
        Self { kind: Kind::Linear, ..Self::log(label) }
    }
}

/// The mark at the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// Nothing.
    #[default]
    Plain,
    /// A dot: converged.
    Dot,
    /// A cross: not converged.
    Cross,
}

/// The connection of the points of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
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
pub struct Line {
    /// Its name in the legend and beside its end.
    pub name: String,
    /// Beside the name in the legend: a result, a slope, a final value.
    pub note: String,
    /// The text shown when the pointer rests on it; name and note if empty.
    pub hover: String,
    /// The points, from left to right. Those that are not finite break the line.
    pub points: Vec<(f64, f64)>,
    /// Half-lengths of the error bars of each point along x and along y; empty for no bars.
    pub errors: Vec<(f64, f64)>,
    /// A band around the line: x, the lower and the upper value; empty for none.
    pub band: Vec<(f64, f64, f64)>,
    /// Colour, dashes and weight.
    pub look: LineStyle,
    /// The connection of the points.
    pub join: Join,
    /// The mark at its end.
    pub end: End,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
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
    /// The legend is below the chart instead of to its right: for narrow columns.
    pub below: bool,
}

impl Chart {
    /// A chart without lines.
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self { title: title.to_owned(), x, y, lines: Vec::new(), size: (760.0, 400.0), below: false }
    }

    /// The `<svg>` element, for a page that holds [`STYLE`].
    pub fn svg(&self) -> String {
        layout::draw(self, (0.0, 0.0), "")
    }

    /// A whole SVG file.
    pub fn file(&self) -> String {
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", layout::draw(self, (0.0, 0.0), STYLE))
    }
}

/// Several charts in one SVG file, in that many columns.
pub fn sheet(charts: &[Chart], columns: usize) -> String {
    layout::sheet(charts, columns.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(lines: usize) -> Chart {
        let mut chart = Chart::new("kink & <co>", Axis::log("gradients"), Axis::log("gap"));
        for k in 0..lines {
            let points = (0..60).map(|i| (1.5_f64.powi(i / 2), (k + 1) as f64 * 0.8_f64.powi(i))).collect();
            chart.lines.push(Line {
                name: format!("method \"{k}\""),
                note: format!("{}", 100 * k),
                points,
                look: LineStyle { strong: k == 0, ..LineStyle::of(k) },
                join: Join::Steps,
                end: if k % 2 == 0 { End::Dot } else { End::Cross },
                ..Line::default()
            });
        }
        chart
    }

    /// Fails unless every tag is closed in order and every `&` begins an entity.
    fn well_formed(svg: &str) {
        let mut open: Vec<&str> = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("every < has its >");
            assert!(text.split('&').skip(1).all(|t| t.contains(';')), "{text}");
            if tag.starts_with('?') || tag.ends_with('/') {
                continue;
            }
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None => open.push(tag.split(' ').next().unwrap_or(tag)),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn a_chart_is_well_formed_and_names_every_line() {
        let svg = chart(18).svg();
        well_formed(&svg);
        for k in 0..18 {
            assert!(svg.contains(&format!(">method &quot;{k}&quot;<")), "{k}");
        }
        assert!(svg.contains("kink &amp; &lt;co&gt;"));
        assert_eq!(svg.matches("class=\"touch\"").count(), 18);
    }

    #[test]
    fn a_file_stands_alone() {
        let file = chart(2).file();
        well_formed(&file);
        assert!(file.starts_with("<?xml") && file.contains("<style>") && file.contains("prefers-color-scheme:dark"));
        assert!(!file.contains("<script") && !file.contains("href") && !file.contains("url("));
    }

    #[test]
    fn the_same_chart_is_the_same_text() {
        assert_eq!(chart(5).svg(), chart(5).svg());
    }

    #[test]
    fn an_empty_chart_still_has_axes() {
        let svg = chart(0).svg();
        well_formed(&svg);
        assert!(svg.contains(">gradients<") && svg.contains(">gap<"));
    }

    #[test]
    fn bad_points_break_the_line_and_nothing_else() {
        let mut bad = chart(1);
        bad.lines[0].join = Join::Straight;
        bad.lines[0].points =
            vec![(1.0, 1.0), (2.0, f64::NAN), (3.0, 0.1), (4.0, 0.0), (f64::INFINITY, 0.1), (5.0, -3.0)];
        let svg = bad.svg();
        well_formed(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let path = svg.split("class=\"line\"").nth(1).and_then(|s| s.split('"').nth(1)).expect("a path");
        assert_eq!(path.matches('M').count(), 2, "{path}");
    }

    #[test]
    fn everything_is_inside_the_picture() {
        let drawn = chart(18);
        let svg = drawn.svg();
        let numbers = |key: &str| -> Vec<f64> {
            svg.split(&format!(" {key}=\"")).skip(1).filter_map(|s| s.split('"').next()?.parse().ok()).collect()
        };
        for (keys, most) in [(["x", "cx", "x1", "x2"], drawn.size.0), (["y", "cy", "y1", "y2"], drawn.size.1)] {
            for key in keys {
                assert!(numbers(key).iter().all(|v| (0.0..=most).contains(v)), "{key}");
            }
        }
    }

    #[test]
    fn bars_show_how_far_a_point_may_be_off() {
        let mut chart = Chart::new("trade-off", Axis::linear("average"), Axis::linear("worst"));
        let points = vec![(80.0, 70.0), (82.0, 75.0), (84.0, 60.0)];
        let errors = vec![(1.0, 2.0), (0.5, f64::NAN), (0.0, 9.0)];
        chart.lines.push(Line { name: "one".to_owned(), points, errors, join: Join::Marked, ..Line::default() });
        let svg = chart.svg();
        well_formed(&svg);
        // Both bars of the first point, one of the second and of the third.
        assert_eq!(svg.matches("<line class=\"line\"").count(), 4);
        assert!(!svg.contains("NaN"));
        // The axis holds the ends of the bars: 60 - 9 = 51.
        assert!(svg.contains(">50<"), "{svg}");
    }
}

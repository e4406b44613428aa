//! The legend to the right of a chart: a swatch, the name, the note; in as many columns as it takes.

use super::svg::{Anchor, Svg, px, width};
use super::{End, Line};

const ROW: f64 = 17.0;
const SWATCH: f64 = 26.0;
const GAP: f64 = 8.0;
const SIZE: f64 = 11.0;
/// Heavy letters are a little wider.
const BOLD: f64 = 1.1;

/// The legend's measures.
#[derive(Debug)]
pub(super) struct Legend {
    rows: usize,
    columns: usize,
    name: f64,
    note: f64,
    /// Row by row across the width, and not column by column.
    across: bool,
}

impl Legend {
    /// For these lines, in that height.
    pub(super) fn new(lines: &[Line], height: f64) -> Self {
        let rows = ((height / ROW).floor() as usize).max(1);
        let widest = |text: fn(&Line) -> &str| lines.iter().map(|l| BOLD * width(text(l), SIZE)).fold(0.0, f64::max);
        let (name, note) = (widest(|l| &l.name), widest(|l| &l.note));
        Self { rows, columns: lines.len().div_ceil(rows), name, note, across: false }
    }

    /// For these lines, below a chart of that width.
    pub(super) fn below(lines: &[Line], width: f64) -> Self {
        let beside = Self::new(lines, f64::INFINITY);
        let columns = ((width / (beside.column() + 2.0 * GAP)).floor() as usize).clamp(1, lines.len().max(1));
        Self { rows: lines.len().div_ceil(columns), columns, across: true, ..beside }
    }

    /// The height of all rows.
    pub(super) fn height(&self) -> f64 {
        self.rows as f64 * ROW
    }

    fn column(&self) -> f64 {
        SWATCH + GAP + self.name + if self.note > 0.0 { 2.0 * GAP + self.note } else { 0.0 }
    }

    /// The width of all columns, with the space before each.
    pub(super) fn width(&self) -> f64 {
        self.columns as f64 * (self.column() + 2.0 * GAP)
    }

    /// Draws it with its left edge at `left`.
    pub(super) fn draw(&self, svg: &mut Svg, lines: &[Line], left: f64, top: f64) {
        for (k, line) in lines.iter().enumerate() {
            let (column, row) =
                if self.across { (k % self.columns, k / self.columns) } else { (k / self.rows, k % self.rows) };
            let x = left + 2.0 * GAP + column as f64 * (self.column() + 2.0 * GAP);
            let y = top + ROW * (row as f64 + 0.5);
            svg.open("g", &[("class", &format!("series {}", line.look.class()))]);
            svg.open("title", &[]);
            svg.out.push_str(&super::escape(&hover(line)));
            svg.close("title");
            let path = format!("M{} {}h{}", px(x), px(y), px(SWATCH));
            svg.element("path", &[("class", "line"), ("stroke-dasharray", line.look.dash()), ("d", &path)]);
            end(svg, line.end, (x + SWATCH, y));
            svg.text("name", (x + SWATCH + GAP, y + 4.0), Anchor::Start, &line.name);
            if !line.note.is_empty() {
                svg.text("note num", (x + self.column(), y + 4.0), Anchor::End, &line.note);
            }
            svg.close("g");
        }
    }
}

/// The text shown when the pointer rests on a line.
pub(super) fn hover(line: &Line) -> String {
    match (line.hover.is_empty(), line.note.is_empty()) {
        (false, _) => line.hover.clone(),
        (true, true) => line.name.clone(),
        (true, false) => format!("{}: {}", line.name, line.note),
    }
}

/// A dot, a cross or nothing.
pub(super) fn end(svg: &mut Svg, end: End, at: (f64, f64)) {
    const HALF: f64 = 3.5;
    match end {
        End::Plain => {}
        End::Dot => svg.element("circle", &[("class", "mark"), ("cx", &px(at.0)), ("cy", &px(at.1)), ("r", &px(HALF))]),
        End::Cross => {
            let (x, y, d) = (px(at.0 - HALF), px(at.1 - HALF), px(2.0 * HALF));
            svg.element("path", &[("class", "cross"), ("d", &format!("M{x} {y}l{d} {d}m-{d} 0l{d} -{d}"))]);
        }
    }
}

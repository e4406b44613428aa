//! Tables on a page. A table that is wider than the page is turned over; on a phone each row becomes a card.

use std::fmt::Write as _;

use super::{Cell, Table};
use crate::chart::escape;
use crate::page;
use crate::style::{GOOD, WARN};

/// Characters that fit beside each other on a page of 1200 pixels.
const PAGE: usize = 110;
/// Blanks between two columns, in characters.
const GAP: usize = 3;
/// Numbers stay on one line; a longer text may be broken.
const LONG: usize = 40;

impl Table {
    /// A table that sorts by a click on a heading. Explanations are in small letters below each number.
    pub fn html(&self, out: &mut String) {
        let turned = self.turned();
        let shown =
            if self.width() > PAGE && turned.width() < self.width() && !self.is_long() { &turned } else { self };
        shown.write_html(out);
    }

    fn width(&self) -> usize {
        let (label, columns) = self.lengths();
        // The name of a layer is written before each of its lines.
        let layer = self.layers.iter().map(|layer| layer.len() + 1).max().filter(|_| self.layers.len() > 1);
        let lines =
            |column: usize| self.rows.iter().any(|(_, cells)| cells.get(column).is_some_and(|c| !c.line(1).is_empty()));
        let named = |column: usize| layer.filter(|_| lines(column)).unwrap_or(0);
        label + columns.iter().enumerate().map(|(i, length)| length + GAP + named(i)).sum::<usize>()
    }

    fn is_long(&self) -> bool {
        let texts = self.rows.iter().flat_map(|(_, cells)| cells).map(|cell| cell.line(0).chars().count());
        texts.max() > Some(LONG)
    }

    fn write_html(&self, out: &mut String) {
        // Outside of the part that scrolls, so that it is read without scrolling.
        if !self.caption.is_empty() {
            page::paragraph(out, "caption", &self.caption);
        }
        let (label, long) = (escape(&self.caption), if self.is_long() || self.text { " long" } else { "" });
        let _ = writeln!(out, "<div class=\"wide\"><table class=\"sorts{long}\" aria-label=\"{label}\">");
        let _ = write!(out, "<thead><tr><th>{}</th>", escape(self.corner));
        for head in &self.heads {
            let _ = write!(out, "<th>{}</th>", escape(head));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for (name, cells) in &self.rows {
            let _ = write!(out, "<tr><th>{}</th>", escape(name));
            cells.iter().zip(&self.heads).for_each(|(cell, head)| data(out, cell, head, &self.layers));
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table></div>\n");
    }
}

/// A cell. The heading is repeated for cards, where no column has one.
fn data(out: &mut String, cell: &Cell, head: &str, layers: &[&str]) {
    let class = match cell.style {
        Some(style) if style == GOOD => " class=\"good\"",
        Some(style) if style == WARN => " class=\"warn\"",
        _ => "",
    };
    let _ = write!(out, "<td data-head=\"{}\"><span{class}>{}</span>", escape(head), escape(cell.line(0)));
    for (layer, name) in layers.iter().enumerate().skip(1) {
        let text = cell.line(layer);
        if !text.is_empty() {
            let _ = write!(out, "<small><i>{}</i> {}</small>", escape(name), escape(text));
        }
    }
    out.push_str("</td>");
}

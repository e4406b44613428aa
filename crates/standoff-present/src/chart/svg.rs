//! The text of an SVG: elements, escaped texts, and numbers of one decimal.

use std::fmt::Write as _;

/// The five characters that mean something else in markup; what XML forbids altogether is dropped.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

/// A coordinate: one decimal is a tenth of a pixel.
pub(super) fn px(v: f64) -> String {
    let text = format!("{v:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Where a text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG under construction.
#[derive(Debug, Default)]
pub(super) struct Svg {
    pub(super) out: String,
}

impl Svg {
    /// An element without content.
    pub(super) fn element(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.open(name, attributes);
        self.out.truncate(self.out.len() - 1);
        self.out.push_str("/>\n");
    }

    /// The beginning of an element.
    pub(super) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        let _ = write!(self.out, "<{name}");
        for (key, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(self.out, " {key}=\"{}\"", escape(value));
        }
        self.out.push('>');
    }

    /// The end of an element.
    pub(super) fn close(&mut self, name: &str) {
        let _ = writeln!(self.out, "</{name}>");
    }

    /// A straight line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        self.element("line", &[("class", class), ("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)]);
    }

    /// A text.
    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = (px(at.0), px(at.1));
        self.open("text", &[("class", class), ("x", &x), ("y", &y), ("text-anchor", anchor)]);
        self.out.push_str(&escape(text));
        self.close("text");
    }
}

/// An upper estimate of the width of a text; the font is not known.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let wide = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | '.' | ',' | ':' | '|' | '\'' | '(' | ')' => 0.36,
        'm' | 'w' | 'M' | 'W' => 0.92,
        '\u{2070}'..='\u{209f}' | '\u{b9}' | '\u{b2}' | '\u{b3}' => 0.42,
        c if c.is_uppercase() => 0.70,
        _ => 0.60,
    };
    text.chars().map(wide).sum::<f64>() * size
}

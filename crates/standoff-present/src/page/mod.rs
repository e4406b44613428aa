//! HTML pages: the frame with its content security policy, paragraphs, figures, pictures.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::chart::{Chart, Line, STYLE, escape};

const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Width and height of a chart: about the width of a phone, so that its letters stay legible there.
const SIZE: (f64, f64) = (440.0, 300.0);
/// Points of a line beyond which it is thinned.
const POINTS: usize = 500;

/// A whole page. The policy allows only its own style sheets and script, by their checksums.
pub fn page(title: &str, body: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {} {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(PAGE_STYLE),
        hash(STYLE)
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{PAGE_STYLE}</style>\n<style id=\"plot-style\">{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        escape(title)
    )
}

/// A paragraph.
pub fn paragraph(out: &mut String, class: &str, text: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let text = escape(text);
    let pieces: Vec<&str> = text.split('`').collect();
    // Commands are between backticks; a backtick without a partner is a character.
    let piece =
        |(i, piece): (usize, &&str)| if i % 2 == 1 { format!("<code>{piece}</code>") } else { (*piece).to_owned() };
    let shown = if pieces.len() % 2 == 1 { pieces.iter().enumerate().map(piece).collect() } else { text.clone() };
    let _ = writeln!(out, "<p{class}>{shown}</p>");
}

/// A heading within a run.
pub fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "<h3>{}</h3>", escape(text));
}

/// A chart and its caption. Without points there is only the caption.
pub fn figure(out: &mut String, mut chart: Chart, caption: &str) {
    chart.lines.retain(|line| line.points.iter().any(|(x, y)| x.is_finite() && y.is_finite()));
    if chart.lines.is_empty() {
        let (title, caption) = (escape(&chart.title), escape(caption));
        let _ = writeln!(out, "<figure><figcaption><b>{title}</b>: nothing to draw. {caption}</figcaption></figure>");
        return;
    }
    chart.lines.iter_mut().for_each(|line| line.name = shortened(&line.name));
    (chart.size, chart.below) = (SIZE, true);
    for line in chart.lines.iter_mut().filter(|line| line.errors.is_empty()) {
        line.points = thin(&line.points, POINTS);
        line.band = thin_band(&line.band, POINTS / 2);
    }
    let (x, y) = (escape(&chart.x.label), escape(&chart.y.label));
    let lines = escape(&values(&chart.lines));
    let _ = writeln!(out, "<figure data-x=\"{x}\" data-y=\"{y}\" data-lines=\"{lines}\">");
    let _ = writeln!(out, "{}<figcaption>{}</figcaption>\n</figure>", chart.svg(), escape(caption));
}

/// A name that fits below a chart: the middle of a long one is left out.
fn shortened(name: &str) -> String {
    const MOST: usize = 40;
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= MOST {
        return name.to_owned();
    }
    let (head, tail) = (&letters[..MOST / 2], &letters[letters.len() - MOST / 2..]);
    head.iter().chain(&['\u{2026}']).chain(tail).collect()
}

/// Name, colour and numbers of every line, for the script: what is not finite is `null`.
fn values(lines: &[Line]) -> String {
    let number = |v: f64| {
        let rounded = format!("{v:.5e}").parse::<f64>().unwrap_or(v);
        serde_json::to_string(&rounded).unwrap_or_else(|_| "null".to_owned())
    };
    let line = |line: &Line| {
        let name = serde_json::to_string(&line.name).unwrap_or_default();
        let flat: Vec<String> = line.points.iter().flat_map(|&(x, y)| [number(x), number(y)]).collect();
        format!("[{name},\"k{}\",[{}]]", line.look.colour(), flat.join(","))
    };
    format!("[{}]", lines.iter().map(line).collect::<Vec<_>>().join(","))
}

/// At most about so many points: the lowest and the highest of every stretch, so that the range of the line is kept.
pub fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = (2 * points.len()).div_ceil(most).max(2);
    let mut out = Vec::with_capacity(most + 2);
    for part in points.chunks(stretch) {
        let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let mut ends: Vec<(f64, f64)> =
            part.iter().min_by(by).into_iter().chain(part.iter().max_by(by)).copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        out.extend(ends);
    }
    // Lines begin and end where they do.
    for (at, end) in [(0, points[0]), (out.len() - 1, points[points.len() - 1])] {
        out[at] = end;
    }
    out
}

/// The same of a band: of every stretch what holds all of it.
fn thin_band(band: &[(f64, f64, f64)], most: usize) -> Vec<(f64, f64, f64)> {
    if band.len() <= most {
        return band.to_vec();
    }
    let whole = |part: &[(f64, f64, f64)]| {
        let fold = |of: &dyn Fn(&(f64, f64, f64)) -> f64, better: fn(&f64, &f64) -> std::cmp::Ordering| {
            part.iter().map(of).filter(|v| v.is_finite()).max_by(better).unwrap_or(f64::NAN)
        };
        (part[part.len() / 2].0, fold(&|b| b.1, |a, b| b.total_cmp(a)), fold(&|b| b.2, f64::total_cmp))
    };
    let mut thin: Vec<_> = band.chunks(band.len().div_ceil(most)).map(whole).collect();
    // It begins and ends where the line does.
    if let (Some(first), Some(last)) = (band.first(), band.last()) {
        thin.first_mut().into_iter().for_each(|b| b.0 = first.0);
        thin.last_mut().into_iter().for_each(|b| b.0 = last.0);
    }
    thin
}

/// A picture that is part of the page.
pub fn picture(out: &mut String, png: &[u8], alt: &str, caption: &str) {
    let (alt, caption) = (escape(alt), escape(caption));
    let _ = writeln!(
        out,
        "<figure><img alt=\"{alt}\" src=\"data:image/png;base64,{}\"><figcaption>{caption}</figcaption></figure>",
        base64(png)
    );
}

/// Base 64, as in data addresses and policies.
pub fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_between_backticks_are_code_and_a_lone_backtick_is_a_character() {
        let shown = |text: &str| {
            let mut out = String::new();
            paragraph(&mut out, "", text);
            out
        };
        assert_eq!(
            shown("run `standoff attack`, or `a<b`"),
            "<p>run <code>standoff attack</code>, or <code>a&lt;b</code></p>\n"
        );
        assert_eq!(shown("a ` b"), "<p>a ` b</p>\n");
    }

    #[test]
    fn base64_agrees_with_the_examples_of_its_standard() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn a_thinned_line_keeps_its_ends_and_its_extremes() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|i| (f64::from(i), 1.0)).collect();
        (points[4321].1, points[7777].1) = (9.0, -9.0);
        let few = thin(&points, 500);
        assert!(few.len() <= 502, "{}", few.len());
        assert_eq!((few[0], few[few.len() - 1]), (points[0], points[9999]));
        assert!(few.contains(&(4321.0, 9.0)) && few.contains(&(7777.0, -9.0)));
        assert!(few.is_sorted_by(|a, b| a.0 <= b.0));
    }

    #[test]
    fn a_thinned_band_holds_what_the_band_held() {
        let mut band: Vec<(f64, f64, f64)> = (0..1000).map(|i| (f64::from(i), 1.0, 2.0)).collect();
        (band[333].1, band[700].2) = (-5.0, 7.0);
        let few = thin_band(&band, 50);
        assert!(few.len() == 50 && few[0].0 == 0.0 && few[49].0 == 999.0, "{few:?}");
        assert!(few.iter().any(|b| b.1 == -5.0) && few.iter().any(|b| b.2 == 7.0));
    }

    #[test]
    fn a_figure_without_points_is_not_drawn_and_says_so() {
        use crate::chart::Axis;
        let mut chart = Chart::new("nothing", Axis::linear("x"), Axis::log("y"));
        chart.lines.push(Line { points: vec![(1.0, f64::NAN)], ..Line::default() });
        let mut out = String::new();
        figure(&mut out, chart, "It is 0 throughout.");
        assert!(!out.contains("<svg") && out.contains("<b>nothing</b>") && out.contains("0 throughout"), "{out}");
    }
}

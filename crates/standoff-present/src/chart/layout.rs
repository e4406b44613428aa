//! Draws a chart: grid and numbers first, then the lines, then the names that find room.

use std::fmt::Write as _;

use super::label::{Rect, Space};
use super::legend::{Legend, end, hover};
use super::scale::Scale;
use super::svg::{Anchor, Svg, px, width};
use super::{Chart, End, Join, Line, STYLE};

const TOP: f64 = 34.0;
const BOTTOM: f64 = 44.0;
const RIGHT: f64 = 10.0;
const NAME_SIZE: f64 = 11.0;

/// Pixels of a line, cut where a point is not finite.
type Pieces = Vec<Vec<(f64, f64)>>;

/// Several charts in one file, row by row, each cell as large as the largest.
pub(super) fn sheet(charts: &[Chart], columns: usize) -> String {
    let largest = |of: fn(&Chart) -> f64| charts.iter().map(of).fold(0.0, f64::max);
    let cell = (largest(|c| c.size.0), largest(|c| c.size.1));
    let (across, down) = (charts.len().min(columns), charts.len().div_ceil(columns));
    let (w, h) = (px(cell.0 * across as f64), px(cell.1 * down as f64));
    let mut svg = Svg::default();
    svg.out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let view = format!("0 0 {w} {h}");
    let space = "http://www.w3.org/2000/svg";
    svg.open("svg", &[("xmlns", space), ("class", "plot"), ("width", &w), ("height", &h), ("viewBox", &view)]);
    let _ = write!(svg.out, "<style>\n{STYLE}</style>");
    for (k, chart) in charts.iter().enumerate() {
        let at = ((k % columns) as f64 * cell.0, (k / columns) as f64 * cell.1);
        svg.out.push_str(&draw(chart, at, ""));
    }
    svg.close("svg");
    svg.out
}

/// The chart as an `<svg>` element, placed there if it stands inside another, with that style sheet inside.
pub(super) fn draw(chart: &Chart, at: (f64, f64), style: &str) -> String {
    let (w, h) = chart.size;
    let legend = if chart.below { Legend::below(&chart.lines, w) } else { Legend::new(&chart.lines, h - TOP - BOTTOM) };
    // What the legend takes: of the width, and of the height in addition.
    let (beside, under) = if chart.below { (RIGHT, legend.height() + 8.0) } else { (legend.width(), 0.0) };
    let values = |of: fn(&(f64, f64)) -> f64| {
        let points = chart.lines.iter().flat_map(move |l| l.points.iter().map(of));
        let bars = chart.lines.iter().flat_map(Line::bars).flatten();
        let bands = chart.lines.iter().flat_map(|l| &l.band).flat_map(|&(x, low, high)| [(x, low), (x, high)]);
        points.chain(bars.chain(bands).map(move |end| of(&end)))
    };
    let y = Scale::fit(&chart.y, values(|p| p.1), (h - BOTTOM, TOP));
    let numbers = y.ticks().iter().flat_map(|t| &t.label).map(|l| width(l, 12.0)).fold(0.0, f64::max);
    let left = numbers + 34.0;
    let right = (w - RIGHT - beside).max(left + 80.0);
    let x = Scale::fit(&chart.x, values(|p| p.0), (left, right));
    let frame = Rect { left, top: TOP, right, bottom: h - BOTTOM };

    let mut svg = Svg::default();
    let size = (px(w), px(h + under));
    let place = |v: f64| if v > 0.0 { px(v) } else { String::new() };
    let view = format!("0 0 {} {}", size.0, size.1);
    svg.open(
        "svg",
        &[
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("class", "plot"),
            ("role", "img"),
            ("aria-label", &chart.title),
            ("x", &place(at.0)),
            ("y", &place(at.1)),
            ("width", &size.0),
            ("height", &size.1),
            ("viewBox", &view),
            ("data-x", &x.tell()),
            ("data-y", &y.tell()),
        ],
    );
    if !style.is_empty() {
        let _ = write!(svg.out, "<style>\n{style}</style>");
    }
    svg.element("rect", &[("class", "paper"), ("width", &size.0), ("height", &size.1)]);
    svg.text("title", (left, 20.0), Anchor::Start, &chart.title);
    axes(&mut svg, chart, (&x, &y), &frame);
    lines(&mut svg, chart, (&x, &y), frame);
    let corner = if chart.below { (0.0, h) } else { (right, TOP) };
    legend.draw(&mut svg, &chart.lines, corner.0, corner.1);
    svg.close("svg");
    svg.out
}

/// The grid, the numbers along it and the names of the axes.
fn axes(svg: &mut Svg, chart: &Chart, (x, y): (&Scale, &Scale), frame: &Rect) {
    let class = |numbered: bool| if numbered { "grid" } else { "grid fine" };
    let mut free = f64::NEG_INFINITY;
    for tick in x.ticks() {
        let at = x.place(tick.value);
        svg.line(class(tick.label.is_some()), (at, frame.top), (at, frame.bottom));
        if let Some(label) = &tick.label {
            // A number that would touch its neighbour is left out.
            let half = 0.5 * width(label, 12.0);
            if at - half > free {
                svg.text("soft num", (at, frame.bottom + 16.0), Anchor::Middle, label);
                free = at + half + 4.0;
            }
        }
    }
    for tick in y.ticks() {
        let at = y.place(tick.value);
        svg.line(class(tick.label.is_some()), (frame.left, at), (frame.right, at));
        if let Some(label) = &tick.label {
            svg.text("soft num", (frame.left - 6.0, at + 4.0), Anchor::End, label);
        }
    }
    let (w, h) = (px(frame.right - frame.left), px(frame.bottom - frame.top));
    svg.element(
        "rect",
        &[("class", "frame"), ("x", &px(frame.left)), ("y", &px(frame.top)), ("width", &w), ("height", &h)],
    );
    let centre = (0.5 * (frame.left + frame.right), 0.5 * (frame.top + frame.bottom));
    svg.text("soft", (centre.0, frame.bottom + 35.0), Anchor::Middle, &chart.x.label);
    svg.open("g", &[("transform", &format!("rotate(-90 14 {})", px(centre.1)))]);
    svg.text("soft", (14.0, centre.1), Anchor::Middle, &chart.y.label);
    svg.close("g");
}

/// Every line, then the names beside their ends, the strong ones first in the choice of room.
fn lines(svg: &mut Svg, chart: &Chart, (x, y): (&Scale, &Scale), frame: Rect) {
    // Clear of the frame by more than the halo around a name.
    let Rect { left, top, right, bottom } = frame;
    let mut space = Space::new(Rect { left: left + 4.0, top: top + 4.0, right: right - 4.0, bottom: bottom - 3.0 });
    let pieces: Vec<Pieces> = chart.lines.iter().map(|l| pixels(l, x, y)).collect();
    // The strong lines are drawn last, above the others.
    let mut order: Vec<usize> = (0..chart.lines.len()).collect();
    order.sort_by_key(|i| chart.lines[*i].look.strong);
    for &i in &order {
        draw_band(svg, &chart.lines[i], x, y);
    }
    for &i in &order {
        draw_line(svg, &chart.lines[i], &pieces[i]);
        pieces[i].iter().for_each(|piece| space.run(piece));
        for bar in chart.lines[i].bars().map(|bar| bar.map(|(u, v)| (x.place(u), y.place(v)))) {
            svg.open("g", &[("class", &format!("series faint {}", chart.lines[i].look.class()))]);
            svg.line("line", bar[0], bar[1]);
            svg.close("g");
            space.run(&bar);
        }
        if let (Some(at), true) = (last(&pieces[i]), chart.lines[i].end != End::Plain) {
            space.block(at, 4.0);
        }
    }
    for &i in order.iter().rev() {
        let line = &chart.lines[i];
        let Some(at) = last(&pieces[i]) else { continue };
        let Some(r) = space.place(at, (1.1 * width(&line.name, NAME_SIZE), NAME_SIZE + 1.0)) else { continue };
        svg.open("g", &[("class", &line.look.class())]);
        svg.text("name halo", (r.left, r.bottom - 2.5), Anchor::Start, &line.name);
        svg.close("g");
    }
}

impl Line {
    /// The ends of the finite error bars of each point: along x, then along y.
    fn bars(&self) -> impl Iterator<Item = [(f64, f64); 2]> {
        let both = |(&(u, v), &(a, b)): (&(f64, f64), &(f64, f64))| {
            [(a, [(u - a, v), (u + a, v)]), (b, [(u, v - b), (u, v + b)])]
        };
        let bars = self.points.iter().zip(&self.errors).flat_map(both);
        let drawn =
            |(half, [p, q]): &(f64, [(f64, f64); 2])| *half > 0.0 && [p.0, p.1, q.0, q.1].iter().all(|v| v.is_finite());
        bars.filter(drawn).map(|(_, bar)| bar)
    }
}

fn last(pieces: &Pieces) -> Option<(f64, f64)> {
    pieces.last()?.last().copied()
}

/// The points in pixels; those closer than a third of a pixel to the one before are left out.
fn pixels(line: &Line, x: &Scale, y: &Scale) -> Pieces {
    let mut pieces: Pieces = Vec::new();
    let mut open = false;
    for (k, &(u, v)) in line.points.iter().enumerate() {
        let p = (x.place(u), y.place(v));
        if !(p.0.is_finite() && p.1.is_finite()) {
            open = false;
            continue;
        }
        match pieces.last_mut().filter(|_| open) {
            None => pieces.push(vec![p]),
            Some(piece) => {
                let before = piece[piece.len() - 1];
                if (p.0 - before.0).hypot(p.1 - before.1) < 0.3 && k + 1 < line.points.len() {
                    continue;
                }
                if line.join == Join::Steps {
                    piece.push((p.0, before.1));
                }
                piece.push(p);
            }
        }
        open = true;
    }
    pieces
}

/// A band around a line: along its upper edge and back along the lower one, in pieces where it is not known.
fn draw_band(svg: &mut Svg, line: &Line, x: &Scale, y: &Scale) {
    let known = |&(at, low, high): &(f64, f64, f64)| at.is_finite() && low.is_finite() && high.is_finite();
    let mut path = String::new();
    for piece in line.band.chunk_by(|a, b| known(a) && known(b)).filter(|piece| piece.len() > 1) {
        let upper = piece.iter().map(|&(at, _, high)| (at, high));
        let lower = piece.iter().rev().map(|&(at, low, _)| (at, low));
        for (k, (at, value)) in upper.chain(lower).enumerate() {
            let _ = write!(path, "{}{} {}", if k == 0 { 'M' } else { 'L' }, px(x.place(at)), px(y.place(value)));
        }
        path.push('Z');
    }
    if !path.is_empty() {
        svg.open("g", &[("class", &line.look.class())]);
        svg.element("path", &[("class", "band"), ("d", &path)]);
        svg.close("g");
    }
}

fn draw_line(svg: &mut Svg, line: &Line, pieces: &Pieces) {
    let Some(at) = last(pieces) else { return };
    svg.open("g", &[("class", &format!("series {}", line.look.class()))]);
    svg.open("title", &[]);
    svg.out.push_str(&super::escape(&hover(line)));
    svg.close("title");
    let mut path = String::new();
    for piece in pieces {
        for (k, p) in piece.iter().enumerate() {
            let _ = write!(path, "{}{} {}", if k == 0 { 'M' } else { 'L' }, px(p.0), px(p.1));
        }
    }
    svg.element("path", &[("class", "touch"), ("d", &path)]);
    svg.element("path", &[("class", "line"), ("stroke-dasharray", line.look.dash()), ("d", &path)]);
    if line.join == Join::Marked {
        for p in pieces.iter().flatten() {
            svg.element("circle", &[("class", "mark"), ("cx", &px(p.0)), ("cy", &px(p.1)), ("r", "3")]);
        }
    }
    end(svg, line.end, at);
    svg.close("g");
}

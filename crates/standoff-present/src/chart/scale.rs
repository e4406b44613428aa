//! From values to pixels: logarithmic or linear, with ticks at round numbers.

/// Logarithmic or linear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Equal factors take equal space. Values that are not positive are drawn at the lower edge.
    Log,
    /// Equal differences take equal space.
    Linear,
}

/// A line across the chart, and the number beside it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    /// `None` for the fine lines in between.
    pub(super) label: Option<String>,
}

/// A range of values on a range of pixels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    kind: Kind,
    from: f64,
    to: f64,
    pixels: (f64, f64),
}

impl Scale {
    /// The round range that holds the data, or the part of it between the limits.
    pub(super) fn fit(axis: &super::Axis, data: impl Iterator<Item = f64>, pixels: (f64, f64)) -> Self {
        let kind = axis.kind;
        let usable = |v: &f64| v.is_finite() && (kind == Kind::Linear || *v > 0.0);
        let (mut low, mut high) =
            data.filter(usable).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if let Some(lower) = axis.lower.filter(usable) {
            low = lower;
            high = high.max(lower);
        }
        if let Some(upper) = axis.upper.filter(usable) {
            high = upper;
            low = low.min(upper);
        }
        if low > high {
            (low, high) = if kind == Kind::Log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        let (from, to) = if kind == Kind::Log { log_range(low, high) } else { linear_range(low, high) };
        Self { kind, from, to, pixels }
    }

    /// The pixel of a value; beyond the range the edge. Not finite for NaN.
    pub(super) fn place(&self, v: f64) -> f64 {
        if v.is_nan() {
            return f64::NAN;
        }
        let v = v.clamp(self.from, self.to);
        let part = match self.kind {
            Kind::Log => (v.ln() - self.from.ln()) / (self.to.ln() - self.from.ln()),
            Kind::Linear => (v - self.from) / (self.to - self.from),
        };
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// The scale in words that a script can read: its kind, the ends of its values, and their pixels.
    pub(super) fn tell(&self) -> String {
        let kind = if self.kind == Kind::Log { "log" } else { "linear" };
        format!("{kind} {:?} {:?} {} {}", self.from, self.to, self.pixels.0, self.pixels.1)
    }

    /// The ticks, in ascending order.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        match self.kind {
            Kind::Log => log_ticks(self.from, self.to),
            Kind::Linear => linear_ticks(self.from, self.to),
        }
    }
}

/// Most numbers along an axis.
const MOST: i32 = 8;

/// `10^n`, exact where it can be.
fn power(n: i32) -> f64 {
    format!("1e{n}").parse().unwrap_or(f64::INFINITY)
}

/// The decade of a positive number.
fn decade(v: f64) -> i32 {
    let n = v.log10().floor() as i32;
    // log10 may be off by a rounding on either side of a power of ten.
    if power(n + 1) <= v {
        n + 1
    } else if power(n) > v {
        n - 1
    } else {
        n
    }
}

/// Down and up to the next of 1, 2, 5 times a power of ten; to whole decades when there are several.
fn log_range(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = (low.max(1e-300), high.clamp(1e-299, 1e300));
    let steps: &[f64] = if high / low > 30.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let (a, b) = (power(decade(low)), power(decade(high)));
    let from = steps.iter().map(|s| s * a).filter(|v| *v <= low).fold(a, f64::max);
    let to = steps.iter().chain(&[10.0]).map(|s| s * b).filter(|v| *v >= high).fold(10.0 * b, f64::min);
    if to > from { (from, to) } else { (from, 10.0 * from) }
}

fn log_ticks(from: f64, to: f64) -> Vec<Tick> {
    let (first, last) = (decade(from), decade(to));
    let decades = last - first;
    let every = (decades + MOST - 1) / MOST;
    let numbered: &[u8] = match decades {
        0 | 1 => &[1, 2, 5],
        _ => &[1],
    };
    let mut ticks = Vec::new();
    for n in first..=last {
        for digit in 1..10_u8 {
            let value = f64::from(digit) * power(n);
            let main = numbered.contains(&digit);
            let label = (main && (n - first) % every.max(1) == 0).then(|| log_label(digit, n));
            // Too many lines between the numbered ones are fog.
            let most = if main { 3 * MOST } else { MOST };
            let inside = value >= from * (1.0 - 1e-9) && value <= to * (1.0 + 1e-9);
            if inside && (label.is_some() || decades <= most) {
                ticks.push(Tick { value, label });
            }
        }
    }
    ticks
}

/// `20`, `0.5`, `10⁻⁴`, `2·10⁵`.
fn log_label(digit: u8, n: i32) -> String {
    match n {
        0..=3 => format!("{digit}{}", "0".repeat(n as usize)),
        -2..0 => format!("0.{}{digit}", "0".repeat((-n - 1) as usize)),
        _ => {
            let factor = if digit == 1 { String::new() } else { format!("{digit}\u{b7}") };
            format!("{factor}10{}", superscript(n))
        }
    }
}

fn superscript(n: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    n.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize])).collect()
}

/// 1, 2 or 5 times a power of ten, so that at most [`MOST`] steps cover the span.
fn step(span: f64) -> f64 {
    let rough = span / f64::from(MOST);
    let base = power(decade(rough));
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * base).find(|s| *s >= rough * (1.0 - 1e-9)).unwrap_or(10.0 * base)
}

fn linear_range(low: f64, high: f64) -> (f64, f64) {
    // A flat line gets room above and below.
    let room = if high > low { 0.0 } else { (0.5 * high.abs()).max(0.5) };
    let (low, high) = ((low - room).max(-1e300), (high + room).min(1e300));
    let mut ends = (low, high);
    // Rounding widens the span, which may want a larger step, which rounds further.
    for _ in 0..3 {
        let step = step(ends.1 - ends.0);
        ends = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
    }
    ends
}

fn linear_ticks(from: f64, to: f64) -> Vec<Tick> {
    let step = step(to - from);
    let decimals = (-decade(step)).clamp(0, 12) as usize;
    // Only those inside: a number beyond an end would stand at the end, where it is not.
    let (first, last) = ((from / step - 1e-6).ceil() as i64, (to / step + 1e-6).floor() as i64);
    (first..=last)
        .map(|k| {
            let value = k as f64 * step;
            Tick { value, label: Some(linear_label(value, step, decimals)) }
        })
        .collect()
}

/// Plain up to a million, then `3e6`.
fn linear_label(value: f64, step: f64, decimals: usize) -> String {
    if value.abs() >= 1e6 || (step < 1e-6 && value != 0.0) {
        return format!("{value:e}");
    }
    format!("{:.decimals$}", if value == 0.0 { 0.0 } else { value })
}

#[cfg(test)]
mod tests {
    use super::super::Axis;
    use super::*;

    fn numbers(axis: &Axis, data: &[f64]) -> Vec<String> {
        let scale = Scale::fit(axis, data.iter().copied(), (0.0, 100.0));
        scale.ticks().into_iter().filter_map(|t| t.label).collect()
    }

    #[test]
    fn linear_ticks_stand_where_their_numbers_are_whatever_the_span() {
        for k in 1..400 {
            let (low, high) = (f64::from(k) * 0.37 - 60.0, f64::from(k) * 0.53 + f64::from(k * k % 97));
            let scale = Scale::fit(&Axis::linear("x"), [low, high].into_iter(), (0.0, 300.0));
            let places: Vec<f64> = scale.ticks().iter().map(|tick| scale.place(tick.value)).collect();
            assert!(places.len() >= 3 && places.len() <= 12, "{low} to {high}: {places:?}");
            let gap = places[1] - places[0];
            assert!(
                places.windows(2).all(|pair| (pair[1] - pair[0] - gap).abs() < 1e-6),
                "{low} to {high}: {places:?}"
            );
            assert!(places[0] < 1e-6 && places[places.len() - 1] > 300.0 - 1e-6, "{low} to {high}: {places:?}");
        }
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        let axis = Axis::log("");
        assert_eq!(numbers(&axis, &[3e-4, 20.0]), ["10⁻⁴", "10⁻³", "0.01", "0.1", "1", "10", "100"]);
        assert_eq!(numbers(&axis, &[1.0, 1000.0]), ["1", "10", "100", "1000"]);
        assert_eq!(numbers(&axis, &[3.0, 40.0]), ["2", "5", "10", "20", "50"]);
        assert_eq!(
            numbers(&axis, &[1e-12, 1e12]),
            ["10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³", "1", "1000", "10⁶", "10⁹", "10¹²"]
        );
    }

    #[test]
    fn linear_ticks_are_round() {
        let axis = Axis::linear("");
        assert_eq!(numbers(&axis, &[0.0, 0.93]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(numbers(&axis, &[-3.0, 12.0]), ["-4", "-2", "0", "2", "4", "6", "8", "10", "12"]);
        assert_eq!(numbers(&axis, &[7.0]), ["3", "4", "5", "6", "7", "8", "9", "10", "11"]);
        assert_eq!(numbers(&axis, &[0.0, 3e6]).last().unwrap(), "3e6");
    }

    #[test]
    fn data_that_cannot_be_drawn_does_no_harm() {
        for axis in [Axis::log(""), Axis::linear("")] {
            for data in
                [&[][..], &[f64::NAN], &[f64::INFINITY, f64::NEG_INFINITY], &[0.0, -1.0], &[1e308, 1e-308, -1e308]]
            {
                let scale = Scale::fit(&axis, data.iter().copied(), (0.0, 100.0));
                let ticks = scale.ticks();
                assert!((2..200).contains(&ticks.len()), "{axis:?} {data:?} {}", ticks.len());
                assert!(ticks.iter().all(|t| (-0.1..=100.1).contains(&scale.place(t.value))), "{axis:?} {data:?}");
            }
        }
    }

    #[test]
    fn values_beyond_the_limits_are_drawn_at_the_edge() {
        let axis = Axis { lower: Some(1e-4), upper: Some(10.0), ..Axis::log("") };
        let scale = Scale::fit(&axis, [1e-9, 1e9].into_iter(), (0.0, 100.0));
        assert_eq!((scale.place(0.0), scale.place(1e-4), scale.place(1e7)), (0.0, 0.0, 100.0));
        assert!((scale.place(1e-2) - 40.0).abs() < 1e-9);
        assert!(scale.place(f64::NAN).is_nan());
    }

    #[test]
    fn the_decade_of_a_power_of_ten_is_its_exponent() {
        for n in -300..300 {
            assert_eq!(decade(power(n)), n);
        }
    }
}

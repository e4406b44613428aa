//! Colours and dashes: six colours that the common colour-blindnesses keep apart, three dashes, so eighteen lines that differ.

/// Number of colours.
pub(super) const COLOURS: usize = 6;
/// Solid, dashed, dotted.
const DASHES: [&str; 3] = ["", "7 3", "1.5 3.5"];

/// Colour, dash and weight of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineStyle {
    /// Chooses the colour and the dash; beyond eighteen they repeat.
    pub number: usize,
    /// Drawn heavier than the others.
    pub strong: bool,
    /// Drawn lighter: a line to compare with.
    pub faint: bool,
}

impl LineStyle {
    /// The style of that number.
    pub fn of(number: usize) -> Self {
        Self { number, ..Self::default() }
    }

    /// The class of its colour.
    pub(super) fn class(self) -> String {
        let weight = match (self.strong, self.faint) {
            (true, _) => " strong",
            (_, true) => " faint",
            _ => "",
        };
        format!("k{}{weight}", self.colour())
    }

    /// Which of the colours.
    pub fn colour(self) -> usize {
        self.number % COLOURS
    }

    /// The dash pattern; empty for solid.
    pub(super) fn dash(self) -> &'static str {
        DASHES[self.number / COLOURS % DASHES.len()]
    }
}

/// The style sheet that every chart needs, once per page.
pub const STYLE: &str = "\
.plot{--ink:#1b1f24;--soft:#57606a;--grid:#e3e6ea;--paper:#ffffff;\
--k0:#0069b4;--k1:#d45500;--k2:#00856a;--k3:#b0499b;--k4:#946200;--k5:#4a5058;\
font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;background:var(--paper)}
@media (prefers-color-scheme:dark){.plot{--ink:#e6e9ee;--soft:#9aa4b0;--grid:#2a3039;--paper:#14171c;\
--k0:#57b6f2;--k1:#ff8a55;--k2:#2fcb9e;--k3:#e58fd0;--k4:#e3b341;--k5:#c3cbd5}}
.plot text{fill:var(--ink)}.plot .soft{fill:var(--soft)}.plot .title{font-size:14px;font-weight:600}
.plot .halo{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.plot .num{font-variant-numeric:tabular-nums}
.plot .paper{fill:var(--paper)}.plot .grid{stroke:var(--grid);fill:none}.plot .fine{stroke-opacity:.55}
.plot .frame{stroke:var(--soft);fill:none}
.plot .k0{color:var(--k0)}.plot .k1{color:var(--k1)}.plot .k2{color:var(--k2)}\
.plot .k3{color:var(--k3)}.plot .k4{color:var(--k4)}.plot .k5{color:var(--k5)}
.plot .line{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.plot .strong .line{stroke-width:3}.plot .faint .line{stroke-width:1;stroke-opacity:.75}
.plot .band{fill:currentColor;fill-opacity:.16;stroke:none}
.plot .mark{fill:currentColor}.plot .cross{stroke:currentColor;stroke-width:2;fill:none}
.plot .name{fill:currentColor;font-size:11px}.plot .note{fill:var(--soft);font-size:11px}.plot .strong .name{font-weight:600}
.plot .touch{fill:none;stroke:transparent;stroke-width:12;pointer-events:stroke}
.plot g.series:hover .line{stroke-width:4}
";

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of `#rrggbb`, as the accessibility guidelines define it.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let c = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn variable<'s>(theme: &'s str, name: &str) -> &'s str {
        let at = theme.find(&format!("--{name}:#")).unwrap() + name.len() + 3;
        &theme[at..at + 7]
    }

    #[test]
    fn every_colour_stands_out_from_the_paper_in_light_and_dark() {
        let (light, dark) = STYLE.split_once("@media").unwrap();
        for theme in [light, dark] {
            let paper = variable(theme, "paper");
            for k in 0..COLOURS {
                let colour = variable(theme, &format!("k{k}"));
                assert!(contrast(colour, paper) >= 4.0, "{colour} on {paper}: {}", contrast(colour, paper));
            }
            assert!(contrast(variable(theme, "ink"), paper) >= 7.0);
            assert!(contrast(variable(theme, "soft"), paper) >= 4.5);
        }
    }

    #[test]
    fn eighteen_lines_look_different() {
        let mut seen: Vec<_> =
            (0..COLOURS * DASHES.len()).map(|n| (LineStyle::of(n).class(), LineStyle::of(n).dash())).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 18);
    }
}

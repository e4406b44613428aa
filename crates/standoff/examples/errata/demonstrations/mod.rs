//! The list of demonstrations, and the type that collects their output.

mod constants;
mod experiments;
mod games;
mod iterates;
mod rates;
mod steps;

use standoff::{Game, Need, Set};

/// A claim that did not hold, or an error of the library.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl From<standoff::Error> for Failure {
    fn from(error: standoff::Error) -> Self {
        Self(error.to_string())
    }
}

/// The lines that a demonstration prints.
#[derive(Default)]
pub(crate) struct Page {
    lines: Vec<String>,
}

impl Page {
    /// Prints a line, which is a claim that must hold.
    fn claim(&mut self, holds: bool, line: String) -> Result<(), Failure> {
        let result = if holds { Ok(()) } else { Err(Failure(format!("this does not hold: {line}"))) };
        self.lines.push(line);
        result
    }

    /// Prints an explanation without a claim.
    fn say(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }
}

/// One erratum.
pub(crate) struct Demonstration {
    /// `E1` and so on.
    pub(crate) name: &'static str,
    /// The correction in one line.
    pub(crate) title: &'static str,
    show: fn(&mut Page) -> Result<(), Failure>,
}

impl Demonstration {
    /// The lines to print, and an error if a claim does not hold.
    pub(crate) fn run(&self) -> (Vec<String>, Result<(), Failure>) {
        let mut page = Page::default();
        let outcome = (self.show)(&mut page);
        (page.lines, outcome)
    }
}

/// Every demonstration, in the order of docs/errata.md.
pub(crate) const ALL: &[Demonstration] = &[
    entry("E1", "quadratic growth is mu, not 4 mu: the printed outer step cycles", steps::e1),
    entry("E2", "f_lambda is (L22 + lambda)-smooth: the printed inner step divides by zero", steps::e2),
    entry("E3", "the printed restart length is too short for the lemma that it is taken from", steps::e3),
    entry("E4", "one letter for two radii: lambda must come from Y's", constants::e4),
    entry("E5", "one letter for two gaps: Frank-Wolfe's count needs Delta_g", constants::e5),
    entry("E6", "two values for one tolerance; the error of the gradient is small with either", constants::e6),
    entry("E7", "the Frank-Wolfe step must be clipped, and normalised", steps::e7),
    entry("E8", "the total of y-gradients is eps^-3.5, not eps^-0.5", rates::e8),
    entry("E9", "the best iterate is not the last", iterates::e9),
    entry("E10", "the example's value function is |x|, with one equilibrium", games::e10),
    entry("E11", "three first-order equilibria, not one", games::e11),
    entry("E12", "the imitation game is smooth only where the loop is stable", games::e12),
    entry("E13", "eps^-3.5 is not the best known rate", rates::e13),
    entry("E14", "stochastic gradients need batches of 144 sigma^2/eps^2", iterates::e14),
    entry("E15", "none of the constants is needed", constants::e15),
    entry("E16", "a convex-concave game without compactness may have no equilibrium", games::e16),
    entry("E17", "X is minus the inner product, not the inner product", games::e17),
    entry("E18", "the fully connected layers of 250 and 800 are flattened sizes", experiments::e18),
    entry("E19", "text and published code differ in steps and outputs", experiments::e19),
];

const fn entry(name: &'static str, title: &'static str, show: fn(&mut Page) -> Result<(), Failure>) -> Demonstration {
    Demonstration { name, title, show }
}

/// Selects demonstrations by name, ignoring case; all of them if no name is given. An unknown name is an error that
/// lists the known ones.
pub(crate) fn select(wanted: &[String]) -> Result<Vec<&'static Demonstration>, String> {
    let known = |name: &String| ALL.iter().any(|d| d.name.eq_ignore_ascii_case(name));
    if let Some(unknown) = wanted.iter().find(|name| !known(name)) {
        let names: Vec<&str> = ALL.iter().map(|d| d.name).collect();
        return Err(format!("no erratum is called `{unknown}`; known: {}", names.join(", ")));
    }
    let chosen = |d: &&Demonstration| wanted.is_empty() || wanted.iter().any(|w| d.name.eq_ignore_ascii_case(w));
    Ok(ALL.iter().filter(chosen).collect())
}

/// A game in one variable each, from its value and its two derivatives.
struct Formula {
    x_set: Set<f64>,
    y_set: Set<f64>,
    x: f64,
    f: fn(f64, f64) -> f64,
    dx: fn(f64, f64) -> f64,
    dy: fn(f64, f64) -> f64,
}

impl Game for Formula {
    type Real = f64;
    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }
    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }
    fn fix(&mut self, x: &[f64], _need: Need) {
        self.x = x[0];
    }
    fn value(&mut self, y: &[f64]) -> f64 {
        (self.f)(self.x, y[0])
    }
    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out[0] = (self.dx)(self.x, y[0]);
        self.value(y)
    }
    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out[0] = (self.dy)(self.x, y[0]);
        self.value(y)
    }
}

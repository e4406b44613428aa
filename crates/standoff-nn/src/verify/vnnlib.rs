//! Reads properties in VNN-LIB 1.0: constants `X_i` and `Y_j`, assertions with `and`, `or`, `<=` and `>=` on linear terms. The
//! assertions describe inputs and outputs that must not occur together.

use super::property::{OutputRow, Property, PropertyCase};
use crate::Error;

/// The deepest nesting of brackets.
const DEEPEST: usize = 64;
/// The most cases of a disjunction, and the most numbers that they hold.
const MOST_CASES: usize = 100_000;
const MOST_NUMBERS: usize = 1 << 26;

/// A linear inequality `sum of terms + constant <= 0`.
#[derive(Debug, Clone, PartialEq)]
struct Atom {
    terms: Vec<(Variable, f64)>,
    constant: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Variable {
    X(usize),
    Y(usize),
}

/// An expression in brackets.
#[derive(Debug)]
enum Expression<'a> {
    Word(&'a str),
    List(Vec<Expression<'a>>),
}

impl Property {
    /// Reads the text of a VNN-LIB file.
    pub fn from_vnnlib(text: &str) -> Result<Self, Error> {
        read(text).map_err(Error::Property)
    }
}

fn read(text: &str) -> Result<Property, String> {
    let (mut inputs, mut outputs) = (0, 0);
    let mut alternatives: Vec<Vec<Vec<Atom>>> = Vec::new();
    let mut always: Vec<Atom> = Vec::new();
    for expression in parse(text)? {
        let Expression::List(list) = expression else { return Err("a word stands outside of brackets".into()) };
        match &list[..] {
            [Expression::Word("declare-const"), Expression::Word(name), Expression::Word("Real")] => {
                match variable(name).ok_or_else(|| format!("`{name}` is declared; X_0, Y_0, ... are known"))? {
                    Variable::X(i) => inputs = inputs.max(i + 1),
                    Variable::Y(j) => outputs = outputs.max(j + 1),
                }
            }
            [Expression::Word("assert"), formula] => {
                let mut cases = disjunction(formula)?;
                match cases.len() {
                    1 => always.append(&mut cases[0]),
                    _ => alternatives.push(cases),
                }
            }
            [Expression::Word(other), ..] => {
                return Err(format!(
                    "`{other}` with {} parts is not known; use declare-const and assert",
                    list.len() - 1
                ));
            }
            _ => return Err("an expression without a name".into()),
        }
    }
    if inputs == 0 || outputs == 0 {
        return Err(format!("{inputs} inputs and {outputs} outputs are declared; at least one of each is needed"));
    }
    cases(&always, &alternatives, (inputs, outputs))
}

/// All combinations of one case of every disjunction.
fn cases(always: &[Atom], alternatives: &[Vec<Vec<Atom>>], sizes: (usize, usize)) -> Result<Property, String> {
    let mut combined: Vec<Vec<&Atom>> = vec![Vec::new()];
    for cases in alternatives {
        let count = combined.len().saturating_mul(cases.len());
        if count > MOST_CASES || count.saturating_mul(sizes.0 + sizes.1) > MOST_NUMBERS {
            return Err(format!("the disjunctions have more than {count} cases together; split the file"));
        }
        combined = combined.iter().flat_map(|a| cases.iter().map(|c| a.iter().copied().chain(c).collect())).collect();
    }
    let mut out: Vec<PropertyCase> = Vec::new();
    let base = constrained(always.iter(), sizes)?;
    for atoms in combined {
        let mut case = base.clone();
        apply(&mut case, atoms.into_iter(), sizes.1)?;
        if let Some(i) = (0..sizes.0).find(|&i| !(case.0[i].is_finite() && case.1[i].is_finite())) {
            return Err(format!("X_{i} has no lower or no upper end; every input needs both"));
        }
        if case.0.iter().zip(&case.1).any(|(l, u)| l > u) {
            continue; // no input satisfies it
        }
        let (lower, upper, set) = case;
        match out.last_mut() {
            Some(last) if last.lower == lower && last.upper == upper => last.unsafe_sets.push(set),
            _ => out.push(PropertyCase { lower, upper, ball: None, unsafe_sets: vec![set] }),
        }
    }
    if out.is_empty() {
        return Err(
            "no input satisfies its conditions: a lower end is above an upper end, or a disjunction is empty".into()
        );
    }
    Ok(Property { cases: out })
}

/// Ends of the inputs, and the conditions on the outputs.
type Constrained = (Vec<f64>, Vec<f64>, Vec<OutputRow>);

fn constrained<'a>(atoms: impl Iterator<Item = &'a Atom>, sizes: (usize, usize)) -> Result<Constrained, String> {
    let mut case = (vec![f64::NEG_INFINITY; sizes.0], vec![f64::INFINITY; sizes.0], Vec::new());
    apply(&mut case, atoms, sizes.1)?;
    Ok(case)
}

fn apply<'a>(case: &mut Constrained, atoms: impl Iterator<Item = &'a Atom>, outputs: usize) -> Result<(), String> {
    for atom in atoms {
        let on_inputs = atom.terms.iter().filter(|(v, _)| matches!(v, Variable::X(_))).count();
        match &atom.terms[..] {
            [(Variable::X(i), c)] => {
                let i = *i;
                if i >= case.0.len() || *c == 0.0 {
                    return Err(format!("a condition on X_{i} is not valid: is it declared?"));
                }
                // c x + d <= 0. With c = +-1, the form of every known file, the end is exact.
                let end = -atom.constant / c;
                if end.mul_add(*c, atom.constant) != 0.0 {
                    return Err(format!(
                        "the end of X_{i} is not exact; write the condition with X_{i} alone on one side"
                    ));
                }
                if *c > 0.0 {
                    case.1[i] = if end < case.1[i] { end } else { case.1[i] };
                } else {
                    case.0[i] = if end > case.0[i] { end } else { case.0[i] };
                }
            }
            _ if on_inputs > 0 => {
                return Err(
                    "a condition joins several inputs, or inputs and outputs; boxes of inputs are supported".into()
                );
            }
            terms => {
                let mut coefficients = vec![0.0; outputs];
                for (v, c) in terms {
                    let Variable::Y(j) = v else { continue };
                    *coefficients.get_mut(*j).ok_or(format!("Y_{j} is not declared"))? = *c;
                }
                case.2.push(OutputRow { coefficients, constant: atom.constant });
            }
        }
    }
    Ok(())
}

/// A formula as a disjunction of conjunctions.
fn disjunction(formula: &Expression<'_>) -> Result<Vec<Vec<Atom>>, String> {
    let Expression::List(list) = formula else { return Err("an assertion is a word".into()) };
    let Some((Expression::Word(name), parts)) = list.split_first() else {
        return Err("an assertion without an operator".into());
    };
    match (*name, parts) {
        ("or", parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(disjunction(part)?);
                if all.len() > MOST_CASES {
                    return Err(format!("a disjunction has more than {MOST_CASES} cases"));
                }
            }
            Ok(all)
        }
        ("and", parts) => {
            let mut all = vec![Vec::new()];
            for part in parts {
                let cases = disjunction(part)?;
                if all.len().saturating_mul(cases.len()) > MOST_CASES {
                    return Err(format!("a disjunction has more than {MOST_CASES} cases"));
                }
                if let [case] = &cases[..] {
                    all.iter_mut().for_each(|a| a.extend_from_slice(case));
                    continue;
                }
                all = all.iter().flat_map(|a| cases.iter().map(|c| [&a[..], c].concat())).collect();
            }
            Ok(all)
        }
        ("<=" | ">=", [left, right]) => {
            let sign = if *name == "<=" { 1.0 } else { -1.0 };
            let mut atom = Atom { terms: Vec::new(), constant: 0.0 };
            linear(left, sign, &mut atom)?;
            linear(right, -sign, &mut atom)?;
            Ok(vec![vec![atom]])
        }
        (other, _) => Err(format!("the operator `{other}` is not known here; use and, or, <= and >= (with two sides)")),
    }
}

/// Adds `factor` times a linear term to an inequality.
fn linear(term: &Expression<'_>, factor: f64, atom: &mut Atom) -> Result<(), String> {
    match term {
        Expression::Word(word) => match (variable(word), number(word)) {
            (Some(v), _) => match atom.terms.iter_mut().find(|(w, _)| *w == v) {
                Some((_, c)) => *c = sum(*c, factor)?,
                None => atom.terms.push((v, factor)),
            },
            (None, Some(x)) => atom.constant = sum(atom.constant, product(factor, x)?)?,
            (None, None) => return Err(format!("`{word}` is neither a number nor X_i nor Y_j")),
        },
        Expression::List(list) => match &list[..] {
            [Expression::Word("+"), parts @ ..] => parts.iter().try_for_each(|p| linear(p, factor, atom))?,
            [Expression::Word("-"), only] => linear(only, -factor, atom)?,
            [Expression::Word("-"), first, rest @ ..] => {
                linear(first, factor, atom)?;
                rest.iter().try_for_each(|p| linear(p, -factor, atom))?;
            }
            [Expression::Word("*"), Expression::Word(c), other] if number(c).is_some() => {
                linear(other, product(factor, number(c).unwrap_or(f64::NAN))?, atom)?;
            }
            [Expression::Word("*"), other, Expression::Word(c)] if number(c).is_some() => {
                linear(other, product(factor, number(c).unwrap_or(f64::NAN))?, atom)?;
            }
            _ => return Err("a term is not linear: use +, - and * with a number".into()),
        },
    }
    Ok(())
}

/// A sum that is exact in `f64`: a rounded one would be another property.
fn sum(a: f64, b: f64) -> Result<f64, String> {
    let sum = a + b;
    let other = sum - a;
    let exact = sum.is_finite() && sum - other == a && other == b;
    exact.then_some(sum).ok_or(format!("the sum of {a} and {b} is not exact; write it as one number"))
}

/// A product that is exact in `f64`.
fn product(a: f64, b: f64) -> Result<f64, String> {
    let product = a * b;
    let exact = product.is_finite() && a.mul_add(b, -product) == 0.0 && (product != 0.0 || a == 0.0 || b == 0.0);
    exact.then_some(product).ok_or(format!("the product of {a} and {b} is not exact; write it as one number"))
}

fn variable(word: &str) -> Option<Variable> {
    let index = |digits: &str| digits.parse::<usize>().ok().filter(|i| *i < 1 << 22);
    match word.split_once('_')? {
        ("X", i) => index(i).map(Variable::X),
        ("Y", j) => index(j).map(Variable::Y),
        _ => None,
    }
}

/// A finite number; words such as `inf` are refused.
fn number(word: &str) -> Option<f64> {
    word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)).then_some(())?;
    word.parse::<f64>().ok().filter(|x| x.is_finite())
}

fn parse(text: &str) -> Result<Vec<Expression<'_>>, String> {
    let mut stack: Vec<Vec<Expression<'_>>> = vec![Vec::new()];
    for (i, line) in text.lines().enumerate() {
        let line = line.split(';').next().unwrap_or_default();
        let mut left = line.trim_start();
        while let Some(c) = left.chars().next() {
            let length = match c {
                '(' | ')' => 1,
                _ => left.find(|c: char| c.is_whitespace() || "()".contains(c)).unwrap_or(left.len()),
            };
            let (word, rest) = left.split_at(length);
            left = rest.trim_start();
            match word {
                "(" if stack.len() > DEEPEST => return Err(format!("line {}: brackets nest too deep", i + 1)),
                "(" => stack.push(Vec::new()),
                ")" => {
                    let list = stack.pop().filter(|_| !stack.is_empty());
                    let list = list.ok_or_else(|| format!("line {}: a closing bracket too many", i + 1))?;
                    stack.last_mut().ok_or("brackets")?.push(Expression::List(list));
                }
                word => stack.last_mut().ok_or("brackets")?.push(Expression::Word(word)),
            }
        }
    }
    match (stack.pop(), stack.is_empty()) {
        (Some(all), true) => Ok(all),
        _ => Err("a bracket is not closed; the file is cut".into()),
    }
}

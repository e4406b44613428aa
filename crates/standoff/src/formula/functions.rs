//! The named functions of the language.

use super::graph::{Graph, Id};
use super::op::{Binary, Reduce, Unary};
use super::shape::Shape;

#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    Each(Unary),
    Fold(Reduce),
    /// Elementwise with several arguments, a reduction with one.
    Extreme(Binary, Reduce),
    Dot,
    Transpose,
}

/// Names of constants and their values.
pub(super) const CONSTANTS: [(&str, f64); 2] = [("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];

const FUNCTIONS: [(&str, Function); 27] = [
    ("sin", Function::Each(Unary::Sin)),
    ("cos", Function::Each(Unary::Cos)),
    ("tan", Function::Each(Unary::Tan)),
    ("exp", Function::Each(Unary::Exp)),
    ("log", Function::Each(Unary::Log)),
    ("sqrt", Function::Each(Unary::Sqrt)),
    ("abs", Function::Each(Unary::Abs)),
    ("tanh", Function::Each(Unary::Tanh)),
    ("sigmoid", Function::Each(Unary::Sigmoid)),
    ("softplus", Function::Each(Unary::Softplus)),
    ("log1p", Function::Each(Unary::Log1p)),
    ("expm1", Function::Each(Unary::Expm1)),
    ("square", Function::Each(Unary::Square)),
    ("relu", Function::Each(Unary::Relu)),
    ("sinh", Function::Each(Unary::Sinh)),
    ("cosh", Function::Each(Unary::Cosh)),
    ("atan", Function::Each(Unary::Atan)),
    ("sum", Function::Fold(Reduce::Sum)),
    ("mean", Function::Fold(Reduce::Mean)),
    ("norm", Function::Fold(Reduce::Norm)),
    ("logsumexp", Function::Fold(Reduce::LogSumExp)),
    ("max", Function::Extreme(Binary::Max, Reduce::Max)),
    ("min", Function::Extreme(Binary::Min, Reduce::Min)),
    ("dot", Function::Dot),
    ("transpose", Function::Transpose),
    ("maximum", Function::Extreme(Binary::Max, Reduce::Max)),
    ("minimum", Function::Extreme(Binary::Min, Reduce::Min)),
];

/// Names of functions in other languages, and their equivalents here.
const ELSEWHERE: [(&str, &str); 12] = [
    ("ln", "log(...)"),
    ("arctan", "atan(...)"),
    ("logistic", "sigmoid(...)"),
    ("expit", "sigmoid(...)"),
    ("inner", "dot(a, b)"),
    ("matmul", "a @ b"),
    ("pow", "a ^ b"),
    ("power", "a ^ b"),
    ("average", "mean(...)"),
    ("sqr", "square(...)"),
    ("fabs", "abs(...)"),
    ("softmax", "exp(v - logsumexp(v))"),
];

pub(super) fn find(name: &str) -> Option<Function> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, f)| *f)
}

/// The value of `pi` or `e`.
pub(super) fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, v)| *v)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// The equivalent of a function of another language.
pub(super) fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, here)| *here)
}

/// Applies a function; `name` is for messages.
pub(super) fn call(graph: &mut Graph, name: &str, f: Function, args: &[Id]) -> Result<Id, String> {
    match (f, args) {
        (Function::Each(f), [a]) => graph.each(f, *a),
        // The sum of a scalar is the scalar itself; its norm is not.
        (Function::Fold(Reduce::Sum | Reduce::Mean | Reduce::LogSumExp) | Function::Extreme(..), [a])
            if graph.shape(*a) == Shape::Scalar =>
        {
            Ok(*a)
        }
        (Function::Fold(f) | Function::Extreme(_, f), [a]) => graph.fold(f, *a),
        (Function::Extreme(f, _), [first, rest @ ..]) => {
            rest.iter().try_fold(*first, |best, next| graph.pair(f, best, *next))
        }
        (Function::Transpose, [a]) => graph.transpose(*a),
        (Function::Dot, [a, b]) => match (graph.shape(*a), graph.shape(*b)) {
            (Shape::Vector(n), Shape::Vector(m)) if n == m => graph.product(*a, *b),
            (left, right) => Err(format!("`dot` needs two vectors of the same length, got {left} and {right}")),
        },
        (Function::Extreme(..), []) => Err(format!("`{name}` needs an argument: write {name}(v) or {name}(a, b)")),
        (Function::Dot, _) => Err(format!("`dot` takes two arguments, got {}: write dot(a, b)", args.len())),
        (Function::Fold(Reduce::Norm), [_, _]) => {
            Err("`norm` takes one argument, got 2; it is the 2-norm, the 1-norm is sum(abs(v))".into())
        }
        _ => Err(format!("`{name}` takes one argument, got {}: write {name}(v)", args.len())),
    }
}

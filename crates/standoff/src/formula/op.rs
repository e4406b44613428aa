//! The operations of the tape. Their values are in `forward.rs`, their derivatives in `backward.rs`.

use super::forward::parts_of_fold;
use super::product;
use super::shape::Product;

/// One operation on one or two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// An elementwise function.
    Each(Unary),
    /// An elementwise whole power.
    Power(i32),
    /// An elementwise operation on two operands; a scalar operand is broadcast.
    Pair(Binary),
    /// A reduction of all entries to one number.
    Fold(Reduce),
    /// The matrix product.
    Product(Product),
    /// Entries of the operand in a regular pattern: an index, a slice or a transpose.
    View(View),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Unary {
    Neg,
    Sin,
    Cos,
    Tan,
    Exp,
    Log,
    Sqrt,
    Abs,
    Tanh,
    Sigmoid,
    Softplus,
    Log1p,
    Expm1,
    Square,
    Relu,
    Sinh,
    Cosh,
    Atan,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Max,
    Min,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reduce {
    Sum,
    Mean,
    Norm,
    Max,
    Min,
    LogSumExp,
}

/// `out[r * cols + c] = in[start + r * row_step + c * col_step]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct View {
    pub(super) start: usize,
    pub(super) rows: usize,
    pub(super) row_step: usize,
    pub(super) cols: usize,
    pub(super) col_step: usize,
}

impl View {
    /// The position of row `r` of the view in the operand.
    pub(super) fn row(&self, r: usize) -> usize {
        self.start + r * self.row_step
    }
}

impl Op {
    /// Number of operands.
    pub(super) fn arity(self) -> usize {
        match self {
            Self::Pair(_) | Self::Product(_) => 2,
            Self::Each(_) | Self::Power(_) | Self::Fold(_) | Self::View(_) => 1,
        }
    }

    /// Number of entries from which it is shared among threads. Products decide this themselves.
    pub(super) fn worth_sharing(self) -> usize {
        let is_cheap = match self {
            Self::Each(f) => matches!(f, Unary::Neg | Unary::Sqrt | Unary::Abs | Unary::Square | Unary::Relu),
            Self::Pair(f) => f != Binary::Pow,
            Self::Fold(f) => f != Reduce::LogSumExp,
            Self::Power(_) | Self::Product(_) | Self::View(_) => true,
        };
        if is_cheap { 1 << 16 } else { 1 << 14 }
    }

    /// True if threads are useful, for operands and results of these lengths.
    pub(super) fn is_worth_sharing(self, operand: usize, result: usize) -> bool {
        match self {
            Self::Product(lengths) => product::is_worth_sharing(lengths),
            _ => operand >= self.worth_sharing() || result >= self.worth_sharing(),
        }
    }

    /// Size of the scratch space, for an operand of `len` entries.
    pub(super) fn scratch(self, len: usize) -> usize {
        match self {
            Self::Product(lengths) => product::scratch(lengths),
            Self::Fold(Reduce::LogSumExp) => parts_of_fold(len),
            _ => 0,
        }
    }

    /// The user's name of an operation with kinks, and the place of the kinks.
    pub(super) fn kink(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Each(Unary::Abs) => Some(("abs", "where its argument is 0")),
            Self::Each(Unary::Relu) => Some(("relu", "where its argument is 0")),
            Self::Pair(Binary::Max) | Self::Fold(Reduce::Max) => Some(("max", "where two arguments tie")),
            Self::Pair(Binary::Min) | Self::Fold(Reduce::Min) => Some(("min", "where two arguments tie")),
            Self::Fold(Reduce::Norm) => Some(("norm", "where its argument is 0")),
            _ => None,
        }
    }

    /// The degree in y (0 constant, 1 affine, 2 other) from the operands' degrees.
    pub(super) fn degree(self, a: u8, b: u8) -> u8 {
        let affine_or_other = |d: u8| if d == 0 { 0 } else { 2 };
        match self {
            Self::Each(Unary::Neg) | Self::Fold(Reduce::Sum | Reduce::Mean) | Self::View(_) => a,
            Self::Pair(Binary::Add | Binary::Sub) => a.max(b),
            Self::Pair(Binary::Mul) | Self::Product(_) => (a + b).min(2),
            Self::Pair(Binary::Div) if b == 0 => a,
            Self::Pair(_) => affine_or_other(a.max(b)),
            Self::Each(_) | Self::Power(_) | Self::Fold(_) => affine_or_other(a),
        }
    }
}

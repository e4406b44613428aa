//! Shapes of expressions, and their combinations.

use std::fmt;

/// The shape of a value. Entries of a matrix are stored row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Scalar,
    Vector(usize),
    Matrix(usize, usize),
}

impl Shape {
    /// The number of entries.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Vector(n) => n,
            Self::Matrix(rows, cols) => rows * cols,
        }
    }

    /// The shape of the transpose.
    pub(super) fn transposed(self) -> Self {
        match self {
            Self::Matrix(rows, cols) => Self::Matrix(cols, rows),
            other => other,
        }
    }

    /// The shape of an elementwise operation: shapes must be equal, or one of them a scalar.
    pub(super) fn broadcast(self, other: Self, what: &str) -> Result<Self, String> {
        match (self, other) {
            (a, b) if a == b => Ok(a),
            (Self::Scalar, b) => Ok(b),
            (a, Self::Scalar) => Ok(a),
            (a, b) => Err(format!(
                "`{what}` cannot combine {a} with {b}: shapes must be equal, or one of them a scalar{}",
                if Self::product_exists(a, b) { "; for the matrix product write @" } else { "" }
            )),
        }
    }

    fn product_exists(a: Self, b: Self) -> bool {
        matches!((a, b), (Self::Matrix(..), _) | (_, Self::Matrix(..))) && Product::of(a, b).is_ok()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar => write!(f, "a scalar"),
            Self::Vector(n) => write!(f, "a vector of length {n}"),
            Self::Matrix(rows, cols) => write!(f, "a {rows}x{cols} matrix"),
        }
    }
}

/// The lengths of a matrix product `(m x k) @ (k x n)`; a vector on the left is one row, on the right one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Product {
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) n: usize,
}

impl Product {
    /// The lengths of `a @ b` and the shape of the result.
    pub(super) fn of(a: Shape, b: Shape) -> Result<(Self, Shape), String> {
        use Shape::{Matrix, Scalar, Vector};
        let (m, k, inner, n, shape) = match (a, b) {
            (Scalar, _) | (_, Scalar) => {
                return Err(format!("`@` needs vectors or matrices, got {a} and {b}; to scale write *"));
            }
            (Vector(k), Vector(l)) => (1, k, l, 1, Scalar),
            (Vector(k), Matrix(l, n)) => (1, k, l, n, Vector(n)),
            (Matrix(m, k), Vector(l)) => (m, k, l, 1, Vector(m)),
            (Matrix(m, k), Matrix(l, n)) => (m, k, l, n, Matrix(m, n)),
        };
        if k != inner {
            let fix = match (a, b) {
                (Matrix(rows, _), _) if rows == inner => "; transpose the first with .T",
                (_, Matrix(_, cols)) if cols == k => "; transpose the second with .T",
                _ => "",
            };
            return Err(format!("`@` cannot multiply {a} by {b}: {k} is not {inner}{fix}"));
        }
        Ok((Self { m, k, n }, shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_error_names_both_shapes_and_the_fix() {
        let wrong = Shape::Vector(3).broadcast(Shape::Vector(2), "+").unwrap_err();
        assert!(wrong.contains("a vector of length 3 with a vector of length 2"), "{wrong}");
        let product = Shape::Matrix(3, 2).broadcast(Shape::Vector(2), "*").unwrap_err();
        assert!(product.ends_with("write @"), "{product}");
        let turned = Product::of(Shape::Matrix(3, 2), Shape::Vector(3)).unwrap_err();
        assert!(turned.ends_with("transpose the first with .T"), "{turned}");
    }

    #[test]
    fn products_follow_numpy() {
        assert_eq!(Product::of(Shape::Vector(3), Shape::Vector(3)).map(|p| p.1), Ok(Shape::Scalar));
        assert_eq!(Product::of(Shape::Vector(3), Shape::Matrix(3, 2)).map(|p| p.1), Ok(Shape::Vector(2)));
        assert_eq!(Product::of(Shape::Matrix(4, 3), Shape::Matrix(3, 2)).map(|p| p.1), Ok(Shape::Matrix(4, 2)));
    }
}

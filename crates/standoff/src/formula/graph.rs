//! The graph of an expression while it is parsed: shapes are checked, constants folded, equal subexpressions shared.
//! Nodes are in topological order, so nothing here recurses, however long the expression.

use std::collections::HashMap;
use std::sync::Arc;

use super::forward;
use super::op::{Binary, Op, Reduce, Unary, View};
use super::product::Work;
use super::shape::{Product, Shape};
use crate::enclosure::{SMALL_PRODUCT, two_product, two_sum};
use crate::threads::Team;

/// Limit of numbers that an objective may keep: 800 MB.
pub(super) const MOST_NUMBERS: usize = 100_000_000;

/// A node, identified by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Id(u32);

impl Id {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The players on whose variables a value depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach(u8);

impl Reach {
    pub(super) const NONE: Self = Self(0);
    pub(super) const X: Self = Self(1);
    pub(super) const Y: Self = Self(2);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Known numbers: the index of a block of the graph's constants.
    Constant(usize),
    /// Entries of a player's vector, from this position.
    Variable(usize),
    /// An operation; for one operand, both entries are equal.
    Apply(Op, [Id; 2]),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    pub(super) reach: Reach,
    degree: u8,
    /// The operation that computed a constant with rounding errors; `None` for an exact constant.
    pub(super) rounded: Option<(Op, [Id; 2])>,
}

/// The graph under construction. Errors are messages without a position; the parser adds the position.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// One block of numbers per constant node. Shared, because sets may use the same data.
    pub(super) constants: Vec<Arc<Vec<f64>>>,
    /// Lengths of x and y.
    pub(super) dims: [usize; 2],
    numbers: usize,
    known: HashMap<(Op, [Id; 2]), Id>,
    literals: HashMap<u64, Id>,
}

impl Graph {
    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id.index()]
    }

    pub(super) fn shape(&self, id: Id) -> Shape {
        self.node(id).shape
    }

    /// True if the value is at most affine in y.
    pub(super) fn affine_in_y(&self, id: Id) -> bool {
        self.node(id).degree <= 1
    }

    /// True if the value is at most affine in x.
    pub(super) fn affine_in_x(&self, id: Id) -> bool {
        let mut degrees: Vec<u8> = Vec::with_capacity(id.index() + 1);
        for node in &self.nodes[..=id.index()] {
            degrees.push(match node.kind {
                Kind::Constant(_) => 0,
                Kind::Variable(_) => u8::from(node.reach.has(Reach::X)),
                Kind::Apply(op, [a, b]) => op.degree(degrees[a.index()], degrees[b.index()]),
            });
        }
        degrees[id.index()] <= 1
    }

    /// Adds the next variable of a player's vector.
    pub(super) fn variable(&mut self, player: Reach, shape: Shape) -> Result<Id, String> {
        let side = usize::from(player == Reach::Y);
        let at = self.dims[side];
        self.reserve(shape.size())?;
        self.dims[side] += shape.size();
        Ok(self.push(Node { kind: Kind::Variable(at), shape, reach: player, degree: side as u8, rounded: None }))
    }

    /// Adds known numbers as a constant, unchanged.
    pub(super) fn constant(&mut self, shape: Shape, values: Arc<Vec<f64>>) -> Result<Id, String> {
        assert_eq!(shape.size(), values.len());
        self.reserve(values.len())?;
        Ok(self.push_constant(values, shape, None))
    }

    pub(super) fn literal(&mut self, value: f64) -> Result<Id, String> {
        if let Some(id) = self.literals.get(&value.to_bits()) {
            return Ok(*id);
        }
        let id = self.constant(Shape::Scalar, Arc::new(vec![value]))?;
        self.literals.insert(value.to_bits(), id);
        Ok(id)
    }

    pub(super) fn each(&mut self, f: Unary, a: Id) -> Result<Id, String> {
        self.apply(Op::Each(f), [a, a], self.shape(a))
    }

    pub(super) fn fold(&mut self, f: Reduce, a: Id) -> Result<Id, String> {
        self.apply(Op::Fold(f), [a, a], Shape::Scalar)
    }

    pub(super) fn pair(&mut self, f: Binary, a: Id, b: Id) -> Result<Id, String> {
        let name = match f {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Pow => return self.power(a, b),
            Binary::Max => "max",
            Binary::Min => "min",
        };
        let shape = self.shape(a).broadcast(self.shape(b), name)?;
        self.apply(Op::Pair(f), [a, b], shape)
    }

    /// `a ^ b`. A whole constant exponent is exact, and correct at and below 0; any other is `exp(b log a)`.
    fn power(&mut self, a: Id, b: Id) -> Result<Id, String> {
        let shape = self.shape(a).broadcast(self.shape(b), "^")?;
        // An exponent that was rounded to a whole number does not count as whole.
        let whole = self.number(b).filter(|c| c.fract() == 0.0 && c.abs() <= 1e9 && self.node(b).rounded.is_none());
        match whole.map(|c| c as i32) {
            Some(0) => self.constant(shape, Arc::new(vec![1.0; shape.size()])),
            Some(1) => Ok(a),
            Some(2) => self.each(Unary::Square, a),
            Some(n) => self.apply(Op::Power(n), [a, a], shape),
            None => self.apply(Op::Pair(Binary::Pow), [a, b], shape),
        }
    }

    pub(super) fn product(&mut self, a: Id, b: Id) -> Result<Id, String> {
        let (lengths, shape) = Product::of(self.shape(a), self.shape(b))?;
        self.apply(Op::Product(lengths), [a, b], shape)
    }

    pub(super) fn transpose(&mut self, a: Id) -> Result<Id, String> {
        let shape = self.shape(a);
        let Shape::Matrix(rows, cols) = shape else { return Ok(a) };
        let view = View { start: 0, rows: cols, row_step: 1, cols: rows, col_step: cols };
        self.view(a, view, shape.transposed())
    }

    pub(super) fn view(&mut self, a: Id, view: View, shape: Shape) -> Result<Id, String> {
        self.apply(Op::View(view), [a, a], shape)
    }

    /// The value of a scalar constant.
    fn number(&self, id: Id) -> Option<f64> {
        match self.node(id) {
            Node { kind: Kind::Constant(at), shape: Shape::Scalar, .. } => self.constants[*at].first().copied(),
            _ => None,
        }
    }

    fn apply(&mut self, op: Op, args: [Id; 2], shape: Shape) -> Result<Id, String> {
        if let Some(id) = self.known.get(&(op, args)) {
            return Ok(*id);
        }
        let [a, b] = args.map(|id| *self.node(id));
        self.reserve(shape.size())?;
        let id = if let (Kind::Constant(i), Kind::Constant(j)) = (a.kind, b.kind) {
            let (u, v) = (&self.constants[i], &self.constants[j]);
            let mut out = vec![0.0; shape.size()];
            let mut scratch = vec![0.0; op.scratch(u.len())];
            forward::apply(op, u, v, &mut out, &mut Work { team: Team::ALONE, scratch: &mut scratch });
            let exact = a.rounded.is_none() && b.rounded.is_none() && folds_exactly(op, u, v, &out);
            self.push_constant(Arc::new(out), shape, (!exact).then_some((op, args)))
        } else {
            let degree = op.degree(a.degree, b.degree);
            self.push(Node { kind: Kind::Apply(op, args), shape, reach: a.reach.or(b.reach), degree, rounded: None })
        };
        self.known.insert((op, args), id);
        Ok(id)
    }

    fn push_constant(&mut self, values: Arc<Vec<f64>>, shape: Shape, rounded: Option<(Op, [Id; 2])>) -> Id {
        let at = self.constants.len();
        self.constants.push(values);
        self.push(Node { kind: Kind::Constant(at), shape, reach: Reach::NONE, degree: 0, rounded })
    }

    fn push(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        // Every node has at least one number, so `reserve` keeps the number of nodes far below 2^32.
        Id((self.nodes.len() - 1) as u32)
    }

    /// Drops the numbers of constants that nothing uses.
    pub(super) fn release(&mut self, keep: impl Fn(usize) -> bool) {
        for (_, node) in self.nodes.iter().enumerate().filter(|(i, _)| !keep(*i)) {
            if let Kind::Constant(at) = node.kind {
                self.constants[at] = Arc::default();
            }
        }
    }

    fn reserve(&mut self, size: usize) -> Result<(), String> {
        self.numbers = self.numbers.saturating_add(size);
        if self.numbers > MOST_NUMBERS {
            return Err(format!("needs more than {MOST_NUMBERS} numbers in memory; use smaller data or fewer terms"));
        }
        Ok(())
    }
}

/// True if an operation on exact constants is exact, as far as that is easy to decide.
fn folds_exactly(op: Op, a: &[f64], b: &[f64], out: &[f64]) -> bool {
    let each = |exact: &dyn Fn(f64, f64, f64) -> bool| {
        let at = |v: &[f64], i: usize| v[if v.len() == 1 { 0 } else { i }];
        out.iter().enumerate().all(|(i, o)| exact(at(a, i), at(b, i), *o))
    };
    match op {
        Op::View(_) | Op::Each(Unary::Neg | Unary::Abs | Unary::Relu) => true,
        Op::Pair(Binary::Max | Binary::Min) | Op::Fold(Reduce::Max | Reduce::Min) => true,
        Op::Pair(Binary::Add) => each(&|a, b, _| two_sum(a, b).1 == 0.0),
        Op::Pair(Binary::Sub) => each(&|a, b, _| two_sum(a, -b).1 == 0.0),
        Op::Pair(Binary::Mul) => each(&|a, b, o| o == 0.0 && (a == 0.0 || b == 0.0) || exact_product(a, b, o)),
        Op::Pair(Binary::Div) => each(&|a, b, o| exact_product(o, b, a)),
        Op::Each(Unary::Square) => each(&|a, _, o| a == 0.0 || exact_product(a, a, o)),
        _ => false,
    }
}

/// True if `a b = product` without rounding.
fn exact_product(a: f64, b: f64, product: f64) -> bool {
    let (p, rest) = two_product(a, b);
    p == product && rest == 0.0 && p.is_finite() && p.abs() >= SMALL_PRODUCT
}

//! Indexing and slicing as in NumPy: `w[0]`, `w[-1]`, `w[1:3]`, `A[1]`, `A[1, 2]`, `A[:, 0]`.

use super::op::View;
use super::shape::Shape;

/// An index or a slice of one axis.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pick {
    One(i64),
    Range(Option<i64>, Option<i64>),
}

/// The entries that an axis keeps.
struct Kept {
    start: usize,
    count: usize,
    /// True if the axis remains.
    axis: bool,
}

/// The view of a value with this shape, and the shape of the view.
pub(super) fn view(shape: Shape, picks: &[Pick]) -> Result<(View, Shape), String> {
    const ALL: Pick = Pick::Range(None, None);
    match (shape, picks) {
        (Shape::Vector(n), [pick]) => {
            let k = keep(*pick, n, "length")?;
            let view = View { start: k.start, rows: 1, row_step: n, cols: k.count, col_step: 1 };
            Ok((view, if k.axis { Shape::Vector(k.count) } else { Shape::Scalar }))
        }
        (Shape::Matrix(rows, cols), [_] | [_, _]) => {
            let r = keep(picks[0], rows, "row count")?;
            let c = keep(picks.get(1).copied().unwrap_or(ALL), cols, "column count")?;
            let view =
                View { start: r.start * cols + c.start, rows: r.count, row_step: cols, cols: c.count, col_step: 1 };
            let shape = match (r.axis, c.axis) {
                (true, true) => Shape::Matrix(r.count, c.count),
                (true, false) => Shape::Vector(r.count),
                (false, true) => Shape::Vector(c.count),
                (false, false) => Shape::Scalar,
            };
            Ok((view, shape))
        }
        (Shape::Scalar, _) => Err("a scalar has no entries to index; remove the brackets".into()),
        (_, picks) => Err(format!("{} indices for {shape}: too many", picks.len())),
    }
}

fn keep(pick: Pick, len: usize, what: &str) -> Result<Kept, String> {
    match pick {
        Pick::One(i) => {
            let from_end = if i < 0 { i + len as i64 } else { i };
            if from_end < 0 || from_end >= len as i64 {
                return Err(format!("index {i} is outside: the {what} is {len}, so 0 to {} or -1 to -{len}", len - 1));
            }
            Ok(Kept { start: from_end as usize, count: 1, axis: false })
        }
        Pick::Range(from, to) => {
            let edge = |i: i64| if i < 0 { i + len as i64 } else { i };
            let (start, end) = (from.map_or(0, edge), to.map_or(len as i64, edge));
            if start < 0 || end > len as i64 {
                return Err(format!("the slice goes outside: the {what} is {len}"));
            }
            if start >= end {
                return Err(format!("the slice is empty: it runs from {start} to before {end}"));
            }
            Ok(Kept { start: start as usize, count: (end - start) as usize, axis: true })
        }
    }
}

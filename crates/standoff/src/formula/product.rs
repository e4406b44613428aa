//! Matrix products and their derivatives, on any number of threads.
//!
//! Three kernels do the work, each on a range of rows: dot products of rows with a vector, combinations of rows, and
//! outer products. Rows of a result are independent of each other. A sum over the rows of a matrix (a transposed
//! product) is divided into parts if the matrix is tall, and the parts are added pairwise; if it is wide, every thread
//! takes some columns. The division depends only on the shapes, so the bits of a result do not depend on the threads.

use super::forward::add_scaled;
use super::shape::Product;
use crate::ops::dot;
use crate::simd::{self, Pass};
use crate::threads::Team;

/// Number of multiplications from which a product is shared, and from which a sum over rows is divided into parts: a
/// megabyte of data.
const SHARED: usize = 1 << 17;
/// Smallest number of multiplications per thread.
const PIECE: usize = 1 << 15;
/// Limit of parts of a sum over rows, and of pieces of other products.
const MOST_PARTS: usize = 32;
/// The longest result (in entries) of a sum that is divided into parts; a longer one is divided by its entries.
const WIDE: usize = 4096;
/// Number of rows processed together, so that shared data is read once for all of them.
const BLOCK: usize = 4;

/// Threads, and scratch space for the parts of a sum.
pub(super) struct Work<'s> {
    pub(super) team: Team,
    pub(super) scratch: &'s mut [f64],
}

/// True if threads are useful.
pub(super) fn is_worth_sharing(Product { m, k, n }: Product) -> bool {
    m * k * n >= SHARED
}

/// Number of multiplications that a thread takes at a time, where the result does not depend on it.
fn piece(Product { m, k, n }: Product) -> usize {
    let share = m * k * n / MOST_PARTS;
    if share > PIECE { share } else { PIECE }
}

/// Size of the scratch space of a product, forward or backward.
pub(super) fn scratch(Product { m, k, n }: Product) -> usize {
    let room = |cut: Cut, width: usize| if cut.parts > 1 { cut.parts * width } else { 0 };
    let forward = if m == 1 && n > 1 { room(cut(k, n), n) } else { 0 };
    let backward = room(cut(m, k * n), k * n);
    if forward > backward { forward } else { backward }
}

/// C = A B. For one column, a dot product per row; otherwise row i of C is a combination of the rows of B.
pub(super) fn forward(lengths: Product, a: &[f64], b: &[f64], out: &mut [f64], work: &mut Work<'_>) {
    let Product { m, k, n } = lengths;
    assert_eq!((a.len(), b.len(), out.len()), (m * k, k * n, m * n));
    let team = work.team.if_worth(is_worth_sharing(lengths));
    if n == 1 {
        team.parts(out, BLOCK * piece(lengths).div_ceil(BLOCK * k), &|start, c| {
            simd::run(Dots { rows: &a[start * k..(start + c.len()) * k], b, out: c });
        });
    } else if m == 1 {
        out.fill(0.0);
        add_combination(a, b, out, work);
    } else {
        team.parts(out, n * piece(lengths).div_ceil(k * n), &|start, c| {
            for (row, c) in a[start / n * k..].chunks_exact(k).zip(c.chunks_exact_mut(n)) {
                c.fill(0.0);
                combine(row, b, c);
            }
        });
    }
}

/// dA += G B': row i of dA is a combination of the columns of B, so it has a dot product with each row of B.
pub(super) fn pull_first(lengths: Product, b: &[f64], g: &[f64], into: &mut [f64], work: &Work<'_>) {
    let Product { m, k, n } = lengths;
    let team = work.team.if_worth(is_worth_sharing(lengths));
    if m == 1 && n > 1 {
        team.parts(into, piece(lengths).div_ceil(n), &|start, into| {
            for (o, row) in into.iter_mut().zip(b[start * n..].chunks_exact(n)) {
                *o += dot(g, row);
            }
        });
        return;
    }
    team.parts(into, k * piece(lengths).div_ceil(k * n), &|start, into| {
        for (row, gi) in into.chunks_exact_mut(k).zip(g[start / k * n..].chunks_exact(n)) {
            if n == 1 {
                add_scaled(gi[0], b, row);
            } else {
                for (o, other) in row.iter_mut().zip(b.chunks_exact(n)) {
                    *o += dot(gi, other);
                }
            }
        }
    });
}

/// dB += A' G, in the storage order of A.
pub(super) fn pull_second(lengths: Product, a: &[f64], g: &[f64], into: &mut [f64], work: &mut Work<'_>) {
    let Product { m, k, n } = lengths;
    if n == 1 {
        add_combination(g, a, into, work);
        return;
    }
    let team = work.team.if_worth(is_worth_sharing(lengths));
    let Cut { parts, rows } = cut(m, k * n);
    if parts == 1 {
        // Rows of dB belong to columns of A.
        team.parts(into, n * PIECE.div_ceil(m * n), &|start, into| outer((m, k, n), (a, start / n), g, into));
        return;
    }
    let slots = &mut work.scratch[..parts * k * n];
    team.sum_parts(slots, k * n, &|part, slot| {
        let (from, to) = (part * rows, m.min((part + 1) * rows));
        outer((to - from, k, n), (&a[from * k..to * k], 0), &g[from * n..to * n], slot);
    });
    into.iter_mut().zip(slots.iter()).for_each(|(o, s)| *o += s);
}

/// `into += A' G` for the columns of A from `first` on; `into` has one row for each.
fn outer((m, k, n): (usize, usize, usize), (a, first): (&[f64], usize), g: &[f64], into: &mut [f64]) {
    for (row, gi) in a.chunks_exact(k).zip(g.chunks_exact(n)).take(m) {
        for (t, o) in row[first..].iter().zip(into.chunks_exact_mut(n)) {
            add_scaled(*t, gi, o);
        }
    }
}

/// Division of a sum over rows; the last part may have fewer rows.
struct Cut {
    parts: usize,
    rows: usize,
}

/// Divides a sum over `m` rows with `width` entries each: one part if it is small or wide.
fn cut(m: usize, width: usize) -> Cut {
    if m * width < SHARED || width > WIDE {
        return Cut { parts: 1, rows: m };
    }
    let rows = BLOCK * m.div_ceil(BLOCK * (m * width / PIECE).min(MOST_PARTS));
    Cut { parts: m.div_ceil(rows), rows }
}

/// `into += sum_i t_i row_i`, over the rows of a matrix.
fn add_combination(t: &[f64], rows: &[f64], into: &mut [f64], work: &mut Work<'_>) {
    let (m, k) = (t.len(), into.len());
    let team = work.team.if_worth(m * k >= SHARED);
    let cut = cut(m, k);
    if cut.parts == 1 {
        let columns = PIECE.div_ceil(m).next_multiple_of(64);
        team.parts(into, columns, &|start, into| simd::run(Combination { t, rows: &rows[start..], stride: k, into }));
        return;
    }
    let slots = &mut work.scratch[..cut.parts * k];
    team.sum_parts(slots, k, &|part, slot| {
        let (from, to) = (part * cut.rows, m.min((part + 1) * cut.rows));
        simd::run(Combination { t: &t[from..to], rows: &rows[from * k..], stride: k, into: slot });
    });
    into.iter_mut().zip(slots.iter()).for_each(|(o, s)| *o += s);
}

/// `into += sum_i t_i row_i`, on one thread.
fn combine(t: &[f64], rows: &[f64], into: &mut [f64]) {
    let stride = into.len();
    simd::run(Combination { t, rows, stride, into });
}

/// The dot product of each row with `b`.
struct Dots<'a> {
    rows: &'a [f64],
    b: &'a [f64],
    out: &'a mut [f64],
}

impl Pass for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let k = self.b.len();
        for (i, (rows, c)) in self.rows.chunks(BLOCK * k).zip(self.out.chunks_mut(BLOCK)).enumerate() {
            simd::fetch_ahead(self.rows, (i + 1) * BLOCK * k, BLOCK * k);
            if c.len() == BLOCK {
                c.copy_from_slice(&dots(rows, self.b));
            } else {
                rows.chunks_exact(k).zip(c).for_each(|(row, ci)| *ci = dot(row, self.b));
            }
        }
    }
}

/// The dot products of [`BLOCK`] rows with `b`, in four lanes each.
#[inline(always)]
fn dots(rows: &[f64], b: &[f64]) -> [f64; BLOCK] {
    let k = b.len();
    let (b, b_rest) = b.as_chunks::<4>();
    let row: [(&[[f64; 4]], &[f64]); BLOCK] = std::array::from_fn(|r| {
        let (whole, rest) = rows[r * k..(r + 1) * k].as_chunks::<4>();
        (&whole[..b.len()], &rest[..b_rest.len()])
    });
    let mut acc = [[0.0; 4]; BLOCK];
    for j in 0..b.len() {
        for r in 0..BLOCK {
            for lane in 0..4 {
                acc[r][lane] += row[r].0[j][lane] * b[j][lane];
            }
        }
    }
    for j in 0..b_rest.len() {
        for r in 0..BLOCK {
            acc[r][j] += row[r].1[j] * b_rest[j];
        }
    }
    acc.map(|s| (s[0] + s[1]) + (s[2] + s[3]))
}

/// `into += sum_i t_i row_i`, where row i begins at `i * stride` and may be longer than `into`.
struct Combination<'a> {
    t: &'a [f64],
    rows: &'a [f64],
    stride: usize,
    into: &'a mut [f64],
}

impl Pass for Combination<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { t, rows, stride, into } = self;
        let n = into.len();
        let (blocks, rest) = t.as_chunks::<BLOCK>();
        for (i, [t0, t1, t2, t3]) in blocks.iter().enumerate() {
            let row: [&[f64]; BLOCK] = std::array::from_fn(|r| &rows[(BLOCK * i + r) * stride..][..n]);
            (BLOCK..2 * BLOCK).for_each(|r| simd::fetch_ahead(rows, (BLOCK * i + r) * stride, n));
            for j in 0..n {
                into[j] += (t0 * row[0][j] + t1 * row[1][j]) + (t2 * row[2][j] + t3 * row[3][j]);
            }
        }
        for (i, t) in rest.iter().enumerate() {
            let row = &rows[(BLOCK * blocks.len() + i) * stride..][..n];
            for j in 0..n {
                into[j] += t * row[j];
            }
        }
    }
}

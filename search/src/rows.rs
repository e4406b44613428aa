//! Projection onto the solutions of some linear equations, with 512 bits: Gram-Schmidt on the rows.

use crate::number::{Long, dot, length, long, power_of_two, size};

/// Rows with right-hand sides.
#[derive(Debug, Clone)]
pub struct LongRows {
    /// The rows.
    pub a: Vec<Vec<Long>>,
    /// The right-hand sides.
    pub b: Vec<Long>,
}

impl LongRows {
    /// From `f64`.
    pub fn new(a: &[Vec<f64>], b: &[f64]) -> Self {
        Self {
            a: a.iter().map(|row| row.iter().map(|v| long(*v)).collect()).collect(),
            b: b.iter().map(|v| long(*v)).collect(),
        }
    }

    /// The violation of row `i` at `z`.
    pub fn excess(&self, i: usize, z: &[Long]) -> Long {
        dot(&self.a[i], z) - &self.b[i]
    }
}

/// An orthonormal basis of the span of some rows, and its coefficients in terms of these rows.
#[derive(Debug, Clone)]
pub struct Basis {
    rows: Vec<usize>,
    q: Vec<Vec<Long>>,
    d: Vec<Long>,
    /// `q_k = sum_j made[k][j] a_(rows j)`.
    made: Vec<Vec<Long>>,
}

impl Basis {
    /// The basis of the given rows. A row that depends on earlier ones is skipped if `skip` is set; otherwise there is
    /// no basis.
    pub fn new(rows: &LongRows, which: &[usize], skip: bool) -> Option<Self> {
        let mut basis = Self { rows: Vec::new(), q: Vec::new(), d: Vec::new(), made: Vec::new() };
        for &i in which {
            let norm = length(&rows.a[i]);
            let inverse = long(1.0) / &norm;
            let mut v: Vec<Long> = rows.a[i].iter().map(|a| a * &inverse).collect();
            let mut d = &rows.b[i] * &inverse;
            let mut made = vec![long(0.0); basis.q.len()];
            made.push(inverse);
            // Twice, so that a nearly parallel row leaves an orthogonal rest.
            for _ in 0..2 {
                for k in 0..basis.q.len() {
                    let t = dot(&basis.q[k], &v);
                    v.iter_mut().zip(&basis.q[k]).for_each(|(v, q)| *v = &*v - &t * q);
                    d -= &t * &basis.d[k];
                    made.iter_mut().zip(&basis.made[k]).for_each(|(m, q)| *m = &*m - &t * q);
                }
            }
            let rest = length(&v);
            if rest < power_of_two(-200) {
                if skip {
                    continue;
                }
                return None;
            }
            let inverse = long(1.0) / rest;
            basis.q.push(v.iter().map(|v| v * &inverse).collect());
            basis.d.push(d * &inverse);
            basis.made.push(made.iter().map(|m| m * &inverse).collect());
            basis.rows.push(i);
        }
        Some(basis)
    }

    /// The nearest solution of the equations, and the multipliers `l` with `v - z = sum_j l_j a_j`.
    pub fn project(&self, v: &[Long]) -> (Vec<Long>, Vec<(usize, Long)>) {
        let mut z = v.to_vec();
        let mut l = vec![long(0.0); self.rows.len()];
        for k in 0..self.q.len() {
            let t = dot(&self.q[k], v) - &self.d[k];
            z.iter_mut().zip(&self.q[k]).for_each(|(z, q)| *z = &*z - &t * q);
            l.iter_mut().zip(&self.made[k]).for_each(|(l, m)| *l = &*l + &t * m);
        }
        (z, self.rows.iter().copied().zip(l).collect())
    }
}

/// The projection onto a polyhedron by a search for the right active set, which is kept for the next call.
#[derive(Debug)]
pub struct Projector {
    rows: LongRows,
    sizes: Vec<Long>,
    bases: Vec<Option<Option<Basis>>>,
    last: usize,
}

impl Projector {
    /// A projector for the rows, with a first guess of the active set as bits.
    pub fn new(rows: LongRows, guess: usize) -> Self {
        let sizes = rows.a.iter().map(|a| length(a)).collect();
        let bases = vec![None; 1 << rows.b.len()];
        Self { rows, sizes, bases, last: guess }
    }

    /// The projection with the equations of one active set, if it is the right one.
    fn try_set(&mut self, mask: usize, v: &[Long]) -> Option<Vec<Long>> {
        if mask.count_ones() as usize > v.len() {
            return None;
        }
        if self.bases[mask].is_none() {
            let which: Vec<usize> = (0..self.rows.b.len()).filter(|i| mask >> i & 1 == 1).collect();
            self.bases[mask] = Some(Basis::new(&self.rows, &which, false));
        }
        let basis = self.bases[mask].as_ref()?.as_ref()?;
        let (z, l) = basis.project(v);
        let tiny = power_of_two(-230);
        let reach = length(v) + length(&z);
        if l.iter().any(|(i, l)| l * &self.sizes[*i] < -(&tiny * &reach)) {
            return None;
        }
        for i in (0..self.rows.b.len()).filter(|i| mask >> i & 1 == 0) {
            let allowed = &tiny * (&self.sizes[i] * &reach + size(&self.rows.b[i]));
            if self.rows.excess(i, &z) > allowed {
                return None;
            }
        }
        Some(z)
    }

    /// The nearest point of the polyhedron.
    pub fn project(&mut self, v: &[Long]) -> Option<Vec<Long>> {
        let m = self.rows.b.len();
        let last = self.last;
        let near = std::iter::once(last).chain((0..m).map(|i| last ^ (1 << i)));
        for mask in near.chain(0..1 << m) {
            if let Some(z) = self.try_set(mask, v) {
                self.last = mask;
                return Some(z);
            }
        }
        None
    }
}

//! Random sets, points and directions, including degenerate ones.

use standoff::sets::Matrix;
use standoff::{Real, Set, ops};

/// A small generator of uniform and Gaussian numbers, the same on every machine.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut z = self.0;
        z = (z ^ (z >> 32)).wrapping_mul(0xd6e8feb86659fd93);
        z = (z ^ (z >> 32)).wrapping_mul(0xd6e8feb86659fd93);
        ((z ^ (z >> 32)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn gauss(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    pub(crate) fn vector<R: Real>(&mut self, n: usize, size: f64) -> Vec<R> {
        (0..n).map(|_| R::from_f64(size * self.gauss())).collect()
    }

    pub(crate) fn matrix(&mut self, rows: usize, cols: usize) -> Matrix {
        let data = (0..rows * cols).map(|_| self.gauss()).collect();
        Matrix::new(rows, cols, data).unwrap()
    }

    /// The sets with a closed form, in dimension `n`.
    pub(crate) fn closed_sets<R: Real>(&mut self, n: usize) -> Vec<Set<R>> {
        let low: Vec<R> = self.vector(n, 1.0);
        let high = low.iter().map(|l| R::from_f64(l.to_f64() + self.uniform())).collect();
        let mut open = (vec![R::from_f64(-0.3); n], vec![R::from_f64(0.2); n]);
        for i in 0..n {
            match self.below(4) {
                0 => open.0[i] = R::from_f64(f64::NEG_INFINITY),
                1 => open.1[i] = R::from_f64(f64::INFINITY),
                2 => open.0[i] = open.1[i],
                _ => {}
            }
        }
        let equations = 1 + self.below(n.min(5));
        vec![
            Set::free(n),
            Set::boxed(low, high).unwrap(),
            Set::boxed(open.0, open.1).unwrap(),
            Set::ball(self.vector(n, 1.0), 0.1 + 2.0 * self.uniform()).unwrap(),
            Set::l1_ball(n, 0.1 + 2.0 * self.uniform()).unwrap(),
            Set::simplex(n, 1.0).unwrap(),
            Set::simplex(n, 0.1 + 3.0 * self.uniform()).unwrap(),
            Set::halfspace(self.vector(n, 1.0), self.gauss()).unwrap(),
            Set::affine(self.matrix(equations, n), &self.vector(equations, 1.0)).unwrap(),
        ]
    }

    /// A polyhedron with a point inside it.
    pub(crate) fn polyhedron<R: Real>(&mut self, n: usize, rows: usize) -> Set<R> {
        let inside: Vec<f64> = self.vector(n, 1.0);
        let rows = self.matrix(rows, n);
        let rhs: Vec<f64> = rows.iter().map(|a| ops::dot(a, &inside) + self.uniform()).collect();
        Set::polyhedron(rows, &rhs).unwrap()
    }

    /// Three to five closed sets, one of them a product itself.
    pub(crate) fn product<R: Real>(&mut self, n: usize) -> Set<R> {
        let dim = 1 + self.below(n);
        let mut parts = self.closed_sets(dim);
        while parts.len() > 3 + self.below(2) {
            parts.swap_remove(self.below(parts.len()));
        }
        let inner = vec![Set::simplex(1 + self.below(n), 1.0).unwrap(), Set::l1_ball(3, 0.7).unwrap()];
        parts.push(Set::product(inner).unwrap());
        Set::product(parts).unwrap()
    }

    /// A point of the set: inside, on the boundary, at a vertex, with many coordinates at their bounds.
    pub(crate) fn point<R: Real>(&mut self, set: &Set<R>) -> Vec<R> {
        let n = set.dim();
        let size = [0.05, 0.3, 1.0, 10.0][self.below(4)];
        let mut p: Vec<R> = self.vector(n, size);
        match self.below(5) {
            0 => return set.centre(),
            1 => {
                let (g, mut vertex) = (self.vector(n, 1.0), p.clone());
                if set.minimise_linear(&g, &mut vertex) {
                    return vertex;
                }
            }
            2 => {
                set.project(&mut p);
                let centre = set.centre();
                for (pi, c) in p.iter_mut().zip(centre) {
                    *pi = R::from_f64(0.5 * (pi.to_f64() + c.to_f64()));
                }
                return p;
            }
            _ => {}
        }
        set.project(&mut p);
        p
    }

    /// A gradient at `point`: generic, sparse, with ties, constant, orthogonal to the face the point is on, or nearly so.
    pub(crate) fn direction<R: Real>(&mut self, set: &Set<R>, point: &mut [R]) -> Vec<R> {
        let n = set.dim();
        let size = [1e-3, 1.0, 1e3][self.below(3)];
        let mut g: Vec<f64> = self.vector(n, size);
        match self.below(6) {
            0 => g.iter_mut().for_each(|gi| *gi = if self.below(4) == 0 { *gi } else { 0.0 }),
            1 => g.iter_mut().for_each(|gi| *gi = gi.signum() * f64::from(self.below(3) as u32)),
            2 => g.fill(0.7 * if self.below(2) == 0 { 1.0 } else { -1.0 }),
            3 | 4 => {
                // -g is normal to the set at the point, up to a small part in half of the cases.
                let out: Vec<f64> = (0..n).map(|i| point[i].to_f64() + g[i]).collect();
                let mut z: Vec<R> = out.iter().map(|v| R::from_f64(*v)).collect();
                set.project(&mut z);
                let small = [0.0, 1e-6, 1e-2][self.below(3)];
                for i in 0..n {
                    point[i] = z[i];
                    g[i] = z[i].to_f64() - out[i] + small * self.gauss();
                }
            }
            _ => {}
        }
        g.iter().map(|gi| R::from_f64(*gi)).collect()
    }
}

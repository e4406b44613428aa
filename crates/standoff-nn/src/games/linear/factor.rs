//! Cholesky factors of small dense matrices, scaled to a unit diagonal.

/// The factor of a positive definite matrix: `S A S + damping I = L L^T` with the scaling `S = diag(A)^-1/2`.
#[derive(Debug, Clone, Default)]
pub(super) struct Factor {
    size: usize,
    lower: Vec<f64>,
    scale: Vec<f64>,
}

impl Factor {
    /// Factors `A + damping diag(A)`. False if that is not positive definite.
    pub(super) fn factor(&mut self, a: &[f64], size: usize, damping: f64) -> bool {
        assert_eq!(a.len(), size * size);
        self.size = size;
        self.scale.clear();
        for i in 0..size {
            let d = a[i * size + i];
            if !(d >= 0.0 && d.is_finite()) {
                return false;
            }
            self.scale.push(if d > 0.0 { 1.0 / d.sqrt() } else { 1.0 });
        }
        self.lower.clear();
        self.lower.resize(size * size, 0.0);
        for i in 0..size {
            for j in 0..=i {
                let same = if i == j { damping + if a[i * size + i] > 0.0 { 0.0 } else { 1.0 } } else { 0.0 };
                let scaled = a[i * size + j] * self.scale[i] * self.scale[j] + same;
                let (left, right) = (&self.lower[i * size..][..j], &self.lower[j * size..][..j]);
                let rest = scaled - left.iter().zip(right).map(|(l, r)| l * r).sum::<f64>();
                if i == j {
                    if !(rest > 1e-15) {
                        return false;
                    }
                    self.lower[i * size + i] = rest.sqrt();
                } else {
                    self.lower[i * size + j] = rest / self.lower[j * size + j];
                }
            }
        }
        true
    }

    /// Solves in place.
    pub(super) fn solve(&self, v: &mut [f64]) {
        let n = self.size;
        assert_eq!(v.len(), n);
        v.iter_mut().zip(&self.scale).for_each(|(v, s)| *v *= s);
        for i in 0..n {
            let done: f64 = self.lower[i * n..][..i].iter().zip(&*v).map(|(l, v)| l * v).sum();
            v[i] = (v[i] - done) / self.lower[i * n + i];
        }
        for i in (0..n).rev() {
            v[i] /= self.lower[i * n + i];
            let (before, at) = v.split_at_mut(i);
            before.iter_mut().zip(&self.lower[i * n..][..i]).for_each(|(b, l)| *b -= l * at[0]);
        }
        v.iter_mut().zip(&self.scale).for_each(|(v, s)| *v *= s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badly_scaled_system_is_solved() {
        let a = [4e8, 2e4, 0.0, 2e4, 5.0, 1e-3, 0.0, 1e-3, 1e-6];
        let x = [1e-4, 2.0, 3e3];
        let mut v: Vec<f64> = (0..3).map(|i| (0..3).map(|j| a[3 * i + j] * x[j]).sum()).collect();
        let mut factor = Factor::default();
        assert!(factor.factor(&a, 3, 0.0));
        factor.solve(&mut v);
        assert!(v.iter().zip(x).all(|(v, x)| (v - x).abs() <= 1e-9 * x.abs()), "{v:?}");
        assert!(!factor.factor(&[1.0, 2.0, 2.0, 1.0], 2, 0.0));
        assert!(!factor.factor(&[f64::NAN], 1, 0.0));
    }
}

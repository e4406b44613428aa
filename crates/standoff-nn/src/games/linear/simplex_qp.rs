//! `max over y in the simplex of b y - y Q y / 2` by an active-set method, for the weights of the groups.

use super::factor::Factor;

/// Solves from a feasible `y`, which it improves in place. `q` is `[i][j]`, symmetric and positive semidefinite.
///
/// With the free entries F and the multiplier nu of the sum, the stationary point is `Q_FF y = b_F - nu 1, sum y = 1`. A negative entry
/// stops the step at the boundary and leaves F; a fixed entry with `b - Q y > nu` enters it. The value grows with every change of F, so
/// the method ends; the limit of steps covers rounding. Any result is feasible.
pub(super) fn maximise(y: &mut [f64], b: &[f64], q: &[f64]) {
    let n = y.len();
    assert_eq!((b.len(), q.len()), (n, n * n));
    let largest = (0..n).fold(0.0, |most: f64, i| if q[i * n + i] > most { q[i * n + i] } else { most });
    // Singular if the gradients are dependent. The ridge changes the maximum by at most half of itself.
    let ridge = 1e-9 * largest + f64::MIN_POSITIVE;
    let mut free: Vec<usize> = (0..n).filter(|&i| y[i] > 0.0).collect();
    let mut work = Workspace::default();
    for _ in 0..20 + 6 * n {
        let Some(nu) = work.stationary(&free, b, (q, n), ridge) else { return };
        let blocked = free.iter().zip(&work.y).filter(|(_, new)| **new < 0.0);
        let at = blocked.map(|(&i, new)| (y[i] / (y[i] - new), i)).min_by(|a, b| a.0.total_cmp(&b.0));
        let step = at.map_or(1.0, |(step, _)| step);
        free.iter().zip(&work.y).for_each(|(&i, new)| y[i] += step * (new - y[i]));
        if let Some((_, out)) = at {
            y[out] = 0.0;
            free.retain(|&i| i != out);
            continue;
        }
        let gain = |i: usize| b[i] - free.iter().map(|&j| q[i * n + j] * y[j]).sum::<f64>() - nu;
        let fixed = (0..n).filter(|i| !free.contains(i)).map(|i| (gain(i), i));
        let Some((most, enter)) = fixed.max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        if !(most > 1e-12 * (nu.abs() + b[enter].abs())) {
            break;
        }
        free.push(enter);
    }
    let sum: f64 = y.iter().sum();
    y.iter_mut().for_each(|y| *y /= sum);
}

/// Vectors of one stationary point.
#[derive(Default)]
struct Workspace {
    matrix: Vec<f64>,
    factor: Factor,
    ones: Vec<f64>,
    y: Vec<f64>,
}

impl Workspace {
    /// Writes the stationary point of the free entries to `y` and returns the multiplier.
    fn stationary(&mut self, free: &[usize], b: &[f64], (q, n): (&[f64], usize), ridge: f64) -> Option<f64> {
        let size = free.len();
        self.matrix.clear();
        for &i in free {
            self.matrix.extend(free.iter().map(|&j| q[i * n + j] + if i == j { ridge } else { 0.0 }));
        }
        // A singular matrix gets a growing ridge.
        let mut damping = 0.0;
        while !self.factor.factor(&self.matrix, size, damping) {
            damping = if damping == 0.0 { 1e-14 } else { 10.0 * damping };
            if !(damping < 1.0) {
                return None;
            }
        }
        self.ones.clear();
        self.ones.resize(size, 1.0);
        self.y.clear();
        self.y.extend(free.iter().map(|&i| b[i]));
        self.factor.solve(&mut self.ones);
        self.factor.solve(&mut self.y);
        let nu = (self.y.iter().sum::<f64>() - 1.0) / self.ones.iter().sum::<f64>();
        self.y.iter_mut().zip(&self.ones).for_each(|(y, one)| *y -= nu * one);
        nu.is_finite().then_some(nu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic numbers in -1..1.
    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_optimality_conditions_hold_also_for_singular_matrices() {
        for seed in 0..200 {
            let (n, rank) = (1 + seed as usize % 9, 1 + seed as usize % 4);
            let (a, b) = (numbers(n * rank, seed + 7), numbers(n, seed + 99));
            let q: Vec<f64> =
                (0..n * n).map(|p| (0..rank).map(|r| a[p / n * rank + r] * a[p % n * rank + r]).sum()).collect();
            let mut y = vec![1.0 / n as f64; n];
            maximise(&mut y, &b, &q);
            assert!((y.iter().sum::<f64>() - 1.0).abs() < 1e-12 && y.iter().all(|y| *y >= 0.0));
            let slope: Vec<f64> = (0..n).map(|i| b[i] - (0..n).map(|j| q[i * n + j] * y[j]).sum::<f64>()).collect();
            let best = slope.iter().fold(f64::NEG_INFINITY, |m, s| if *s > m { *s } else { m });
            let reached: f64 = slope.iter().zip(&y).map(|(s, y)| s * y).sum();
            assert!(best - reached < 1e-6, "seed {seed}: {best} {reached} {y:?}");
        }
    }
}

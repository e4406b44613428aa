//! The weights of the groups under a logarithmic barrier: `max over y, sum y = 1, of y F - lambda/2 |y - 1/K|^2 + tau sum ln y_k`.
//!
//! As a function of x the maximum is smooth and convex. With `s_k = (ln y_k)' = 1 / y_k`, optimality gives for every y' in the simplex
//! `slope (y' - y) <= K tau`: the barrier costs at most `K tau`.

/// Writes the maximiser to `y` and returns the sum of its logarithms. `losses` are finite.
///
/// With the multiplier `nu = max F + t` of the sum, `y_k` is the positive root of `lambda y^2 - a y - tau = 0`, where
/// `a = F_k - max F + lambda / K - t`. The sum of the roots decreases in t; bisection finds where it is 1. Differences to the largest
/// loss are formed first, so that small entries keep their digits.
pub(super) fn respond(y: &mut [f64], losses: &[f64], lambda: f64, tau: f64) -> f64 {
    let count = losses.len() as f64;
    let most = losses.iter().fold(f64::NEG_INFINITY, |m, f| if *f > m { *f } else { m });
    let fill = |y: &mut [f64], t: f64| {
        let mut sum = 0.0;
        for (y, f) in y.iter_mut().zip(losses) {
            *y = root((f - most) + (lambda / count - t), lambda, tau);
            sum += *y;
        }
        sum
    };
    // At `low` the largest entry is 1, at `high` it is 1/K.
    let (mut low, mut high) = (lambda / count - lambda + tau, tau * count);
    loop {
        let middle = 0.5 * (low + high);
        if !(low < middle && middle < high) {
            break;
        }
        if fill(y, middle) > 1.0 { low = middle } else { high = middle }
    }
    let sum = fill(y, high);
    y.iter_mut().for_each(|y| *y /= sum);
    y.iter().map(|y| y.ln()).sum()
}

/// The positive root of `lambda y^2 - a y - tau = 0`, without cancellation.
fn root(a: f64, lambda: f64, tau: f64) -> f64 {
    let length = (a * a + 4.0 * lambda * tau).sqrt();
    if a > 0.0 { (a + length) / (2.0 * lambda) } else { 2.0 * tau / (length - a) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;
    use super::*;

    #[test]
    fn the_slopes_are_equal_and_the_barrier_costs_at_most_k_tau() {
        for seed in 0..200 {
            let count = 1 + seed as usize % 7;
            let losses = numbers(count, seed);
            for lambda in [0.0, 1e-6, 0.1, 10.0] {
                for tau in [1.0, 1e-3, 1e-9, 1e-14] {
                    let mut y = vec![0.0; count];
                    let logarithms = respond(&mut y, &losses, lambda, tau);
                    assert!(logarithms.is_finite() && y.iter().all(|y| *y > 0.0), "{y:?}");
                    assert!((y.iter().sum::<f64>() - 1.0).abs() < 1e-14);
                    let slope: Vec<f64> =
                        y.iter().zip(&losses).map(|(y, f)| f - lambda * (y - 1.0 / count as f64)).collect();
                    let multipliers = slope.iter().zip(&y).map(|(s, y)| s + tau / y);
                    let (low, high) = multipliers.fold((f64::MAX, f64::MIN), |(l, h), m| (l.min(m), h.max(m)));
                    assert!(high - low < 1e-9 * (1.0 + lambda + tau), "lambda {lambda} tau {tau}: {low} {high}");
                    let best = slope.iter().fold(f64::MIN, |m, s| m.max(*s));
                    let reached: f64 = slope.iter().zip(&y).map(|(s, y)| s * y).sum();
                    assert!(best - reached <= count as f64 * tau + 1e-14 * (1.0 + lambda), "{best} {reached}");
                }
            }
        }
    }
}

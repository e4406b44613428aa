//! Least-squares slope in log-log coordinates: the exponent of a measured rate.

/// A fitted power law `count = e^intercept * (1/eps)^slope`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// The exponent.
    pub slope: f64,
    /// The natural logarithm of the count at `eps = 1`.
    pub intercept: f64,
    /// The root of the mean squared residual, in natural logarithms: 0.1 is about ten percent.
    pub residual: f64,
    /// Number of points fitted.
    pub points: usize,
}

impl Slope {
    /// The fitted count at an accuracy.
    pub fn at(&self, eps: f64) -> f64 {
        (self.intercept - self.slope * eps.ln()).exp()
    }
}

/// Least-squares fit of `(ln 1/eps, ln count)`. `None` for fewer than two different accuracies, or counts that are not
/// positive.
pub fn fit(points: &[(f64, f64)]) -> Option<Slope> {
    let logs: Vec<(f64, f64)> = points.iter().map(|(eps, count)| (-eps.ln(), count.ln())).collect();
    if logs.is_empty() || logs.iter().any(|(u, v)| !(u.is_finite() && v.is_finite())) {
        return None;
    }
    let n = logs.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / n;
    let (u0, v0) = (mean(&|p| p.0), mean(&|p| p.1));
    let spread = mean(&|p| (p.0 - u0) * (p.0 - u0));
    if !(spread > 0.0) {
        return None;
    }
    let slope = mean(&|p| (p.0 - u0) * (p.1 - v0)) / spread;
    let intercept = v0 - slope * u0;
    let residual = mean(&|p| (p.1 - intercept - slope * p.0).powi(2)).sqrt();
    Some(Slope { slope, intercept, residual, points: logs.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_found_again() {
        let law: Vec<(f64, f64)> = [0.2, 0.1, 0.03, 1e-3].map(|e: f64| (e, 7.0 * e.powf(-3.5))).to_vec();
        let found = fit(&law).unwrap();
        assert!((found.slope - 3.5).abs() < 1e-12 && found.residual < 1e-12, "{found:?}");
        assert!((found.at(0.05) - 7.0 * 0.05_f64.powf(-3.5)).abs() < 1e-6);
    }

    #[test]
    fn scatter_shows_as_residual() {
        let found = fit(&[(0.1, 10.0), (0.01, 400.0), (0.001, 1000.0)]).unwrap();
        assert!((found.slope - 1.0).abs() < 1e-12, "{found:?}");
        assert!(found.residual > 0.3);
    }

    #[test]
    fn one_accuracy_has_no_slope() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[(0.1, 10.0)]), None);
        assert_eq!(fit(&[(0.1, 10.0), (0.1, 20.0)]), None);
        assert_eq!(fit(&[(0.1, 0.0), (0.01, 20.0)]), None);
        assert_eq!(fit(&[(0.1, f64::NAN), (0.01, 20.0)]), None);
    }
}

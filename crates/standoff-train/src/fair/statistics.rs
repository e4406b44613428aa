//! Statistics over runs: means, deviations and the 95 percent interval of a mean, over seeds or over splits.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Mean, standard deviation and a 95 percent interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The number of values.
    pub count: usize,
    /// Their mean; NaN without values.
    pub mean: f64,
    /// Their standard deviation, with n - 1; nothing for fewer than two values.
    pub deviation: Option<f64>,
    /// The 95 percent interval, if there is one.
    pub interval: Option<[f64; 2]>,
}

impl Summary {
    /// Of these values, with the interval of their mean by Student's t. A value that is not finite makes the mean so.
    pub fn of(values: &[f64]) -> Self {
        Self::with_spread(values, 1.0 / values.len() as f64)
    }

    /// Of the values of several random splits of one table, with the corrected resampled t of Nadeau and Bengio. The splits share
    /// rows, so the variance of the mean is taken as `1/J + n_test/n_train` times that of a value; `ratio` is the second term.
    pub fn resampled(values: &[f64], ratio: f64) -> Self {
        Self::with_spread(values, 1.0 / values.len() as f64 + ratio)
    }

    fn with_spread(values: &[f64], factor: f64) -> Self {
        let (count, mean) = (values.len(), mean(values));
        let deviation = deviation(values);
        let half = deviation.map(|d| student(CONFIDENCE, count - 1) * d * factor.sqrt());
        Self { count, mean, deviation, interval: half.map(|half| [mean - half, mean + half]) }
    }

    /// The same with an interval that ends where the quantity does.
    #[must_use]
    pub fn within(self, [lowest, highest]: [f64; 2]) -> Self {
        let cut = |[lower, upper]: [f64; 2]| [lower.clamp(lowest, highest), upper.clamp(lowest, highest)];
        Self { interval: self.interval.filter(|ends| !ends.iter().any(|e| e.is_nan())).map(cut), ..self }
    }

    /// In another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let by = |v: f64| factor * v;
        let (deviation, interval) = (self.deviation.map(by), self.interval.map(|ends| ends.map(by)));
        Self { count: self.count, mean: by(self.mean), deviation, interval }
    }

    /// Half the width of an interval with the mean in its middle.
    pub fn half(&self) -> Option<f64> {
        let [lower, upper] = self.interval?;
        let (below, above) = (self.mean - lower, upper - self.mean);
        ((below - above).abs() <= 1e-9 * (below + above)).then_some(above)
    }

    /// True if several values are equal, up to the last bits of their means.
    pub fn is_constant(&self) -> bool {
        self.deviation.is_some_and(|d| d <= 1e-12)
    }

    /// True if the interval does not contain zero.
    pub fn is_clear(&self) -> bool {
        self.interval.is_some_and(|[lower, upper]| lower > 0.0 || upper < 0.0)
    }
}

/// The mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation with n - 1; nothing for fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The middle value; NaN counts as larger than anything, and is the answer without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().map(|v| if v.is_nan() { f64::NAN.copysign(1.0) } else { *v }).collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// The t with `P(|T| <= t) = confidence` for Student's T with that many degrees of freedom, at least 1.
pub fn student(confidence: f64, freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    // The probability grows with the angle; 60 halvings leave nothing of it.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if within(middle, freedom) < confidence { low = middle } else { high = middle }
    }
    (freedom as f64).sqrt() * high.tan()
}

/// `P(|T| <= t)` with n degrees of freedom and `t = sqrt(n) tan a`, a finite sum:
/// for even n, `sin a (1 + 1/2 cos^2 a + (1 3)/(2 4) cos^4 a + ...)`,
/// for odd n, `2/pi (a + sin a (cos a + 2/3 cos^3 a + (2 4)/(3 5) cos^5 a + ...))`, both up to the power n - 2.
fn within(angle: f64, freedom: usize) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut power, mut term) = if odd { (1, cos) } else { (0, 1.0) };
    let mut sum = 0.0;
    while power + 2 <= freedom {
        sum += term;
        power += 2;
        term *= cos * cos * (power - 1) as f64 / power as f64;
    }
    if odd { FRAC_2_PI * (angle + sin * sum) } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // From printed tables and their extensions to more digits.
        let cases = [
            (0.95, 1, 12.706_204_736),
            (0.95, 2, 4.302_652_730),
            (0.95, 3, 3.182_446_305),
            (0.95, 4, 2.776_445_105),
            (0.95, 9, 2.262_157_163),
            (0.95, 29, 2.045_229_642),
            (0.95, 49, 2.009_575_237),
            (0.95, 100, 1.983_971_519),
            (0.99, 5, 4.032_142_984),
            (0.99, 10, 3.169_272_673),
            (0.50, 1, 1.0),
        ];
        for (confidence, freedom, want) in cases {
            let got = student(confidence, freedom);
            assert!((got - want).abs() < 1e-8, "{confidence} {freedom}: {got}, not {want}");
        }
        // In the limit, the normal distribution.
        assert!((student(0.95, 100_000) - 1.959_963_985).abs() < 3e-5);
    }

    #[test]
    fn a_summary_is_what_a_hand_computes() {
        let s = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((s.count, s.mean), (8, 5.0));
        assert!((s.deviation.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-15);
        assert!((s.half().unwrap() - 2.364_624_251_6 * (4.0_f64 / 7.0).sqrt()).abs() < 1e-9);
        let one = Summary::of(&[3.0]);
        assert_eq!((one.mean, one.deviation, one.interval), (3.0, None, None));
        assert!(Summary::of(&[]).mean.is_nan());
        assert!(Summary::of(&[1.0, f64::NAN]).mean.is_nan());
        assert_eq!(Summary::of(&[0.25; 4]).times(1000.0).mean, 250.0);
    }

    #[test]
    fn an_interval_is_clear_when_zero_is_outside() {
        assert!(Summary::of(&[-1.0, -1.1, -0.9]).is_clear());
        assert!(!Summary::of(&[-1.0, 3.0, 2.0]).is_clear());
        // One value has no interval.
        assert!(!Summary::of(&[5.0]).is_clear());
        assert!(!Summary::of(&[f64::NAN, 1.0]).is_clear());
    }

    #[test]
    fn a_median_counts_nan_as_largest() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[1.0, -f64::NAN, 2.0]), 2.0);
        assert!(median(&[1.0, -f64::NAN, f64::NAN]).is_nan());
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn splits_that_share_rows_have_a_wider_interval() {
        let values = [0.70, 0.74, 0.72, 0.75, 0.69];
        let (plain, corrected) = (Summary::of(&values), Summary::resampled(&values, 0.25));
        let ratio = corrected.half().unwrap() / plain.half().unwrap();
        assert!((ratio - (0.45_f64 / 0.2).sqrt()).abs() < 1e-9, "{ratio}");
        assert_eq!((plain.mean, plain.deviation), (corrected.mean, corrected.deviation));
    }

    #[test]
    fn an_interval_never_exceeds_the_range_of_its_quantity() {
        let wide = Summary::of(&[0.99, 0.6, 1.0]).within([0.0, 1.0]);
        assert_eq!(wide.interval.unwrap()[1], 1.0);
        assert_eq!(wide.half(), None, "it is no longer symmetric");
        assert_eq!(Summary::of(&[f64::NAN, 1.0]).within([0.0, 1.0]).interval, None);
    }
}

//! The same curve of several trainings.

/// The same curve of several trainings: the middle of them, and the band that holds them all.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Bundle {
    pub(super) points: Vec<(f64, f64)>,
    /// Empty where there is only one.
    pub(super) band: Vec<(f64, f64, f64)>,
}

impl Bundle {
    /// Where the first of them has a point; what is not finite in one does not count there.
    pub(super) fn of(curves: &[Vec<(f64, f64)>]) -> Self {
        let Some(first) = curves.first() else { return Self::default() };
        let mut bundle = Self::default();
        for (i, &(x, _)) in first.iter().enumerate() {
            let at = |curve: &Vec<(f64, f64)>| {
                // All of them are measured at the same places, unless one is not finished.
                curve.get(i).filter(|p| p.0 == x || (p.0.is_nan() && x.is_nan())).map(|p| p.1).filter(|v| v.is_finite())
            };
            let mut values: Vec<f64> = curves.iter().filter_map(at).collect();
            values.sort_by(f64::total_cmp);
            let n = values.len();
            let (low, high) = (values.first().copied(), values.last().copied());
            let middle = if n == 0 { f64::NAN } else { 0.5 * (values[(n - 1) / 2] + values[n / 2]) };
            bundle.points.push((x, middle));
            if curves.len() > 1 {
                bundle.band.push((x, low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN)));
            }
        }
        bundle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_the_middle_and_holds_all() {
        let curves = [vec![(0.0, 1.0), (1.0, f64::NAN)], vec![(0.0, 5.0), (1.0, 2.0)], vec![(0.0, 2.0)]];
        let bundle = Bundle::of(&curves);
        assert_eq!(bundle.points, [(0.0, 2.0), (1.0, 2.0)]);
        assert_eq!(bundle.band, [(0.0, 1.0, 5.0), (1.0, 2.0, 2.0)]);
        assert!(Bundle::of(&curves[..1]).band.is_empty() && Bundle::of(&[]).points.is_empty());
    }
}

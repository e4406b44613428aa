//! The losses of every epoch, averaged over its steps.

use std::fmt::Write as _;

use super::checkpoint::Checkpoint;

/// Losses by epoch, and the sums of the epoch under way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Steps in an epoch.
    epoch: u64,
    /// One row per finished epoch, in the single precision of the network.
    rows: Vec<Vec<f32>>,
    sums: Vec<f64>,
    steps: u64,
}

impl Curve {
    /// A curve with this number of steps in an epoch.
    pub fn new(epoch: u64) -> Self {
        Self { epoch: epoch.max(1), ..Self::default() }
    }

    /// The losses of one step.
    pub fn push(&mut self, losses: &[f64]) {
        self.sums.resize(losses.len(), 0.0);
        self.sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss);
        self.steps += 1;
        if self.steps == self.epoch {
            let n = self.steps as f64;
            self.rows.push(self.sums.iter().map(|sum| (sum / n) as f32).collect());
            self.sums.fill(0.0);
            self.steps = 0;
        }
    }

    /// The losses of each finished epoch.
    pub fn rows(&self) -> &[Vec<f32>] {
        &self.rows
    }

    /// The total variation of the worst loss over the epochs.
    pub fn variation(&self) -> f64 {
        let worst = |row: &Vec<f32>| {
            row.iter().fold(f64::NEG_INFINITY, |top, &v| {
                let v = f64::from(v);
                if v > top || v.is_nan() { v } else { top }
            })
        };
        self.rows.windows(2).map(|pair| (worst(&pair[1]) - worst(&pair[0])).abs()).sum()
    }

    /// As a file: an epoch per line.
    pub fn csv(&self, names: &[String]) -> String {
        let mut out = "epoch".to_owned();
        for name in names {
            let _ = write!(out, ",{}", crate::files::field(name));
        }
        out.push('\n');
        for (i, row) in self.rows.iter().enumerate() {
            let _ = writeln!(out, "{},{}", i + 1, line(row));
        }
        out
    }

    /// Into a checkpoint.
    pub fn save(&self, state: &mut Checkpoint) {
        let rows: Vec<String> = self.rows.iter().map(|row| line(row)).collect();
        state.set("curve", &rows.join("\n"));
        let sums: Vec<String> = self.sums.iter().map(|sum| format!("{:016x}", sum.to_bits())).collect();
        state.set("curve_sums", &sums.join(","));
        state.set("curve_steps", &self.steps);
    }

    /// Out of a checkpoint; `None` if it is not there or not one.
    pub fn restore(&mut self, state: &Checkpoint) -> Option<()> {
        let row = |line: &str| line.split(',').map(|v| v.parse().ok()).collect::<Option<Vec<f32>>>();
        let bits = |v: &str| u64::from_str_radix(v, 16).ok().map(f64::from_bits);
        self.rows = state.get("curve")?.lines().map(row).collect::<Option<_>>()?;
        let sums = state.get("curve_sums")?;
        self.sums = if sums.is_empty() { Vec::new() } else { sums.split(',').map(bits).collect::<Option<_>>()? };
        self.steps = state.get("curve_steps")?.parse().ok()?;
        Some(())
    }
}

/// `{}` of an f32 is the shortest text that reads back to the same number.
fn line(row: &[f32]) -> String {
    row.iter().map(f32::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_the_mean_of_its_steps() {
        let mut curve = Curve::new(2);
        for losses in [[1.0, 5.0], [3.0, 1.0], [9.0, 9.0]] {
            curve.push(&losses);
        }
        assert_eq!(curve.rows(), [vec![2.0, 3.0]]);
        assert_eq!(curve.csv(&["a".into(), "b".into()]), "epoch,a,b\n1,2,3\n");
    }

    #[test]
    fn the_variation_counts_ways_up_and_down_of_the_worst() {
        let mut curve = Curve::new(1);
        for losses in [[1.0, 4.0], [3.0, 1.0], [2.0, 5.0]] {
            curve.push(&losses);
        }
        assert!((curve.variation() - 3.0).abs() < 1e-12);
        curve.push(&[f64::NAN, 0.0]);
        assert!(curve.variation().is_nan());
    }

    #[test]
    fn a_curve_in_the_middle_of_an_epoch_survives_a_checkpoint() {
        let mut curve = Curve::new(3);
        for k in 0..8 {
            curve.push(&[f64::from(k) / 7.0, 1.0 / f64::from(k + 3)]);
        }
        let mut state = Checkpoint::default();
        curve.save(&mut state);
        let mut back = Curve::new(3);
        assert!(back.restore(&state).is_some());
        assert_eq!(back, curve);
        let mut fresh = Checkpoint::default();
        Curve::new(3).save(&mut fresh);
        assert!(back.restore(&fresh).is_some());
        assert_eq!(back, Curve::new(3));
    }
}

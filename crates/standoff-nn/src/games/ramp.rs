//! A factor that grows with the steps of training: a pure function of the step, so a continued run needs no saved state for it.

/// From 0 to 1 in a straight line: 0 up to step `start`, 1 from step `start + steps` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ramp {
    /// The last step at 0.
    pub start: u64,
    /// Number of steps from 0 to 1; with 0 it is 1 from `start` on.
    pub steps: u64,
}

impl Ramp {
    /// Always 1.
    pub const NONE: Self = Self { start: 0, steps: 0 };

    /// Grows during the first `steps` steps.
    pub const fn over(steps: u64) -> Self {
        Self { start: 0, steps }
    }

    /// The factor at a step, from 0 to 1.
    pub fn at(self, step: u64) -> f64 {
        let gone = step.saturating_sub(self.start);
        match step {
            step if step < self.start => 0.0,
            _ if gone >= self.steps => 1.0,
            _ => gone as f64 / self.steps as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_zero_then_a_line_then_one() {
        let ramp = Ramp { start: 10, steps: 4 };
        let at: Vec<f64> = [0, 10, 11, 13, 14, 1000].map(|step| ramp.at(step)).to_vec();
        assert_eq!(at, [0.0, 0.0, 0.25, 0.75, 1.0, 1.0]);
        assert_eq!((Ramp::NONE.at(0), Ramp::NONE.at(7)), (1.0, 1.0));
        assert_eq!(Ramp { start: 3, steps: 0 }.at(2), 0.0);
    }
}

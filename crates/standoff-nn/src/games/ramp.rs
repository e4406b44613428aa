//! A factor that grows with the steps of training: a pure function of the step, so a continued run needs no saved state for it.

/// From `from` (usually 0) to 1 in a straight line: `from` up to step `start`, 1 from step `start + steps` on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ramp {
    /// The last step at `from`.
    pub start: u64,
    /// Number of steps from `from` to 1; with 0 it is 1 from `start` on.
    pub steps: u64,
    /// The factor at the beginning, from 0 to 1: above 0 where a training continues another.
    pub from: f64,
}

impl Ramp {
    /// Always 1.
    pub const NONE: Self = Self { start: 0, steps: 0, from: 0.0 };

    /// Grows during the first `steps` steps.
    pub const fn over(steps: u64) -> Self {
        Self { steps, ..Self::NONE }
    }

    /// The factor at a step, from 0 to 1.
    pub fn at(self, step: u64) -> f64 {
        let gone = step.saturating_sub(self.start);
        match step {
            step if step < self.start => self.from,
            _ if gone >= self.steps => 1.0,
            _ => self.from + (1.0 - self.from) * (gone as f64 / self.steps as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_zero_then_a_line_then_one() {
        let ramp = Ramp { start: 10, steps: 4, from: 0.0 };
        let at: Vec<f64> = [0, 10, 11, 13, 14, 1000].map(|step| ramp.at(step)).to_vec();
        assert_eq!(at, [0.0, 0.0, 0.25, 0.75, 1.0, 1.0]);
        assert_eq!((Ramp::NONE.at(0), Ramp::NONE.at(7)), (1.0, 1.0));
        assert_eq!(Ramp { start: 3, ..Ramp::NONE }.at(2), 0.0);
    }

    #[test]
    fn a_ramp_may_begin_above_zero() {
        let ramp = Ramp { start: 10, steps: 4, from: 0.5 };
        let at: Vec<f64> = [0, 10, 11, 12, 14].map(|step| ramp.at(step)).to_vec();
        assert_eq!(at, [0.5, 0.5, 0.625, 0.75, 1.0]);
    }
}

//! Schedule of learning rates: stages of a constant rate for a number of steps.

use crate::Error;

/// A piecewise-constant learning rate, a function of the step only.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The step at which each stage ends, and its rate.
    stages: Vec<(u64, f64)>,
}

/// The stage of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Index of the stage, from 0.
    pub index: usize,
    /// Its first step.
    pub begin: u64,
    /// Its rate.
    pub rate: f64,
}

impl Schedule {
    /// Stages in order, each with its number of steps and its rate.
    pub fn new(stages: &[(u64, f64)]) -> Result<Self, Error> {
        let refuse = |name, value, want| Err(Error::Setting { name, value, want });
        let mut ends = Vec::with_capacity(stages.len());
        let mut end: u64 = 0;
        for &(steps, rate) in stages {
            if !(rate > 0.0 && rate.is_finite()) {
                return refuse("rate", rate, "a positive number");
            }
            match end.checked_add(steps) {
                Some(next) if steps > 0 => end = next,
                _ => return refuse("steps", steps as f64, "at least 1 in every stage, and below 2^64 in all"),
            }
            ends.push((end, rate));
        }
        if ends.is_empty() {
            return refuse("stages", 0.0, "at least 1, with its steps and its rate");
        }
        Ok(Self { stages: ends })
    }

    /// Total number of steps.
    pub fn total(&self) -> u64 {
        self.stages.last().map_or(0, |stage| stage.0)
    }

    /// Number of stages.
    pub fn stages(&self) -> usize {
        self.stages.len()
    }

    /// The stage of a step, counted from 0; `None` after the end of the schedule.
    pub fn at(&self, step: u64) -> Option<Stage> {
        let index = self.stages.iter().position(|stage| step < stage.0)?;
        let begin = index.checked_sub(1).map_or(0, |before| self.stages[before].0);
        Some(Stage { index, begin, rate: self.stages[index].1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_the_rate_of_its_stage() {
        let schedule = Schedule::new(&[(2, 0.1), (1, 0.05), (3, 0.01)]).unwrap();
        let rates: Vec<Option<f64>> = (0..8).map(|step| schedule.at(step).map(|stage| stage.rate)).collect();
        assert_eq!(rates, [Some(0.1), Some(0.1), Some(0.05), Some(0.01), Some(0.01), Some(0.01), None, None]);
        assert_eq!(schedule.at(4), Some(Stage { index: 2, begin: 3, rate: 0.01 }));
        assert_eq!((schedule.total(), schedule.stages()), (6, 3));
        assert_eq!(schedule.at(u64::MAX), None);
    }

    #[test]
    fn an_empty_or_invalid_schedule_is_refused() {
        let wrong: [&[(u64, f64)]; 7] = [
            &[],
            &[(0, 0.1)],
            &[(5, 0.0)],
            &[(5, -0.1)],
            &[(5, f64::NAN)],
            &[(5, f64::INFINITY)],
            &[(u64::MAX, 0.1), (1, 0.1)],
        ];
        for stages in wrong {
            assert!(matches!(Schedule::new(stages), Err(Error::Setting { .. })), "{stages:?}");
        }
        assert!(Schedule::new(&[(u64::MAX, 0.1)]).is_ok());
    }
}

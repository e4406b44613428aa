//! Lambda chosen on validation data. The test part is not used for the choice.

use std::path::Path;

use serde::{Deserialize, Serialize};
use standoff_nn::fair::FairMethod;
use standoff_nn::{Engine, Outcome, Weights};

use super::results::RunResult;
use super::task::FairTask;
use super::train::{Spec, judge};
use crate::error::{Result, error};

/// Accuracies closer than this are equal: they are means of counts with rounding errors.
const SAME: f64 = 1e-9;

/// A candidate for lambda with its accuracy on the validation part, as a mean over the seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The weight of the regulariser.
    pub lambda: f64,
    /// The accuracy of the worst group.
    pub worst: f64,
    /// The accuracy on all validation samples together.
    pub average: f64,
}

/// The candidates for lambda and the chosen one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The chosen one.
    pub lambda: f64,
    /// Validation samples.
    pub samples: usize,
    /// Every candidate, in the order given.
    pub tried: Vec<Tried>,
}

impl Choice {
    /// Evaluates the models of every candidate, from the folders of their runs, on the validation part.
    pub fn make(task: &FairTask, specs: &[Spec], out: &Path) -> Result<Self> {
        let none = || error!(Setting, "there is no validation part to choose lambda by");
        let samples = task.validation.as_ref().ok_or_else(none)?.len();
        let mut engine = Engine::new(&task.model, 0)?;
        let mut outcome = Outcome::default();
        let mut found: Vec<(f64, Vec<[f64; 2]>)> = Vec::new();
        for spec in specs.iter().filter(|spec| spec.method == FairMethod::MinmaxReg) {
            let file = out.join(spec.folder()).join("model.safetensors");
            engine.set_weights(&Weights::load_for(&task.model, &file)?.parameters)?;
            let own = task.of_seed(spec.seed)?;
            let task = own.as_deref().unwrap_or(task);
            let judged = judge(&engine, task.validation.as_ref().ok_or_else(none)?, &task.unjudged, &mut outcome)?;
            let scores = [judged.worst(&task.unjudged), judged.average()];
            match found.iter_mut().find(|(lambda, _)| *lambda == spec.lambda) {
                Some((_, seeds)) => seeds.push(scores),
                None => found.push((spec.lambda, vec![scores])),
            }
        }
        let mean = |seeds: &[[f64; 2]], of: usize| seeds.iter().map(|s| s[of]).sum::<f64>() / seeds.len() as f64;
        let tried: Vec<Tried> = found
            .iter()
            .map(|(lambda, seeds)| Tried { lambda: *lambda, worst: mean(seeds, 0), average: mean(seeds, 1) })
            .collect();
        let lambda = best(&tried)
            .ok_or_else(|| error!(Setting, "no candidate for lambda has an accuracy on the validation part"))?
            .lambda;
        Ok(Self { lambda, samples, tried })
    }

    /// The runs to report: those of the chosen lambda, and those of the other methods.
    pub fn keep(&self, runs: Vec<RunResult>) -> Vec<RunResult> {
        let kept = |run: &RunResult| run.method != FairMethod::MinmaxReg.name() || run.lambda == self.lambda;
        runs.into_iter().filter(kept).collect()
    }
}

/// The best worst group; of equal ones the better average; of those the larger lambda, whose weights are steadier.
fn best(tried: &[Tried]) -> Option<Tried> {
    let better = |a: &Tried, b: &Tried| {
        let by = [a.worst - b.worst, a.average - b.average, a.lambda - b.lambda];
        by.into_iter().find(|d| d.abs() > SAME).is_some_and(|d| d > 0.0)
    };
    let known = tried.iter().filter(|t| t.worst.is_finite() && t.average.is_finite());
    known.fold(None, |best, t| if best.is_none_or(|b| better(t, &b)) { Some(*t) } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(all: &[[f64; 3]]) -> Vec<Tried> {
        all.iter().map(|&[lambda, worst, average]| Tried { lambda, worst, average }).collect()
    }

    #[test]
    fn the_worst_group_decides_then_the_average_then_the_larger_lambda() {
        let chosen = |all: &[[f64; 3]]| best(&tried(all)).map(|t| t.lambda);
        assert_eq!(chosen(&[[0.1, 0.7, 0.8], [0.3, 0.6, 0.9], [1.0, 0.5, 0.95]]), Some(0.1));
        assert_eq!(chosen(&[[0.1, 0.7, 0.8], [0.3, 0.7, 0.9], [1.0, 0.7, 0.85]]), Some(0.3));
        assert_eq!(chosen(&[[1.0, 0.7, 0.8], [0.1, 0.7, 0.8], [0.3, 0.7, 0.8]]), Some(1.0));
        assert_eq!(chosen(&[[0.1, 0.1 + 0.2, 0.8], [0.3, 0.3, 0.8]]), Some(0.3), "a rounding error is a tie");
    }

    #[test]
    fn a_candidate_without_an_accuracy_is_not_chosen() {
        assert_eq!(best(&tried(&[[0.1, f64::NAN, 0.9], [0.3, 0.2, 0.5]])).map(|t| t.lambda), Some(0.3));
        assert_eq!(best(&tried(&[[0.1, f64::NAN, 0.9]])), None);
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn other_methods_and_the_chosen_lambda_are_reported() {
        use super::super::examples::run;
        let choice = Choice { lambda: 0.1, samples: 10, tried: Vec::new() };
        let runs = vec![run("normal", 0.0, 1, &[1]), run("minmax-reg", 0.1, 1, &[2]), run("minmax-reg", 1.0, 1, &[3])];
        let names: Vec<(String, f64)> = choice.keep(runs).into_iter().map(|r| (r.method, r.lambda)).collect();
        assert_eq!(names, [("normal".to_owned(), 0.0), ("minmax-reg".to_owned(), 0.1)]);
    }
}

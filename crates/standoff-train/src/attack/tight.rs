//! Proofs of single images by tighter bounds than intervals, for images that intervals leave open and no attack broke.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rayon::prelude::*;
use standoff_nn::model::onnx::OnnxModel;
use standoff_nn::verify::{Answer, BoundMethod, OpGraph, Property, VerifySettings, verify};
use standoff_nn::{Engine, Region};

use super::images::Images;
use crate::error::{Result, refuse};
use crate::named::named_enum;

named_enum! {
    /// The method of the proofs.
    #[derive(Default)]
    pub enum ProofMethod {
        #[default]
        Interval = "interval": "Intervals, layer by layer",
        Crown = "crown": "Intervals, then backward linear bounds with optimised slopes for the images that remain",
        Complete = "complete": "Intervals, then branch and bound for the images that remain, with at most 2,000 subproblems each",
    }
}

/// Steps of the optimiser of slopes.
const STEPS: usize = 20;
/// Subproblems of one image.
const BRANCHES: u64 = 2_000;

impl ProofMethod {
    /// Refuses a network with layers that the method cannot bound, and a proof file, which holds interval proofs.
    pub fn check(self, engine: &Engine, proof_file: bool) -> Result<()> {
        if self == Self::Interval {
            return Ok(());
        }
        if proof_file {
            refuse!(Setting, "--proof-file holds interval proofs only; leave out --bounds or the proof file");
        }
        graph(engine).map(|_| ())
    }

    fn settings(self, time: Option<Duration>) -> VerifySettings {
        let bounds_only = match self {
            Self::Interval => Some(BoundMethod::Interval),
            Self::Crown => Some(BoundMethod::Alpha { steps: STEPS }),
            Self::Complete => None,
        };
        VerifySettings { bounds_only, branches: BRANCHES, attack: false, time, ..VerifySettings::default() }
    }
}

fn graph(engine: &Engine) -> Result<OpGraph> {
    Ok(OnnxModel::of_model(engine.model(), engine.parameters())?.graph()?)
}

/// Tries to prove these images robust; true for each that is proven. Without a time limit the result is the same on any number of
/// threads.
pub(crate) fn prove(
    engine: &Engine,
    (images, chosen): (&Images, &[usize]),
    (method, eps): (ProofMethod, f64),
    (stop, time): (&AtomicBool, Option<Duration>),
) -> Result<Vec<bool>> {
    let graph = graph(engine)?;
    let (settings, eps) = (method.settings(time), f64::from(Region::image_within(eps).eps));
    let n = graph.inputs();
    let one = |&i: &usize| {
        let x = &images.pixels[i * n..(i + 1) * n];
        let end = |sign: f64| x.iter().map(|&x| (f64::from(x) + sign * eps).clamp(0.0, 1.0)).collect();
        let property = Property::classified(end(-1.0), end(1.0), usize::from(images.labels[i]), graph.outputs());
        Ok(verify(&graph, &property, &settings, stop)?.answer == Answer::Proven)
    };
    chosen.par_iter().map(one).collect()
}

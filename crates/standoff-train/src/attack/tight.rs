//! Proofs of single images by tighter bounds than intervals, for images that intervals leave open and no attack broke.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rayon::prelude::*;
use standoff_nn::Engine;
use standoff_nn::attack::{Ball, Norm};
use standoff_nn::model::onnx::OnnxModel;
use standoff_nn::verify::{Answer, BoundMethod, InputRegion, OpGraph, Property, VerifySettings, verify};

use super::images::Images;
use crate::error::{Result, refuse};
use crate::named::named;

/// The method of the proofs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProofMethod {
    /// Interval bounds of all images.
    #[default]
    Interval,
    /// Then backward linear bounds.
    Crown,
    /// Then branch and bound.
    Complete,
}

named! { ProofMethod:
    Interval, "interval", "Intervals, layer by layer";
    Crown, "crown", "Intervals, then backward linear bounds with optimised slopes for the images that remain";
    Complete, "complete", "Intervals, then branch and bound for the images that remain, with at most 2,000 subproblems each";
}

/// Steps of the optimiser of slopes.
const STEPS: usize = 20;
/// Room for the rounding of distances in `f64`.
const DISTANCE: f64 = 1.0 + 1e-9;
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

/// Tries to prove these images robust against every image that the ball admits; true for each that is proven. Changes of bounded sum
/// are bounded in the Euclidean norm too. Without a time limit the result is the same on any number of
/// threads.
pub(crate) fn prove(
    engine: &Engine,
    (images, chosen): (&Images, &[usize]),
    (method, ball): (ProofMethod, &Ball),
    (stop, time): (&AtomicBool, Option<Duration>),
) -> Result<Vec<bool>> {
    let graph = graph(engine)?;
    let (settings, reach) = (method.settings(time), ball.reach() * DISTANCE);
    let n = graph.inputs();
    let one = |&i: &usize| {
        let x: Vec<f64> = images.pixels[i * n..(i + 1) * n].iter().copied().map(f64::from).collect();
        let region = match ball.norm {
            Norm::Linf => InputRegion::linf(&x, reach, (0.0, 1.0))?,
            Norm::L2 | Norm::L1 => InputRegion::l2(&x, reach, (0.0, 1.0))?,
        };
        let property = Property::classified_in(region, usize::from(images.labels[i]), graph.outputs());
        Ok(verify(&graph, &property, &settings, stop)?.answer == Answer::Proven)
    };
    chosen.par_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use standoff_nn::{Layer, Model, Shape};

    /// The difference of the two logits is the sum of the pixels minus `threshold`; all pixels are 1/2.
    fn proven(pixels: usize, threshold: f32, method: ProofMethod, ball: &Ball) -> bool {
        let model = Model::new(Shape::new(1, 1, pixels), &[Layer::Flatten, Layer::Dense(2)]).unwrap();
        let mut engine = Engine::new(&model, 1).unwrap();
        let weights: Vec<f32> = (0..2 * pixels).map(|i| if i < pixels { 1.0 } else { 0.0 }).collect();
        engine.set_weights(&[weights, vec![0.0, threshold]].concat()).unwrap();
        let images = Images {
            pixels: vec![0.5; pixels],
            labels: vec![0],
            places: vec![0],
            shape: Shape::new(1, 1, pixels),
            names: Vec::new(),
            about: String::new(),
            notes: Vec::new(),
        };
        prove(&engine, (&images, &[0]), (method, ball), (&AtomicBool::new(false), None)).unwrap()[0]
    }

    #[test]
    fn a_proof_holds_for_every_image_that_the_ball_admits() {
        for method in [ProofMethod::Crown, ProofMethod::Complete] {
            let ball = Ball::linf(0.1);
            // The margin is zero at a distance of eps + 5e-7, which `contains` still admits.
            let threshold = 0.5 - 0.1 - 5e-7;
            assert!(ball.contains(&[threshold], &[0.5]));
            assert!(!proven(1, threshold, method, &ball));
            assert!(proven(1, 0.4 - 3e-6, method, &ball));
        }
    }

    #[test]
    fn balls_of_the_euclidean_norm_are_smaller_than_their_boxes() {
        // The least sum of two pixels is 1 - 0.2 in the box and 1 - 0.1 sqrt(2) in the ball.
        for method in [ProofMethod::Crown, ProofMethod::Complete] {
            assert!(!proven(2, 0.83, method, &Ball::linf(0.1)));
            assert!(proven(2, 0.83, method, &Ball::l2(0.1)));
            assert!(proven(2, 0.83, method, &Ball::l1(0.1)));
            assert!(!proven(2, 0.87, method, &Ball::l2(0.1)));
        }
    }
}

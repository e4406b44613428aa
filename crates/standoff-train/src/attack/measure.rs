//! The attacks and the proof for one eps, and the outcome of every image.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use standoff_nn::attack::{
    Ball, Ensemble, Evaluator, Found, Judge, LabelledImages, MaskingSigns, PartOfSet, Progress, Protocol, Run,
    ensemble, masking_signs,
};
use standoff_nn::certify::{Certified, certify};
use standoff_nn::engine::communicator;
use standoff_nn::{Ask, Batch, Engine, Loss, Outcome, Samples};

use super::images::Images;
use super::report::{Block, ImageOutcome, Proven, Row};
use super::tight::{self, ProofMethod};
use crate::error::Result;
use crate::fair::accuracy::Accuracy;
use crate::number::plural;

/// Images that are proved at a time, between two checks for Ctrl-C.
const TOGETHER: usize = 512;
const TIGHT_TOGETHER: usize = 16;

/// An event during an evaluation, for an observer.
#[derive(Debug, Clone, Copy)]
pub enum AttackEvent<'a> {
    /// The eps of this number begins.
    Begin(usize),
    /// Its attacks begin; the proof, where it comes first, is over.
    Attacks,
    /// An attack reports its progress.
    Attack(Progress<'a>),
    /// Progress of the proof.
    Proof {
        /// Images done.
        done: usize,
        /// Images in all.
        of: usize,
    },
    /// The signs of gradient masking are collected.
    Masking,
    /// The eps is finished.
    End,
}

/// The network, the images and the limits of an evaluation, shared by all eps.
pub struct AttackEvaluation<'a> {
    /// The network under attack.
    pub network: &'a dyn Evaluator,
    /// The same as an engine, which proofs need; `None` for a function of the caller.
    pub engine: Option<&'a Engine>,
    /// The images.
    pub images: &'a Images,
    /// Their place in a larger set, of which they are a part.
    pub part: Option<PartOfSet<'a>>,
    /// The method of the proofs.
    pub bounds: ProofMethod,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// When attacks end, finished or not.
    pub deadline: Option<Instant>,
    /// Receives the events, on the calling thread.
    pub observer: &'a dyn Fn(AttackEvent<'_>),
}

/// The result of every image at one eps. Figures follow from it, so images may be attacked in parts.
#[derive(Debug)]
pub struct AttackedSet {
    /// The result of the attacks.
    pub result: Ensemble,
    /// The output of the network for the worst image found of every image.
    pub predictions: Vec<u16>,
    /// The proof of every image and its seconds; `None` after Ctrl-C or the deadline.
    pub proof: Option<(Certified, f64)>,
    /// The signs of gradient masking; `None` after Ctrl-C.
    pub signs: Option<MaskingSigns>,
    /// The seconds of every attack.
    pub seconds: Vec<f64>,
    /// True if Ctrl-C or the deadline ended it.
    pub interrupted: bool,
}

/// The result at one eps: its figures and its images.
#[derive(Debug)]
pub struct MeasuredAttack {
    /// The figures.
    pub block: Block,
    /// The worst image found of every image, as stored.
    pub worst: Vec<f32>,
    /// The output of the network for each of them.
    pub predictions: Vec<u16>,
    /// The proof of every image; `None` after Ctrl-C or the deadline.
    pub proof: Option<Certified>,
    /// True if Ctrl-C or the deadline ended it.
    pub interrupted: bool,
}

/// The seconds of every attack.
struct Clock {
    last: Instant,
    seconds: Vec<f64>,
}

impl Clock {
    fn add(&mut self, index: usize) {
        let now = Instant::now();
        if let Some(seconds) = self.seconds.get_mut(index) {
            *seconds += (now - self.last).as_secs_f64();
        }
        self.last = now;
    }
}

impl AttackEvaluation<'_> {
    fn victims(&self) -> LabelledImages<'_> {
        LabelledImages { images: &self.images.pixels, labels: &self.images.labels }
    }

    /// Attacks and proves at the eps of that number, and collects signs of gradient masking. In a chain the proof comes first, and
    /// images that are proven are not attacked.
    pub fn attack(&self, number: usize, protocol: &Protocol) -> Result<AttackedSet> {
        (self.observer)(AttackEvent::Begin(number));
        let ahead = protocol.judge == Judge::Worst && protocol.ball.region().is_some();
        let mut proof = if ahead { self.prove(&protocol.ball)? } else { None };
        let spared = proof.as_ref().map(|(each, _)| each.certified.clone());
        (self.observer)(AttackEvent::Attacks);
        let clock = RefCell::new(Clock { last: Instant::now(), seconds: vec![0.0; protocol.attacks.len()] });
        let ended = AtomicBool::new(self.late());
        let tell = |progress: Progress<'_>| {
            // Attacks report progress just before they check whether to stop.
            ended.fetch_or(self.late(), Ordering::Relaxed);
            clock.borrow_mut().add(progress.index);
            (self.observer)(AttackEvent::Attack(progress));
        };
        let (seed, part) = (self.seed, self.part);
        let run = Run { seed, stop: Some(&ended), progress: Some(&tell), proven: spared.as_deref(), part };
        let result = ensemble(self.network, self.victims(), protocol, &run)?;
        let asked = || all(ended.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed));
        if proof.is_none() && self.engine.is_some() && !asked() {
            proof = self.prove(&protocol.ball)?;
            ended.fetch_or(proof.is_none(), Ordering::Relaxed);
        }
        if let Some(proof) = proof.as_mut().filter(|_| self.bounds != ProofMethod::Interval && !asked()) {
            self.tighten(&protocol.ball, &result, proof)?;
        }
        let mut signs = None;
        if !asked() {
            (self.observer)(AttackEvent::Masking);
            let silent = Run { stop: Some(self.stop), progress: None, ..run };
            let found = masking_signs(self.network, self.victims(), &protocol.ball, &result, &silent)?;
            signs = (!asked()).then_some(found);
        }
        (self.observer)(AttackEvent::End);
        let (predictions, interrupted) = (self.predictions(&result.images)?, asked());
        let seconds = clock.into_inner().seconds;
        Ok(AttackedSet { result, predictions, proof, signs, seconds, interrupted })
    }

    /// The figures of all images.
    pub fn conclude(&self, protocol: &Protocol, set: AttackedSet) -> MeasuredAttack {
        let AttackedSet { result, predictions, proof, signs, seconds, interrupted } = set;
        let mut block = self.block(protocol, &result, &seconds);
        block.honesty = signs.map(|signs| signs.report(&result));
        // At eps 0 no attack can change an image.
        if let Some(figures) = block.honesty.as_ref().filter(|_| protocol.ball.eps > 0.0) {
            block.warnings.extend(figures.warnings().iter().map(ToString::to_string));
        }
        let certified = proof.as_ref().map(|(each, _)| each.certified.as_slice());
        block.outcomes = self.outcomes(&result, &predictions, certified);
        block.warnings.extend(defects(protocol, &result, &block.outcomes));
        let proven = |(each, seconds): &(Certified, f64)| {
            let accuracy = self.accuracy(each.certified.iter().copied());
            Proven { accuracy, seconds: *seconds, file: None }
        };
        block.certified = proof.as_ref().map(proven);
        let proof = proof.map(|(each, _)| each);
        MeasuredAttack { block, predictions, proof, interrupted, worst: result.images }
    }

    /// Attacks, proves and concludes at the eps of that number.
    pub fn measure(&self, number: usize, protocol: &Protocol) -> Result<MeasuredAttack> {
        Ok(self.conclude(protocol, self.attack(number, protocol)?))
    }

    fn accuracy(&self, right: impl Iterator<Item = bool>) -> Accuracy {
        Accuracy::of(right, &self.images.labels, &self.images.names)
    }

    fn block(&self, protocol: &Protocol, result: &Ensemble, seconds: &[f64]) -> Block {
        let n = self.images.labels.len();
        // An attack that Ctrl-C ended has no figures of its own; what it found counts in the worst case.
        let whole = result.attacks.len() - usize::from(result.interrupted);
        let row = |(k, found): (usize, &Found)| {
            let stands = |i: usize| match protocol.judge {
                Judge::Last => !found.fallen[i],
                Judge::Every => result.natural[i] && !found.fallen[i],
                Judge::Worst => result.natural[i] && result.fallen_to[i].is_none_or(|by| by > k),
            };
            Row {
                name: found.attack.name(),
                left: self.accuracy((0..n).map(stands)),
                tried: found.tried.iter().filter(|t| **t).count(),
                broken: found.fallen.iter().filter(|f| **f).count(),
                reach: found.reach,
                cost: found.cost,
                seconds: seconds.get(k).copied().unwrap_or(0.0),
            }
        };
        Block {
            eps: protocol.ball.eps,
            natural: self.accuracy(result.natural.iter().copied()),
            attacks: result.attacks[..whole].iter().enumerate().map(row).collect(),
            worst_case: self.accuracy((0..n).map(|i| result.stands(i))),
            certified: None,
            honesty: None,
            warnings: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    /// Interval bounds over the box of radius eps, which holds the ball of every norm here; `None` after Ctrl-C or the deadline, and for
    /// functions.
    pub fn prove(&self, ball: &Ball) -> Result<Option<(Certified, f64)>> {
        let (begun, Some(engine)) = (Instant::now(), self.engine) else { return Ok(None) };
        let Images { pixels, labels, .. } = self.images;
        let (width, region) = (self.network.input().size(), ball.box_around());
        let mut all = Certified::default();
        for (pixels, some) in pixels.chunks(TOGETHER * width).zip(labels.chunks(TOGETHER)) {
            if self.late() {
                return Ok(None);
            }
            (self.observer)(AttackEvent::Proof { done: all.certified.len(), of: labels.len() });
            let part = certify(engine, pixels, some, region)?;
            all.certified.extend(part.certified);
            all.margins.extend(part.margins);
        }
        Ok(Some((all, begun.elapsed().as_secs_f64())))
    }

    /// Tighter bounds of the images that are open: not proven and not broken.
    fn tighten(&self, ball: &Ball, result: &Ensemble, (each, seconds): &mut (Certified, f64)) -> Result<()> {
        let (begun, Some(engine)) = (Instant::now(), self.engine) else { return Ok(()) };
        let open: Vec<usize> = (0..each.certified.len()).filter(|&i| result.stands(i) && !each.certified[i]).collect();
        let (total, mut done) = (open.len(), 0);
        for some in open.chunks(TIGHT_TOGETHER) {
            if self.late() {
                break;
            }
            (self.observer)(AttackEvent::Proof { done, of: total });
            let time = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let found = tight::prove(engine, (self.images, some), (self.bounds, ball), (self.stop, time))?;
            some.iter().zip(found).for_each(|(&i, found)| each.certified[i] |= found);
            done += some.len();
        }
        *seconds += begun.elapsed().as_secs_f64();
        Ok(())
    }

    /// True after Ctrl-C or the deadline.
    fn late(&self) -> bool {
        all(self.stop.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline))
    }

    /// The predictions of the network.
    fn predictions(&self, images: &[f32]) -> Result<Vec<u16>> {
        let labels = &self.images.labels;
        let ends = [labels.len()];
        let batch = Batch { samples: Samples::Floats(images), labels, rows: None, ends: &ends, weights: None };
        let mut outcome = Outcome::default();
        self.network.pass(&batch, Loss::Cw, Ask::Values, &mut outcome)?;
        Ok(outcome.predictions)
    }

    fn outcomes(&self, result: &Ensemble, predictions: &[u16], certified: Option<&[bool]>) -> Vec<ImageOutcome> {
        let name = |output: u16| self.images.names[usize::from(output)].clone();
        let outcome = |(i, label): (usize, &u16)| ImageOutcome {
            image: self.images.places[i],
            label: name(*label),
            natural: result.natural[i],
            fallen_to: result.fallen_to[i].map(|by| result.attacks[by].attack.name()),
            prediction: name(predictions[i]),
            margin: result.margins[i],
            certified: certified.map(|each| each[i]),
        };
        self.images.labels.iter().enumerate().map(outcome).collect()
    }
}

/// The same on every rank: true if it is on one.
fn all(stop: bool) -> bool {
    communicator::any(stop).unwrap_or(true)
}

/// Warnings about results that contradict each other.
fn defects(protocol: &Protocol, result: &Ensemble, outcomes: &[ImageOutcome]) -> Vec<String> {
    let mut found = Vec::new();
    let refused: usize = result.attacks.iter().map(|f| f.refused).sum();
    if refused > 0 {
        let images = plural(refused as u64, "image");
        found.push(format!("{images} that an attack reported as misclassified failed verification and do not count"));
    }
    // The published evaluation leaves the ball and [0, 1], where the proof does not hold.
    let broken = outcomes.iter().filter(|f| f.certified == Some(true) && (f.fallen_to.is_some() || !f.natural)).count();
    if protocol.ball.strict && broken > 0 {
        let images = plural(broken as u64, "image");
        found.push(format!(
            "{images} misclassified although proven robust: this is a bug in standoff, please report it"
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_that_an_attack_breaks_is_reported_as_a_bug() {
        let result = Ensemble {
            natural: vec![true; 2],
            fallen_to: vec![Some(0), None],
            images: Vec::new(),
            margins: vec![1.0, -1.0],
            attacks: Vec::new(),
            interrupted: false,
        };
        let outcome = |i: usize, certified: bool| ImageOutcome {
            image: i,
            label: "0".to_owned(),
            natural: true,
            fallen_to: result.fallen_to[i].map(|_| "fgsm".to_owned()),
            prediction: "1".to_owned(),
            margin: 1.0,
            certified: Some(certified),
        };
        let said =
            |protocol: &Protocol, first: bool| defects(protocol, &result, &[outcome(0, first), outcome(1, true)]);
        let standard = Protocol::standard(0.3);
        assert!(said(&standard, true)[0].starts_with("1 image misclassified although"), "{:?}", said(&standard, true));
        assert!(said(&standard, false).is_empty());
        // The published attacks leave the region that is proven.
        assert!(said(&Protocol::paper(0.3), true).is_empty());
    }
}

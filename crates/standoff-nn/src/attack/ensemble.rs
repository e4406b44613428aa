//! One attack after the other, and for each image the worst of them all.

use super::batch::{AttackBatch, AttackSetting, Cost};
use super::pgd::Ascent;
use super::random::AttackRandom;
use super::verify::Verdict;
use super::{Attack, Ball, Judge, LabelledImages, Progress, Protocol, Reach, Run};
use super::{apgd, noise, pgd, smooth, square, verify};
use crate::{Engine, Error};

/// The result of one attack of an ensemble.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The attack.
    pub attack: Attack,
    /// Which images it tried.
    pub tried: Vec<bool>,
    /// Which of them are misclassified as it left them, verified.
    pub fallen: Vec<bool>,
    /// Number of correctly classified images that neither it nor any attack before it broke.
    pub left: usize,
    /// Number of images that it alone leaves unbroken, where every attack tried every image ([`Judge::Every`], [`Judge::Last`]).
    pub left_alone: Option<usize>,
    /// The share of the budget that the changes used.
    pub reach: Reach,
    /// Number of images that it reported as broken and verification did not confirm: zero, unless there is a bug.
    pub refused: usize,
    /// The work it did.
    pub cost: Cost,
}

/// The result of all attacks together.
#[derive(Debug, Clone, PartialEq)]
pub struct Ensemble {
    /// Which images are classified as labelled before any attack.
    pub natural: Vec<bool>,
    /// The index of the first attack that broke each image; `None` for unbroken images and those misclassified without an attack.
    pub fallen_to: Vec<Option<usize>>,
    /// The worst stored image found: a misclassified one for broken images, else the one with the largest margin; the original for
    /// images that are misclassified without an attack.
    pub images: Vec<f32>,
    /// The largest other logit less the label's, at these images.
    pub margins: Vec<f32>,
    /// The attacks that were run, in order.
    pub attacks: Vec<Found>,
    /// True if the caller stopped it; the figures are then of the work done so far.
    pub interrupted: bool,
}

impl Ensemble {
    /// Number of images that are classified correctly without an attack.
    pub fn correct(&self) -> usize {
        self.natural.iter().filter(|&&right| right).count()
    }

    /// True if an image is classified correctly and no attack broke it.
    pub fn stands(&self, image: usize) -> bool {
        self.natural[image] && self.fallen_to[image].is_none()
    }

    /// Number of images that are classified correctly and that no attack broke.
    pub fn left(&self) -> usize {
        (0..self.natural.len()).filter(|&i| self.stands(i)).count()
    }

    /// The work of all attacks.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        self.attacks.iter().for_each(|found| cost += found.cost);
        cost
    }
}

/// One attack on every image; the worst point that it evaluates counts.
pub fn attack(
    engine: &Engine,
    labelled: LabelledImages<'_>,
    attack: &Attack,
    ball: &Ball,
    run: &Run<'_>,
) -> Result<Ensemble, Error> {
    ensemble(engine, labelled, &Protocol { attacks: vec![*attack], ball: *ball, judge: Judge::Every }, run)
}

/// All attacks of a protocol, and the worst case over them for each image.
pub fn ensemble(
    engine: &Engine,
    labelled: LabelledImages<'_>,
    protocol: &Protocol,
    run: &Run<'_>,
) -> Result<Ensemble, Error> {
    labelled.check(engine, &protocol.ball)?;
    if let Some(proven) = run.proven.filter(|proven| proven.len() != labelled.len()) {
        let (got, n) = (proven.len(), labelled.len());
        return Err(Error::Mismatch(format!("got {got} answers of what is proven, want one for each of {n} images")));
    }
    let clean = verify(engine, labelled, labelled.images, &protocol.ball)?;
    let mut result = Ensemble {
        natural: clean.iter().map(|v| !v.wrong).collect(),
        fallen_to: vec![None; labelled.len()],
        images: labelled.images.to_vec(),
        margins: clean.iter().map(|v| v.margin).collect(),
        attacks: Vec::with_capacity(protocol.attacks.len()),
        interrupted: false,
    };
    for index in 0..protocol.attacks.len() {
        if !result.interrupted {
            AttackRun { engine, labelled, protocol, run, index }.run_on(&mut result)?;
        }
    }
    Ok(result)
}

/// Number of images that are attacked at a time: enough to keep every thread busy, few enough to need little memory.
const TOGETHER: usize = 1024;

/// One attack of an ensemble, on all images.
struct AttackRun<'a> {
    engine: &'a Engine,
    labelled: LabelledImages<'a>,
    protocol: &'a Protocol,
    run: &'a Run<'a>,
    index: usize,
}

impl AttackRun<'_> {
    fn run_on(&self, result: &mut Ensemble) -> Result<(), Error> {
        let (attack, judge) = (self.protocol.attacks[self.index], self.protocol.judge);
        let tried: Vec<u32> = (0..self.labelled.len() as u32)
            .filter(|&i| !self.run.proves(i as usize))
            .filter(|&i| match judge {
                Judge::Worst => result.stands(i as usize),
                Judge::Every => result.natural[i as usize],
                Judge::Last => true,
            })
            .collect();
        let mut found = Found {
            attack,
            tried: vec![false; self.labelled.len()],
            fallen: vec![false; self.labelled.len()],
            left: 0,
            left_alone: None,
            reach: Reach::default(),
            refused: 0,
            cost: Cost::default(),
        };
        let (name, of) = (attack.name(), self.protocol.attacks.len());
        let chunks = tried.len().div_ceil(TOGETHER);
        let spared = (0..self.labelled.len()).filter(|&i| self.run.proves(i)).count();
        let mut standing = spared + tried.len();
        for (chunk, ids) in tried.chunks(TOGETHER).enumerate() {
            if result.interrupted {
                break;
            }
            let others = standing - ids.len();
            let report = |done: f64, active: usize| {
                if let Some(progress) = self.run.progress {
                    let done = (chunk as f64 + done) / chunks as f64;
                    progress(Progress { attack: &name, index: self.index, of, done, standing: others + active });
                }
                !self.run.stopped()
            };
            standing -= self.chunk(ids, &mut found, result, &report)?;
        }
        found.reach.close();
        found.left = result.left();
        found.left_alone = match judge {
            Judge::Worst => None,
            Judge::Every => Some((0..found.fallen.len()).filter(|&i| result.natural[i] && !found.fallen[i]).count()),
            Judge::Last => Some(found.fallen.iter().filter(|&&fallen| !fallen).count()),
        };
        result.attacks.push(found);
        Ok(())
    }

    /// Attacks some of the images; returns the number of broken ones.
    fn chunk(
        &self,
        ids: &[u32],
        found: &mut Found,
        result: &mut Ensemble,
        report: &dyn Fn(f64, usize) -> bool,
    ) -> Result<usize, Error> {
        let set = AttackSetting {
            engine: self.engine,
            labelled: self.labelled,
            ball: self.protocol.ball.of(&found.attack),
            judge: self.protocol.judge,
            random: AttackRandom::new(self.run.seed, &found.attack.name()),
            report,
        };
        let mut batch = AttackBatch::new(&set, ids);
        run_attack(&mut batch, &found.attack)?;
        found.cost += batch.cost;
        result.interrupted |= batch.halted();
        let labels: Vec<u16> = (0..ids.len()).map(|slot| batch.label(slot)).collect();
        let labelled = LabelledImages { images: &batch.origin, labels: &labels };
        let verdicts = verify(self.engine, labelled, &batch.best, &set.ball)?;
        for (slot, verdict) in verdicts.iter().enumerate() {
            let image = &batch.best[batch.at(slot)];
            self.enter(ids[slot] as usize, verdict, image, (found, result));
            found.refused += usize::from(batch.broken[slot] && !verdict.fallen());
        }
        Ok(verdicts.iter().filter(|v| v.fallen()).count())
    }

    /// Records one verdict.
    fn enter(&self, id: usize, verdict: &Verdict, image: &[f32], (found, result): (&mut Found, &mut Ensemble)) {
        found.tried[id] = true;
        found.fallen[id] = verdict.fallen();
        found.reach.add(verdict);
        if !verdict.inside || !result.natural[id] {
            return;
        }
        let first = verdict.fallen() && result.fallen_to[id].is_none();
        if first {
            result.fallen_to[id] = Some(self.index);
        }
        let worse = verdict.margin > result.margins[id] && (verdict.fallen() || result.fallen_to[id].is_none());
        if first || worse {
            let width = image.len();
            result.images[id * width..(id + 1) * width].copy_from_slice(image);
            result.margins[id] = verdict.margin;
        }
    }
}

/// Runs an attack on a batch of images.
fn run_attack(batch: &mut AttackBatch<'_>, attack: &Attack) -> Result<(), Error> {
    match *attack {
        Attack::Fgsm => pgd::fgsm(batch),
        Attack::Pgd { steps, restarts, step, random_start, loss } => {
            pgd::pgd(batch, Ascent { steps, restarts, step, random_start }, loss)
        }
        Attack::Targeted { steps, restarts } => pgd::targeted(batch, steps, restarts),
        Attack::Apgd { steps, restarts, loss } => apgd::apgd(batch, steps, restarts, loss),
        Attack::ApgdTargeted { steps, targets, restarts } => apgd::targeted(batch, steps, targets, restarts),
        Attack::Smooth { steps, restarts } => smooth::smooth(batch, steps, restarts),
        Attack::Square { queries } => square::square(batch, queries),
        Attack::Random { tries } => noise::random(batch, tries),
    }
}

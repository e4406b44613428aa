//! One attack after the other, and for each image the worst of them all.

use super::attacked::AttackedImages;
use super::batch::{AttackBatch, AttackSetting, Cost};
use super::pgd::Ascent;
use super::random::AttackRandom;
use super::verify::Verdict;
use super::{Attack, Ball, Evaluator, Judge, LabelledImages, Progress, Protocol, Reach, Run};
use super::{apgd, fab, noise, pgd, smooth, square, verify};
use crate::Error;
use crate::engine::communicator::alone;

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
    /// The share of the budget that the change of each image used, `|change| / eps`; 0 where it was not tried.
    pub shares: Vec<f64>,
    /// The same over all images.
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
    network: &dyn Evaluator,
    labelled: LabelledImages<'_>,
    attack: &Attack,
    ball: &Ball,
    run: &Run<'_>,
) -> Result<Ensemble, Error> {
    ensemble(network, labelled, &Protocol { attacks: vec![*attack], ball: *ball, judge: Judge::Every }, run)
}

/// All attacks of a protocol, and the worst case over them for each image.
pub fn ensemble(
    network: &dyn Evaluator,
    labelled: LabelledImages<'_>,
    protocol: &Protocol,
    run: &Run<'_>,
) -> Result<Ensemble, Error> {
    labelled.check(network, &protocol.ball)?;
    if let Some(attack) = protocol.attacks.iter().find(|attack| !(attack.black_box() || network.differentiable())) {
        let name = attack.name();
        let why = format!("attack `{name}` needs gradients, the network gives logits only; take square or random");
        return Err(Error::Mismatch(why));
    }
    if let Some(proven) = run.proven.filter(|proven| proven.len() != labelled.len()) {
        let (got, n) = (proven.len(), labelled.len());
        return Err(Error::Mismatch(format!("got {got} answers of what is proven, want one for each of {n} images")));
    }
    if let Some(part) = run.part.filter(|part| part.places.len() != labelled.len()) {
        let (got, n) = (part.places.len(), labelled.len());
        return Err(Error::Mismatch(format!("got {got} places in the whole set, want one for each of {n} images")));
    }
    let clean = verify(network, labelled, labelled.images, &protocol.ball)?;
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
            AttackRun { network, labelled, protocol, run, index }.run_on(&mut result)?;
        }
    }
    Ok(result)
}

/// Number of images that are attacked at a time: enough to keep every thread busy, few enough to need little memory.
pub(super) const TOGETHER: usize = 1024;

/// One attack of an ensemble, on all images.
struct AttackRun<'a> {
    network: &'a dyn Evaluator,
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
        let n = self.labelled.len();
        let mut found = Found {
            attack,
            tried: vec![false; n],
            fallen: vec![false; n],
            left: 0,
            left_alone: None,
            shares: vec![0.0; n],
            reach: Reach::default(),
            refused: 0,
            cost: Cost::default(),
        };
        let standing = (0..n).filter(|&i| self.run.proves(i)).count() + tried.len();
        match self.network.ranks() {
            None => self.each_chunk(&tried, standing, &mut |some| self.enter(&some, &mut found, result))?,
            Some(world) => {
                // An image does not depend on others, so the ranks exchange nothing before the attack is over.
                let own: Vec<u32> = tried.iter().copied().skip(world.rank()).step_by(world.ranks()).collect();
                let mut attacked = AttackedImages::default();
                let done = alone(|| self.each_chunk(&own, standing, &mut |some| attacked.append(some)));
                let all = AttackedImages::gather(&*world, done.map(|()| attacked), self.network.input().size())?;
                self.enter(&all, &mut found, result);
            }
        }
        found.reach = Reach::of(&found.shares, &found.tried, &found.fallen);
        found.left = result.left();
        found.left_alone = match judge {
            Judge::Worst => None,
            Judge::Every => Some((0..n).filter(|&i| result.natural[i] && !found.fallen[i]).count()),
            Judge::Last => Some(found.fallen.iter().filter(|&&fallen| !fallen).count()),
        };
        result.attacks.push(found);
        Ok(())
    }

    /// Attacks images, some at a time, to the end or until the caller stops it.
    fn each_chunk(&self, ids: &[u32], mut standing: usize, take: &mut dyn FnMut(AttackedImages)) -> Result<(), Error> {
        let (name, of) = (self.protocol.attacks[self.index].name(), self.protocol.attacks.len());
        let chunks = ids.len().div_ceil(TOGETHER);
        for (chunk, ids) in ids.chunks(TOGETHER).enumerate() {
            let others = standing - ids.len();
            let report = |done: f64, active: usize| {
                if let Some(progress) = self.run.progress {
                    let done = (chunk as f64 + done) / chunks as f64;
                    progress(Progress { attack: &name, index: self.index, of, done, standing: others + active });
                }
                !self.run.stopped()
            };
            let some = self.chunk(ids, &report)?;
            standing -= some.verdicts.iter().filter(|v| v.fallen()).count();
            let interrupted = some.interrupted;
            take(some);
            if interrupted {
                break;
            }
        }
        Ok(())
    }

    /// Attacks some of the images.
    fn chunk(&self, ids: &[u32], report: &dyn Fn(f64, usize) -> bool) -> Result<AttackedImages, Error> {
        let attack = self.protocol.attacks[self.index];
        let set = AttackSetting {
            network: self.network,
            labelled: self.labelled,
            ball: self.protocol.ball.of(&attack),
            judge: self.protocol.judge,
            random: AttackRandom::new(self.run.seed, &attack.name()),
            part: self.run.part,
            report,
        };
        let mut batch = AttackBatch::new(&set, ids);
        run_attack(&mut batch, &attack)?;
        let labels: Vec<u16> = (0..ids.len()).map(|slot| batch.label(slot)).collect();
        let labelled = LabelledImages { images: &batch.origin, labels: &labels };
        let verdicts = verify(self.network, labelled, &batch.best, &set.ball)?;
        let refused = verdicts.iter().zip(&batch.broken).filter(|(verdict, broken)| **broken && !verdict.fallen());
        Ok(AttackedImages {
            ids: ids.to_vec(),
            refused: refused.count(),
            cost: batch.cost,
            interrupted: batch.halted(),
            verdicts,
            images: batch.best,
        })
    }

    /// Records what the attack left of some images.
    fn enter(&self, some: &AttackedImages, found: &mut Found, result: &mut Ensemble) {
        found.refused += some.refused;
        found.cost += some.cost;
        result.interrupted |= some.interrupted;
        let width = self.network.input().size();
        for ((id, verdict), image) in some.ids.iter().zip(&some.verdicts).zip(some.images.chunks_exact(width)) {
            self.enter_one(*id as usize, verdict, image, (found, result));
        }
    }

    /// Records one verdict.
    fn enter_one(&self, id: usize, verdict: &Verdict, image: &[f32], (found, result): (&mut Found, &mut Ensemble)) {
        found.tried[id] = true;
        found.fallen[id] = verdict.fallen();
        found.shares[id] = verdict.share;
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
        Attack::Fab { steps, targets, restarts } => fab::fab(batch, steps, targets, restarts),
        Attack::Smooth { steps, restarts } => smooth::smooth(batch, steps, restarts),
        Attack::Square { queries } => square::square(batch, queries),
        Attack::Random { tries } => noise::random(batch, tries),
    }
}

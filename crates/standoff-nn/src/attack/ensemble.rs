//! One attack after the other, and for each image the worst of them all.

use super::batch::{Cost, Field, Setting};
use super::pgd::Ascent;
use super::random::Dice;
use super::verify::Verdict;
use super::{Attack, Ball, Judge, Progress, Protocol, Reach, Run, Victims};
use super::{apgd, noise, pgd, smooth, square, verify};
use crate::{Engine, Error};

/// What one attack of an ensemble did.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The attack.
    pub attack: Attack,
    /// Which images it tried.
    pub tried: Vec<bool>,
    /// Which of them are misclassified as it left them, verified.
    pub fallen: Vec<bool>,
    /// How many images stand after it and all attacks before it.
    pub left: usize,
    /// How many it leaves on its own, where every attack tried every image ([`Judge::Every`], [`Judge::Last`]).
    pub left_alone: Option<usize>,
    /// How much of the budget the changes used.
    pub reach: Reach,
    /// How many images it took for fallen that verification refused: zero, unless there is a defect.
    pub refused: usize,
    /// What it computed.
    pub cost: Cost,
}

/// What all attacks together did.
#[derive(Debug, Clone, PartialEq)]
pub struct Ensemble {
    /// Which images are classified as labelled before any attack.
    pub natural: Vec<bool>,
    /// The attack that turned each image first, by its place; `None` for those that stand and those that were wrong before.
    pub fallen_to: Vec<Option<usize>>,
    /// The worst image found, as stored: of the fallen one that is misclassified, of the others the one with the largest
    /// margin, of those that were wrong before the original.
    pub images: Vec<f32>,
    /// The largest other logit less the label's, there.
    pub margins: Vec<f32>,
    /// Attack by attack, as far as it came.
    pub attacks: Vec<Found>,
    /// Whether it was stopped from outside: the figures are then of what was done by then.
    pub interrupted: bool,
}

impl Ensemble {
    /// How many images were right before any attack.
    pub fn correct(&self) -> usize {
        self.natural.iter().filter(|&&right| right).count()
    }

    /// Whether an image was right and no attack turned it.
    pub fn stands(&self, image: usize) -> bool {
        self.natural[image] && self.fallen_to[image].is_none()
    }

    /// How many stand.
    pub fn left(&self) -> usize {
        (0..self.natural.len()).filter(|&i| self.stands(i)).count()
    }

    /// What was computed in all.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        self.attacks.iter().for_each(|found| cost += found.cost);
        cost
    }
}

/// One attack on every image, judged by the worst point it comes across.
pub fn attack(
    engine: &Engine,
    victims: Victims<'_>,
    attack: &Attack,
    ball: &Ball,
    run: &Run<'_>,
) -> Result<Ensemble, Error> {
    ensemble(engine, victims, &Protocol { attacks: vec![*attack], ball: *ball, judge: Judge::Every }, run)
}

/// All attacks of a protocol, and the worst case over them for each image.
pub fn ensemble(engine: &Engine, victims: Victims<'_>, protocol: &Protocol, run: &Run<'_>) -> Result<Ensemble, Error> {
    victims.check(engine, &protocol.ball)?;
    if let Some(proven) = run.proven.filter(|proven| proven.len() != victims.len()) {
        let (got, n) = (proven.len(), victims.len());
        return Err(Error::Mismatch(format!("got {got} answers of what is proven, want one for each of {n} images")));
    }
    let clean = verify(engine, victims, victims.images, &protocol.ball)?;
    let mut result = Ensemble {
        natural: clean.iter().map(|v| !v.wrong).collect(),
        fallen_to: vec![None; victims.len()],
        images: victims.images.to_vec(),
        margins: clean.iter().map(|v| v.margin).collect(),
        attacks: Vec::with_capacity(protocol.attacks.len()),
        interrupted: false,
    };
    for index in 0..protocol.attacks.len() {
        if !result.interrupted {
            Turn { engine, victims, protocol, run, index }.play(&mut result)?;
        }
    }
    Ok(result)
}

/// Images that are attacked at a time: enough to keep every thread busy, few enough to need little memory.
const TOGETHER: usize = 1024;

/// One attack's turn.
struct Turn<'a> {
    engine: &'a Engine,
    victims: Victims<'a>,
    protocol: &'a Protocol,
    run: &'a Run<'a>,
    index: usize,
}

impl Turn<'_> {
    fn play(&self, result: &mut Ensemble) -> Result<(), Error> {
        let (attack, judge) = (self.protocol.attacks[self.index], self.protocol.judge);
        let tried: Vec<u32> = (0..self.victims.len() as u32)
            .filter(|&i| !self.run.proves(i as usize))
            .filter(|&i| match judge {
                Judge::Worst => result.stands(i as usize),
                Judge::Every => result.natural[i as usize],
                Judge::Last => true,
            })
            .collect();
        let mut found = Found {
            attack,
            tried: vec![false; self.victims.len()],
            fallen: vec![false; self.victims.len()],
            left: 0,
            left_alone: None,
            reach: Reach::default(),
            refused: 0,
            cost: Cost::default(),
        };
        let (name, of) = (attack.name(), self.protocol.attacks.len());
        let chunks = tried.len().div_ceil(TOGETHER);
        let spared = (0..self.victims.len()).filter(|&i| self.run.proves(i)).count();
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

    /// Attacks some of the images; how many fell.
    fn chunk(
        &self,
        ids: &[u32],
        found: &mut Found,
        result: &mut Ensemble,
        report: &dyn Fn(f64, usize) -> bool,
    ) -> Result<usize, Error> {
        let set = Setting {
            engine: self.engine,
            victims: self.victims,
            ball: self.protocol.ball.of(&found.attack),
            judge: self.protocol.judge,
            dice: Dice::new(self.run.seed, &found.attack.name()),
            report,
        };
        let mut field = Field::new(&set, ids);
        strike(&mut field, &found.attack)?;
        found.cost += field.cost;
        result.interrupted |= field.halted();
        let labels: Vec<u16> = (0..ids.len()).map(|slot| field.label(slot)).collect();
        let victims = Victims { images: &field.origin, labels: &labels };
        let verdicts = verify(self.engine, victims, &field.best, &set.ball)?;
        for (slot, verdict) in verdicts.iter().enumerate() {
            let image = &field.best[field.at(slot)];
            self.enter(ids[slot] as usize, verdict, image, (found, result));
            found.refused += usize::from(field.down[slot] && !verdict.fallen());
        }
        Ok(verdicts.iter().filter(|v| v.fallen()).count())
    }

    /// Books one verdict.
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

/// Runs an attack on a field.
fn strike(field: &mut Field<'_>, attack: &Attack) -> Result<(), Error> {
    match *attack {
        Attack::Fgsm => pgd::fgsm(field),
        Attack::Pgd { steps, restarts, step, random_start, loss } => {
            pgd::pgd(field, Ascent { steps, restarts, step, random_start }, loss)
        }
        Attack::Targeted { steps, restarts } => pgd::targeted(field, steps, restarts),
        Attack::Apgd { steps, restarts, loss } => apgd::apgd(field, steps, restarts, loss),
        Attack::ApgdTargeted { steps, targets, restarts } => apgd::targeted(field, steps, targets, restarts),
        Attack::Smooth { steps, restarts } => smooth::smooth(field, steps, restarts),
        Attack::Square { queries } => square::square(field, queries),
        Attack::Random { tries } => noise::random(field, tries),
    }
}

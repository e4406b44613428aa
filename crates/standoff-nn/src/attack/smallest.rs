//! The smallest change that an attack finds for each image: FAB first, then attacks in smaller and smaller balls.

use super::batch::{AttackBatch, AttackSetting, Cost};
use super::ensemble::TOGETHER;
use super::random::AttackRandom;
use super::{Attack, Ball, Evaluator, Grid, Judge, LabelledImages, Progress, Protocol, Run, ensemble, fab, verify};
use crate::Error;
use std::collections::BTreeMap;

/// The search begins with this run of FAB.
const FIRST: Attack = Attack::Fab { steps: 100, targets: 9, restarts: 1 };
/// Radii of smaller balls are powers of this number, so that the images of one radius are attacked together.
const LEVEL: f64 = 1.03;
/// Levels below the first distance that are searched: half of it.
const LEVELS: i32 = 24;

/// The result for each image.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallestChanges {
    /// Which images are classified as labelled without a change.
    pub natural: Vec<bool>,
    /// The size of the smallest change found that leads to another class: an upper bound of the true one. 0 for images that are
    /// misclassified, infinite where none was found.
    pub distances: Vec<f64>,
    /// The changed images; the originals where none was found.
    pub images: Vec<f32>,
    /// The work.
    pub cost: Cost,
    /// True if the caller stopped the search.
    pub interrupted: bool,
}

impl SmallestChanges {
    /// The share of images that are classified correctly under every change found of at most eps.
    pub fn accuracy(&self, eps: f64) -> f64 {
        let left = self.distances.iter().filter(|&&d| d > eps).count();
        left as f64 / self.distances.len().max(1) as f64
    }
}

/// Searches the smallest change of every image in the norm and the limits of the ball, whose eps does not matter. Attacks in smaller
/// balls refine the result of FAB.
pub fn smallest_changes(
    network: &dyn Evaluator,
    labelled: LabelledImages<'_>,
    ball: &Ball,
    refine: &[Attack],
    run: &Run<'_>,
) -> Result<SmallestChanges, Error> {
    labelled.check(network, ball)?;
    if ball.grid != Grid::Float || !ball.strict {
        return Err(Error::Mismatch("the smallest change is searched among floats".into()));
    }
    if !network.differentiable() {
        return Err(Error::Mismatch("the search for the smallest change needs gradients".into()));
    }
    let clean = verify(network, labelled, labelled.images, ball)?;
    let mut result = SmallestChanges {
        natural: clean.iter().map(|v| !v.wrong).collect(),
        distances: clean.iter().map(|v| if v.wrong { 0.0 } else { f64::INFINITY }).collect(),
        images: labelled.images.to_vec(),
        cost: Cost::default(),
        interrupted: false,
    };
    let search = SmallestSearch { network, labelled, ball, refine, run };
    search.first(&mut result)?;
    if !refine.is_empty() {
        search.bisect(&mut result)?;
    }
    Ok(result)
}

struct SmallestSearch<'a> {
    network: &'a dyn Evaluator,
    labelled: LabelledImages<'a>,
    ball: &'a Ball,
    refine: &'a [Attack],
    run: &'a Run<'a>,
}

impl SmallestSearch<'_> {
    /// The nearest points of FAB.
    fn first(&self, result: &mut SmallestChanges) -> Result<(), Error> {
        let tried: Vec<u32> = (0..self.labelled.len() as u32).filter(|&i| result.natural[i as usize]).collect();
        for (chunk, ids) in tried.chunks(TOGETHER).enumerate() {
            let chunks = tried.len().div_ceil(TOGETHER) as f64;
            let report =
                |done: f64, _: usize| self.tell(&FIRST.name(), 0.5 * (chunk as f64 + done) / chunks, tried.len());
            let set = AttackSetting {
                network: self.network,
                labelled: self.labelled,
                ball: *self.ball,
                judge: Judge::Worst,
                random: AttackRandom::new(self.run.seed, &FIRST.name()),
                part: self.run.part,
                report: &report,
            };
            let mut batch = AttackBatch::new(&set, ids);
            batch.minimises = true;
            let Attack::Fab { steps, targets, restarts } = FIRST else { continue };
            let found = fab::search(&mut batch, steps, targets, restarts)?;
            result.cost += batch.cost;
            result.interrupted |= batch.halted();
            let labels: Vec<u16> = (0..ids.len()).map(|slot| batch.label(slot)).collect();
            let originals = LabelledImages { images: &batch.origin, labels: &labels };
            let verdicts = verify(self.network, originals, &found.points, self.ball)?;
            for (slot, verdict) in verdicts.iter().enumerate() {
                if verdict.wrong {
                    self.enter(result, ids[slot] as usize, &found.points[batch.at(slot)]);
                }
            }
            if result.interrupted {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Attacks with radii between the distance found and half of it, by bisection over powers of [`LEVEL`].
    fn bisect(&self, result: &mut SmallestChanges) -> Result<(), Error> {
        let level = |d: f64| (libm::log(d) / libm::log(LEVEL)).ceil() as i32 - 1;
        // The largest radius below the distance, and the radius at which the attacks failed.
        let mut between: BTreeMap<usize, (i32, i32)> = BTreeMap::new();
        for (i, &d) in result.distances.iter().enumerate().filter(|(_, d)| d.is_finite() && **d > 0.0) {
            between.insert(i, (level(d) - LEVELS, level(d) + 1));
        }
        let rounds = libm::log2(f64::from(LEVELS)).ceil();
        let mut round = 0.0;
        while !result.interrupted && between.values().any(|(low, high)| high - low > 1) {
            let mut groups: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
            for (&i, &(low, high)) in between.iter().filter(|(_, (low, high))| high - low > 1) {
                groups.entry((low + high) / 2).or_default().push(i);
            }
            let of = groups.len() as f64;
            for (done, (radius, images)) in groups.into_iter().enumerate() {
                let share = 0.5 + 0.5 * ((round + done as f64 / of) / (rounds + 1.0)).min(1.0);
                let broken = self.attack(LEVEL.powi(radius), &images, share, result)?;
                for (i, broken) in images.into_iter().zip(broken) {
                    let Some(ends) = between.get_mut(&i) else { continue };
                    if broken {
                        // The change may be much smaller than the radius.
                        ends.1 = radius.min(level(result.distances[i]) + 1);
                        ends.0 = ends.0.min(ends.1 - 1);
                    } else {
                        ends.0 = radius;
                    }
                }
                if result.interrupted {
                    return Ok(());
                }
            }
            round += 1.0;
        }
        Ok(())
    }

    /// Attacks some images in a ball of this radius; true for those that are broken.
    fn attack(&self, eps: f64, images: &[usize], share: f64, result: &mut SmallestChanges) -> Result<Vec<bool>, Error> {
        let mut spared = vec![true; self.labelled.len()];
        images.iter().for_each(|&i| spared[i] = false);
        let progress = |p: Progress<'_>| {
            self.tell(p.attack, share, images.len());
        };
        let run = Run { progress: Some(&progress), proven: Some(&spared), ..*self.run };
        let protocol =
            Protocol { attacks: self.refine.to_vec(), ball: Ball { eps, ..*self.ball }, judge: Judge::Worst };
        let found = ensemble(self.network, self.labelled, &protocol, &run)?;
        result.cost += found.cost();
        result.interrupted |= found.interrupted;
        let width = self.network.input().size();
        let one = |&i: &usize| {
            let broken = found.fallen_to[i].is_some();
            if broken {
                self.enter(result, i, &found.images[i * width..(i + 1) * width]);
            }
            broken
        };
        Ok(images.iter().map(one).collect())
    }

    /// Keeps a verified change if it is smaller than the one before.
    fn enter(&self, result: &mut SmallestChanges, i: usize, image: &[f32]) {
        let size = self.ball.size(image, self.labelled.image(i, image.len()));
        if size < result.distances[i] {
            result.distances[i] = size;
            result.images[i * image.len()..(i + 1) * image.len()].copy_from_slice(image);
        }
    }

    /// Reports progress; returns whether to continue.
    fn tell(&self, attack: &str, done: f64, standing: usize) -> bool {
        if let Some(progress) = self.run.progress {
            progress(Progress { attack, index: 0, of: 1, done, standing });
        }
        !self.run.stopped()
    }
}

//! Sums over a batch: a forest of one binary tree per group, whose leaves run on any thread.

use super::Engine;
use crate::Error;
use crate::kernels::LANES;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Where a range of samples leaves its results.
pub(super) trait SplitResults: Send + Sized {
    /// The first so many samples, and the others.
    fn split(self, samples: usize) -> (Self, Self);
}

/// What is summed beside the gradient.
#[derive(Clone, Copy, Default)]
pub(super) struct LeafSum {
    pub loss: f64,
    /// How many samples passed: were predicted as labelled, or certified.
    pub count: usize,
}

/// The work on a range of samples of one group.
pub(super) struct LeafJob<'a, P> {
    pub places: Range<usize>,
    /// What each sample counts when the batch has no weights.
    pub scale: f32,
    pub out: P,
    /// Overwritten with the gradient of the sum.
    pub gradient: Option<&'a mut [f32]>,
}

/// One group and its sum.
struct Tree<'a, P> {
    job: Option<LeafJob<'a, P>>,
    sum: LeafSum,
}

struct Forest<'a, F> {
    engine: &'a Engine,
    leaf: F,
}

impl Engine {
    /// The sum of each group; `gradients` has one per group, or none. The leaves are the same for any number of threads.
    pub(super) fn forest<P: SplitResults, F>(
        &self,
        ends: &[usize],
        out: P,
        gradients: &mut [Vec<f32>],
        leaf: F,
    ) -> Result<Vec<LeafSum>, Error>
    where
        F: Fn(LeafJob<'_, P>) -> Result<LeafSum, Error> + Sync,
    {
        let mut gradients = gradients.iter_mut();
        let mut trees = Vec::with_capacity(ends.len());
        let (mut start, mut rest) = (0, out);
        for &end in ends {
            let (mine, others) = rest.split(end - start);
            rest = others;
            let scale = 1.0 / (end - start) as f32;
            let gradient = gradients.next().map(|g| &mut g[..]);
            trees.push(Tree {
                job: Some(LeafJob { places: start..end, scale, out: mine, gradient }),
                sum: LeafSum::default(),
            });
            start = end;
        }
        let forest = Forest { engine: self, leaf };
        match &self.threads {
            Some(pool) => pool.install(|| forest.grow(&mut trees))?,
            None => forest.grow(&mut trees)?,
        }
        Ok(trees.iter().map(|tree| tree.sum).collect())
    }
}

impl<F> Forest<'_, F> {
    /// Two halves of the work, at once if there are threads for it.
    fn both<A: Send, B: Send>(&self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        if self.engine.threads.is_some() { rayon::join(a, b) } else { (a(), b()) }
    }

    fn grow<P: SplitResults>(&self, trees: &mut [Tree<'_, P>]) -> Result<(), Error>
    where
        F: Fn(LeafJob<'_, P>) -> Result<LeafSum, Error> + Sync,
    {
        match trees {
            [] => Ok(()),
            [tree] => {
                let Some(job) = tree.job.take() else { return Ok(()) };
                if !job.places.is_empty() {
                    tree.sum = self.tree(job)?;
                } else if let Some(g) = job.gradient {
                    g.fill(0.0);
                }
                Ok(())
            }
            _ => {
                let (left, right) = trees.split_at_mut(trees.len() / 2);
                let (a, b) = self.both(|| self.grow(left), || self.grow(right));
                a.and(b)
            }
        }
    }

    /// The sum over a range of samples. It splits at the largest power of two of leaves: a shape that depends on the number
    /// of samples alone.
    fn tree<P: SplitResults>(&self, job: LeafJob<'_, P>) -> Result<LeafSum, Error>
    where
        F: Fn(LeafJob<'_, P>) -> Result<LeafSum, Error> + Sync,
    {
        let engine = self.engine;
        let size = engine.leaf * LANES;
        let leaves = job.places.len().div_ceil(size);
        if leaves <= 1 {
            return (self.leaf)(job);
        }
        let LeafJob { places, scale, out, gradient } = job;
        let half = leaves.next_power_of_two() / 2 * size;
        let middle = places.start + half;
        let (left, right) = out.split(half);
        let (left_places, right_places) = (places.start..middle, middle..places.end);
        let Some(gradient) = gradient else {
            let (a, b) = self.both(
                || self.tree(LeafJob { places: left_places, scale, out: left, gradient: None }),
                || self.tree(LeafJob { places: right_places, scale, out: right, gradient: None }),
            );
            return Ok(a?.plus(b?));
        };
        let mut other = take(&engine.spare).unwrap_or_else(|| vec![0.0; engine.model.size()]);
        let (a, b) = self.both(
            || self.tree(LeafJob { places: left_places, scale, out: left, gradient: Some(gradient) }),
            || self.tree(LeafJob { places: right_places, scale, out: right, gradient: Some(&mut other) }),
        );
        for (g, o) in gradient.iter_mut().zip(&other) {
            *g += o;
        }
        put(&engine.spare, other);
        Ok(a?.plus(b?))
    }
}

impl LeafSum {
    fn plus(self, other: Self) -> Self {
        Self { loss: self.loss + other.loss, count: self.count + other.count }
    }
}

/// Scratch from a pool, if there is some.
pub(super) fn take<T>(pool: &Mutex<Vec<T>>) -> Option<T> {
    pool.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

/// Scratch back into its pool.
pub(super) fn put<T>(pool: &Mutex<Vec<T>>, item: T) {
    pool.lock().unwrap_or_else(PoisonError::into_inner).push(item);
}

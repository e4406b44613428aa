//! Sums over a batch: one binary tree per group. The leaves run on any thread; the order of additions is fixed by the tree.

use super::Engine;
use super::ranks::RankScratch;
use crate::Error;
use crate::kernels::LANES;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The results of a range of samples, which can be split at a sample.
pub(super) trait SplitResults: Send + Sized {
    /// Splits off the results of the first `samples` samples.
    fn split(self, samples: usize) -> (Self, Self);
}

impl<A: SplitResults, B: SplitResults> SplitResults for (A, B) {
    fn split(self, samples: usize) -> (Self, Self) {
        let ((a, a_right), (b, b_right)) = (self.0.split(samples), self.1.split(samples));
        ((a, b), (a_right, b_right))
    }
}

/// The sums over samples besides the gradient.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LeafSum {
    pub loss: f64,
    /// Number of correct predictions, or of certified samples.
    pub count: usize,
}

/// The work on a range of samples of one group.
pub(super) struct LeafJob<'a, P> {
    pub places: Range<usize>,
    /// The weight of each sample if the batch has no weights: one over the size of the group.
    pub scale: f32,
    pub out: P,
    /// The gradient of the sum is written to it.
    pub gradient: Option<&'a mut [f32]>,
}

/// One group and its sum.
struct Tree<'a, P> {
    job: Option<LeafJob<'a, P>>,
    sum: LeafSum,
}

/// The engine, and the work of one leaf.
struct Forest<'a, F> {
    engine: &'a Engine,
    leaf: F,
}

impl Engine {
    /// The sum of each group. `gradients` has one vector per group, of one length up to that of the parameters, or is empty. The leaves do not depend on the number of threads.
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
        if !self.ranks.alone() {
            return self.forest_of_ranks(ends, out, gradients, leaf);
        }
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
        self.run_trees(&mut trees, leaf)?;
        Ok(trees.iter().map(|tree| tree.sum).collect())
    }

    fn run_trees<P: SplitResults, F>(&self, trees: &mut [Tree<'_, P>], leaf: F) -> Result<(), Error>
    where
        F: Fn(LeafJob<'_, P>) -> Result<LeafSum, Error> + Sync,
    {
        let forest = Forest { engine: self, leaf };
        match &self.threads {
            Some(pool) => pool.install(|| forest.run(trees)),
            None => forest.run(trees),
        }
    }

    /// The same over several ranks: this one sums the nodes of its leaves. [`gather`](super::ranks::Ranks::gather) follows for the
    /// results of the samples.
    fn forest_of_ranks<P: SplitResults, F>(
        &self,
        ends: &[usize],
        out: P,
        gradients: &mut [Vec<f32>],
        leaf: F,
    ) -> Result<Vec<LeafSum>, Error>
    where
        F: Fn(LeafJob<'_, P>) -> Result<LeafSum, Error> + Sync,
    {
        let mut scratch = self.ranks.take();
        let RankScratch { plan, own, sums, .. } = &mut scratch;
        plan.set(ends, self.leaf * LANES, self.ranks.world.ranks());
        let nodes = plan.nodes.iter().filter(|node| node.rank == self.ranks.world.rank());
        let count = nodes.clone().count();
        own.resize_with(if gradients.is_empty() { 0 } else { count }, Vec::new);
        let size = gradients.first().map_or(0, Vec::len);
        own.iter_mut().for_each(|node| node.resize(size, 0.0));
        let mut own = own.iter_mut();
        let mut trees = Vec::with_capacity(count);
        let (mut start, mut rest) = (0, out);
        for node in nodes {
            let (mine, others) = rest.split(node.places.start - start).1.split(node.places.len());
            (start, rest) = (node.places.end, others);
            let group = if node.group == 0 { 0 } else { ends[node.group - 1] }..ends[node.group];
            let (scale, gradient) = (1.0 / group.len() as f32, own.next().map(|g| &mut g[..]));
            let job = LeafJob { places: node.places.clone(), scale, out: mine, gradient };
            trees.push(Tree { job: Some(job), sum: LeafSum::default() });
        }
        let done = self.run_trees(&mut trees, leaf);
        sums.clear();
        sums.extend(trees.iter().map(|tree| tree.sum));
        drop(trees);
        let all = self.ranks.sum(&mut scratch, &done, gradients);
        put(&self.ranks.scratch, scratch);
        all
    }
}

impl<F> Forest<'_, F> {
    /// Runs both functions, in parallel if the engine has threads.
    fn both<A: Send, B: Send>(&self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        if self.engine.threads.is_some() { rayon::join(a, b) } else { (a(), b()) }
    }

    fn run<P: SplitResults>(&self, trees: &mut [Tree<'_, P>]) -> Result<(), Error>
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
                let (a, b) = self.both(|| self.run(left), || self.run(right));
                a.and(b)
            }
        }
    }

    /// The sum over a range of samples. It is split at the largest power of two of leaves, so the shape of the tree depends on the
    /// number of samples only.
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
        let right_gradient = &mut other[..gradient.len()];
        let (a, b) = self.both(
            || self.tree(LeafJob { places: left_places, scale, out: left, gradient: Some(gradient) }),
            || self.tree(LeafJob { places: right_places, scale, out: right, gradient: Some(right_gradient) }),
        );
        for (g, o) in gradient.iter_mut().zip(&other) {
            *g += o;
        }
        put(&engine.spare, other);
        Ok(a?.plus(b?))
    }
}

impl LeafSum {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { loss: self.loss + other.loss, count: self.count + other.count }
    }
}

/// Takes scratch from a pool, if it has any.
pub(super) fn take<T>(pool: &Mutex<Vec<T>>) -> Option<T> {
    pool.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

/// Returns scratch to its pool.
pub(super) fn put<T>(pool: &Mutex<Vec<T>>, item: T) {
    pool.lock().unwrap_or_else(PoisonError::into_inner).push(item);
}

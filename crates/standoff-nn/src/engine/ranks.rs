//! Passes over several processes. Every rank owns a range of the leaves of the trees of `forest.rs` and sums the largest nodes inside
//! its range. What travels are these nodes: each rank adds its share of their entries in the order of the tree, so that the bits are
//! those of one process.

use super::communicator::{Communicator, first_error, is_alone, world};
use super::forest::{LeafSum, take};
use crate::Error;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A cut between two ranks may move by this share of a rank's leaves, to a place where fewer nodes travel.
const TOLERANCE: usize = 32;
/// Words of a [`LeafSum`].
const SUM_WORDS: usize = 4;

/// A node of the tree of a group that one rank sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RankNode {
    pub group: usize,
    /// Leaves of the group.
    pub leaves: Range<usize>,
    /// Samples of the batch.
    pub places: Range<usize>,
    pub rank: usize,
}

/// The division of a batch among ranks.
#[derive(Debug, Default)]
pub(super) struct RankPlan {
    /// In the order of the batch, and so in the order of the ranks.
    pub nodes: Vec<RankNode>,
    /// The first leaf of each rank and the number of all leaves, counted over all groups.
    cuts: Vec<usize>,
    /// Number of leaves of each group.
    leaves: Vec<usize>,
}

/// The results of samples, with the entries of each sample.
pub(super) enum SampleResults<'a> {
    Floats(&'a mut [f32], usize),
    Numbers(&'a mut [u16]),
    Flags(&'a mut [bool]),
}

/// Buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct RankScratch {
    pub plan: RankPlan,
    /// The sums of the nodes of this rank.
    pub own: Vec<Vec<f32>>,
    pub sums: Vec<LeafSum>,
    out: Vec<u32>,
    words: Vec<u32>,
    share: Vec<f32>,
    counts: [Vec<usize>; 2],
}

/// The ranks of an engine.
#[derive(Debug)]
pub(super) struct Ranks {
    pub world: Arc<dyn Communicator>,
    pub scratch: Mutex<Vec<RankScratch>>,
}

impl Default for Ranks {
    fn default() -> Self {
        Self::of(world())
    }
}

impl Ranks {
    pub(super) fn of(world: Arc<dyn Communicator>) -> Self {
        Self { world, scratch: Mutex::default() }
    }

    /// True for one process, which sends nothing.
    pub(super) fn alone(&self) -> bool {
        self.world.ranks() == 1 || is_alone()
    }

    pub(super) fn take(&self) -> RankScratch {
        take(&self.scratch).unwrap_or_default()
    }

    /// Replaces the sums of the nodes by those of the groups. An error of any rank is an error of all.
    pub(super) fn sum(
        &self,
        scratch: &mut RankScratch,
        done: &Result<(), Error>,
        gradients: &mut [Vec<f32>],
    ) -> Result<Vec<LeafSum>, Error> {
        let sums = self.sums(scratch, done)?;
        if !gradients.is_empty() {
            self.gradients(scratch, gradients)?;
        }
        Ok(sums)
    }

    /// Loss and count of every group, on all ranks.
    fn sums(&self, scratch: &mut RankScratch, done: &Result<(), Error>) -> Result<Vec<LeafSum>, Error> {
        let RankScratch { plan, out, words, counts: [counts, _], .. } = scratch;
        out.clear();
        out.push(u32::from(done.is_err()));
        for sum in &scratch.sums {
            let (loss, count) = (sum.loss.to_bits(), sum.count as u64);
            out.extend([loss as u32, (loss >> 32) as u32, count as u32, (count >> 32) as u32]);
        }
        let of_rank = |r: usize| plan.nodes.iter().filter(|node| node.rank == r).count();
        counts.clear();
        counts.extend((0..self.world.ranks()).map(|r| 1 + SUM_WORDS * of_rank(r)));
        // A rank that failed has sums of fewer nodes.
        out.resize(counts[self.world.rank()], 0);
        words.resize(counts.iter().sum(), 0);
        self.world.all_gather(out, words, counts)?;
        let mut nodes = Vec::with_capacity(plan.nodes.len());
        let (mut rest, mut failed) = (&words[..], false);
        for n in &*counts {
            let (mine, others) = rest.split_at(*n);
            rest = others;
            failed |= mine[0] == 1;
            let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
            nodes.extend(
                mine[1..]
                    .chunks_exact(SUM_WORDS)
                    .map(|w| LeafSum { loss: f64::from_bits(wide(w[0], w[1])), count: wide(w[2], w[3]) as usize }),
            );
        }
        if failed {
            // The first error is the one of one process.
            return Err(first_error(&*self.world, done.as_ref().err())?);
        }
        plan.each_sum(&mut |into, from| nodes[into] = nodes[into].plus(nodes[from]));
        Ok(plan.roots().map(|root| root.map_or(LeafSum::default(), |at| nodes[at])).collect())
    }

    /// The gradient of every group, on all ranks. Each rank receives its share of the entries of every node, adds them, and sends the
    /// sums to all.
    fn gradients(&self, scratch: &mut RankScratch, gradients: &mut [Vec<f32>]) -> Result<(), Error> {
        let RankScratch { plan, own, out, words, share, counts: [sent, received], .. } = scratch;
        let (ranks, size) = (self.world.ranks(), gradients[0].len());
        let part = |r: usize| r * size / ranks..(r + 1) * size / ranks;
        let mine = part(self.world.rank());
        out.clear();
        for r in 0..ranks {
            own.iter().for_each(|node| out.extend(node[part(r)].iter().map(|v| v.to_bits())));
        }
        sent.clear();
        sent.extend((0..ranks).map(|r| own.len() * part(r).len()));
        received.clear();
        received.extend((0..ranks).map(|r| mine.len() * plan.nodes.iter().filter(|node| node.rank == r).count()));
        words.resize(received.iter().sum(), 0);
        self.world.all_to_all(out, sent, words, received)?;
        share.clear();
        share.extend(words.iter().map(|w| f32::from_bits(*w)));
        let width = mine.len();
        plan.each_sum(&mut |into, from| {
            let (left, right) = share.split_at_mut(from * width);
            left[into * width..(into + 1) * width].iter_mut().zip(&right[..width]).for_each(|(a, b)| *a += b);
        });
        out.clear();
        for root in plan.roots() {
            match root {
                Some(at) => out.extend(share[at * width..(at + 1) * width].iter().map(|v| v.to_bits())),
                None => out.resize(out.len() + width, 0),
            }
        }
        received.clear();
        received.extend((0..ranks).map(|r| gradients.len() * part(r).len()));
        words.resize(received.iter().sum(), 0);
        self.world.all_gather(out, words, received)?;
        let mut rest = &words[..];
        for r in 0..ranks {
            for gradient in gradients.iter_mut() {
                let (own, others) = rest.split_at(part(r).len());
                rest = others;
                gradient[part(r)].iter_mut().zip(own).for_each(|(g, w)| *g = f32::from_bits(*w));
            }
        }
        Ok(())
    }

    /// Sends the results of the samples of every rank to all ranks.
    pub(super) fn gather(
        &self,
        (ends, leaf): (&[usize], usize),
        results: &mut [SampleResults<'_>],
    ) -> Result<(), Error> {
        if self.alone() {
            return Ok(());
        }
        let mut scratch = self.take();
        let RankScratch { plan, out, words, counts: [counts, _], .. } = &mut scratch;
        plan.set(ends, leaf, self.world.ranks());
        let each: usize = results.iter().map(SampleResults::words).sum();
        out.clear();
        let own = plan.places(self.world.rank());
        results.iter().for_each(|part| part.pack(own.clone(), out));
        counts.clear();
        counts.extend((0..self.world.ranks()).map(|r| each * plan.places(r).len()));
        words.resize(counts.iter().sum(), 0);
        self.world.all_gather(out, words, counts)?;
        let mut rest = &words[..];
        for r in 0..self.world.ranks() {
            let places = plan.places(r);
            for part in results.iter_mut() {
                let (mine, others) = rest.split_at(places.len() * part.words());
                rest = others;
                part.unpack(places.clone(), mine);
            }
        }
        super::forest::put(&self.scratch, scratch);
        Ok(())
    }
}

impl SampleResults<'_> {
    fn words(&self) -> usize {
        match self {
            Self::Floats(_, entries) => *entries,
            Self::Numbers(_) | Self::Flags(_) => 1,
        }
    }

    fn pack(&self, at: Range<usize>, out: &mut Vec<u32>) {
        match self {
            Self::Floats(v, n) => out.extend(v[at.start * n..at.end * n].iter().map(|v| v.to_bits())),
            Self::Numbers(v) => out.extend(v[at].iter().map(|v| u32::from(*v))),
            Self::Flags(v) => out.extend(v[at].iter().map(|v| u32::from(*v))),
        }
    }

    fn unpack(&mut self, at: Range<usize>, words: &[u32]) {
        match self {
            Self::Floats(v, n) => {
                v[at.start * *n..at.end * *n].iter_mut().zip(words).for_each(|(v, w)| *v = f32::from_bits(*w));
            }
            Self::Numbers(v) => v[at].iter_mut().zip(words).for_each(|(v, w)| *v = *w as u16),
            Self::Flags(v) => v[at].iter_mut().zip(words).for_each(|(v, w)| *v = *w != 0),
        }
    }
}

impl RankPlan {
    /// Divides groups that end at these samples, in leaves of this many samples. It depends on nothing else.
    pub(super) fn set(&mut self, ends: &[usize], leaf: usize, ranks: usize) {
        let Self { nodes, cuts, leaves } = self;
        leaves.clear();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        leaves.extend(ends.iter().zip(starts).map(|(end, start)| (end - start).div_ceil(leaf)));
        let all: usize = leaves.iter().sum();
        let step = (all / (ranks * TOLERANCE)).max(1);
        let step = if step.is_power_of_two() { step } else { step.next_power_of_two() / 2 };
        cuts.clear();
        cuts.extend((0..=ranks).map(|r| aligned(leaves, r * all / ranks, step)));
        nodes.clear();
        let (mut first, mut start) = (0, 0);
        for (group, (&count, &end)) in leaves.iter().zip(ends).enumerate() {
            let group = Group { group, first, start, end, leaf, cuts };
            group.divide(0..count, nodes);
            (first, start) = (first + count, end);
        }
    }

    /// The samples of a rank.
    pub(super) fn places(&self, rank: usize) -> Range<usize> {
        let mut own = self.nodes.iter().filter(|node| node.rank == rank);
        let Some(first) = own.next() else { return 0..0 };
        first.places.start..own.next_back().unwrap_or(first).places.end
    }

    /// The node where the sum of each group is after [`each_sum`](Self::each_sum); `None` for a group without samples.
    fn roots(&self) -> impl Iterator<Item = Option<usize>> {
        (0..self.leaves.len()).map(|group| self.nodes.iter().position(|node| node.group == group))
    }

    /// Calls `add(into, from)` for the additions above the nodes, in the order of the trees. The sum of a node is at its first node.
    fn each_sum(&self, add: &mut impl FnMut(usize, usize)) {
        let mut next = 0;
        for count in &self.leaves {
            if *count > 0 {
                self.above(0..*count, &mut next, add);
            }
        }
    }

    fn above(&self, leaves: Range<usize>, next: &mut usize, add: &mut impl FnMut(usize, usize)) -> usize {
        let at = *next;
        if self.nodes[at].leaves == leaves {
            *next += 1;
            return at;
        }
        let middle = leaves.start + half(leaves.len());
        let left = self.above(leaves.start..middle, next, add);
        let right = self.above(middle..leaves.end, next, add);
        add(left, right);
        left
    }
}

/// A group while it is divided.
struct Group<'a> {
    group: usize,
    /// Its first leaf, and its samples.
    first: usize,
    start: usize,
    end: usize,
    leaf: usize,
    cuts: &'a [usize],
}

impl Group<'_> {
    /// Adds the largest nodes that belong to one rank.
    fn divide(&self, leaves: Range<usize>, nodes: &mut Vec<RankNode>) {
        if leaves.is_empty() {
            return;
        }
        let (first, last) = (self.first + leaves.start, self.first + leaves.end - 1);
        let rank = self.cuts.partition_point(|cut| *cut <= first) - 1;
        if last < self.cuts[rank + 1] {
            let places = self.start + leaves.start * self.leaf..(self.start + leaves.end * self.leaf).min(self.end);
            nodes.push(RankNode { group: self.group, leaves, places, rank });
            return;
        }
        let middle = leaves.start + half(leaves.len());
        self.divide(leaves.start..middle, nodes);
        self.divide(middle..leaves.end, nodes);
    }
}

/// The leaves of the left child of a node, as in `forest.rs`.
fn half(leaves: usize) -> usize {
    leaves.next_power_of_two() / 2
}

/// The leaf nearest to `cut` whose place in its group is a multiple of `step`, or the end of the group.
fn aligned(leaves: &[usize], cut: usize, step: usize) -> usize {
    let mut first = 0;
    for count in leaves {
        if cut < first + count {
            return first + ((cut - first + step / 2) / step * step).min(*count);
        }
        first += count;
    }
    first
}

//! Which samples a step sees: all of them, or as many of each group. A batch is a pure function of the seed and the step.

use super::Grouped;
use crate::Error;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// In which order mini-batches go through a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Shuffled for every epoch, from this seed.
    Shuffled(u64),
    /// As the data lies, the same in every epoch.
    AsIs,
}

/// How a step is fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batching {
    /// With everything.
    Whole,
    /// With this many samples in all, as many of each group.
    Balanced {
        /// The size of a batch, a multiple of the number of groups.
        size: usize,
        /// The order within a group.
        order: Order,
    },
}

/// The batch at hand.
#[derive(Debug)]
pub(super) struct Batches {
    /// Samples of each group; `None` for all.
    each: Option<usize>,
    order: Order,
    /// The step of the batch at hand; `None` while it is all the data.
    step: Option<u64>,
    /// The epoch of each group that `shuffled` holds.
    epochs: Vec<Option<u64>>,
    shuffled: Vec<Vec<u32>>,
    rows: Vec<u32>,
    ends: Vec<usize>,
}

impl Batches {
    pub(super) fn new(data: &Grouped, batching: Batching) -> Result<Self, Error> {
        let groups = data.groups();
        let (each, order) = match batching {
            Batching::Whole => (None, Order::AsIs),
            Batching::Balanced { size, order } => {
                if size == 0 || !size.is_multiple_of(groups) {
                    let why = format!("a batch of {size} cannot have as many samples of each of {groups} groups");
                    return Err(Error::Mismatch(format!("{why}; use a multiple of {groups}")));
                }
                (Some(size / groups), order)
            }
        };
        Ok(Self {
            each,
            order,
            step: None,
            epochs: vec![None; groups],
            shuffled: (0..groups).map(|g| data.group(g).to_vec()).collect(),
            rows: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// The rows and the ends of the groups.
    pub(super) fn current<'a>(&'a self, data: &'a Grouped) -> (&'a [u32], &'a [usize]) {
        match self.step {
            Some(_) => (&self.rows, &self.ends),
            None => (data.all().rows.unwrap_or(&[]), data.all().ends),
        }
    }

    /// Moves to batch number `step`; whether anything changed.
    pub(super) fn resample(&mut self, data: &Grouped, step: u64) -> bool {
        let Some(each) = self.each else { return false };
        if self.step == Some(step) {
            return false;
        }
        self.step = Some(step);
        self.rows.clear();
        self.ends.clear();
        for group in 0..data.groups() {
            let all = data.group(group);
            // A group smaller than its share is there whole; what is left over at the end of an epoch waits for the next.
            let each = each.min(all.len());
            let chunks = (all.len() / each) as u64;
            let (epoch, chunk) = (step / chunks, (step % chunks) as usize);
            if let (Order::Shuffled(seed), true) = (self.order, self.epochs[group] != Some(epoch)) {
                self.shuffled[group].copy_from_slice(all);
                shuffle(&mut self.shuffled[group], seed, group, epoch);
                self.epochs[group] = Some(epoch);
            }
            self.rows.extend_from_slice(&self.shuffled[group][chunk * each..(chunk + 1) * each]);
            self.ends.push(self.rows.len());
        }
        true
    }

    /// Back to all the data; whether anything changed.
    pub(super) fn whole(&mut self) -> bool {
        self.step.take().is_some()
    }
}

/// Fisher and Yates, from a stream of its own for every group and epoch.
pub(crate) fn shuffle(rows: &mut [u32], seed: u64, group: usize, epoch: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(((group as u64) << 40) ^ epoch);
    for i in (1..rows.len()).rev() {
        // The high bits of a product map 32 random bits onto 0..=i; the bias is below 2^-32 * rows.
        let j = (u64::from(random.next_u32()) * (i as u64 + 1)) >> 32;
        rows.swap(i, j as usize);
    }
}

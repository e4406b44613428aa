//! Mini-batches: a pure function of the seed and the step, so that a continued run needs no saved state.

use super::Groups;
use crate::Error;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// The order of the samples within an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Shuffled for every epoch, from this seed.
    Shuffled(u64),
    /// The order of the data, the same in every epoch.
    AsIs,
}

/// The samples that a step uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batching {
    /// All samples in every step.
    Whole,
    /// Mini-batches with the same number of samples of each group. The samples that are left at the end of an epoch, too few for a
    /// batch, are skipped. A group smaller than its share takes part with all its samples.
    Balanced {
        /// The size of a batch, a multiple of the number of groups.
        size: usize,
        /// The order within a group.
        order: Order,
    },
    /// Mini-batches of one size, whatever the groups. Epochs follow each other without a gap: a batch may hold the end of one epoch
    /// and the beginning of the next, and every sample is used once in each.
    Size {
        /// The size of a batch.
        size: usize,
        /// The order within an epoch.
        order: Order,
    },
}

/// The current mini-batch, or all data.
#[derive(Debug)]
pub(crate) struct Batches {
    groups: Groups,
    /// `None` where every step uses all data.
    drawing: Option<Drawing>,
    /// The step of the current mini-batch; `None` for all data.
    step: Option<u64>,
    queues: Vec<Queue>,
    rows: Vec<u32>,
    ends: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Drawing {
    /// Samples of each group in a mini-batch.
    each: usize,
    order: Order,
    /// If true, a mini-batch may continue into the next epoch.
    gapless: bool,
}

/// The samples of one group in the order of one epoch.
#[derive(Debug)]
struct Queue {
    epoch: Option<u64>,
    rows: Vec<u32>,
}

impl Batches {
    /// All data at first, until [`resample`](Self::resample). [`Batching::Size`] needs a single group.
    pub(crate) fn new(groups: Groups, batching: Batching) -> Result<Self, Error> {
        let drawing = match batching {
            Batching::Whole => None,
            Batching::Balanced { size, order } => {
                let count = groups.len();
                if size == 0 || !size.is_multiple_of(count) {
                    let why = format!("a batch of {size} cannot have as many samples of each of {count} groups");
                    return Err(Error::Mismatch(format!("{why}; use a multiple of {count}")));
                }
                Some(Drawing { each: size / count, order, gapless: false })
            }
            Batching::Size { size, order } => {
                let n = groups.order().len();
                if groups.len() != 1 {
                    let why = "a batch of any samples may have none of a group; use `Batching::Balanced`";
                    return Err(Error::Mismatch(why.into()));
                }
                if size == 0 || size > n {
                    return Err(Error::Mismatch(format!("a batch of {size} from {n} samples: want 1 to {n}")));
                }
                Some(Drawing { each: size, order, gapless: true })
            }
        };
        let queue = |group| Queue { epoch: None, rows: groups.rows(group).to_vec() };
        let queues = (0..groups.len()).map(queue).collect();
        Ok(Self { groups, drawing, step: None, queues, rows: Vec::new(), ends: Vec::new() })
    }

    /// The rows of the data, group by group.
    pub(crate) fn rows(&self) -> &[u32] {
        if self.step.is_some() { &self.rows } else { self.groups.order() }
    }

    /// The end of each group in the rows.
    pub(crate) fn ends(&self) -> &[usize] {
        if self.step.is_some() { &self.ends } else { self.groups.ends() }
    }

    /// The step of the current mini-batch; `None` for all data.
    pub(crate) fn step(&self) -> Option<u64> {
        self.step
    }

    /// The seed of the order; 0 without one.
    pub(crate) fn seed(&self) -> u64 {
        match self.drawing.map(|drawing| drawing.order) {
            Some(Order::Shuffled(seed)) => seed,
            _ => 0,
        }
    }

    /// True if steps use mini-batches.
    pub(crate) fn draws(&self) -> bool {
        self.drawing.is_some()
    }

    /// The number of samples of each group in a mini-batch, or in all data where every step uses it.
    pub(crate) fn sizes(&self) -> Vec<f64> {
        let drawn = |size: usize| self.drawing.map_or(size, |drawing| drawing.each.min(size));
        self.groups.sizes().into_iter().map(|size| drawn(size) as f64).collect()
    }

    /// Moves to the mini-batch of a step; returns whether anything changed.
    pub(crate) fn resample(&mut self, step: u64) -> bool {
        let Some(Drawing { each, order, gapless }) = self.drawing else { return false };
        if self.step == Some(step) {
            return false;
        }
        self.step = Some(step);
        self.rows.clear();
        self.ends.clear();
        for (group, queue) in self.queues.iter_mut().enumerate() {
            let all = self.groups.rows(group);
            let mut left = each.min(all.len());
            let (mut epoch, mut from) = place(step, left, all.len(), gapless);
            while left > 0 {
                queue.prepare(all, order, group, epoch);
                let count = left.min(all.len() - from);
                self.rows.extend_from_slice(&queue.rows[from..from + count]);
                (left, epoch, from) = (left - count, epoch + 1, 0);
            }
            self.ends.push(self.rows.len());
        }
        true
    }

    /// Returns to all data; returns whether anything changed.
    pub(crate) fn whole(&mut self) -> bool {
        self.step.take().is_some()
    }
}

/// The epoch of a group, and the place in it, where the part of a step begins.
fn place(step: u64, each: usize, samples: usize, gapless: bool) -> (u64, usize) {
    if each == 0 {
        return (0, 0);
    }
    if gapless {
        let (next, n) = (u128::from(step) * each as u128, samples as u128);
        return ((next / n) as u64, (next % n) as usize);
    }
    let parts = (samples / each) as u64;
    (step / parts, (step % parts) as usize * each)
}

impl Queue {
    /// The order of an epoch; `all` are the samples of the group.
    fn prepare(&mut self, all: &[u32], order: Order, group: usize, epoch: u64) {
        if let (Order::Shuffled(seed), true) = (order, self.epoch != Some(epoch)) {
            self.rows.copy_from_slice(all);
            shuffle(&mut self.rows, seed, group, epoch);
            self.epoch = Some(epoch);
        }
    }
}

/// Fisher and Yates, with a random stream for every group and epoch.
fn shuffle(rows: &mut [u32], seed: u64, group: usize, epoch: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(((group as u64) << 40) ^ epoch);
    for i in (1..rows.len()).rev() {
        // The high bits of a product map 32 random bits onto 0..=i; the bias is below 2^-32 * rows.
        let j = (u64::from(random.next_u32()) * (i as u64 + 1)) >> 32;
        rows.swap(i, j as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(order: Order, size: usize, steps: std::ops::Range<u64>) -> Vec<u32> {
        let mut batches = Batches::new(Groups::single(10), Batching::Size { size, order }).unwrap();
        let mut rows = Vec::new();
        for step in steps {
            batches.resample(step);
            assert_eq!(batches.rows().len(), size);
            rows.extend_from_slice(batches.rows());
        }
        rows
    }

    #[test]
    fn every_epoch_has_every_sample_once_though_batches_do_not_divide_it() {
        for order in [Order::AsIs, Order::Shuffled(3)] {
            let rows = stream(order, 4, 0..10);
            for epoch in rows.chunks(10) {
                let mut sorted = epoch.to_vec();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..10).collect::<Vec<u32>>());
            }
            assert_eq!(rows[..10] == rows[10..20], order == Order::AsIs);
        }
    }

    #[test]
    fn a_batch_is_a_function_of_its_step_alone() {
        let whole = stream(Order::Shuffled(5), 4, 0..12);
        assert_eq!(whole[28..], stream(Order::Shuffled(5), 4, 7..12));
        assert_ne!(whole, stream(Order::Shuffled(6), 4, 0..12));
    }

    #[test]
    fn batches_of_none_or_of_too_many_are_refused() {
        for size in [0, 11] {
            let refused = Batches::new(Groups::single(10), Batching::Size { size, order: Order::AsIs });
            assert!(refused.unwrap_err().to_string().contains("want 1 to 10"));
        }
        let groups = Groups::new(&[0, 1, 1], 2).unwrap();
        let refused = |batching| Batches::new(groups.clone(), batching).unwrap_err().to_string();
        let order = Order::AsIs;
        assert!(refused(Batching::Balanced { size: 3, order }).contains("use a multiple of 2"));
        assert!(refused(Batching::Size { size: 2, order }).contains("use `Batching::Balanced`"));
    }

    #[test]
    fn a_balanced_batch_has_as_many_of_each_group_and_skips_the_rest_of_an_epoch() {
        let groups = Groups::new(&[0, 1, 0, 1, 0, 1, 0, 0, 2], 3).unwrap();
        let mut batches = Batches::new(groups, Batching::Balanced { size: 6, order: Order::AsIs }).unwrap();
        assert_eq!((batches.rows().len(), batches.step()), (9, None));
        let mut rows = |step| {
            assert!(batches.resample(step) && !batches.resample(step));
            assert_eq!(batches.ends(), [2, 4, 5]);
            batches.rows().to_vec()
        };
        assert_eq!(rows(0), [0, 2, 1, 3, 8]);
        assert_eq!(rows(1), [4, 6, 1, 3, 8]);
        assert_eq!(rows(2), [0, 2, 1, 3, 8]);
        assert!(batches.whole() && !batches.whole());
        assert_eq!(batches.ends(), [5, 8, 9]);
    }

    /// The batches of version 0.1, so that a continued run uses the same samples.
    #[test]
    fn the_order_of_an_epoch_never_changes() {
        assert_eq!(stream(Order::Shuffled(3), 5, 0..2), [2, 4, 6, 3, 9, 7, 0, 8, 5, 1]);
        let groups = Groups::new(&[0, 1, 0, 1, 0, 1, 0, 1], 2).unwrap();
        let mut batches = Batches::new(groups, Batching::Balanced { size: 4, order: Order::Shuffled(7) }).unwrap();
        batches.resample(5);
        assert_eq!(batches.rows(), [0, 4, 3, 1]);
    }
}

//! Which samples a step sees: a pure function of the seed and the step.

use super::Labelled;
use crate::Error;
use crate::fair::{Order, shuffle};

/// How a step is fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batching {
    /// With everything: for measuring.
    Whole,
    /// With this many samples. Epochs follow each other without a gap: a batch may hold the end of one and the beginning of the
    /// next, every sample is seen once in each, and all batches have one size.
    Size {
        /// The size of a batch.
        size: usize,
        /// The order within an epoch.
        order: Order,
    },
}

/// The batch at hand.
#[derive(Debug)]
pub(in crate::games) struct Batches {
    size: usize,
    order: Order,
    /// The step of the batch at hand; `None` for all the data.
    step: Option<u64>,
    /// The epoch that `shuffled` holds.
    epoch: Option<u64>,
    shuffled: Vec<u32>,
    rows: Vec<u32>,
}

impl Batches {
    /// Starts at batch 0.
    pub(in crate::games) fn new(data: &Labelled, batching: Batching) -> Result<Self, Error> {
        let n = data.len();
        let (size, order) = match batching {
            Batching::Whole => (n, Order::AsIs),
            Batching::Size { size, order } => (size, order),
        };
        if size == 0 || size > n {
            return Err(Error::Mismatch(format!("a batch of {size} from {n} samples: want 1 to {n}")));
        }
        let rows: Vec<u32> = (0..n as u32).collect();
        let mut new = Self { size, order, step: None, epoch: None, shuffled: rows.clone(), rows };
        if batching != Batching::Whole {
            new.step = Some(u64::MAX);
            new.resample(0);
        }
        Ok(new)
    }

    /// The rows of the batch.
    pub(in crate::games) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Its number; `None` for all the data.
    pub(in crate::games) fn step(&self) -> Option<u64> {
        self.step
    }

    /// Moves to batch number `step`; whether anything changed.
    pub(in crate::games) fn resample(&mut self, step: u64) -> bool {
        if self.step.is_none() || self.step == Some(step) {
            return false;
        }
        self.step = Some(step);
        self.rows.clear();
        let n = self.shuffled.len() as u128;
        let mut next = u128::from(step) * self.size as u128;
        while self.rows.len() < self.size {
            let (epoch, from) = ((next / n) as u64, (next % n) as usize);
            self.prepare(epoch);
            let count = (self.size - self.rows.len()).min(self.shuffled.len() - from);
            self.rows.extend_from_slice(&self.shuffled[from..from + count]);
            next += count as u128;
        }
        true
    }

    fn prepare(&mut self, epoch: u64) {
        let (Order::Shuffled(seed), true) = (self.order, self.epoch != Some(epoch)) else { return };
        for (i, row) in self.shuffled.iter_mut().enumerate() {
            *row = i as u32;
        }
        shuffle(&mut self.shuffled, seed, 0, epoch);
        self.epoch = Some(epoch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn data(n: usize) -> Labelled {
        Labelled::floats(vec![0.0; n], Shape::vector(1), vec![0; n]).unwrap()
    }

    fn stream(order: Order, size: usize, steps: std::ops::Range<u64>) -> Vec<u32> {
        let mut batches = Batches::new(&data(10), Batching::Size { size, order }).unwrap();
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
            let refused = Batches::new(&data(10), Batching::Size { size, order: Order::AsIs });
            assert!(refused.unwrap_err().to_string().contains("want 1 to 10"));
        }
    }
}

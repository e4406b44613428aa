//! Threads that share the work of one pass. They change no result: work is divided by its shape only, and partial sums
//! are added in a fixed order.

use crate::Error;

#[cfg(feature = "threads")]
use std::sync::Arc;

/// A number of threads; the default is one, the caller's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Threads {
    #[cfg(feature = "threads")]
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl Threads {
    /// Uses that many threads; 0 means one per core. Without the feature `threads` there is always one.
    #[cfg(feature = "threads")]
    pub(crate) fn new(count: usize) -> Result<Self, Error> {
        let count = match count {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        if count == 1 {
            return Ok(Self::default());
        }
        let built = rayon::ThreadPoolBuilder::new().num_threads(count).build();
        let pool = built.map_err(|e| Error::Threads { count, why: e.to_string() })?;
        Ok(Self { pool: Some(Arc::new(pool)) })
    }

    /// One thread: the feature `threads` is off.
    #[cfg(not(feature = "threads"))]
    pub(crate) fn new(_: usize) -> Result<Self, Error> {
        Ok(Self::default())
    }

    /// The number of threads.
    pub(crate) fn count(&self) -> usize {
        #[cfg(feature = "threads")]
        let count = self.pool.as_ref().map_or(1, |pool| pool.current_num_threads());
        #[cfg(not(feature = "threads"))]
        let count = 1;
        count
    }

    /// Runs a task that may split its work among these threads.
    pub(crate) fn run<T: Send>(&self, task: impl FnOnce(Team) -> T + Send) -> T {
        #[cfg(feature = "threads")]
        if let Some(pool) = &self.pool {
            return pool.install(|| task(Team { shared: true }));
        }
        task(Team::ALONE)
    }
}

/// Splits the work of a task in two, recursively.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Team {
    shared: bool,
}

impl Team {
    /// A team without other threads.
    pub(crate) const ALONE: Self = Self { shared: false };

    /// This team if the work is large enough, otherwise a team without other threads.
    pub(crate) fn if_worth(self, worth: bool) -> Self {
        Self { shared: self.shared && worth }
    }

    /// Runs both closures, in parallel if there are other threads.
    pub(crate) fn join<A: Send, B: Send>(self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        #[cfg(feature = "threads")]
        if self.shared {
            return rayon::join(a, b);
        }
        (a(), b())
    }

    /// Calls `work(start, part)` on parts of `out` that begin at multiples of `block`. Without other threads there is
    /// one part, so the result must not depend on the division.
    pub(crate) fn parts<T: Send>(self, out: &mut [T], block: usize, work: &(impl Fn(usize, &mut [T]) + Sync)) {
        self.parts_from(0, out, block, work);
    }

    fn parts_from<T: Send>(self, start: usize, out: &mut [T], block: usize, work: &(impl Fn(usize, &mut [T]) + Sync)) {
        if !self.shared || out.len() <= block {
            work(start, out);
            return;
        }
        let half = out.len().div_ceil(block) / 2 * block;
        let (left, right) = out.split_at_mut(half);
        self.join(|| self.parts_from(start, left, block, work), || self.parts_from(start + half, right, block, work));
    }

    /// Sums vectors of equal length. `slots` has one vector per part, and `work(part, slot)` adds to it, starting from
    /// zeros. The sum ends up in the first slot; it is pairwise over the parts, so its order depends only on their
    /// number.
    pub(crate) fn sum_parts(self, slots: &mut [f64], width: usize, work: &(impl Fn(usize, &mut [f64]) + Sync)) {
        self.sum_from(0, slots, width, work);
    }

    fn sum_from(self, first: usize, slots: &mut [f64], width: usize, work: &(impl Fn(usize, &mut [f64]) + Sync)) {
        let count = slots.len() / width;
        if count == 1 {
            slots.fill(0.0);
            work(first, slots);
            return;
        }
        let half = count / 2;
        let (left, right) = slots.split_at_mut(half * width);
        self.join(|| self.sum_from(first, left, width, work), || self.sum_from(first + half, right, width, work));
        left.iter_mut().zip(right.iter()).take(width).for_each(|(l, r)| *l += r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once_and_sums_have_one_order() {
        let mut sums = Vec::new();
        for count in [1, 2, 3, 8] {
            let threads = Threads::new(count).unwrap();
            let mut out = vec![0; 1000];
            let mut slots = vec![7.0; 13 * 3];
            threads.run(|team| {
                team.parts(&mut out, 7, &|start, part| part.iter_mut().enumerate().for_each(|(i, o)| *o += start + i));
                team.sum_parts(&mut slots, 3, &|part, slot| {
                    slot.iter_mut().enumerate().for_each(|(i, s)| *s += 0.1 * (part * 3 + i) as f64);
                });
            });
            assert!(out.iter().enumerate().all(|(i, o)| i == *o));
            sums.push([slots[0].to_bits(), slots[1].to_bits(), slots[2].to_bits()]);
        }
        assert!(sums.iter().all(|s| *s == sums[0]));
    }
}

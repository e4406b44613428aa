//! A gate for computations: only a few at once, so that many requests share the machine and none is lost in a crowd.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Computations at once.
const AT_ONCE: usize = 2;
/// The longest time that a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(20);

/// Counts the computations.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    inside: Mutex<usize>,
    left: Condvar,
}

/// A computation inside the gate; it leaves when it is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct Pass<'g>(&'g Gate);

impl Gate {
    /// Waits for a turn; `None` if it does not come.
    pub(crate) fn enter(&self) -> Option<Pass<'_>> {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.left.wait_timeout_while(inside, PATIENCE, |inside| *inside >= AT_ONCE);
        let (mut inside, wait) = waited.unwrap_or_else(PoisonError::into_inner);
        if wait.timed_out() {
            return None;
        }
        *inside += 1;
        Some(Pass(self))
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        *self.0.inside.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_computation_waits_for_one_to_leave() {
        let gate = Gate::default();
        let (first, _second) = (gate.enter().expect("a turn"), gate.enter().expect("a turn"));
        std::thread::scope(|scope| {
            let third = scope.spawn(|| gate.enter().is_some());
            std::thread::sleep(Duration::from_millis(30));
            assert!(!third.is_finished());
            drop(first);
            assert!(third.join().expect("no panic"));
        });
        assert_eq!(*gate.inside.lock().expect("not poisoned"), 1);
    }
}

//! Progress of the attacks, with an estimate of the time left.

use std::cell::RefCell;
use std::time::Instant;

use standoff_nn::attack::{Attack, Progress, Protocol};
use standoff_train::attack::AttackEvent;

use crate::progress::{Bars, Step};
use crate::screen::Screen;
use standoff_present::number::{count, duration, plural, short};

/// The cost of a forward pass relative to a forward and a backward pass.
const FORWARD: f64 = 0.45;
/// The cost of the proof and the checks of one eps, in passes of an image.
const CHECKS: f64 = 20.0;

/// Shows the progress of all attacks of all eps.
pub(crate) struct AttackBar {
    /// The expected cost of every attack of every eps, relative to the others.
    work: Vec<Vec<f64>>,
    eps: Vec<f64>,
    state: RefCell<State>,
}

struct State {
    bars: Bars,
    begun: Instant,
    /// The eps that is being attacked.
    block: usize,
    /// The time when it began.
    last: Instant,
}

impl AttackBar {
    pub(crate) fn new(screen: &Screen, protocols: &[Protocol], outputs: usize) -> Self {
        let now = Instant::now();
        let work = |protocol: &Protocol| protocol.attacks.iter().map(|attack| work(attack, outputs)).collect();
        Self {
            work: protocols.iter().map(work).collect(),
            eps: protocols.iter().map(|protocol| protocol.ball.eps).collect(),
            state: RefCell::new(State { bars: Bars::new(screen), begun: now, block: 0, last: now }),
        }
    }

    /// Shows an event.
    pub(crate) fn show(&self, event: AttackEvent<'_>) {
        match event {
            AttackEvent::Begin(block) => {
                let mut state = self.state.borrow_mut();
                (state.block, state.last) = (block, Instant::now());
            }
            // The time of the proof before the attacks does not count for the time left.
            AttackEvent::Attacks => {
                let mut state = self.state.borrow_mut();
                let proof = state.last.elapsed();
                state.begun += proof;
            }
            AttackEvent::Attack(progress) => self.attack(&progress),
            AttackEvent::Proof { done, of } => {
                self.phase(&format!("proving {} of {}", count(done as u64), plural(of as u64, "image")));
            }
            AttackEvent::Masking => self.phase("checking"),
            AttackEvent::End => self.state.borrow_mut().bars.clear(),
        }
    }

    fn attack(&self, progress: &Progress<'_>) {
        let State { bars, begun, block, .. } = &mut *self.state.borrow_mut();
        bars.update(|| vec![self.step(*block, progress, begun.elapsed().as_secs_f64())]);
    }

    fn phase(&self, what: &str) {
        let State { bars, block, .. } = &mut *self.state.borrow_mut();
        bars.update(|| vec![Step { share: None, text: format!("eps {}  {what}", short(self.eps[*block])) }]);
    }

    fn step(&self, block: usize, p: &Progress<'_>, elapsed: f64) -> Step {
        let sum = |work: &[f64]| work.iter().sum::<f64>();
        let before: f64 =
            self.work[..block].iter().map(|w| sum(w) + CHECKS).sum::<f64>() + sum(&self.work[block][..p.index]);
        let all: f64 = self.work.iter().map(|w| sum(w) + CHECKS).sum();
        let share = (before + p.done * self.work[block][p.index]) / all;
        let rest = duration(elapsed * (1.0 - share) / share);
        let left = if share > 0.0 { format!("  about {rest} left") } else { String::new() };
        let (eps, standing, percent) = (short(self.eps[block]), count(p.standing as u64), 100.0 * p.done);
        let of = format!("{}/{}", p.index + 1, p.of);
        let text = format!("eps {eps}  {of} {} {percent:.0}%  {standing} images not broken{left}", p.attack);
        Step { share: Some(share), text }
    }
}

/// Passes of one image that no attack breaks.
fn work(attack: &Attack, outputs: usize) -> f64 {
    let others = outputs.saturating_sub(1).max(1);
    match *attack {
        Attack::Fgsm => 1.0,
        Attack::Pgd { steps, restarts, .. }
        | Attack::Apgd { steps, restarts, .. }
        | Attack::Smooth { steps, restarts } => (steps * restarts) as f64,
        Attack::Targeted { steps, restarts } => (steps * restarts * others) as f64,
        Attack::ApgdTargeted { steps, targets, restarts } | Attack::Fab { steps, targets, restarts } => {
            (steps * targets.min(others) * restarts) as f64
        }
        Attack::Square { queries } => FORWARD * queries as f64,
        Attack::Random { tries } => FORWARD * tries as f64,
    }
}

//! How far the attacks are: a line that rewrites itself, or one line a minute where there is no terminal.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use standoff_nn::attack::{Attack, Progress, Protocol};
use standoff_train::attack::AttackEvent;

use crate::number::{count, duration, plural, short};
use crate::present::live::{LiveLine, bar};
use crate::present::screen::Screen;

/// Between lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(60);
/// Letters of a bar.
const BAR: usize = 18;
/// What a pass forward only costs, beside one that goes back too.
const FORWARD: f64 = 0.45;
/// What the proof and the checks of an eps cost, in passes of an image.
const CHECKS: f64 = 20.0;

/// Shows the progress of all attacks of all eps.
pub(crate) struct AttackBar<'a> {
    screen: &'a Screen,
    /// What every attack of every eps is expected to cost, relative to the others.
    work: Vec<Vec<f64>>,
    eps: Vec<f64>,
    state: RefCell<State>,
}

struct State {
    line: LiveLine,
    begun: Instant,
    due: Instant,
    /// The eps that is being attacked.
    block: usize,
    /// When it began.
    last: Instant,
}

impl<'a> AttackBar<'a> {
    pub(crate) fn new(screen: &'a Screen, protocols: &[Protocol], outputs: usize) -> Self {
        let now = Instant::now();
        let work = |protocol: &Protocol| protocol.attacks.iter().map(|attack| work(attack, outputs)).collect();
        Self {
            screen,
            work: protocols.iter().map(work).collect(),
            eps: protocols.iter().map(|protocol| protocol.ball.eps).collect(),
            state: RefCell::new(State { line: LiveLine::new(), begun: now, due: now + PAUSE, block: 0, last: now }),
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
            AttackEvent::End => self.state.borrow_mut().line.clear(),
        }
    }

    fn attack(&self, progress: &Progress<'_>) {
        let state = &mut *self.state.borrow_mut();
        let now = Instant::now();
        let text = || self.line(state.block, progress, (now - state.begun).as_secs_f64());
        if self.screen.is_live() {
            state.line.update(text);
        } else if now >= state.due {
            self.screen.progress(&text());
            state.due = now + PAUSE;
        }
    }

    fn phase(&self, what: &str) {
        let mut state = self.state.borrow_mut();
        let eps = short(self.eps[state.block]);
        if self.screen.is_live() {
            state.line.update(|| format!("eps {eps}  {what}"));
        }
    }

    fn line(&self, block: usize, p: &Progress<'_>, elapsed: f64) -> String {
        let sum = |work: &[f64]| work.iter().sum::<f64>();
        let before: f64 =
            self.work[..block].iter().map(|w| sum(w) + CHECKS).sum::<f64>() + sum(&self.work[block][..p.index]);
        let all: f64 = self.work.iter().map(|w| sum(w) + CHECKS).sum();
        let share = (before + p.done * self.work[block][p.index]) / all;
        let left = if share > 0.0 {
            format!("  about {} left", duration(elapsed * (1.0 - share) / share))
        } else {
            String::new()
        };
        let of = format!("{}/{}", p.index + 1, p.of);
        let (eps, standing) = (short(self.eps[block]), count(p.standing as u64));
        let done = bar(share, BAR);
        format!("{done} eps {eps}  {of} {} {:.0}%  {standing} images stand{left}", p.attack, 100.0 * p.done)
    }
}

/// Passes of one image, if it does not fall.
fn work(attack: &Attack, outputs: usize) -> f64 {
    let others = outputs.saturating_sub(1).max(1);
    match *attack {
        Attack::Fgsm => 1.0,
        Attack::Pgd { steps, restarts, .. }
        | Attack::Apgd { steps, restarts, .. }
        | Attack::Smooth { steps, restarts } => (steps * restarts) as f64,
        Attack::Targeted { steps, restarts } => (steps * restarts * others) as f64,
        Attack::ApgdTargeted { steps, targets, restarts } => (steps * targets.min(others) * restarts) as f64,
        Attack::Square { queries } => FORWARD * queries as f64,
        Attack::Random { tries } => FORWARD * tries as f64,
    }
}

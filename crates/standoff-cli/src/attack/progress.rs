//! How far the attacks are: a line that rewrites itself, or one line a minute where there is no terminal; and the time of each attack.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use standoff_nn::attack::{Attack, Progress, Protocol};

use crate::live::{LiveLine, bar};
use crate::number::{count, duration, short};
use crate::screen::Screen;

/// Between lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(60);
/// Letters of a bar.
const BAR: usize = 18;
/// What a pass forward only costs, beside one that goes back too.
const FORWARD: f64 = 0.45;
/// What the proof and the checks of an eps cost, in passes of an image.
const CHECKS: f64 = 20.0;

/// Watches all attacks of all eps.
pub(crate) struct Watch<'a> {
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
    /// Where the last attack stopped the clock.
    last: Instant,
    /// The seconds of every attack of this eps.
    seconds: Vec<f64>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(screen: &'a Screen, protocols: &[Protocol], outputs: usize) -> Self {
        let now = Instant::now();
        let work = |protocol: &Protocol| protocol.attacks.iter().map(|attack| work(attack, outputs)).collect();
        Self {
            screen,
            work: protocols.iter().map(work).collect(),
            eps: protocols.iter().map(|protocol| protocol.ball.eps).collect(),
            state: RefCell::new(State {
                line: LiveLine::new(),
                begun: now,
                due: now + PAUSE,
                block: 0,
                last: now,
                seconds: Vec::new(),
            }),
        }
    }

    /// The attacks of an eps begin.
    pub(crate) fn begin(&self, block: usize) {
        let mut state = self.state.borrow_mut();
        (state.block, state.last) = (block, Instant::now());
        state.seconds = vec![0.0; self.work[block].len()];
    }

    /// The first attack starts: what the proof before it took counts neither for its time nor for the time left.
    pub(crate) fn start(&self) {
        let mut state = self.state.borrow_mut();
        let now = Instant::now();
        let proof = now - state.last;
        state.begun += proof;
        state.last = now;
    }

    /// An attack has come so far.
    pub(crate) fn tell(&self, progress: Progress<'_>) {
        let state = &mut *self.state.borrow_mut();
        let now = Instant::now();
        if let Some(seconds) = state.seconds.get_mut(progress.index) {
            *seconds += (now - state.last).as_secs_f64();
        }
        state.last = now;
        let text = || self.line(state.block, &progress, (now - state.begun).as_secs_f64());
        if self.screen.is_live() {
            state.line.update(text);
        } else if now >= state.due {
            self.screen.progress(&text());
            state.due = now + PAUSE;
        }
    }

    /// Something other than an attack is done.
    pub(crate) fn say(&self, what: &str) {
        let mut state = self.state.borrow_mut();
        let eps = short(self.eps[state.block]);
        if self.screen.is_live() {
            state.line.update(|| format!("eps {eps}  {what}"));
        }
    }

    /// The attacks of this eps are over: the seconds of each.
    pub(crate) fn seconds(&self) -> Vec<f64> {
        std::mem::take(&mut self.state.borrow_mut().seconds)
    }

    /// The line goes.
    pub(crate) fn end(&self) {
        self.state.borrow_mut().line.clear();
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

//! Movement of the pair during a run, to distinguish progress from cycling.

use crate::method::{Method, Visitor};
use crate::{Game, Oracle, Point, StopReason};

/// Movement of the pair in one segment of the run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Stretch {
    /// The length of the path.
    pub(super) path: f64,
    /// The largest distance from the first point of the segment.
    pub(super) far: f64,
}

/// Movement of the pair over the run. Each segment is twice as long as the one before, as in Brent's cycle detection,
/// so the last complete segment covers any cycle that was repeated a few times.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Movement {
    /// The last complete segment.
    pub(super) last: Stretch,
    /// The segment in which the run ended.
    pub(super) current: Stretch,
    /// Distance of the end from the start, in units of one plus the length of the start.
    pub(super) away: f64,
}

/// A method whose movement is recorded.
pub(super) struct Watched<'m, G: Game> {
    method: Box<dyn Method<G> + 'm>,
    movement: Movement,
    start: Vec<f64>,
    anchor: Vec<f64>,
    before: Vec<f64>,
    now: Vec<f64>,
    steps: u64,
}

impl<'m, G: Game<Real = f64>> Watched<'m, G> {
    pub(super) fn new(method: Box<dyn Method<G> + 'm>) -> Self {
        let empty = Vec::new;
        Self {
            method,
            movement: Movement::default(),
            start: empty(),
            anchor: empty(),
            before: empty(),
            now: empty(),
            steps: 0,
        }
    }

    pub(super) fn movement(&self) -> Movement {
        self.movement
    }

    fn note(&mut self, z: &Point<f64>) {
        self.now.clear();
        self.now.extend_from_slice(&z.x);
        self.now.extend_from_slice(&z.y);
        let m = &mut self.movement;
        if self.steps == 0 {
            self.start.clone_from(&self.now);
        } else {
            m.current.path += distance(&self.now, &self.before);
            m.current.far = m.current.far.max(distance(&self.now, &self.anchor));
        }
        if self.steps.is_power_of_two() || self.steps == 0 {
            m.last = m.current;
            m.current = Stretch::default();
            self.anchor.clone_from(&self.now);
        }
        let home = self.start.iter().map(|v| v * v).sum::<f64>().sqrt();
        m.away = distance(&self.now, &self.start) / (1.0 + home);
        std::mem::swap(&mut self.before, &mut self.now);
        self.steps += 1;
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

impl<G: Game<Real = f64>> Method<G> for Watched<'_, G> {
    fn answer(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<f64>) -> Result<(), StopReason> {
        self.method.answer(f, z)
    }

    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<f64>) -> Result<(), StopReason> {
        let moved = self.method.advance(f, z);
        self.note(z);
        moved
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<f64>) {
        self.method.visit(visitor);
    }
}

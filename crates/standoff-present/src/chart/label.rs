//! Names beside the ends of lines, if there is room.

/// A rectangle in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Rect {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn holds(&self, other: &Self) -> bool {
        self.left <= other.left && other.right <= self.right && self.top <= other.top && other.bottom <= self.bottom
    }

    fn has(&self, p: (f64, f64)) -> bool {
        (self.left..=self.right).contains(&p.0) && (self.top..=self.bottom).contains(&p.1)
    }
}

/// The occupied parts of a chart.
#[derive(Debug)]
pub(super) struct Space {
    inside: Rect,
    taken: Vec<Rect>,
    ink: Vec<(f64, f64)>,
}

/// Between an end and its name.
const OFF: f64 = 8.0;
/// Pixels between the samples of a line: less than half a letter.
const SAMPLE: f64 = 3.0;

impl Space {
    pub(super) fn new(inside: Rect) -> Self {
        Self { inside, taken: Vec::new(), ink: Vec::new() }
    }

    /// Occupies the points of a line.
    pub(super) fn run(&mut self, points: &[(f64, f64)]) {
        for pair in points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let steps = ((b.0 - a.0).hypot(b.1 - a.1) / SAMPLE).ceil().clamp(1.0, 1000.0) as u32;
            for k in 0..=steps {
                let t = f64::from(k) / f64::from(steps);
                self.ink.push((a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1)));
            }
        }
    }

    /// Occupies a square around a point.
    pub(super) fn block(&mut self, at: (f64, f64), half: f64) {
        let (x, y) = at;
        self.taken.push(Rect { left: x - half, top: y - half, right: x + half, bottom: y + half });
    }

    /// A free rectangle of that size beside `at`, taken from now on; `None` if every side is taken.
    pub(super) fn place(&mut self, at: (f64, f64), size: (f64, f64)) -> Option<Rect> {
        let (w, h) = size;
        let (right, left, middle) = (at.0 + OFF, at.0 - OFF - w, at.0 - 0.5 * w);
        let (above, below, level) = (at.1 - OFF - h, at.1 + OFF, at.1 - 0.5 * h);
        let corners = [
            (right, level),
            (right, above),
            (right, below),
            (middle, above),
            (middle, below),
            (left, level),
            (left, above),
            (left, below),
        ];
        let free = |r: &Rect| {
            self.inside.holds(r) && !self.taken.iter().any(|t| t.meets(r)) && !self.ink.iter().any(|p| r.has(*p))
        };
        let rects = corners.map(|(left, top)| Rect { left, top, right: left + w, bottom: top + h });
        let found = rects.into_iter().find(free)?;
        self.taken.push(found);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        Space::new(Rect { left: 0.0, top: 0.0, right: 200.0, bottom: 100.0 })
    }

    #[test]
    fn names_never_overlap_each_other_or_leave_the_chart() {
        let mut space = space();
        let placed: Vec<Rect> =
            (0..40).filter_map(|k| space.place((f64::from(k % 7) * 30.0, 50.0 + f64::from(k)), (40.0, 12.0))).collect();
        assert!(placed.len() > 5, "{}", placed.len());
        for (i, a) in placed.iter().enumerate() {
            assert!(space.inside.holds(a));
            assert!(placed[i + 1..].iter().all(|b| !a.meets(b)));
        }
    }

    #[test]
    fn a_name_keeps_off_the_lines() {
        let mut space = space();
        space.run(&[(100.0, 50.0), (200.0, 50.0)]);
        let rect = space.place((100.0, 50.0), (40.0, 12.0)).unwrap();
        assert!(rect.bottom < 50.0 || rect.top > 50.0, "{rect:?}");
        for y in 0..20 {
            space.run(&[(0.0, f64::from(y) * 5.0), (200.0, f64::from(y) * 5.0)]);
        }
        assert_eq!(space.place((100.0, 50.0), (40.0, 12.0)), None);
    }
}

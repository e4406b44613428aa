//! The set of images that an attack may choose from, and the form in which they are stored: norm balls, clipping, the 8-bit grid.

use super::{Attack, l1};
use crate::{Error, Region};

/// The norm of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Norm {
    /// The largest change of a pixel.
    Linf,
    /// The Euclidean length of the change.
    L2,
    /// The sum of the changes of all pixels.
    L1,
}

/// The form in which an attacked image is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grid {
    /// The `f32` numbers that the attack computed.
    Float,
    /// The attack computes with floats; its images are then cut to 256 levels, towards zero.
    Truncate,
    /// The attack computes with floats; its images are then rounded to 256 levels.
    Round,
    /// The attack searches on the 256 levels itself: every image that it evaluates can be stored.
    Search,
}

/// The set of images that an attack may choose from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ball {
    /// The norm of changes.
    pub norm: Norm,
    /// The largest change, in the units of the input.
    pub eps: f64,
    /// The smallest and the largest value of a pixel; `None` for no limits.
    pub clip: Option<(f32, f32)>,
    /// The rounding errors of distances, relative to those of 784 pixels from 0 to 1; see [`of_images`](Self::of_images).
    pub rounding: f64,
    /// The form in which images are stored.
    pub grid: Grid,
    /// If true, the stored image must lie in the ball. The published evaluation truncates without checking the ball, so
    /// its images may lie outside by less than one level of 255, and it does not clip those of FGSM.
    pub strict: bool,
}

/// The largest error that rounding to `f32` adds to a distance measured in exact arithmetic.
const ROUNDING: f64 = 1e-6;

impl Ball {
    /// Pixels of [0, 1] that move by up to eps each, as floats.
    pub const fn linf(eps: f64) -> Self {
        Self { norm: Norm::Linf, eps, clip: Some((0.0, 1.0)), rounding: 1.0, grid: Grid::Float, strict: true }
    }

    /// Images in [0, 1] that move by up to eps in Euclidean length, as floats.
    pub const fn l2(eps: f64) -> Self {
        Self { norm: Norm::L2, ..Self::linf(eps) }
    }

    /// Images in [0, 1] whose pixels move by up to eps in sum, as floats.
    pub const fn l1(eps: f64) -> Self {
        Self { norm: Norm::L1, ..Self::linf(eps) }
    }

    /// The ball of that norm, of images in [0, 1], as floats.
    pub const fn of_norm(norm: Norm, eps: f64) -> Self {
        Self { norm, ..Self::linf(eps) }
    }

    /// The same ball for images of this many entries, of at most this magnitude, with other limits of pixels.
    pub fn of_images(self, entries: usize, magnitude: f64, clip: Option<(f32, f32)>) -> Self {
        let larger = |a: f64, b: f64| if b > a { b } else { a };
        let root = if self.norm == Norm::L2 { (entries as f64 / 784.0).sqrt() } else { 1.0 };
        Self { clip, rounding: larger(1.0, magnitude) * larger(1.0, root), ..self }
    }

    /// The same ball with another storage form.
    pub const fn stored(self, grid: Grid) -> Self {
        Self { grid, ..self }
    }

    /// The ball of one attack: in the published evaluation FGSM is not clipped.
    pub fn of(self, attack: &Attack) -> Self {
        Self { clip: self.clip.filter(|_| self.strict || *attack != Attack::Fgsm), ..self }
    }

    /// The largest size of a change that [`Ball::contains`] admits: eps, and room for the rounding of an attack.
    pub fn reach(&self) -> f64 {
        self.eps + ROUNDING * self.rounding
    }

    /// The region whose proofs hold for every image that this ball admits: the box of radius eps, which contains the ball of every
    /// norm. `None` for images that may lie outside the ball or outside [0, 1].
    pub fn region(&self) -> Option<Region> {
        (self.strict && self.clip == Some((0.0, 1.0))).then(|| self.box_around())
    }

    /// The box of radius eps. Proofs widen it by more than [`Ball::reach`] for images of 784 entries; the room for longer ones is added here.
    pub fn box_around(&self) -> Region {
        Region::image_within(self.eps + ROUNDING * (self.rounding - 1.0))
    }

    /// Refuses invalid values.
    pub(super) fn check(&self) -> Result<(), Error> {
        let most = if self.norm == Norm::Linf { 1e3 } else { 1e9 } * self.rounding;
        if !(self.eps >= 0.0 && self.eps <= most) {
            return Err(Error::Mismatch(format!("eps is {}: want a number from 0 to {most}", self.eps)));
        }
        match self.clip {
            Some((low, high)) if !(low < high && high.is_finite() && low.is_finite()) => {
                return Err(Error::Mismatch(format!("pixels from {low} to {high}: want two numbers in order")));
            }
            Some(limits) if limits != (0.0, 1.0) && self.grid != Grid::Float => {
                return Err(Error::Mismatch("images on 256 levels have pixels from 0 to 1".into()));
            }
            _ => {}
        }
        if !self.strict && (self.norm, self.grid) != (Norm::Linf, Grid::Truncate) {
            let why =
                "only truncated images in the L-infinity norm may leave the ball, as the published evaluation does";
            return Err(Error::Mismatch(why.into()));
        }
        Ok(())
    }

    /// The reason why an original pixel is invalid for this ball, if it is.
    pub(super) fn objection(&self, v: f32) -> Option<String> {
        match self.clip {
            Some((0.0, 1.0)) if !(0.0..=1.0).contains(&v) => {
                return Some("want 0 to 1 (divide bytes by 255), or other bounds".into());
            }
            Some((low, high)) if !(low..=high).contains(&v) => return Some(format!("want {low} to {high}")),
            _ => {}
        }
        if self.grid != Grid::Float && v.to_bits() != (level(v) as f32 / 255.0).to_bits() {
            return Some("not a multiple of 1/255, so the image itself cannot be stored in 8 bits; use floats".into());
        }
        None
    }

    /// The radius that attacks use in `f32`: smaller than eps by so much that no rounding of a sum leaves the ball. The published
    /// arithmetic uses eps itself.
    pub(super) fn radius(&self) -> f32 {
        if !self.strict {
            return self.eps as f32;
        }
        let slack = match self.norm {
            Norm::Linf => 1.3e-7,
            // 784 pixels that are off by half a unit in the last place add up to 1e-6.
            Norm::L2 => 1e-6,
            // Projection rounds towards the origin.
            Norm::L1 => 1e-6,
        };
        (self.eps - slack * self.rounding).max(0.0) as f32
    }

    /// Moves `x` into the ball around `origin`, and into [0, 1] if clipped.
    pub(super) fn project(&self, x: &mut [f32], origin: &[f32]) {
        let r = self.radius();
        match self.norm {
            Norm::Linf => {
                for (x, &o) in x.iter_mut().zip(origin) {
                    *x = o + (*x - o).clamp(-r, r);
                }
            }
            Norm::L2 => {
                let length = distance(x, origin);
                if length > f64::from(r) {
                    let scale = (f64::from(r) / length) as f32;
                    for (x, &o) in x.iter_mut().zip(origin) {
                        *x = o + (*x - o) * scale;
                    }
                }
            }
            Norm::L1 => l1::project(x, origin, f64::from(r), self.clip),
        }
        // An origin inside the limits is no further from the clipped point than from the other.
        if let Some((low, high)) = self.clip {
            for x in x {
                *x = x.clamp(low, high);
            }
        }
    }

    /// Writes the stored form of `x`, a point of the ball.
    pub(super) fn store(&self, stored: &mut [f32], x: &[f32], origin: &[f32]) {
        let reach = (self.eps * 255.0 + 255.0 * ROUNDING).min(1e6) as i32;
        match self.grid {
            Grid::Float => stored.copy_from_slice(x),
            Grid::Truncate if !self.strict => {
                for (s, &v) in stored.iter_mut().zip(x) {
                    *s = truncate(v) as f32 / 255.0;
                }
            }
            Grid::Truncate => {
                for ((s, &v), &o) in stored.iter_mut().zip(x).zip(origin) {
                    let o = level(o);
                    *s = truncate(v).clamp(o - reach, o + reach) as f32 / 255.0;
                }
            }
            Grid::Round | Grid::Search => {
                for ((s, &v), &o) in stored.iter_mut().zip(x).zip(origin) {
                    let o = level(o);
                    *s = level(v).clamp(o - reach, o + reach) as f32 / 255.0;
                }
            }
        }
        if self.grid != Grid::Float && self.norm != Norm::Linf && self.size(stored, origin) > self.eps {
            // Every level is taken on the side of the origin: no pixel is further away than in x.
            for ((s, &v), &o) in stored.iter_mut().zip(x).zip(origin) {
                *s = (level(o) + truncate(v - o)) as f32 / 255.0;
            }
        }
    }

    /// The size of a change, as a share of eps. Computed in `f64`.
    pub fn share(&self, image: &[f32], origin: &[f32]) -> f64 {
        let size = self.size(image, origin);
        if size == 0.0 { 0.0 } else { size / self.eps }
    }

    /// The size of a change, computed in `f64`.
    pub fn size(&self, image: &[f32], origin: &[f32]) -> f64 {
        match self.norm {
            Norm::L2 => distance(image, origin),
            Norm::L1 => l1::distance(image, origin),
            Norm::Linf => {
                let apart = image.iter().zip(origin).map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs());
                // A NaN stays NaN.
                apart.fold(0.0, |most, d| if d <= most { most } else { d })
            }
        }
    }

    /// True if a stored image is one that the attack could have chosen: of the right form, in the ball and in [0, 1].
    pub fn contains(&self, image: &[f32], origin: &[f32]) -> bool {
        let allowance = if self.strict { 0.0 } else { 1.0 / 255.0 };
        let of_form = |v: f32| self.grid == Grid::Float || v.to_bits() == (level(v) as f32 / 255.0).to_bits();
        image.len() == origin.len()
            && self.size(image, origin) <= self.reach() + allowance
            && image
                .iter()
                .all(|&v| v.is_finite() && of_form(v) && self.clip.is_none_or(|(low, high)| (low..=high).contains(&v)))
    }
}

/// The nearest of the levels k/255. The shift makes a cast, which cuts towards zero, round down also below zero.
pub(super) fn level(v: f32) -> i32 {
    (255.0 * v + 4096.5) as i32 - 4096
}

/// The level towards zero.
fn truncate(v: f32) -> i32 {
    (255.0 * v) as i32
}

/// The Euclidean distance, in `f64`: eight sums side by side, in one order on every machine.
pub(super) fn distance(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0f64; 8];
    let (whole_a, rest_a) = a.as_chunks::<8>();
    let (whole_b, rest_b) = b.as_chunks::<8>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        for i in 0..8 {
            let d = f64::from(a[i]) - f64::from(b[i]);
            sums[i] += d * d;
        }
    }
    for (i, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
        let d = f64::from(*a) - f64::from(*b);
        sums[i] += d * d;
    }
    sums.iter().sum::<f64>().sqrt()
}

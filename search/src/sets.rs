//! The search over sets: compares claimed bounds with exactly feasible steps.

use crate::feasible;
use crate::generate::{Block, Case, Hardness, Shape, case};
use crate::number::{exact, fraction, power_of_two, short};
use crate::path::{Path, no_gain};
use crate::random::Random;
use standoff::sets::Matrix;
use standoff::{Error, Game, Multiplier, Need, Point, Set, certify::evidence};
use std::collections::BTreeMap;

/// A game that is linear in both players, so the gradients are exact.
struct Linear {
    x_set: Set<f64>,
    y_set: Set<f64>,
    gx: Vec<f64>,
    gy: Vec<f64>,
}

impl Game for Linear {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, _: &[f64], _: Need) {}

    fn value(&mut self, _: &[f64]) -> f64 {
        0.0
    }

    fn grad_x(&mut self, _: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(&self.gx);
        0.0
    }

    fn grad_y(&mut self, _: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(&self.gy);
        0.0
    }
}

fn leaf(block: &Block) -> Result<Set<f64>, Error> {
    let matrix = |a: &[Vec<f64>]| Matrix::from_rows(a);
    match &block.shape {
        Shape::Free => Ok(Set::free(block.x.len())),
        Shape::Box(l, u) => Set::boxed(l.clone(), u.clone()),
        Shape::Ball(c, r) => Set::ball(c.clone(), *r),
        Shape::L1(r) => Set::l1_ball(block.x.len(), *r),
        Shape::Simplex(s) => Set::simplex(block.x.len(), *s),
        Shape::Halfspace(a, b) => Set::halfspace(a.clone(), *b),
        Shape::Affine(a, b) => Set::affine(matrix(a)?, b),
        Shape::Polyhedron(a, b) => Set::polyhedron(matrix(a)?, b),
    }
}

fn set(case: &Case) -> Result<Set<f64>, Error> {
    let mut parts = case.blocks.iter().map(leaf).collect::<Result<Vec<_>, _>>()?;
    if parts.len() == 1 { Ok(parts.remove(0)) } else { Set::product(parts) }
}

/// Counts of a search.
#[derive(Debug, Default)]
pub struct Tally {
    /// Sets with a bound.
    pub sets: u64,
    /// Sets that the library refuses.
    pub refused: u64,
    /// Claims below the true value.
    pub wrong: Vec<String>,
    /// Sets for which no exactly feasible step near the optimum was found, by kind.
    pub without: BTreeMap<String, u64>,
    /// Sets whose equations contradict each other, exactly.
    pub empty: u64,
    /// Number of bounds that are NaN.
    pub silent: u64,
    /// Bounds divided by the optimum.
    pub ratios: Vec<f64>,
    /// Bound minus optimum, as a share of `radius ||g||`.
    pub losses: Vec<f64>,
    /// Sets by kind.
    pub kinds: BTreeMap<String, u64>,
}

/// One player's half of a case.
struct Claimed<'c> {
    case: &'c Case,
    upper: f64,
    outside: f64,
    multipliers: &'c [Multiplier],
    radius: f64,
}

impl Claimed<'_> {
    /// The path parameter of the multipliers: `||g + n|| = radius/tau`.
    fn tau(&self) -> f64 {
        let mut sum = 0.0;
        for (block, multiplier) in self.case.blocks.iter().zip(self.multipliers) {
            let mut rest = block.g.clone();
            match (multiplier, &block.shape) {
                (Multiplier::Vector(n), _) => rest.iter_mut().zip(n).for_each(|(r, n)| *r += n),
                (Multiplier::Rows(l), Shape::Halfspace(a, _)) => {
                    rest.iter_mut().zip(a).for_each(|(r, a)| *r += l[0] * a)
                }
                (Multiplier::Rows(l), Shape::Affine(a, _) | Shape::Polyhedron(a, _)) => {
                    for (row, l) in a.iter().zip(l) {
                        rest.iter_mut().zip(row).for_each(|(r, a)| *r += l * a);
                    }
                }
                _ => {}
            }
            sum += rest.iter().map(|r| r * r).sum::<f64>();
        }
        self.radius / sum.sqrt()
    }

    fn guesses(&self) -> Vec<usize> {
        let bits = |l: &[f64]| l.iter().enumerate().map(|(i, l)| usize::from(*l > 0.0) << i).sum();
        let guess = |(b, m): (&Block, &Multiplier)| match (&b.shape, m) {
            (Shape::Polyhedron(..), Multiplier::Rows(l)) => bits(l),
            _ => 0,
        };
        self.case.blocks.iter().zip(self.multipliers).map(guess).collect()
    }

    fn kind(&self) -> String {
        let names: Vec<&str> = self.case.blocks.iter().map(|b| b.shape.name()).collect();
        if names.len() == 1 {
            names[0].into()
        } else if names.contains(&"polyhedron") {
            "product with polyhedron".into()
        } else {
            "product".into()
        }
    }

    fn judge(&self, tally: &mut Tally, label: &str) {
        tally.sets += 1;
        *tally.kinds.entry(self.kind()).or_default() += 1;
        let mut without = |why: &str| {
            *tally.without.entry(format!("{}: {why}", self.kind())).or_default() += 1;
            if std::env::var_os("SEARCH_SHOW").is_some() {
                eprintln!("{label}: {why}\n{:?}", self.case);
            }
        };
        let Some(mut path) = Path::new(self.case, self.radius, &self.guesses()) else { return without("no basis") };
        let Some(distance) = path.distance() else { return without("no projection") };
        let inside = self
            .case
            .blocks
            .iter()
            .all(|b| feasible::contains(&b.shape, &b.x.iter().map(|x| exact(*x)).collect::<Vec<_>>()));
        let far = fraction(&(distance.clone() * (power_of_two(0) - power_of_two(-200))));
        // `outside` is wrong if the distance is too small, or 0 for a point that is not inside.
        let far_enough = distance > power_of_two(-300) * path.size();
        let too_small = self.outside == 0.0 || self.outside.is_finite() && far_enough && exact(self.outside) < far;
        let too_near = !inside && self.outside.is_finite() && too_small;
        if too_near && !self.contradicts() {
            let text = format!(
                "{label}: outside <= {:e}, truth {:e}, inside {inside}\n{:?}",
                self.outside,
                short(&distance),
                self.case
            );
            tally.wrong.push(text);
        }
        if self.upper.is_nan() {
            tally.silent += 1;
            return;
        }
        if distance > crate::number::long(self.radius) {
            // No step in the set is short enough.
            tally.empty += 1;
            return;
        }
        let Some(step) = path.best(self.tau()) else { return without("no path") };
        let Some(gain) = feasible::gain(self.case, &step.z, self.radius) else {
            if self.contradicts() {
                tally.empty += 1;
            } else {
                without("no exact step");
            }
            return;
        };
        let optimum = step.gain.clone() + &step.short_by;
        let short_by = fraction(&optimum) - &gain;
        let size = fraction(&crate::number::size(&optimum));
        let near = short_by <= exact(1e-6) * size || short_by <= fraction(&(no_gain() * path.most()));
        let upper = if self.upper.is_finite() { exact(self.upper) } else { return };
        if upper < gain {
            let by = short(&(step.gain.clone() / crate::number::long(self.upper)));
            tally.wrong.push(format!(
                "{label}: upper {:e} is below a feasible gain by the factor {by}\n{:?}",
                self.upper, self.case
            ));
        }
        if !near {
            without("not near the optimum");
        }
        if step.gain > no_gain() * path.most() {
            tally.ratios.push(short(&(crate::number::long(self.upper) / &step.gain)));
            if std::env::var_os("SEARCH_LOOSE").is_some() && self.upper > 1.001 * short(&step.gain) {
                eprintln!(
                    "{label}: loose, {:e} for {:e}, outside {:e}\n{:?}",
                    self.upper,
                    short(&step.gain),
                    self.outside,
                    self.case
                );
            }
            tally.losses.push(short(&((crate::number::long(self.upper) - &step.gain) / path.most())));
        }
    }

    /// True if the equations of an affine set have no solution.
    fn contradicts(&self) -> bool {
        self.case.blocks.iter().any(|b| match &b.shape {
            Shape::Affine(..) => feasible::nearest(&b.shape, &b.x).is_none(),
            _ => false,
        })
    }
}

/// Case number `index` of a seed: one set for either player.
fn one(seed: u64, index: u64, hardness: Hardness, shave: f64, tally: &mut Tally) {
    let mut random = Random::new(seed, index);
    let (x, y) = (case(&mut random, hardness), case(&mut random, hardness));
    let radius = if hardness == Hardness::Mild || random.chance(0.6) { 1.0 } else { random.scale(-9.0, 9.0) };
    let sets = if x.is_finite() && y.is_finite() { (set(&x), set(&y)) } else { return tally.refused += 1 };
    let (Ok(x_set), Ok(y_set)) = sets else {
        tally.refused += 1;
        return;
    };
    let flat =
        |case: &Case, of: fn(&Block) -> &Vec<f64>| case.blocks.iter().flat_map(|b| of(b).clone()).collect::<Vec<_>>();
    let gy = flat(&y, |b| &b.g).into_iter().map(|g| -g).collect();
    let mut game = Linear { x_set, y_set, gx: flat(&x, |b| &b.g), gy };
    let point = Point::new(&flat(&x, |b| &b.x), &flat(&y, |b| &b.x));
    let evidence = evidence(&mut game, &point, radius);
    let c = evidence.certificate;
    for (case, upper, outside, multipliers, name) in
        [(&x, c.x.upper, c.outside[0], &evidence.x, "x"), (&y, c.y.upper, c.outside[1], &evidence.y, "y")]
    {
        let multipliers = multipliers.as_deref().unwrap_or_default();
        Claimed { case, upper: upper * (1.0 - shave), outside, multipliers, radius }
            .judge(tally, &format!("case {index} {name} radius {radius:e}"));
    }
}

/// Checks the cases of a seed. Every claimed bound is reduced by the share `shave`: 0, or more to test that the search
/// finds false claims.
pub fn range(seed: u64, cases: std::ops::Range<u64>, hardness: Hardness, shave: f64) -> Tally {
    let from = cases.start;
    let mut tally = Tally::default();
    for index in cases {
        one(seed, index, hardness, shave, &mut tally);
        if (index - from + 1).is_multiple_of(5000) {
            eprintln!("{} cases, {} sets, {} false", index + 1 - from, tally.sets, tally.wrong.len());
        }
    }
    tally
}

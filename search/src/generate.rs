//! Random sets of all types, with points and gradients that are hard for a certificate.

use crate::number::exact;
use crate::random::Random;

/// The set of one block.
#[derive(Debug, Clone)]
pub enum Shape {
    /// All points.
    Free,
    /// Lower and upper bounds; may be infinite.
    Box(Vec<f64>, Vec<f64>),
    /// Centre and radius.
    Ball(Vec<f64>, f64),
    /// Radius.
    L1(f64),
    /// Scale.
    Simplex(f64),
    /// `a z <= b`.
    Halfspace(Vec<f64>, f64),
    /// `A z = b`.
    Affine(Vec<Vec<f64>>, Vec<f64>),
    /// `A z <= b`.
    Polyhedron(Vec<Vec<f64>>, Vec<f64>),
}

/// One set with its part of the point and of the gradient.
#[derive(Debug, Clone)]
pub struct Block {
    /// The set.
    pub shape: Shape,
    /// The point.
    pub x: Vec<f64>,
    /// The gradient for a minimising player.
    pub g: Vec<f64>,
}

/// A product of one to three sets.
#[derive(Debug, Clone)]
pub struct Case {
    /// The sets.
    pub blocks: Vec<Block>,
}

impl Shape {
    /// The name of the type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Box(..) => "box",
            Self::Ball(..) => "ball",
            Self::L1(_) => "l1",
            Self::Simplex(_) => "simplex",
            Self::Halfspace(..) => "half-space",
            Self::Affine(..) => "affine",
            Self::Polyhedron(..) => "polyhedron",
        }
    }
}

/// Difficulty of the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hardness {
    /// All scales, near-parallel rows, points on and slightly off the boundary.
    Hard,
    /// Same as hard, with scales from 1e-140 to 1e140.
    Wild,
    /// Numbers of moderate size and sets with closed forms.
    Mild,
}

impl Hardness {
    /// The largest power of ten of a scale.
    fn span(self) -> f64 {
        if self == Self::Wild { 140.0 } else { 12.0 }
    }
}

impl Case {
    /// True if all numbers are finite, except for bounds of boxes that are infinite on purpose.
    pub fn is_finite(&self) -> bool {
        let fine = |v: &[f64]| v.iter().all(|v| v.is_finite());
        self.blocks.iter().all(|b| {
            let shape = match &b.shape {
                Shape::Free => true,
                Shape::Box(l, u) => !l.iter().chain(u).any(|v| v.is_nan()),
                Shape::Ball(c, r) => fine(c) && r.is_finite(),
                Shape::L1(r) | Shape::Simplex(r) => r.is_finite(),
                Shape::Halfspace(a, r) => fine(a) && r.is_finite(),
                Shape::Affine(a, r) | Shape::Polyhedron(a, r) => a.iter().all(|a| fine(a)) && fine(r),
            };
            shape && fine(&b.x) && fine(&b.g)
        })
    }
}

/// A random set, or a product of two or three.
pub fn case(random: &mut Random, hardness: Hardness) -> Case {
    let kinds = if hardness == Hardness::Mild { 7 } else { 8 };
    let parts = if random.chance(0.3) { 2 + random.below(2) } else { 1 };
    let mut left = 6;
    let mut blocks = Vec::new();
    for part in 0..parts {
        let most = left - (parts - part - 1);
        let n = 1 + random.below(most);
        left -= n;
        let kind = random.below(kinds);
        blocks.push(block(random, kind, n, hardness));
    }
    Case { blocks }
}

/// The size of each coordinate: all equal, or all different.
fn sizes(random: &mut Random, n: usize, hardness: Hardness) -> Vec<f64> {
    if hardness == Hardness::Mild {
        return vec![1.0; n];
    }
    let span = hardness.span();
    let common = if random.chance(0.3) { 1.0 } else { random.scale(-span, span) };
    let own = random.chance(0.4);
    (0..n).map(|_| if own { random.scale(-span, span) } else { common }).collect()
}

fn vector(random: &mut Random, sizes: &[f64]) -> Vec<f64> {
    let rounded = random.chance(0.3);
    sizes
        .iter()
        .map(|s| {
            let v = random.signed();
            if rounded { s * (4.0 * v).round() } else { s * v }
        })
        .collect()
}

fn block(random: &mut Random, kind: usize, n: usize, hardness: Hardness) -> Block {
    let sizes = sizes(random, n, hardness);
    let (shape, x) = match kind {
        0 => (Shape::Free, vector(random, &sizes)),
        1 => boxed(random, &sizes),
        2 => ball(random, &sizes, hardness),
        3 => l1(random, &sizes),
        4 => simplex(random, &sizes, hardness),
        5 => halfspace(random, &sizes, hardness),
        6 => affine(random, &sizes, hardness),
        _ => polyhedron(random, &sizes, hardness),
    };
    let x = if hardness != Hardness::Mild && random.chance(0.05) { nudged(random, x) } else { x };
    let g = gradient(random, &shape, &x, hardness);
    Block { shape, x, g }
}

/// Moves the point by a few units in the last place.
fn nudged(random: &mut Random, mut x: Vec<f64>) -> Vec<f64> {
    let i = random.below(x.len());
    for _ in 0..=random.below(3) {
        x[i] = if random.chance(0.5) { x[i].next_up() } else { x[i].next_down() };
    }
    x
}

fn boxed(random: &mut Random, sizes: &[f64]) -> (Shape, Vec<f64>) {
    let (mut lower, mut upper, mut x) = (vec![], vec![], vec![]);
    for s in sizes {
        let middle = if random.chance(0.3) { 0.0 } else { s * random.signed() };
        let width = if random.chance(0.6) { s * random.unit() } else { s * random.scale(-12.0, 3.0) };
        let (l, u) = (middle - width, middle + width);
        let at = match random.below(6) {
            0 => l,
            1 => u,
            2 => l.next_up().min(u),
            3 => u - width * random.scale(-16.0, 0.0),
            _ => l + (u - l) * random.unit(),
        };
        lower.push(if random.chance(0.1) { f64::NEG_INFINITY } else { l });
        upper.push(if random.chance(0.1) { f64::INFINITY } else { u });
        x.push(at.clamp(l, u));
    }
    (Shape::Box(lower, upper), x)
}

fn ball(random: &mut Random, sizes: &[f64], hardness: Hardness) -> (Shape, Vec<f64>) {
    let n = sizes.len();
    let centre = if random.chance(0.4) { vec![0.0; n] } else { vector(random, sizes) };
    let radius = if hardness == Hardness::Mild { 0.5 + random.unit() } else { sizes[0] * random.scale(-6.0, 3.0) };
    let direction = vector(random, &vec![1.0; n]);
    let norm = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
    let norm = if norm > 0.0 { norm } else { 1.0 };
    let reach = match random.below(5) {
        0 => 0.0,
        1 => radius,
        2 => radius * (1.0 - random.scale(-16.0, -1.0)),
        3 => -1.0,
        _ => radius * random.unit(),
    };
    let x = if reach < 0.0 {
        let mut x = centre.clone();
        x[random.below(n)] += radius;
        x
    } else {
        centre.iter().zip(&direction).map(|(c, d)| c + d * (reach / norm)).collect()
    };
    (Shape::Ball(centre, radius), x)
}

fn l1(random: &mut Random, sizes: &[f64]) -> (Shape, Vec<f64>) {
    let radius = sizes[0] * (0.1 + random.unit());
    let mut x = vector(random, &vec![1.0; sizes.len()]);
    if random.chance(0.3) {
        let keep = random.below(x.len());
        x.iter_mut().enumerate().for_each(|(i, v)| *v = if i == keep { 1.0 } else { 0.0 });
    }
    let sum: f64 = x.iter().map(|v| v.abs()).sum();
    let reach = match random.below(4) {
        0 | 1 => radius,
        2 => radius * (1.0 - random.scale(-16.0, -1.0)),
        _ => radius * random.unit(),
    };
    x.iter_mut().for_each(|v| *v *= if sum > 0.0 { reach / sum } else { 0.0 });
    (Shape::L1(radius), x)
}

fn simplex(random: &mut Random, sizes: &[f64], hardness: Hardness) -> (Shape, Vec<f64>) {
    let n = sizes.len();
    let scale = if hardness == Hardness::Mild || random.chance(0.4) { 1.0 } else { sizes[0] };
    let mut x: Vec<f64> = (0..n).map(|_| if random.chance(0.3) { 0.0 } else { random.unit() }).collect();
    if random.chance(0.2) || x.iter().all(|v| *v == 0.0) {
        x.fill(0.0);
        x[random.below(n)] = 1.0;
    }
    if hardness != Hardness::Mild && random.chance(0.2) {
        x[random.below(n)] *= random.scale(-20.0, 0.0);
    }
    let sum: f64 = x.iter().sum();
    x.iter_mut().for_each(|v| *v *= scale / if sum > 0.0 { sum } else { 1.0 });
    if hardness != Hardness::Mild && random.chance(0.1) {
        x[random.below(n)] += scale * random.scale(-16.0, -9.0);
    }
    (Shape::Simplex(scale), x)
}

fn halfspace(random: &mut Random, sizes: &[f64], hardness: Hardness) -> (Shape, Vec<f64>) {
    let x = vector(random, sizes);
    let a = row(random, sizes, hardness);
    let at: f64 = a.iter().zip(&x).map(|(a, x)| a * x).sum();
    let b = at + slack(random, &a, sizes);
    (Shape::Halfspace(a, b), x)
}

/// A non-zero row with entries of different sizes.
fn row(random: &mut Random, sizes: &[f64], hardness: Hardness) -> Vec<f64> {
    let scale = if hardness == Hardness::Mild { 1.0 } else { random.scale(-hardness.span(), hardness.span()) };
    let fits = random.chance(0.5);
    let mut a: Vec<f64> = sizes.iter().map(|s| random.signed() * scale / if fits { *s } else { 1.0 }).collect();
    if random.chance(0.2) {
        a.iter_mut().for_each(|a| *a = if random.chance(0.5) { 0.0 } else { *a });
    }
    if a.iter().all(|a| *a == 0.0) {
        let i = random.below(a.len());
        a[i] = scale;
    }
    a
}

/// Slack of a row: none, a rounding error, or a share of its size.
fn slack(random: &mut Random, a: &[f64], sizes: &[f64]) -> f64 {
    let size: f64 = a.iter().zip(sizes).map(|(a, s)| (a * s).abs()).sum();
    match random.below(4) {
        0 | 1 => 0.0,
        2 => size * random.scale(-17.0, -1.0),
        _ => size * random.unit(),
    }
}

/// Rows, some of them nearly parallel to, multiples of, or opposite to another.
fn rows(random: &mut Random, sizes: &[f64], m: usize, hardness: Hardness) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = Vec::new();
    for k in 0..m {
        let fresh = row(random, sizes, hardness);
        let next = if k > 0 && hardness != Hardness::Mild && random.chance(0.3) {
            let base = all[random.below(k)].clone();
            let off = random.scale(-15.0, -2.0);
            let factor = 2f64.powi(random.below(20) as i32 - 10) * if random.chance(0.3) { -1.0 } else { 1.0 };
            let exact = random.chance(0.2);
            base.iter()
                .zip(&fresh)
                .map(|(b, f)| if exact { factor * b } else { factor * (b + off * f.signum() * b.abs()) })
                .collect()
        } else {
            fresh
        };
        all.push(next);
    }
    all
}

fn affine(random: &mut Random, sizes: &[f64], hardness: Hardness) -> (Shape, Vec<f64>) {
    let x = vector(random, sizes);
    let m = 1 + random.below(sizes.len());
    let a = rows(random, sizes, m, hardness);
    let zero = random.chance(0.2);
    let b = a.iter().map(|row| if zero { 0.0 } else { row.iter().zip(&x).map(|(a, x)| a * x).sum() }).collect();
    (Shape::Affine(a, b), if zero { vec![0.0; sizes.len()] } else { x })
}

fn polyhedron(random: &mut Random, sizes: &[f64], hardness: Hardness) -> (Shape, Vec<f64>) {
    let x = if random.chance(0.3) { vec![0.0; sizes.len()] } else { vector(random, sizes) };
    let m = 1 + random.below(8);
    let a = rows(random, sizes, m, hardness);
    let mut b = Vec::new();
    // Rounding may make the set empty or leave the point outside, so the right-hand sides are mostly rounded up.
    let rounded_up = random.chance(0.97);
    for row in &a {
        let at: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
        let mut right = at + slack(random, row, sizes);
        if rounded_up && right.is_finite() {
            let at = row.iter().zip(&x).fold(exact(0.0), |s, (a, x)| s + exact(*a) * exact(*x));
            while right.is_finite() && exact(right) < at {
                right = (right + (right.abs() + f64::MIN_POSITIVE) * random.scale(-18.0, -15.0)).next_up();
            }
        }
        b.push(right);
    }
    (Shape::Polyhedron(a, b), x)
}

/// A random gradient, a normal vector, or a vector close to one.
fn gradient(random: &mut Random, shape: &Shape, x: &[f64], hardness: Hardness) -> Vec<f64> {
    let n = x.len();
    if hardness == Hardness::Mild {
        return (0..n).map(|_| random.signed()).collect();
    }
    let span = hardness.span();
    let scale = random.scale(-span, span);
    let own = random.chance(0.2);
    let plain: Vec<f64> =
        (0..n).map(|_| random.signed() * if own { random.scale(-span, span) } else { scale }).collect();
    if random.chance(0.4) {
        return plain;
    }
    let normal = normal(random, shape, x);
    let size = normal.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if !(size > 0.0 && size.is_finite()) {
        return plain;
    }
    let off = if random.chance(0.3) { 0.0 } else { random.scale(-18.0, 0.0) };
    normal.iter().map(|v| scale * (-v / size + off * random.signed())).collect()
}

/// A vector that is normal to the set at the point, or would be if the point were on the boundary.
fn normal(random: &mut Random, shape: &Shape, x: &[f64]) -> Vec<f64> {
    let mut mix = |rows: &[Vec<f64>], both: bool| {
        let mut sum = vec![0.0; x.len()];
        for row in rows {
            let size = row.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            let l = if random.chance(0.3) { 0.0 } else { random.scale(-6.0, 0.0) };
            let l = if both && random.chance(0.5) { -l } else { l };
            sum.iter_mut().zip(row).for_each(|(s, a)| *s += l * a / size);
        }
        sum
    };
    match shape {
        Shape::Free | Shape::Box(..) => {
            let rows: Vec<Vec<f64>> = (0..x.len()).map(|i| (0..x.len()).map(|j| f64::from(i == j)).collect()).collect();
            mix(&rows, true)
        }
        Shape::Ball(c, _) => x.iter().zip(c).map(|(x, c)| x - c).collect(),
        Shape::L1(_) => x.iter().map(|x| if *x == 0.0 { 0.5 } else { x.signum() }).collect(),
        Shape::Simplex(_) => vec![1.0; x.len()],
        Shape::Halfspace(a, _) => a.clone(),
        Shape::Affine(a, _) => mix(a, true),
        Shape::Polyhedron(a, _) => mix(a, false),
    }
}

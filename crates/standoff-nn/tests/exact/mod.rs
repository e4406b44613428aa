//! The recursion of `docs/proofs.md` in exact fractions, written from that page alone.

mod tanh;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use standoff_nn::{Layer, Model, Region, Shape};

pub(crate) type Fraction = BigRational;

/// The exact value of a finite number.
pub(crate) fn exact(v: f64) -> Fraction {
    Fraction::from_float(v).expect("finite")
}

fn whole(n: usize) -> Fraction {
    Fraction::from_integer(BigInt::from(n))
}

/// `2^-n`.
fn half(n: usize) -> Fraction {
    Fraction::new(BigInt::one(), BigInt::one() << n)
}

/// The ends of the intervals of a layer.
struct Ends {
    lo: Vec<Fraction>,
    hi: Vec<Fraction>,
}

/// Centres, radii and the largest absolute values of intervals.
struct Sizes {
    c: Vec<Fraction>,
    r: Vec<Fraction>,
    m: Vec<Fraction>,
}

/// One image and its label, and everything that its margins depend on.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) model: &'a Model,
    pub(crate) params: &'a [f32],
    pub(crate) image: &'a [f32],
    pub(crate) label: usize,
    pub(crate) region: Region,
}

/// Weights of a layer with k products per sum.
struct Rows {
    k: usize,
    w: Vec<Fraction>,
    b: Vec<Fraction>,
    gamma: Fraction,
    /// 2^-120.
    small: Fraction,
}

impl Rows {
    fn of(model: &Model, params: &[f32], layer: usize) -> Self {
        let mut views = model.views().iter().filter(|v| v.layer == layer);
        let mut next = || -> Vec<Fraction> {
            let range = views.next().expect("a view").range.clone();
            params[range].iter().map(|&v| exact(f64::from(v))).collect()
        };
        let (w, b) = (next(), next());
        let k = w.len() / b.len();
        let n = whole(k + 1) * half(24);
        Self { k, w, b, gamma: &n / (Fraction::one() - &n), small: half(120) }
    }

    fn row(&self, j: usize) -> &[Fraction] {
        &self.w[j * self.k..(j + 1) * self.k]
    }
}

impl Sizes {
    fn of(ends: &Ends) -> Self {
        let halves = |f: fn(&Fraction, &Fraction) -> Fraction| -> Vec<Fraction> {
            ends.lo.iter().zip(&ends.hi).map(|(lo, hi)| f(lo, hi) * half(1)).collect()
        };
        let (c, r) = (halves(|lo, hi| lo + hi), halves(|lo, hi| hi - lo));
        let m = c.iter().zip(&r).map(|(c, r)| c.abs() + r).collect();
        Self { c, r, m }
    }
}

/// The rounding of `f32` that the recursion allows for: all of it, or none after the input, as in an exact evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rounding {
    Single,
    None,
}

/// The margins of one image, zero at the label.
pub(crate) fn margins(case: &Case<'_>, rounding: Rounding) -> Vec<Fraction> {
    let Case { model, params, image, label, region } = *case;
    let none = rounding == Rounding::None;
    let rows = |i: usize| {
        let mut rows = Rows::of(model, params, i);
        if none {
            (rows.gamma, rows.small) = (Fraction::zero(), Fraction::zero());
        }
        rows
    };
    let mut ends = input(image, region);
    let layers = model.layers();
    for (i, layer) in layers[..layers.len() - 1].iter().enumerate() {
        let (from, to) = (model.shape(i), model.shape(i + 1));
        let both = |f: &dyn Fn(&[Fraction]) -> Vec<Fraction>| Ends { lo: f(&ends.lo), hi: f(&ends.hi) };
        ends = match *layer {
            Layer::Flatten => continue,
            Layer::Relu => both(&|v| v.iter().map(|v| v.clone().max(Fraction::zero())).collect()),
            Layer::MaxPool(side) => both(&|v| pool(v, side, from, to)),
            Layer::Tanh if none => both(&|v| v.iter().map(tanh::tanh).collect()),
            Layer::Tanh => {
                let t = both(&|v| v.iter().map(tanh::tanh).collect());
                let room = |t: &Fraction| t.abs() * half(20) + half(126);
                Ends { lo: t.lo.iter().map(|t| t - room(t)).collect(), hi: t.hi.iter().map(|t| t + room(t)).collect() }
            }
            Layer::Conv { kernel, .. } => linear(&rows(i), &ends, &windows(kernel, from, to)),
            Layer::Dense(_) => linear(&rows(i), &ends, &[(0..from.size()).collect()]),
            other => panic!("{other} has no exact proof here"),
        };
    }
    last(&rows(layers.len() - 1), &Sizes::of(&ends), label)
}

fn input(image: &[f32], region: Region) -> Ends {
    let eps = exact(f64::from(region.eps));
    let x: Vec<Fraction> = image.iter().map(|&x| exact(f64::from(x))).collect();
    let reach = |x: &Fraction| &eps + half(19) + half(22) * (x.abs() + &eps);
    let lo = x.iter().map(|x| x - reach(x));
    let hi = x.iter().map(|x| x + reach(x));
    match region.clip.map(|(least, most)| (exact(f64::from(least)), exact(f64::from(most)))) {
        None => Ends { lo: lo.collect(), hi: hi.collect() },
        Some((least, most)) => {
            Ends { lo: lo.map(|v| v.max(least.clone())).collect(), hi: hi.map(|v| v.min(most.clone())).collect() }
        }
    }
}

/// The inputs of every position of a convolution, in the order of the weights.
fn windows(kernel: usize, from: Shape, to: Shape) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for (r, c) in (0..to.height).flat_map(|r| (0..to.width).map(move |c| (r, c))) {
        let mut one = Vec::new();
        for channel in 0..from.channels {
            for (i, j) in (0..kernel).flat_map(|i| (0..kernel).map(move |j| (i, j))) {
                one.push((channel * from.height + r + i) * from.width + c + j);
            }
        }
        all.push(one);
    }
    all
}

fn linear(rows: &Rows, ends: &Ends, windows: &[Vec<usize>]) -> Ends {
    let s = Sizes::of(ends);
    let wide: Vec<Fraction> = s.r.iter().zip(&s.m).map(|(r, m)| r + &rows.gamma * m + &rows.small * half(6)).collect();
    let tiny = &rows.small * (whole(rows.k) + s.m.iter().sum::<Fraction>());
    let mut out = Ends { lo: Vec::new(), hi: Vec::new() };
    for j in 0..rows.b.len() {
        for window in windows {
            let pairs = || rows.row(j).iter().zip(window);
            let centre = pairs().map(|(w, &i)| w * &s.c[i]).sum::<Fraction>() + &rows.b[j];
            let radius = pairs().map(|(w, &i)| w.abs() * &wide[i]).sum::<Fraction>();
            let radius = radius + &rows.gamma * rows.b[j].abs() + &tiny;
            out.lo.push(&centre - &radius);
            out.hi.push(centre + radius);
        }
    }
    out
}

fn pool(v: &[Fraction], side: usize, from: Shape, to: Shape) -> Vec<Fraction> {
    let mut out = Vec::new();
    for plane in v.chunks(from.height * from.width) {
        for (r, c) in (0..to.height).flat_map(|r| (0..to.width).map(move |c| (r, c))) {
            let inside = (0..side).flat_map(|i| (0..side).map(move |j| (r * side + i) * from.width + c * side + j));
            out.push(inside.map(|i| &plane[i]).max().expect("a square").clone());
        }
    }
    out
}

fn last(rows: &Rows, s: &Sizes, label: usize) -> Vec<Fraction> {
    let error = |j: usize| {
        let products: Fraction = rows.row(j).iter().zip(&s.m).map(|(w, m)| w.abs() * m).sum();
        let small: Fraction = rows.row(j).iter().zip(&s.m).map(|(w, m)| w.abs() + m).sum();
        &rows.gamma * (products + rows.b[j].abs()) + &rows.small * (whole(rows.k) + small)
    };
    let own = error(label);
    let margin = |j: usize| {
        if j == label {
            return Fraction::zero();
        }
        let mut sum = &rows.b[j] - &rows.b[label] + error(j) + &own;
        for (i, (w, y)) in rows.row(j).iter().zip(rows.row(label)).enumerate() {
            let d = w - y;
            sum += &d * &s.c[i] + d.abs() * &s.r[i];
        }
        sum
    };
    (0..rows.b.len()).map(margin).collect()
}

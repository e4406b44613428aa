//! Correct projections.

use super::set::Projected;

pub(crate) fn length(v: &[f64]) -> f64 {
    v.iter().map(|a| a * a).sum::<f64>().sqrt()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn clip(v: &mut [f64], low: f64, high: f64) {
    v.iter_mut().for_each(|a| *a = a.clamp(low, high));
}

pub(crate) fn ball(v: &mut [f64], radius: f64) {
    let n = length(v);
    if n > radius {
        v.iter_mut().for_each(|a| *a *= radius / n);
    }
}

pub(crate) fn simplex(v: &mut [f64], scale: f64) {
    let mut sorted = v.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut level) = (0.0, 0.0);
    for (k, a) in sorted.iter().enumerate() {
        sum += a;
        let next = (sum - scale) / (k + 1) as f64;
        if *a > next {
            level = next;
        }
    }
    v.iter_mut().for_each(|a| *a = (*a - level).max(0.0));
}

pub(crate) fn l1(v: &mut [f64], radius: f64) {
    if v.iter().map(|a| a.abs()).sum::<f64>() > radius {
        let signs: Vec<f64> = v.iter().map(|a| a.signum()).collect();
        v.iter_mut().for_each(|a| *a = a.abs());
        simplex(v, radius);
        v.iter_mut().zip(signs).for_each(|(a, s)| *a *= s);
    }
}

pub(crate) fn halfspace(v: &mut [f64], a: &[f64], b: f64) {
    let beyond = dot(a, v) - b;
    if beyond > 0.0 {
        let square = dot(a, a);
        v.iter_mut().zip(a).for_each(|(v, a)| *v -= beyond / square * a);
    }
}

/// `||(v_1, v_2)|| <= v_0`.
pub(crate) fn cone(v: &mut [f64]) {
    let n = length(&v[1..]);
    if n <= -v[0] {
        v.fill(0.0);
    } else if n > v[0] {
        let t = 0.5 * (v[0] + n);
        v[0] = t;
        v[1..].iter_mut().for_each(|a| *a *= t / n);
    }
}

/// Positive semidefinite matrices `[[a, b/sqrt 2], [b/sqrt 2, c]]`, stored as (a, b, c).
pub(crate) fn semidefinite(v: &mut [f64], f: impl Fn(f64) -> f64) {
    let off = v[1] / std::f64::consts::SQRT_2;
    let (middle, half) = (0.5 * (v[0] + v[2]), 0.5 * (v[0] - v[2]));
    let r = half.hypot(off);
    let (high, low) = (f(middle + r), f(middle - r));
    let (mean, spread) = (0.5 * (high + low), if r > 0.0 { 0.5 * (high - low) / r } else { 0.0 });
    v[0] = mean + spread * half;
    v[2] = mean - spread * half;
    v[1] = spread * off * std::f64::consts::SQRT_2;
}

/// Pool adjacent violators: `v_0 <= v_1 <= ...`.
fn monotone(v: &mut [f64]) {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for a in v.iter() {
        blocks.push((*a, 1));
        while blocks.len() > 1 && blocks[blocks.len() - 2].0 > blocks[blocks.len() - 1].0 {
            let (a, n) = blocks.pop().unwrap();
            let last = blocks.last_mut().unwrap();
            *last = ((last.0 * last.1 as f64 + a * n as f64) / (last.1 + n) as f64, last.1 + n);
        }
    }
    let mut at = 0;
    for (a, n) in blocks {
        v[at..at + n].fill(a);
        at += n;
    }
}

/// Dykstra's method for a box and a half-space.
fn dykstra(v: &mut [f64], rounds: usize) {
    let n = v.len();
    let (mut p, mut q) = (vec![0.0; n], vec![0.0; n]);
    for _ in 0..rounds {
        let mut y: Vec<f64> = v.iter().zip(&p).map(|(v, p)| v + p).collect();
        let before = y.clone();
        clip(&mut y, -1.0, 1.0);
        (0..n).for_each(|i| p[i] = before[i] - y[i]);
        let before: Vec<f64> = y.iter().zip(&q).map(|(y, q)| y + q).collect();
        let mut z = before.clone();
        halfspace(&mut z, &[1.0, 0.5, -0.3], 0.4);
        (0..n).for_each(|i| q[i] = before[i] - z[i]);
        v.copy_from_slice(&z);
    }
}

/// `v_0^2 + 4 v_1^2 <= 1` by bisection of the multiplier.
fn ellipse(v: &mut [f64], rounds: usize) {
    let at = |t: f64| [v[0] / (1.0 + t), v[1] / (1.0 + 4.0 * t)];
    let size = |z: [f64; 2]| z[0] * z[0] + 4.0 * z[1] * z[1];
    if size(at(0.0)) <= 1.0 {
        return;
    }
    let (mut low, mut high) = (0.0, 1.0 + length(v) * 4.0);
    for _ in 0..rounds {
        let middle = 0.5 * (low + high);
        if size(at(middle)) > 1.0 { low = middle } else { high = middle }
    }
    let z = at(high);
    v.copy_from_slice(&z);
}

pub(crate) fn all() -> Vec<fn() -> Projected> {
    vec![
        || Projected::new("simplex", 3, |v| simplex(v, 1.0)),
        || Projected::new("large simplex", 3, |v| simplex(v, 50.0)),
        || Projected::new("box", 3, |v| clip(v, -0.5, 0.75)),
        || Projected::new("tiny box", 2, |v| clip(v, 0.3, 0.300_001)),
        || Projected::new("ball", 3, |v| ball(v, 1.0)),
        || Projected::new("large ball", 2, |v| ball(v, 1e5)),
        || Projected::new("l1 ball", 3, |v| l1(v, 1.0)),
        || Projected::new("half-space", 3, |v| halfspace(v, &[3.0, -4.0, 1.0], 0.5)),
        || Projected::new("second-order cone", 3, cone),
        || Projected::new("semidefinite 2x2", 3, |v| semidefinite(v, |l| l.max(0.0))),
        || Projected::new("spectral box 2x2", 3, |v| semidefinite(v, |l| l.clamp(0.1, 1.0))),
        || Projected::new("monotone cone", 3, monotone),
        || Projected::new("orthant", 3, |v| clip(v, 0.0, f64::INFINITY)),
        || Projected::new("a single point", 2, |v| v.copy_from_slice(&[0.3, 0.2])),
        || Projected::new("everything", 2, |_| {}),
        || Projected::new("cylinder", 3, |v| ball(&mut v[..2], 1.0)),
        || {
            Projected::new("plane", 3, |v| {
                let t = (v.iter().sum::<f64>() - 1.0) / 3.0;
                v.iter_mut().for_each(|a| *a -= t);
            })
        },
        || Projected::new("ellipse to the last bit", 2, |v| ellipse(v, 200)),
        || Projected::new("ellipse to 1e-9", 2, |v| ellipse(v, 34)).with_accuracy(1e-9),
        || Projected::new("box and half-space by Dykstra", 3, |v| dykstra(v, 400)).with_accuracy(1e-8),
        || {
            Projected::new("simplex rounded to 2^-30", 3, |v| {
                simplex(v, 1.0);
                v.iter_mut().for_each(|a| *a = (*a * 1_073_741_824.0).round() / 1_073_741_824.0);
            })
            .with_accuracy(2e-9)
        },
    ]
}

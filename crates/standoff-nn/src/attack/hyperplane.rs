//! The shortest change that crosses a hyperplane inside limits of pixels, in each norm.

use super::Norm;

/// Writes to `d` the shortest change with `<w, d> = target` for which `x + d` is inside the limits; if there is none, the change that
/// comes nearest. Returns its length.
///
/// Every entry moves in the direction in which `<w, d>` approaches the target, at most as far as its limit. In L-infinity all entries
/// move by `min(s, room)`, in L2 by `min(s |w|, room)`, for the least s that reaches the target: the sum is concave and piecewise
/// linear in s, so Newton's method from 0 never overshoots and ends after finitely many steps. In L1 the entries with the largest |w|
/// move first.
pub(super) fn cross(
    (norm, clip): (Norm, Option<(f32, f32)>),
    (w, x): (&[f32], &[f32]),
    target: f64,
    d: &mut [f32],
    order: &mut Vec<u32>,
) -> f64 {
    let side = if target < 0.0 { -1.0 } else { 1.0 };
    let goal = target.abs();
    let room = |w: f64, x: f32| match clip {
        None => f64::INFINITY,
        Some((low, high)) => {
            let room = if w * side > 0.0 { f64::from(high) - f64::from(x) } else { f64::from(x) - f64::from(low) };
            room.max(0.0)
        }
    };
    let entries = || w.iter().map(|&w| f64::from(w)).zip(x).filter(|(w, _)| *w != 0.0);
    if norm == Norm::L1 {
        return greedy((w, x), (goal, side), &room, d, order);
    }
    // The speed of an entry in s.
    let speed = |w: f64| if norm == Norm::L2 { w.abs() } else { 1.0 };
    let mut s = 0.0;
    for _ in 0..64 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for (w, &x) in entries() {
            let (free, room) = (s * speed(w), room(w, x));
            if free < room {
                sum += w.abs() * free;
                slope += w.abs() * speed(w);
            } else {
                sum += w.abs() * room;
            }
        }
        let step = (goal - sum) / slope;
        if !(slope > 0.0 && step > 1e-12 * s) {
            break;
        }
        s += step;
    }
    let mut length = 0.0;
    for ((d, &w), &x) in d.iter_mut().zip(w).zip(x) {
        let w = f64::from(w);
        let size = if w == 0.0 { 0.0 } else { (s * speed(w)).min(room(w, x)) };
        *d = (size * side * w.signum()) as f32;
        length = if norm == Norm::L2 { length + size * size } else { f64::max(length, size) };
    }
    if norm == Norm::L2 { length.sqrt() } else { length }
}

/// The largest |w| first.
fn greedy(
    (w, x): (&[f32], &[f32]),
    (goal, side): (f64, f64),
    room: &dyn Fn(f64, f32) -> f64,
    d: &mut [f32],
    order: &mut Vec<u32>,
) -> f64 {
    order.clear();
    order.extend(0..w.len() as u32);
    order.sort_unstable_by(|&a, &b| w[b as usize].abs().total_cmp(&w[a as usize].abs()).then(a.cmp(&b)));
    d.fill(0.0);
    let (mut left, mut length) = (goal, 0.0);
    for i in order.iter().map(|&i| i as usize) {
        let weight = f64::from(w[i]);
        if left <= 0.0 || weight == 0.0 {
            break;
        }
        let size = (left / weight.abs()).min(room(weight, x[i]));
        d[i] = (size * side * weight.signum()) as f32;
        left -= size * weight.abs();
        length += size;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(norm: Norm, d: &[f32]) -> f64 {
        let sizes = d.iter().map(|&d| f64::from(d).abs());
        match norm {
            Norm::Linf => sizes.fold(0.0, f64::max),
            Norm::L2 => sizes.map(|d| d * d).sum::<f64>().sqrt(),
            Norm::L1 => sizes.sum(),
        }
    }

    #[test]
    fn the_change_reaches_the_plane_and_no_sampled_change_is_shorter() {
        let mut stream = super::super::random::AttackRandom::new(1, "plane").stream(0, 0, 0);
        for round in 0..300 {
            let n = 2 + round % 6;
            let x: Vec<f32> = (0..n).map(|_| 0.5 + 0.5 * stream.signed()).collect();
            let w: Vec<f32> = (0..n).map(|_| stream.signed()).collect();
            let (norm, clip) =
                ([Norm::Linf, Norm::L2, Norm::L1][round % 3], (round % 2 == 0).then_some((0.0_f32, 1.0_f32)));
            let dot = |d: &[f32]| d.iter().zip(&w).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
            let target = f64::from(stream.signed()) * if clip.is_some() { 0.3 } else { 2.0 };
            let (mut d, mut order) = (vec![0.0; n], Vec::new());
            let size = cross((norm, clip), (&w, &x), target, &mut d, &mut order);
            assert!((size - length(norm, &d)).abs() < 1e-5);
            let inside = |d: &[f32]| {
                clip.is_none_or(|(a, b)| d.iter().zip(&x).all(|(d, x)| (a - 1e-6..=b + 1e-6).contains(&(d + x))))
            };
            assert!(inside(&d));
            let reached = (dot(&d) - target).abs() < 1e-5;
            for _ in 0..500 {
                let other: Vec<f32> = d.iter().map(|d| d + 0.3 * stream.signed()).collect();
                if inside(&other) && dot(&other).abs() >= target.abs() && dot(&other) * target >= 0.0 {
                    assert!(reached, "round {round}: the plane can be reached");
                    assert!(length(norm, &other) >= size - 1e-5, "round {round} {norm:?}");
                }
            }
        }
    }
}

//! Geometry of the L1 ball inside limits of pixels: distance, projection, and steps that change a few pixels only.

use super::random::Stream;

/// The sum of absolute differences, in `f64`.
pub(super) fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs()).sum()
}

/// Number of entries that differ.
pub(super) fn changed(a: &[f32], b: &[f32]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}

/// Moves x to the nearest point (in Euclidean length) whose distance from the origin is at most r and which is inside the limits.
///
/// With d = x - origin the point is `sign(d) min(max(|d| - t, 0), room)`, where room is the distance to the limit and t >= 0 is the
/// least shift at which the lengths add up to r. The sum falls in t, so bisection finds it; the side that is inside the ball is kept.
pub(super) fn project(x: &mut [f32], origin: &[f32], r: f64, clip: Option<(f32, f32)>) {
    let shrunk = |x: f32, o: f32, shift: f64| {
        let d = f64::from(x) - f64::from(o);
        let room = clip.map_or(f64::INFINITY, |(low, high)| {
            let limit = if d > 0.0 { f64::from(high) - f64::from(o) } else { f64::from(o) - f64::from(low) };
            limit.max(0.0)
        });
        (d.abs() - shift).clamp(0.0, room).copysign(d)
    };
    let total = |x: &[f32], shift: f64| x.iter().zip(origin).map(|(&x, &o)| shrunk(x, o, shift).abs()).sum::<f64>();
    let mut shift = 0.0;
    if total(x, 0.0) > r {
        let farthest = |most: f64, (x, o): (&f32, &f32)| most.max((f64::from(*x) - f64::from(*o)).abs());
        let (mut low, mut high) = (0.0, x.iter().zip(origin).fold(0.0, farthest));
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if total(x, middle) > r {
                low = middle;
            } else {
                high = middle;
            }
        }
        shift = high;
    }
    for (x, &o) in x.iter_mut().zip(origin) {
        *x = towards(o, shrunk(*x, o, shift));
    }
}

/// `o + d` in `f32`, rounded towards o, so that sums of many changes do not leave the ball.
fn towards(o: f32, d: f64) -> f32 {
    let sum = (f64::from(o) + d) as f32;
    let over = (f64::from(sum) - f64::from(o)).abs() > d.abs();
    match over {
        true if d > 0.0 => sum.next_down(),
        true => sum.next_up(),
        false => sum,
    }
}

/// A step of this L1 length along the signs of the `count` largest entries of the gradient, of pixels that are not at their limit.
pub(super) fn step(x: &mut [f32], g: &[f32], length: f32, count: usize, clip: Option<(f32, f32)>) {
    let free = |x: f32, g: f32| match clip {
        Some((low, high)) => (g > 0.0 && x < high) || (g < 0.0 && x > low),
        None => g != 0.0,
    };
    let least = SORTED.with_borrow_mut(|sizes| {
        sizes.clear();
        sizes.extend(x.iter().zip(g).map(|(&x, &g)| if free(x, g) { g.abs() } else { 0.0 }));
        let place = count.clamp(1, sizes.len().max(1)) - 1;
        if sizes.is_empty() { 0.0 } else { *sizes.select_nth_unstable_by(place, |a, b| b.total_cmp(a)).1 }
    });
    let chosen = |x: f32, g: f32| free(x, g) && g.abs() >= least;
    let part = length / x.iter().zip(g).filter(|(x, g)| chosen(**x, **g)).count().max(1) as f32;
    for (x, &g) in x.iter_mut().zip(g) {
        if chosen(*x, g) {
            *x += part.copysign(g);
        }
    }
}

/// A random direction of this L1 length.
pub(super) fn anywhere(x: &mut [f32], length: f32, stream: &mut Stream) {
    x.iter_mut().for_each(|x| *x = stream.normal());
    let sum: f64 = x.iter().map(|x| f64::from(x.abs())).sum();
    let scale = if sum > 0.0 { f64::from(length) / sum } else { 0.0 };
    x.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
}

thread_local! {
    /// The sizes of the entries of one gradient.
    static SORTED: std::cell::RefCell<Vec<f32>> = const { std::cell::RefCell::new(Vec::new()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projection_is_inside_and_no_sampled_point_of_the_set_is_nearer() {
        let mut stream = super::super::random::AttackRandom::new(3, "l1").stream(0, 0, 0);
        for round in 0..200 {
            let n = 1 + round % 9;
            let origin: Vec<f32> = (0..n).map(|_| 0.5 + 0.5 * stream.signed()).collect();
            let far: Vec<f32> = origin.iter().map(|o| o + 2.0 * stream.signed()).collect();
            let (r, clip) = (0.3 * f64::from(1 + round as u32 % 5), (round % 2 == 0).then_some((0.0, 1.0)));
            let mut near = far.clone();
            project(&mut near, &origin, r, clip);
            let inside = |x: &[f32]| {
                distance(x, &origin) <= r && x.iter().all(|v| clip.is_none_or(|(a, b)| (a..=b).contains(v)))
            };
            assert!(inside(&near), "round {round}");
            let apart =
                |x: &[f32]| x.iter().zip(&far).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>();
            for _ in 0..300 {
                let mut other: Vec<f32> = near.iter().map(|x| x + 0.2 * stream.signed()).collect();
                if let Some((low, high)) = clip {
                    other.iter_mut().for_each(|v| *v = v.clamp(low, high));
                }
                assert!(!inside(&other) || apart(&other) >= apart(&near) - 1e-4, "round {round}");
            }
        }
    }

    #[test]
    fn a_step_changes_the_largest_entries_and_has_its_length() {
        let mut x = [0.0; 5];
        step(&mut x, &[0.1, -3.0, 2.0, 0.0, 0.5], 1.0, 2, None);
        assert_eq!(x, [0.0, -0.5, 0.5, 0.0, 0.0]);
        let mut x = [0.0; 3];
        step(&mut x, &[0.0; 3], 1.0, 2, None);
        assert_eq!(x, [0.0; 3]);
        step(&mut x, &[-9.0, 1.0, 2.0], 1.0, 2, Some((0.0, 1.0)));
        assert_eq!(x, [0.0, 0.5, 0.5], "the first pixel is at its limit");
    }
}

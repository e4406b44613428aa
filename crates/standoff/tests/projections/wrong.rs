//! Wrong projections.

use super::right::{ball, clip, dot, halfspace, l1, length, semidefinite, simplex};
use super::set::Projected;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

fn normalise(v: &mut [f64]) {
    let sum: f64 = v.iter().sum();
    v.iter_mut().for_each(|a| *a /= sum);
}

/// A rule that also receives the number of the call.
fn counted(name: &'static str, dim: usize, rule: impl Fn(&mut [f64], usize) + Send + Sync + 'static) -> Projected {
    let calls = AtomicUsize::new(0);
    Projected::new(name, dim, move |v| rule(v, calls.fetch_add(1, SeqCst)))
}

/// Keeps the last result as long as the argument has moved by less than `near`.
fn cached(name: &'static str, near: f64) -> Projected {
    let last: Mutex<Option<(Vec<f64>, Vec<f64>)>> = Mutex::new(None);
    Projected::new(name, 2, move |v| {
        let mut last = last.lock().unwrap();
        if let Some((from, to)) = last.as_ref() {
            let moved: Vec<f64> = from.iter().zip(v.iter()).map(|(a, b)| a - b).collect();
            if length(&moved) < near {
                v.copy_from_slice(to);
                return;
            }
        }
        let from = v.to_vec();
        clip(v, -0.5, 0.5);
        *last = Some((from, v.to_vec()));
    })
}

fn simplices() -> Vec<fn() -> Projected> {
    vec![
        || {
            Projected::new("simplex: clip and normalise", 3, |v| {
                clip(v, 1e-12, f64::INFINITY);
                normalise(v);
            })
        },
        || {
            Projected::new("simplex: softmax", 3, |v| {
                v.iter_mut().for_each(|a| *a = a.exp());
                normalise(v);
            })
        },
        || {
            Projected::new("simplex: absolute values, normalised", 3, |v| {
                v.iter_mut().for_each(|a| *a = a.abs() + 1e-12);
                normalise(v);
            })
        },
        || {
            Projected::new("simplex: squares, normalised", 3, |v| {
                v.iter_mut().for_each(|a| *a = *a * *a + 1e-12);
                normalise(v);
            })
        },
        || {
            Projected::new("simplex: shift once, then clip", 3, |v| {
                let t = (v.iter().sum::<f64>() - 1.0) / 3.0;
                v.iter_mut().for_each(|a| *a = (*a - t).max(0.0));
            })
        },
        || {
            Projected::new("simplex: the largest entry takes all", 3, |v| {
                let most = (0..3).fold(0, |m, i| if v[i] > v[m] { i } else { m });
                v.iter_mut().enumerate().for_each(|(i, a)| *a = f64::from(u8::from(i == most)));
            })
        },
        || {
            Projected::new("l1 ball: radial scaling", 3, |v| {
                let sum: f64 = v.iter().map(|a| a.abs()).sum();
                v.iter_mut().for_each(|a| *a /= sum.max(1.0));
            })
        },
        || {
            Projected::new("l1 ball: a fixed threshold", 3, |v| {
                if v.iter().map(|a| a.abs()).sum::<f64>() > 1.0 {
                    v.iter_mut().for_each(|a| *a = a.signum() * (a.abs() - 0.2).max(0.0));
                }
            })
        },
        || {
            Projected::new("l1 ball: only the largest entry is cut", 3, |v| {
                let sum: f64 = v.iter().map(|a| a.abs()).sum();
                if sum > 1.0 {
                    let most = (0..3).fold(0, |m, i| if v[i].abs() > v[m].abs() { i } else { m });
                    v[most] = v[most].signum() * (v[most].abs() - (sum - 1.0)).max(0.0);
                }
            })
        },
    ]
}

fn boxes_and_balls() -> Vec<fn() -> Projected> {
    vec![
        || {
            Projected::new("box: radial scaling", 3, |v| {
                let most = v.iter().fold(1.0_f64, |m, a| m.max(a.abs()));
                v.iter_mut().for_each(|a| *a /= most);
            })
        },
        || Projected::new("box: tanh", 2, |v| v.iter_mut().for_each(|a| *a = a.tanh())),
        || {
            Projected::new("box: reflection at the sides", 2, |v| {
                v.iter_mut().for_each(|a| {
                    *a = if *a > 0.5 {
                        1.0 - *a
                    } else if *a < -0.5 {
                        -1.0 - *a
                    } else {
                        *a
                    }
                });
                clip(v, -0.5, 0.5);
            })
        },
        || {
            Projected::new("box: wrapped around", 2, |v| {
                v.iter_mut().for_each(|a| *a = (*a + 0.5).rem_euclid(1.0) - 0.5);
            })
        },
        || {
            Projected::new("box: rounded to a grid", 2, |v| {
                clip(v, -1.0, 1.0);
                v.iter_mut().for_each(|a| *a = (*a * 10.0).round() / 10.0);
            })
        },
        || {
            Projected::new("box: rounded to f32 without saying so", 2, |v| {
                clip(v, -0.7, 0.7);
                v.iter_mut().for_each(|a| *a = f64::from(*a as f32));
            })
        },
        || {
            Projected::new("box: coordinates swapped", 2, |v| {
                v.swap(0, 1);
                v[0] = v[0].clamp(-0.5, 0.2);
                v[1] = v[1].clamp(-0.1, 0.4);
            })
        },
        || {
            Projected::new("box: shifted after clipping", 2, |v| {
                clip(v, -0.5, 0.5);
                v.iter_mut().for_each(|a| *a += 0.1);
            })
        },
        || {
            Projected::new("box: half of the way", 2, |v| {
                let mut z = v.to_vec();
                clip(&mut z, -0.5, 0.5);
                v.iter_mut().zip(z).for_each(|(a, z)| *a = 0.5 * (*a + z));
            })
        },
        || {
            Projected::new("box: nothing is done within 0.1", 2, |v| {
                let mut z = v.to_vec();
                clip(&mut z, -0.5, 0.5);
                let off: Vec<f64> = v.iter().zip(&z).map(|(a, z)| a - z).collect();
                if length(&off) > 0.1 {
                    v.copy_from_slice(&z);
                }
            })
        },
        || {
            Projected::new("ball: clip to the bounding box, then scale", 2, |v| {
                clip(v, -1.0, 1.0);
                ball(v, 1.0);
            })
        },
        || {
            Projected::new("ball: always onto the sphere", 2, |v| {
                let n = length(v).max(1e-300);
                v.iter_mut().for_each(|a| *a /= n);
            })
        },
        || {
            Projected::new("ball: divided by the squared norm", 2, |v| {
                let n = dot(v, v).max(1.0);
                v.iter_mut().for_each(|a| *a /= n);
            })
        },
        || {
            Projected::new("ball: squashed", 2, |v| {
                let n = 1.0 + length(v);
                v.iter_mut().for_each(|a| *a /= n);
            })
        },
        || {
            Projected::new("ellipse: radial scaling", 2, |v| {
                let n = (v[0] * v[0] + 9.0 * v[1] * v[1]).sqrt().max(1.0);
                v.iter_mut().for_each(|a| *a /= n);
            })
        },
        || {
            Projected::new("ball: the radius is in another norm", 3, |v| {
                let n = v.iter().map(|a| a.powi(4)).sum::<f64>().powf(0.25).max(1.0);
                v.iter_mut().for_each(|a| *a /= n);
            })
        },
    ]
}

fn planes_and_cones() -> Vec<fn() -> Projected> {
    vec![
        || {
            Projected::new("half-space: along one coordinate", 2, |v| {
                let beyond = v[0] + 2.0 * v[1] - 0.3;
                if beyond > 0.0 {
                    v[0] -= beyond;
                }
                clip(v, -1.0, 1.0);
            })
        },
        || {
            Projected::new("half-space: the normal has not length one", 2, |v| {
                let beyond = 0.5 * v[0] - 0.5 * v[1] + 0.2;
                if beyond > 0.0 {
                    v[0] -= 0.5 * beyond;
                    v[1] += 0.5 * beyond;
                }
                clip(v, -1.0, 1.0);
            })
        },
        || {
            Projected::new("box and half-space: one pass", 3, |v| {
                clip(v, -0.5, 0.5);
                halfspace(v, &[1.0, -1.0, 0.5], -0.2);
            })
        },
        || {
            Projected::new("half-space and box: one pass", 3, |v| {
                halfspace(v, &[1.0, -1.0, 0.5], -0.2);
                clip(v, -0.5, 0.5);
            })
        },
        || {
            Projected::new("ball and half-space: one pass", 3, |v| {
                ball(v, 1.0);
                halfspace(v, &[1.0, -1.0, 0.5], -0.2);
                halfspace(v, &[-1.0, -1.0, 0.5], -0.3);
            })
        },
        || {
            Projected::new("box and simplex plane: one pass", 3, |v| {
                clip(v, 0.0, 0.5);
                let t = (v.iter().sum::<f64>() - 1.0) / 3.0;
                v.iter_mut().for_each(|a| *a -= t);
            })
        },
        || {
            Projected::new("cone: only the vector is shortened", 3, |v| {
                v[0] = v[0].max(0.0);
                let n = length(&v[1..]);
                if n > v[0] {
                    let factor = v[0] / n;
                    v[1..].iter_mut().for_each(|a| *a *= factor);
                }
                clip(v, -2.0, 2.0);
            })
        },
        || {
            Projected::new("cone: only the height is raised", 3, |v| {
                v[0] = v[0].max(length(&v[1..]));
            })
        },
        || {
            Projected::new("semidefinite: the diagonal is clipped", 3, |v| {
                v[0] = v[0].max(0.0);
                v[2] = v[2].max(0.0);
                let most = (2.0 * v[0] * v[2]).sqrt();
                v[1] = v[1].clamp(-most, most);
            })
        },
        || Projected::new("semidefinite: eigenvalues without a sign", 3, |v| semidefinite(v, f64::abs)),
        || Projected::new("monotone cone: sorted", 3, |v| v.sort_by(f64::total_cmp)),
        || Projected::new("orthant: absolute values", 3, |v| v.iter_mut().for_each(|a| *a = a.abs())),
    ]
}

fn not_convex() -> Vec<fn() -> Projected> {
    vec![
        || {
            Projected::new("ring", 2, |v| {
                let n = length(v).max(1e-300);
                let to = n.clamp(0.5, 1.0);
                v.iter_mut().for_each(|a| *a *= to / n);
            })
        },
        || {
            Projected::new("corners of a cube", 3, |v| {
                v.iter_mut().for_each(|a| *a = if *a > 0.0 { 1.0 } else { -1.0 });
            })
        },
        || {
            Projected::new("two intervals", 2, |v| {
                clip(v, -1.0, 1.0);
                v.iter_mut().for_each(|a| *a = if *a > 0.0 { a.max(0.4) } else { a.min(-0.4) });
            })
        },
        || {
            Projected::new("a cross: at most one entry is not 0", 2, |v| {
                clip(v, -1.0, 1.0);
                if v[0].abs() > v[1].abs() { v[1] = 0.0 } else { v[0] = 0.0 }
            })
        },
        || {
            Projected::new("outside of a ball, in a box", 2, |v| {
                clip(v, -1.0, 1.0);
                let n = length(v).max(1e-300);
                if n < 0.7 {
                    v.iter_mut().for_each(|a| *a *= 0.7 / n);
                }
            })
        },
        || {
            Projected::new("a half ball and half of a smaller one", 2, |v| {
                let radius = if v[0] > 0.0 { 1.0 } else { 0.6 };
                ball(v, radius);
            })
        },
    ]
}

fn changing() -> Vec<fn() -> Projected> {
    vec![
        || counted("ball: two radii in turn", 2, |v, k| ball(v, if k % 2 == 0 { 1.0 } else { 1.01 })),
        || counted("ball: the radius grows", 2, |v, k| ball(v, 1.0 + 1e-6 * k as f64)),
        || {
            counted("box: every seventh call does nothing", 2, |v, k| {
                if k % 7 != 6 {
                    clip(v, -0.5, 0.5);
                }
            })
        },
        || {
            counted("box: noise of 1e-6", 2, |v, k| {
                clip(v, -0.5, 0.5);
                v[0] += 1e-6 * ((k * 7919) % 13) as f64 / 13.0;
            })
        },
        || {
            counted(
                "an l1 ball and a simplex in turn",
                3,
                |v, k| if k / 20 % 2 == 0 { l1(v, 1.0) } else { simplex(v, 1.0) },
            )
        },
        || cached("box: a cache for near arguments", 0.05),
        || cached("box: a cache for far arguments", 0.5),
    ]
}

pub(crate) fn all() -> Vec<fn() -> Projected> {
    [simplices(), boxes_and_balls(), planes_and_cones(), not_convex(), changing()].concat()
}

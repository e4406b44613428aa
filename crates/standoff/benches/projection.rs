//! Times of projections in units of copies of the vector, and of certificates in units of projections.
//!
//! Every ratio compares two operations at the same moment: `copy_from_slice` into an existing vector, and the
//! projection in place of such a copy. A projection overwrites its input, so the vector is copied again before each
//! one, outside the timed part. Both are timed many times in turn; the benchmark prints the median of the ratios.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

use standoff::gap::{Ask, Gauge, Side};
use standoff::sets::Matrix;
use standoff::{Real, Set};

const REPEATS: usize = 41;

fn main() {
    let mut report = String::from("projection of 10^6 entries, in copies of the vector (median; fastest of each)\n");
    let n = 1_000_000;
    let simplex = |scale: f64| Set::<f64>::simplex(n, scale).expect("a simplex");
    let inputs: [(&str, Vec<f64>); 5] = [
        ("gaussian", gaussian(n)),
        ("uniform", uniform(n)),
        ("all equal", vec![0.3; n]),
        ("feasible", feasible(n)),
        ("ascending", (0..n).map(|i| i as f64 / n as f64).collect()),
    ];
    for (name, v) in &inputs {
        line(&mut report, &format!("simplex, {name}"), &simplex(1.0), v);
    }
    line(&mut report, "simplex of scale 10^4, gaussian", &simplex(1e4), &inputs[0].1);
    let l1 = Set::<f64>::l1_ball(n, 1.0).expect("an l1 ball");
    line(&mut report, "l1 ball, gaussian", &l1, &inputs[0].1);
    let single: Vec<f32> = inputs[0].1.iter().map(|v| *v as f32).collect();
    line(&mut report, "simplex, gaussian in f32", &Set::simplex(n, 1.0).expect("a simplex"), &single);
    let ball = Set::ball(vec![0.0; n], 1.0).expect("a ball");
    line(&mut report, "ball, gaussian", &ball, &inputs[0].1);
    certificates(&mut report, &simplex(1.0));
    polyhedra(&mut report);
    // Not println!, which panics when the pipe is closed.
    let _ = std::io::stdout().write_all(report.as_bytes());
}

/// Adds the certificate on the simplex, at points inside it and on its boundary, in units of projections of `point - gradient`.
fn certificates(report: &mut String, set: &Set<f64>) {
    let n = set.dim();
    let heading = "certificate on the simplex of 10^6 entries, in projections of that size (median; fastest of each)";
    let _ = writeln!(report, "\n{heading}");
    let boundary = |size: f64| {
        let mut v: Vec<f64> = gaussian(n).iter().map(|g| size * g).collect();
        set.project(&mut v);
        v
    };
    let points = [
        ("centre", set.centre()),
        ("uniform inside", feasible(n)),
        ("many zeros", boundary(1e-6)),
        ("thousands left", boundary(1e-3)),
        ("a handful left", boundary(1.0)),
    ];
    // A different part of the random stream than for the points.
    let (normal, flat) = (gaussian(2 * n).split_off(n), uniform(2 * n).split_off(n));
    let steps: Vec<f64> = flat.iter().map(|u| (5.0 * u).floor()).collect();
    for (name, point) in &points {
        for (kind, g) in [("gaussian", &normal), ("uniform", &flat), ("five values", &steps)] {
            certificate(report, &format!("{name}, {kind}"), set, (point, g));
        }
    }
}

fn certificate(report: &mut String, name: &str, set: &Set<f64>, (point, g): (&[f64], &[f64])) {
    let away: Vec<f64> = point.iter().zip(g).map(|(p, gi)| p - gi).collect();
    let (mut work, mut gauge) = (away.clone(), Gauge::new(1.0));
    let (mut ratios, mut best) = (Vec::new(), (f64::INFINITY, f64::INFINITY));
    for _ in 0..REPEATS {
        work.copy_from_slice(&away);
        let projecting = seconds(|| set.project(&mut work));
        let measuring = seconds(|| {
            std::hint::black_box(gauge.measure(set, point, g, Side::Min, Ask::Exact));
        });
        ratios.push(measuring / projecting);
        best = (best.0.min(measuring), best.1.min(projecting));
    }
    summary(report, name, (&mut ratios, best));
}

/// Adds polyhedra: a projection after a small move, one without a warm start, and the certificate at the projected
/// point.
fn polyhedra(report: &mut String) {
    let _ = writeln!(report, "\npolyhedra, microseconds (median)");
    for n in [60, 120] {
        let m = 4 * n;
        let data = gaussian(m * n).iter().map(|a| a / (n as f64).sqrt()).collect();
        let set = Set::<f64>::polyhedron(Matrix::new(m, n, data).expect("a matrix"), &vec![0.7; m]).expect("a set");
        let (moves, g) = (gaussian(n * (REPEATS + 1)), gaussian(2 * n).split_off(n));
        let (mut v, mut gauge) = (moves[..n].to_vec(), Gauge::new(1.0));
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for d in moves[n..].chunks(n) {
            v.iter_mut().zip(d).for_each(|(v, d)| *v += 0.01 * d);
            let mut z = v.clone();
            times[0].push(seconds(|| set.project(&mut z)));
            set.forget();
            z.copy_from_slice(&v);
            times[1].push(seconds(|| set.project(&mut z)));
            times[2].push(seconds(|| {
                std::hint::black_box(gauge.measure(&set, &z, &g, Side::Min, Ask::Exact));
            }));
        }
        let [warm, cold, certificate] = times.map(|mut t| {
            t.sort_by(f64::total_cmp);
            1e6 * t[t.len() / 2]
        });
        let _ = writeln!(
            report,
            "{m} x {n}: projection after a small move {warm:.0}, without a start {cold:.0}, certificate {certificate:.0}"
        );
    }
}

/// Adds one line: the median of `projection / copy`, and the ratio of the fastest of each, which a busy machine
/// disturbs least.
fn line<R: Real>(report: &mut String, name: &str, set: &Set<R>, v: &[R]) {
    let (mut work, mut copy) = (v.to_vec(), v.to_vec());
    let (mut ratios, mut best) = (Vec::new(), (f64::INFINITY, f64::INFINITY));
    for _ in 0..REPEATS {
        let copying = seconds(|| copy.copy_from_slice(v));
        work.copy_from_slice(v);
        let projecting = seconds(|| set.project(&mut work));
        std::hint::black_box((&work, &copy));
        ratios.push(projecting / copying);
        best = (best.0.min(projecting), best.1.min(copying));
    }
    summary(report, name, (&mut ratios, best));
}

fn summary(report: &mut String, name: &str, (ratios, best): (&mut [f64], (f64, f64))) {
    ratios.sort_by(f64::total_cmp);
    let (median, fastest) = (ratios[REPEATS / 2], best.0 / best.1);
    let times = format!("{:.3} ms against {:.3} ms", 1e3 * best.0, 1e3 * best.1);
    let _ = writeln!(report, "{name:<34} {median:6.2} {fastest:6.2}   ({times})");
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

fn uniform(n: usize) -> Vec<f64> {
    let mut state = 1u64;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state ^ (state >> 33)) >> 11) as f64 / (1u64 << 53) as f64
        })
        .collect()
}

fn gaussian(n: usize) -> Vec<f64> {
    let u = uniform(2 * n);
    (0..n).map(|i| (-2.0 * (1.0 - u[2 * i]).ln()).sqrt() * (std::f64::consts::TAU * u[2 * i + 1]).cos()).collect()
}

fn feasible(n: usize) -> Vec<f64> {
    let mut v = uniform(n);
    let sum: f64 = v.iter().sum();
    v.iter_mut().for_each(|vi| *vi /= sum);
    v
}

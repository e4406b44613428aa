//! Games from learning: robust classification and regression, a network, a small generative adversarial network.

use super::text::Text;
use crate::Error;
use crate::zoo::Instance;

/// Labels are the side of a hidden hyperplane, with noise. Returns the samples times their labels.
fn labelled(t: &mut Text, n: usize, d: usize) -> Vec<f64> {
    let hidden = t.random.normals(d, 1.0);
    let mut rows = Vec::with_capacity(n * d);
    for _ in 0..n {
        let sample = t.random.normals(d, 1.0);
        let side = sample.iter().zip(&hidden).map(|(a, b)| a * b).sum::<f64>() + 0.5 * t.random.normal();
        rows.extend(sample.iter().map(|v| v * side.signum()));
    }
    rows
}

/// Robust classification in which no sample weight exceeds five times the average: a capped simplex, as a polyhedron.
pub(super) fn cvar(seed: u64) -> Result<Instance, Error> {
    const N: usize = 20;
    let mut t = Text::new(seed);
    let samples = labelled(&mut t, N, 4);
    t.matrix("Z", 4, &samples);
    let mut rows = Vec::new();
    for i in 0..2 * N {
        let mut row = vec![0.0; N];
        row[i % N] = if i < N { 1.0 } else { -1.0 };
        rows.push(row);
    }
    let mut sides = vec![5.0 / N as f64; N];
    sides.extend([0.0; N]);
    // Two rows for "the sum is one": at most and at least.
    rows.extend([vec![1.0; N], vec![-1.0; N]]);
    sides.extend([1.0, -1.0]);
    t.variable("min.w", "{ ball = { radius = 5 } }", &[0.0; 4]);
    let set = format!("{{ polyhedron = {{ A = {rows:?}, b = {sides:?} }} }}");
    t.variable("max.p", &set, &[1.0 / N as f64; N]);
    t.game("dot(p, sigmoid(-(Z@w))) + 0.01*sum(w^2 / (1 + w^2))")
}

/// Three tanh units fitted to four groups with different labels.
pub(super) fn groups(seed: u64) -> Result<Instance, Error> {
    const N: usize = 12;
    let mut t = Text::new(seed);
    let mut losses = Vec::new();
    for g in 0..4 {
        t.normals(&format!("A{g}"), N, 3, (N as f64).sqrt());
        let (shift, noise) = (t.random.normal(), t.random.normals(N, 0.3));
        let targets: Vec<f64> = noise.iter().map(|v| (shift + v).tanh()).collect();
        t.vector(&format!("b{g}"), &targets);
        let unit = |k: usize| format!("c[{k}]*tanh(A{g}@w{k})");
        losses.push(format!("p[{g}]*mean(({} + {} + {} - b{g})^2)", unit(0), unit(1), unit(2)));
    }
    for k in 0..3 {
        let start = t.random.normals(3, 0.5);
        t.variable(&format!("min.w{k}"), "{ ball = { radius = 3 } }", &start);
    }
    t.variable("min.c", "{ box = { lower = -2, upper = 2 } }", &[0.5, -0.5, 0.2]);
    t.variable("max.p", "\"simplex\"", &[0.25; 4]);
    t.game(&losses.join(" + "))
}

/// Regression against an adversary that may change a label at a cost slightly above its gain.
pub(super) fn labels(seed: u64) -> Result<Instance, Error> {
    const N: usize = 12;
    let mut t = Text::new(seed);
    t.normals("A", N, 5, (N as f64).sqrt());
    let b: Vec<f64> = t.random.normals(N, 0.8).iter().map(|v| v.tanh()).collect();
    t.vector("b", &b);
    let start = t.random.normals(5, 0.3);
    t.variable("min.w", "{ box = { lower = -4, upper = 4 } }", &start);
    t.variable("max.y", "{ box = { lower = -2, upper = 2 } }", &[0.0; N]);
    t.game("mean(0.5*(tanh(A@w) - y)^2 - 0.6*(y - b)^2)")
}

/// Phase retrieval: `((a_i'x)^2 - b_i)^2` of the worst measurement; the sign of x is not determined.
pub(super) fn phase(seed: u64) -> Result<Instance, Error> {
    const N: usize = 15;
    let mut t = Text::new(seed);
    let hidden = t.random.normals(4, 0.7);
    let rows = t.random.normals(N * 4, 0.5);
    let b: Vec<f64> = rows
        .chunks(4)
        .map(|row| row.iter().zip(&hidden).map(|(a, h)| a * h).sum::<f64>().powi(2))
        .map(|clean| clean + 0.05 * t.random.normal())
        .collect();
    t.matrix("A", 4, &rows);
    t.vector("b", &b);
    let start = t.random.normals(4, 1.0);
    t.variable("min.x", "{ box = { lower = -2, upper = 2 } }", &start);
    t.variable("max.p", "\"simplex\"", &[1.0 / N as f64; N]);
    t.game("dot(p, ((A@x)^2 - b)^2)")
}

/// The logistic game between a normal cloud, shifted by m and scaled by s, and a linear discriminator w.
pub(super) fn gan(seed: u64) -> Result<Instance, Error> {
    const N: usize = 20;
    let mut t = Text::new(seed);
    let centre = t.random.normals(2, 1.0);
    let real: Vec<f64> = (0..2 * N).map(|k| centre[k % 2] + 0.7 * t.random.normal()).collect();
    let latent = t.random.normals(2 * N, 1.0);
    t.matrix("R", 2, &real);
    t.matrix("Z", 2, &latent);
    t.variable("min.m", "{ box = { lower = -4, upper = 4 } }", &[0.0, 0.0]);
    t.variable("min.s", "{ box = { lower = 0.1, upper = 3 } }", &[1.0, 1.0]);
    t.variable("max.w", "{ ball = { radius = 3 } }", &[0.5, -0.3]);
    t.variable("max.c", "{ box = { lower = -3, upper = 3 } }", &[0.0]);
    t.game("-mean(softplus(-(R@w + c[0]))) - mean(softplus(Z@(s*w) + dot(m, w) + c[0]))")
}

/// `-||Cy - tanh(Dx) - c||^2/2 + p(x)`, where C has more columns than rows: quadratic in y, with a subspace of
/// maximisers.
pub(super) fn pl_network(seed: u64) -> Result<Instance, Error> {
    let mut t = Text::new(seed);
    t.normals("C", 6, 10, 1.0);
    t.normals("D", 6, 5, 1.5);
    let (c, w) = (t.random.normals(6, 0.5), t.random.normals(5, 1.0));
    t.vector("c", &c);
    t.vector("w", &w);
    let start = t.random.normals(5, 1.0);
    t.variable("min.x", "{ box = { lower = -4, upper = 4 } }", &start);
    t.variable("max.y", "\"free\"", &[0.0; 10]);
    t.game("-0.5*sum((C@y - tanh(D@x) - c)^2) + sum(cos(x + w)) + 0.05*sum(x^2)")
}

//! Games on sets of all kinds.

use super::text::Text;
use crate::Error;
use crate::zoo::Instance;

const BOX: &str = "{ box = { lower = -1, upper = 1 } }";

/// `u'Hu/2 + sum cos(2v)/2` plus a coupling that is linear in p and concave in q.
pub(super) fn mixed_sets(seed: u64) -> Result<Instance, Error> {
    let mut t = Text::new(seed);
    t.symmetric("H", 6, 1.0);
    t.normals("A", 5, 6, 1.0);
    t.normals("B", 5, 8, 1.0);
    t.normals("C", 4, 6, 1.0);
    t.normals("D", 4, 8, 1.0);
    t.normals("E", 2, 4, 0.5);
    t.variable("min.u", BOX, &[0.3; 6]);
    t.variable("min.v", "{ l1 = { radius = 2 } }", &[0.1; 8]);
    t.variable("max.p", "\"simplex\"", &[0.2; 5]);
    t.variable("max.q", BOX, &[0.0; 4]);
    t.game("0.5*dot(u, H@u) + 0.5*sum(cos(2*v)) + dot(p, A@u + B@v) + dot(q, C@u + D@v) - sum((E@q)^2)")
}

/// tanh units of x weighted by y, plus a non-convex function of x.
pub(super) fn saturated(seed: u64) -> Result<Instance, Error> {
    let mut t = Text::new(seed);
    t.normals("A", 10, 15, 2.0);
    let (b, c) = (t.random.normals(10, 0.5), t.random.normals(15, 0.3));
    t.vector("b", &b);
    t.vector("c", &c);
    let start = t.random.normals(15, 0.3);
    t.variable("min.x", "{ ball = { radius = 3 } }", &start);
    t.variable("max.y", "{ l1 = { radius = 1.5 } }", &[0.0; 10]);
    t.game("dot(y, tanh(A@x) - b) + 0.3*sum(sin(2*x)) + dot(c, x)")
}

/// An indefinite quadratic on a box cut by twelve half-spaces.
pub(super) fn polytope(seed: u64) -> Result<Instance, Error> {
    const N: usize = 6;
    let mut t = Text::new(seed);
    t.symmetric("H", N, 1.0);
    t.normals("B", 4, N, 1.5);
    t.normals("C", 2, 4, 1.0);
    let faces = t.random.normals(12 * N, 1.0 / (N as f64).sqrt());
    let mut rows: Vec<Vec<f64>> = faces.chunks(N).map(<[f64]>::to_vec).collect();
    let mut sides = vec![0.7; 12];
    for i in 0..2 * N {
        let mut row = vec![0.0; N];
        row[i / 2] = if i % 2 == 0 { 1.0 } else { -1.0 };
        rows.push(row);
        sides.push(2.0);
    }
    t.variable("min.x", &format!("{{ polyhedron = {{ A = {rows:?}, b = {sides:?} }} }}"), &[0.1; N]);
    t.variable("max.y", BOX, &[0.0; 4]);
    t.game("0.5*dot(x, H@x) + dot(y, B@x) - 0.5*sum((C@y)^2)")
}

/// A game that is concave in y with curvatures from 1 down to 1e-6.
pub(super) fn flat(seed: u64) -> Result<Instance, Error> {
    const M: usize = 13;
    let mut t = Text::new(seed);
    t.symmetric("H", 8, 0.5);
    t.normals("B", M, 8, 1.0);
    let (p, q) = (t.random.normals(8, 0.5), t.random.normals(M, 0.5));
    let curvature: Vec<f64> = (0..M).map(|k| 10.0_f64.powf(-0.5 * k as f64)).collect();
    t.vector("p", &p);
    t.vector("q", &q);
    t.vector("d", &curvature);
    t.variable("min.x", BOX, &[0.2; 8]);
    t.variable("max.y", "{ ball = { radius = 5 } }", &[0.0; M]);
    t.game("0.5*dot(x, H@x) + dot(p, x) + dot(y, B@x + q) - 0.5*sum(d*y^2)")
}

/// `-sum_i log(1 + h_i x_i / (noise + interference_i(x) + y_i))`: x distributes power, y distributes noise.
pub(super) fn jamming(seed: u64) -> Result<Instance, Error> {
    const N: usize = 10;
    let mut t = Text::new(seed);
    let mut positive = |n: usize, mean: f64| -> Vec<f64> { (0..n).map(|_| -mean * t.random.unit().ln()).collect() };
    let (gain, mut cross) = (positive(N, 1.0), positive(N * N, 0.1));
    (0..N).for_each(|i| cross[i * N + i] = 0.0);
    t.vector("h", &gain);
    t.matrix("G", N, &cross);
    t.variable("min.x", "{ box = { lower = 0, upper = 1 } }", &[0.5; N]);
    t.variable("max.y", "{ simplex = { scale = 2 } }", &[2.0 / N as f64; N]);
    t.game("-sum(log(1 + h*x / (0.1 + G@x + y)))")
}

//! Random small networks, and the exact minimum of a row of their outputs over an interval.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use standoff_nn::verify::{ActivationKind, InputRegion, LinearMap, NodeOp, OpGraph, OutputRow, Property, PropertyCase};

/// A ReLU network with its layers, for computations beside the library.
pub(crate) struct SmallNet {
    pub graph: OpGraph,
    /// Weights `[out][in]` and offsets.
    pub layers: Vec<(Vec<Vec<f64>>, Vec<f64>)>,
}

pub(crate) fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let sum: f64 = (0..12).map(|_| rng.random::<f64>()).sum();
    // As in a file: numbers of f32.
    f64::from((sum - 6.0) as f32)
}

impl SmallNet {
    pub(crate) fn new(rng: &mut ChaCha8Rng, sizes: &[usize]) -> Self {
        let mut graph = OpGraph::new(vec![sizes[0]]);
        let mut layers = Vec::new();
        let mut last = 0;
        for (k, pair) in sizes.windows(2).enumerate() {
            let (n, m) = (pair[0], pair[1]);
            let scale = 1.5 / (n as f64).sqrt();
            let w: Vec<Vec<f64>> =
                (0..m).map(|_| (0..n).map(|_| f64::from((scale * normal(rng)) as f32)).collect()).collect();
            let b: Vec<f64> = (0..m).map(|_| f64::from((0.5 * normal(rng)) as f32)).collect();
            let map = LinearMap::dense(w.concat(), b.clone());
            last = graph.push(&format!("fc{k}"), NodeOp::Linear { input: last, map }).expect("a layer");
            if k + 2 < sizes.len() {
                let kind = ActivationKind::Relu { leak: 0.0 };
                last = graph.push("relu", NodeOp::Activation { input: last, kind }).expect("a layer");
            }
            layers.push((w, b));
        }
        Self { graph, layers }
    }

    pub(crate) fn value(&self, x: &[f64]) -> Vec<f64> {
        let mut v = x.to_vec();
        for (k, (w, b)) in self.layers.iter().enumerate() {
            v = w.iter().zip(b).map(|(w, b)| b + w.iter().zip(&v).map(|(w, v)| w * v).sum::<f64>()).collect();
            if k + 1 < self.layers.len() {
                v.iter_mut().for_each(|v| *v = if *v > 0.0 { *v } else { 0.0 });
            }
        }
        v
    }

    /// The minimum of a row over an interval, for one input: the network is linear between kinks.
    pub(crate) fn minimum(&self, low: f64, high: f64, row: &OutputRow) -> f64 {
        let mut points = vec![low, high];
        for depth in 1..self.layers.len() {
            let part = Self { graph: self.graph.clone(), layers: self.layers[..depth].to_vec() };
            let values: Vec<Vec<f64>> = points.iter().map(|&x| part.value(&[x])).collect();
            let mut kinks = Vec::new();
            for i in 0..points.len() - 1 {
                for (a, b) in values[i].iter().zip(&values[i + 1]) {
                    if (*a < 0.0) != (*b < 0.0) {
                        kinks.push(points[i] + (points[i + 1] - points[i]) * (a / (a - b)).clamp(0.0, 1.0));
                    }
                }
            }
            points.extend(kinks);
            points.sort_by(f64::total_cmp);
        }
        points.iter().map(|&x| row.value(&self.value(&[x]))).fold(f64::INFINITY, f64::min)
    }
}

/// A property with one unsafe condition.
pub(crate) fn property(region: &InputRegion, row: &OutputRow) -> Property {
    let (lower, upper) = (region.lower.clone(), region.upper.clone());
    Property {
        cases: vec![PropertyCase { lower, upper, ball: region.ball.clone(), unsafe_sets: vec![vec![row.clone()]] }],
    }
}

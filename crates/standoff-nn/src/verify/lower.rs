//! Max-pooling as ReLUs: `max(a, b) = a + relu(b - a)`, pair by pair. Bounds know linear maps, sums and activations only.

use super::graph::{ActivationKind, NodeOp, OpGraph};
use super::map::{LinearMap, SparseRows};
use crate::Error;

impl OpGraph {
    /// The same function without max-pooling.
    pub(crate) fn lowered(&self) -> Result<Self, Error> {
        let mut out = Self::new(self.input_dims().to_vec());
        out.softmax_left_out = self.softmax_left_out;
        // The place of every node in the new graph.
        let mut places = vec![0];
        for node in &self.nodes()[1..] {
            let place = match &node.op {
                NodeOp::Input => 0,
                NodeOp::Linear { input, map } => {
                    out.push(&node.name, NodeOp::Linear { input: places[*input], map: map.clone() })?
                }
                NodeOp::Activation { input, kind } => {
                    out.push(&node.name, NodeOp::Activation { input: places[*input], kind: *kind })?
                }
                NodeOp::Add { left, right } => {
                    out.push(&node.name, NodeOp::Add { left: places[*left], right: places[*right] })?
                }
                NodeOp::MaxPool { input, windows } => pool(&mut out, &node.name, places[*input], windows.clone())?,
            };
            places.push(place);
        }
        Ok(out)
    }
}

fn pool(out: &mut OpGraph, name: &str, mut from: usize, mut windows: Vec<Vec<u32>>) -> Result<usize, Error> {
    while windows.iter().any(|w| w.len() > 1) {
        let mut pairs = Vec::new();
        for window in &mut windows {
            let halves: Vec<u32> = (0..window.len().div_ceil(2)).map(|i| (pairs.len() + i) as u32).collect();
            pairs.extend(window.chunks(2).map(|c| [c[0], *c.last().unwrap_or(&c[0])]));
            *window = halves;
        }
        from = pairwise(out, name, from, pairs)?;
    }
    let places: Vec<usize> = windows.iter().map(|w| w[0] as usize).collect();
    let n = out.nodes()[from].size;
    if n == places.len() && places.iter().enumerate().all(|(i, p)| i == *p) {
        return Ok(from);
    }
    out.push(name, NodeOp::Linear { input: from, map: LinearMap::permutation(n, &places) })
}

/// The maximum of each pair of entries.
fn pairwise(out: &mut OpGraph, name: &str, from: usize, pairs: Vec<[u32; 2]>) -> Result<usize, Error> {
    let n = out.nodes()[from].size;
    let firsts: Vec<usize> = pairs.iter().map(|p| p[0] as usize).collect();
    let mut rows = SparseRows::new();
    for &[a, b] in &pairs {
        if a != b {
            rows.push(b as usize, 1.0);
            rows.push(a as usize, -1.0);
        }
        rows.end_row();
    }
    let first = out.push(name, NodeOp::Linear { input: from, map: LinearMap::permutation(n, &firsts) })?;
    // A maximum is exact in f32: the differences are not rounded.
    let difference = LinearMap::exact(n, rows, vec![0.0; pairs.len()]);
    let difference = out.push(name, NodeOp::Linear { input: from, map: difference })?;
    let kind = ActivationKind::Relu { leak: 0.0 };
    let positive = out.push(name, NodeOp::Activation { input: difference, kind })?;
    let place = out.push(name, NodeOp::Add { left: first, right: positive })?;
    out.node_mut(place).maximum_of = Some((from, pairs));
    Ok(place)
}

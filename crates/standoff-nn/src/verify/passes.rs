//! Values and gradients of a network of elementary operations at some points, in `f32`.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::backward::CompiledGraph;
use super::graph::{NodeOp, OpGraph};
use crate::Error;

/// One pass forward, and one back to the inputs. Arrays `[point][entry]` for each node.
#[derive(Debug, Default)]
pub(crate) struct GraphPasses {
    values: Vec<Vec<f32>>,
    gradients: Vec<Vec<f32>>,
    product: Vec<f32>,
}

impl GraphPasses {
    /// The outputs of the last pass.
    pub(crate) fn outputs(&self) -> &[f32] {
        self.values.last().map_or(&[], |values| values)
    }

    /// The gradients of the last pass back, with respect to the inputs.
    pub(crate) fn gradients(&self) -> &[f32] {
        self.gradients.first().map_or(&[], |gradients| gradients)
    }

    /// Computes the values of all nodes.
    pub(crate) fn forward(&mut self, compiled: &CompiledGraph<f32>, points: &[f32]) {
        let nodes = compiled.graph.nodes();
        self.values.resize(nodes.len(), Vec::new());
        self.values[0].clear();
        self.values[0].extend_from_slice(points);
        let count = points.len() / compiled.graph.inputs();
        for (i, node) in nodes.iter().enumerate().skip(1) {
            let (before, after) = self.values.split_at_mut(i);
            let out = &mut after[0];
            out.resize(count * node.size, 0.0);
            match &node.op {
                NodeOp::Linear { input, .. } => {
                    compiled.map(i).forth(&before[*input], out);
                    for y in out.chunks_mut(node.size) {
                        y.iter_mut().zip(compiled.bias(i)).for_each(|(y, b)| *y += b);
                    }
                }
                NodeOp::Activation { input, kind } => {
                    for (y, &x) in out.iter_mut().zip(&before[*input]) {
                        *y = kind.value(f64::from(x)) as f32;
                    }
                }
                NodeOp::Add { left, right } => {
                    for (y, (a, b)) in out.iter_mut().zip(before[*left].iter().zip(&before[*right])) {
                        *y = a + b;
                    }
                }
                NodeOp::Input | NodeOp::MaxPool { .. } => {}
            }
        }
    }

    /// Gradients of sums of the last outputs times these slopes, `[point][output]`.
    pub(crate) fn backward(&mut self, compiled: &CompiledGraph<f32>, slopes: &[f32]) {
        let nodes = compiled.graph.nodes();
        let last = nodes.len() - 1;
        self.gradients.resize(nodes.len(), Vec::new());
        for (g, v) in self.gradients.iter_mut().zip(&self.values) {
            g.clear();
            g.resize(v.len(), 0.0);
        }
        self.gradients[last].copy_from_slice(slopes);
        for i in (1..=last).rev() {
            let (before, after) = self.gradients.split_at_mut(i);
            let g = &after[0];
            match &nodes[i].op {
                NodeOp::Linear { input, .. } => {
                    self.product.resize(before[*input].len(), 0.0);
                    compiled.map(i).back(g, &mut self.product);
                    before[*input].iter_mut().zip(&self.product).for_each(|(a, b)| *a += b);
                }
                NodeOp::Activation { input, kind } => {
                    for (k, x) in self.values[*input].iter().enumerate() {
                        before[*input][k] += g[k] * kind.slope(f64::from(*x)) as f32;
                    }
                }
                NodeOp::Add { left, right } => {
                    for from in [*left, *right] {
                        before[from].iter_mut().zip(g).for_each(|(a, b)| *a += b);
                    }
                }
                NodeOp::Input | NodeOp::MaxPool { .. } => {}
            }
        }
    }
}

/// Points that one thread computes together. Fixed, so that results do not depend on the number of threads.
const TOGETHER: usize = 16;

/// A network of elementary operations, ready to compute outputs and gradients of rows.
///
/// ```
/// use standoff_nn::model::onnx::OnnxModel;
/// use standoff_nn::verify::GraphNetwork;
/// use standoff_nn::{Biases, Model, Shape};
///
/// let model = Model::preset("mlp", Shape::vector(4), 3)?;
/// let graph = OnnxModel::of_model(&model, &model.initialise(Biases::Zero, 1))?.graph()?;
/// let network = GraphNetwork::new(&graph)?;
/// let (mut logits, mut gradients) = ([0.0; 2 * 3], [0.0; 2 * 4]);
/// network.logits(&[0.5; 2 * 4], &mut logits);
/// network.gradients(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0], &mut gradients)?; // of the first and of the second logit
/// assert!(logits.iter().all(|v| v.is_finite()));
/// # Ok::<(), standoff_nn::Error>(())
/// ```
pub struct GraphNetwork {
    compiled: CompiledGraph<f32>,
    passes: Mutex<Vec<GraphPasses>>,
}

impl GraphNetwork {
    /// Compiles a graph.
    pub fn new(graph: &OpGraph) -> Result<Self, Error> {
        Ok(Self { compiled: CompiledGraph::new(Arc::new(graph.lowered()?)), passes: Mutex::default() })
    }

    /// The outputs of rows `[row][input]`, written to `[row][output]`.
    pub fn logits(&self, rows: &[f32], out: &mut [f64]) {
        let (n, outputs) = (self.compiled.graph.inputs(), self.compiled.graph.outputs());
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        passes.resize_with(rows.len().div_ceil(n * TOGETHER), GraphPasses::default);
        let parts = rows.par_chunks(n * TOGETHER).zip(out.par_chunks_mut(outputs * TOGETHER));
        parts.zip(passes.par_iter_mut()).for_each(|((rows, out), pass)| {
            pass.forward(&self.compiled, rows);
            out.iter_mut().zip(pass.outputs()).for_each(|(out, &y)| *out = f64::from(y));
        });
    }

    /// The gradients of sums of the outputs of the last rows times these coefficients, `[row][output]`, written to `[row][input]`.
    /// The rows are those of the last call of [`logits`](Self::logits).
    pub fn gradients(&self, coefficients: &[f64], out: &mut [f32]) -> Result<(), Error> {
        let (n, outputs) = (self.compiled.graph.inputs(), self.compiled.graph.outputs());
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = passes.iter().map(|pass| pass.outputs().len()).sum();
        if coefficients.len() != kept || out.len() * outputs != kept * n {
            let (got, want) = (coefficients.len() / outputs, kept / outputs);
            return Err(Error::Mismatch(format!("gradients of {got} rows, the last logits were of {want}")));
        }
        let parts = coefficients.par_chunks(outputs * TOGETHER).zip(out.par_chunks_mut(n * TOGETHER));
        parts.zip(passes.par_iter_mut()).for_each(|((coefficients, out), pass)| {
            let slopes: Vec<f32> = coefficients.iter().map(|&c| c as f32).collect();
            pass.backward(&self.compiled, &slopes);
            out.copy_from_slice(pass.gradients());
        });
        Ok(())
    }
}

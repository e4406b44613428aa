//! The search for counter-examples: projected gradient steps on the largest left-hand side of an unsafe set, many points at a time.

use super::backward::CompiledGraph;
use super::passes::GraphPasses;
use super::property::{PropertyCase, UnsafeSet};
use super::verdict::Limits;

/// Points that are improved together, `[point][input]`, in the box of a case.
pub(crate) struct Descent<'a> {
    pub graph: &'a CompiledGraph<f32>,
    pub case: &'a PropertyCase,
    passes: GraphPasses,
    slopes: Vec<f32>,
}

impl<'a> Descent<'a> {
    pub(crate) fn new(graph: &'a CompiledGraph<f32>, case: &'a PropertyCase) -> Self {
        Self { graph, case, passes: GraphPasses::default(), slopes: Vec::new() }
    }

    /// Moves points towards an unsafe set, and returns those that reach it as far as `f32` can tell, one at most.
    pub(crate) fn run(
        &mut self,
        set: &UnsafeSet,
        points: &mut [f32],
        (steps, limits): (usize, Option<&Limits<'_>>),
    ) -> Option<Vec<f64>> {
        let n = self.graph.graph.inputs();
        let width = |k: usize| (self.case.upper[k] - self.case.lower[k]) as f32;
        for step in 0..=steps {
            self.passes.forward(self.graph, points);
            if let Some(x) = self.reached(set, points) {
                return Some(x);
            }
            if step == steps || limits.is_some_and(Limits::over) {
                break;
            }
            self.backward(set);
            let rate = 0.25 * (1.0 - step as f32 / steps as f32);
            for (x, g) in points.chunks_mut(n).zip(self.passes.gradients().chunks(n)) {
                for k in 0..n {
                    let sign = if g[k] > 0.0 {
                        1.0
                    } else if g[k] < 0.0 {
                        -1.0
                    } else {
                        0.0
                    };
                    x[k] = self.inside(k, x[k] - rate * width(k) * sign);
                }
            }
        }
        None
    }

    /// A number of `f32` in the box, or the nearest to it if there is none.
    fn inside(&self, k: usize, x: f32) -> f32 {
        let (l, u) = (self.case.lower[k], self.case.upper[k]);
        let x = f64::from(x).clamp(l, u) as f32;
        if f64::from(x) < l {
            x.next_up()
        } else if f64::from(x) > u {
            x.next_down()
        } else {
            x
        }
    }

    /// The first point whose outputs seem to be in the set, as numbers of the box.
    fn reached(&self, set: &UnsafeSet, points: &[f32]) -> Option<Vec<f64>> {
        let (n, graph) = (self.graph.graph.inputs(), &self.graph.graph);
        let outputs = self.passes.outputs().chunks(graph.outputs());
        for (x, y) in points.chunks(n).zip(outputs) {
            let y: Vec<f64> = y.iter().map(|&y| f64::from(y)).collect();
            if set.iter().all(|row| row.value(&y) <= 0.0) {
                let end = |(k, &x): (usize, &f32)| f64::from(x).clamp(self.case.lower[k], self.case.upper[k]);
                return Some(x.iter().enumerate().map(end).collect());
            }
        }
        None
    }

    /// Gradients of the largest left-hand side of the set, for every point.
    fn backward(&mut self, set: &UnsafeSet) {
        let (outputs, y) = (self.graph.graph.outputs(), self.passes.outputs());
        self.slopes.clear();
        self.slopes.resize(y.len(), 0.0);
        for (g, y) in self.slopes.chunks_mut(outputs).zip(y.chunks(outputs)) {
            let y: Vec<f64> = y.iter().map(|&y| f64::from(y)).collect();
            let largest = set.iter().max_by(|a, b| a.value(&y).total_cmp(&b.value(&y)));
            if let Some(row) = largest {
                g.iter_mut().zip(&row.coefficients).for_each(|(g, c)| *g = *c as f32);
            }
        }
        self.passes.backward(self.graph, &self.slopes);
    }
}

//! The operators of a file as rows of a table: shapes, parameters and cost.

use std::collections::HashSet;

use super::convert::read_with;
use super::{OnnxModel, TensorNumbers};
use crate::Error;
use crate::verify::{NodeOp, OpGraph, OpNode};

/// One operator of an ONNX file that computes with the input.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorSummary {
    /// Its name, or the name of its output.
    pub name: String,
    /// Its kind, such as `Conv`.
    pub kind: String,
    /// The dimensions of its output.
    pub dims: Vec<usize>,
    /// Numbers of the constants of the file that it reads, each counted where it is read first.
    pub parameters: usize,
    /// Products of a weight and a value per input. Products with weights that are zero are left out.
    pub products: usize,
}

impl OnnxModel {
    /// The operators that compute with the input, in the order of the file, and the graph. Operators that compute constants are left out.
    pub fn operators(&self) -> Result<(Vec<OperatorSummary>, OpGraph), Error> {
        let (mut rows, mut counted) = (Vec::new(), HashSet::new());
        let graph = read_with(self, |node, dims, added| {
            let Some(dims) = dims else { return };
            let read = self.constants.iter().filter(|(name, _)| node.inputs.contains(name));
            let floats = read.filter_map(|(name, tensor)| match &tensor.numbers {
                TensorNumbers::Floats(numbers) if counted.insert(name) => Some(numbers.len()),
                _ => None,
            });
            let name = if node.name.is_empty() { node.outputs.first() } else { Some(&node.name) };
            rows.push(OperatorSummary {
                name: name.cloned().unwrap_or_default(),
                kind: node.op.clone(),
                dims: dims.to_vec(),
                parameters: floats.sum(),
                products: added.iter().map(products).sum(),
            });
        })?;
        Ok((rows, graph.0))
    }
}

fn products(node: &OpNode) -> usize {
    match &node.op {
        NodeOp::Linear { map, .. } if map.roundings() > 0 => map.parameters() - map.outputs(),
        _ => 0,
    }
}

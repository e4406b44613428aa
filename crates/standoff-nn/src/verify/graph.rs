//! A network as a graph of elementary operations, the form in which it is bounded, attacked and proven.

use super::map::LinearMap;

/// The most entries of a value of a network.
pub(crate) const MOST_VALUES: usize = 1 << 22;

/// A network: nodes in an order in which every node comes after its inputs. Node 0 is the input, the last node the output.
///
/// ```
/// use standoff_nn::verify::{ActivationKind, LinearMap, NodeOp, OpGraph};
///
/// // y = max(0, x0 - x1)
/// let mut graph = OpGraph::new(vec![2]);
/// let z = graph.push("fc", NodeOp::Linear { input: 0, map: LinearMap::dense(vec![1.0, -1.0], vec![0.5]) })?;
/// graph.push("relu", NodeOp::Activation { input: z, kind: ActivationKind::Relu { leak: 0.0 } })?;
/// assert_eq!(graph.evaluate(&[2.0, 1.0]), [1.5]);
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct OpGraph {
    nodes: Vec<OpNode>,
    input_dims: Vec<usize>,
    /// The softmax at the end that was left out, if any: the order of the outputs is that of the file in real numbers, their values are not.
    pub softmax_left_out: Option<SoftmaxKind>,
}

/// The operators that keep the order of the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoftmaxKind {
    /// Softmax.
    Plain,
    /// LogSoftmax.
    Log,
}

impl SoftmaxKind {
    /// Its value at these logits.
    fn value(self, logits: &[f64]) -> Vec<f64> {
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logits.iter().map(|z| libm::exp(z - largest)).sum();
        let log = |z: &f64| z - largest - libm::log(sum);
        match self {
            Self::Plain => logits.iter().map(|z| libm::exp(log(z))).collect(),
            Self::Log => logits.iter().map(log).collect(),
        }
    }
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct OpNode {
    /// Its name in messages.
    pub name: String,
    /// The operation.
    pub op: NodeOp,
    /// The number of entries of its value.
    pub size: usize,
    /// A node, and for every entry the two entries of it whose maximum this is: for interval bounds of lowered pooling.
    pub(crate) maximum_of: Option<(usize, Vec<[u32; 2]>)>,
}

/// An elementary operation on the values of earlier nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeOp {
    /// The input of the network.
    Input,
    /// A linear map with an offset.
    Linear {
        /// The node it reads.
        input: usize,
        /// The map.
        map: LinearMap,
    },
    /// A function of every entry.
    Activation {
        /// The node it reads.
        input: usize,
        /// The function.
        kind: ActivationKind,
    },
    /// The maximum of each window of entries.
    MaxPool {
        /// The node it reads.
        input: usize,
        /// For every output the entries of its window.
        windows: Vec<Vec<u32>>,
    },
    /// The sum of two nodes of the same size.
    Add {
        /// The first node.
        left: usize,
        /// The second node.
        right: usize,
    },
}

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActivationKind {
    /// `max(x, 0) + leak min(x, 0)`, with a leak from 0 to 1.
    Relu {
        /// The slope of the negative side.
        leak: f64,
    },
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// `min(max(x, low), high)`.
    Clip {
        /// The least value.
        low: f64,
        /// The largest value.
        high: f64,
    },
}

impl ActivationKind {
    /// Its value in `f64`.
    pub fn value(self, x: f64) -> f64 {
        match self {
            Self::Relu { leak } => {
                if x > 0.0 {
                    x
                } else {
                    leak * x
                }
            }
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Tanh => x.tanh(),
            Self::Clip { low, high } => x.clamp(low, high),
        }
    }

    /// A slope at x, for gradients.
    pub(crate) fn slope(self, x: f64) -> f64 {
        match self {
            Self::Relu { leak } => {
                if x > 0.0 {
                    1.0
                } else {
                    leak
                }
            }
            Self::Sigmoid => {
                let y = self.value(x);
                y * (1.0 - y)
            }
            Self::Tanh => 1.0 - x.tanh().powi(2),
            Self::Clip { low, high } => {
                if x > low && x < high {
                    1.0
                } else {
                    0.0
                }
            }
        }
    }
}

impl NodeOp {
    /// The nodes it reads.
    pub fn inputs(&self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Self::Input => (None, None),
            Self::Linear { input, .. } | Self::Activation { input, .. } | Self::MaxPool { input, .. } => {
                (Some(*input), None)
            }
            Self::Add { left, right } => (Some(*left), Some(*right)),
        };
        first.into_iter().chain(second)
    }
}

impl OpGraph {
    /// A graph with nothing but its input.
    ///
    /// # Panics
    ///
    /// If the dimensions hold more than 2^22 entries.
    pub fn new(input_dims: Vec<usize>) -> Self {
        let size = crate::model::onnx::entries(&input_dims).filter(|n| *n <= MOST_VALUES).expect("a size in range");
        let input = OpNode { name: "input".into(), op: NodeOp::Input, size, maximum_of: None };
        Self { nodes: vec![input], input_dims, softmax_left_out: None }
    }

    /// Adds a node and returns its number; refuses one that does not fit its inputs.
    pub fn push(&mut self, name: &str, op: NodeOp) -> Result<usize, crate::Error> {
        let refuse = |why: String| crate::Error::Model(format!("node `{name}`: {why}"));
        let size_of = |i: usize| self.nodes.get(i).map(|n| n.size).ok_or_else(|| refuse(format!("no node {i}")));
        let size = match &op {
            NodeOp::Input => return Err(refuse("a graph has one input".into())),
            NodeOp::Linear { input, map } => {
                if size_of(*input)? != map.inputs() {
                    return Err(refuse(format!("reads {} values, gets {}", map.inputs(), size_of(*input)?)));
                }
                map.outputs()
            }
            NodeOp::Activation { input, .. } => size_of(*input)?,
            NodeOp::MaxPool { input, windows } => {
                let n = size_of(*input)?;
                if windows.iter().any(|w| w.is_empty() || w.iter().any(|&i| i as usize >= n)) {
                    return Err(refuse("a window is empty or reaches outside".into()));
                }
                windows.len()
            }
            NodeOp::Add { left, right } if size_of(*left)? == size_of(*right)? => size_of(*left)?,
            NodeOp::Add { .. } => return Err(refuse("adds values of different sizes".into())),
        };
        if size == 0 || size > MOST_VALUES {
            return Err(refuse(format!("has {size} values; from 1 to {MOST_VALUES} are possible")));
        }
        self.nodes.push(OpNode { name: name.to_owned(), op, size, maximum_of: None });
        Ok(self.nodes.len() - 1)
    }

    /// The outputs of the file for an input: with the softmax that was left out.
    pub fn file_outputs(&self, x: &[f64]) -> Vec<f64> {
        let y = self.evaluate(x);
        self.softmax_left_out.map_or_else(|| y.clone(), |softmax| softmax.value(&y))
    }

    /// The nodes.
    pub fn nodes(&self) -> &[OpNode] {
        &self.nodes
    }

    /// A node, for reading a network step by step.
    pub(crate) fn node_mut(&mut self, i: usize) -> &mut OpNode {
        &mut self.nodes[i]
    }

    /// Dimensions of the input.
    pub fn input_dims(&self) -> &[usize] {
        &self.input_dims
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.nodes[0].size
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.nodes[self.nodes.len() - 1].size
    }

    /// Number of weights and offsets.
    pub fn parameters(&self) -> usize {
        let count = |node: &OpNode| match &node.op {
            NodeOp::Linear { map, .. } => map.parameters(),
            _ => 0,
        };
        self.nodes.iter().map(count).sum()
    }

    /// The outputs in `f64`.
    pub fn evaluate(&self, x: &[f64]) -> Vec<f64> {
        self.values(x).pop().unwrap_or_default()
    }

    /// The values of all nodes in `f64`.
    ///
    /// # Panics
    ///
    /// If x has another length than the input.
    pub fn values(&self, x: &[f64]) -> Vec<Vec<f64>> {
        assert_eq!(x.len(), self.inputs(), "length of the input");
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let value = match &node.op {
                NodeOp::Input => x.to_vec(),
                NodeOp::Linear { input, map } => map.apply(&values[*input]),
                NodeOp::Activation { input, kind } => values[*input].iter().map(|&x| kind.value(x)).collect(),
                NodeOp::MaxPool { input, windows } => {
                    let x = &values[*input];
                    windows.iter().map(|w| w.iter().map(|&i| x[i as usize]).fold(f64::NEG_INFINITY, larger)).collect()
                }
                NodeOp::Add { left, right } => values[*left].iter().zip(&values[*right]).map(|(a, b)| a + b).collect(),
            };
            values.push(value);
        }
        values
    }
}

/// The larger number; NaN if one is NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

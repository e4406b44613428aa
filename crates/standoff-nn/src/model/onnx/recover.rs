//! From the operators of an ONNX file to the layers of a [`Model`], so that the engine runs, attacks and certifies it.

use std::collections::HashMap;

use super::convert::read;
use super::proto::OnnxModel;
use crate::model::weights::Metadata;
use crate::model::{Conv2d, Model, Shape, shapes};
use crate::verify::{ActivationKind, LinearMap, MapWeights, NodeOp, OpGraph, OpNode};
use crate::{Error, Layer, Weights};

/// The most outputs of a network that does not end with a dense layer.
const MOST_OUTPUTS: usize = 4096;
/// The most factors of a vector that become a dense layer.
const MOST_DIAGONAL: usize = 1024;

/// A layer with windows over images, which the graph holds as a matrix.
#[derive(Debug, Clone)]
pub(super) struct WindowLayer {
    /// The layer.
    pub(super) layer: Layer,
    /// The shape of its input.
    pub(super) from: Shape,
    /// The weights of a convolution, without offsets.
    pub(super) weights: Vec<f64>,
}

impl OnnxModel {
    /// The network as layers with parameters, for images of a shape. Networks that no list of layers computes are refused, with the node.
    ///
    /// ```
    /// use standoff_nn::model::onnx::OnnxModel;
    /// use standoff_nn::{Biases, Model, Shape};
    ///
    /// let model = Model::preset("lenet", Shape::new(1, 28, 28), 10)?;
    /// let parameters = model.initialise(Biases::Zero, 1);
    /// let weights = OnnxModel::of_model(&model, &parameters)?.weights(model.input())?;
    /// assert_eq!((weights.model, weights.parameters), (model, parameters));
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn weights(&self, images: Shape) -> Result<Weights, Error> {
        let (graph, windows) = read(self)?;
        let input = input_shape(graph.input_dims(), images);
        let mut recovery = Recovery { layers: Vec::new(), shapes: vec![input], parameters: Vec::new() };
        let mut values = vec![0];
        for (id, node) in graph.nodes().iter().enumerate().skip(1) {
            recovery.node(node, windows.get(&id), &values).map_err(|why| refusal(&node.name, &why))?;
            values.push(recovery.layers.len());
        }
        recovery.finish(&graph)
    }
}

fn refusal(name: &str, why: &str) -> Error {
    Error::Onnx(format!(
        "node `{name}`: {why}; in Python, standoff.attack(standoff.Network.load(\"model.onnx\"), X, y) attacks it too, \
         and `standoff verify-net` proves its properties"
    ))
}

/// The shape of the images if the file has as many inputs in the same order, else the shape in the file.
fn input_shape(dims: &[usize], images: Shape) -> Shape {
    match *dims {
        // With several channels, the order of the axes counts.
        [1, channels, height, width] if images.channels > 1 => Shape::new(channels, height, width),
        _ if dims.iter().product::<usize>() == images.size() => images,
        [1, channels, height, width] => Shape::new(channels, height, width),
        _ => Shape::vector(dims.iter().product()),
    }
}

/// The layers so far.
struct Recovery {
    layers: Vec<Layer>,
    shapes: Vec<Shape>,
    parameters: Vec<f32>,
}

impl Recovery {
    /// Adds the layers of a node; `values` are the numbers of the layers that gave the nodes before it.
    fn node(&mut self, node: &OpNode, window: Option<&WindowLayer>, values: &[usize]) -> Result<(), String> {
        match &node.op {
            NodeOp::Input => Ok(()),
            NodeOp::Add { left, right } => {
                let (left, right) = (values[*left], values[*right]);
                let last = self.layers.len();
                if left != last && right != last {
                    self.push(Layer::From(left), &[])?;
                }
                self.push(
                    Layer::Add(if left == last {
                        right
                    } else if right == last {
                        left
                    } else {
                        right
                    }),
                    &[],
                )
            }
            NodeOp::Activation { input, kind } => {
                self.from(values[*input])?;
                self.push(activation(*kind)?, &[])
            }
            NodeOp::MaxPool { input, .. } => {
                self.from(values[*input])?;
                self.window(window, &[])
            }
            NodeOp::Linear { input, map } => {
                self.from(values[*input])?;
                match (map.weights(), window) {
                    (MapWeights::Dense(weights), _) => self.dense(weights, map.bias()),
                    (_, Some(_)) => self.window(window, map.bias()),
                    _ => self.affine(map),
                }
            }
        }
    }

    fn push(&mut self, layer: Layer, parameters: &[f64]) -> Result<(), String> {
        self.shapes.push(shapes::output(layer, &self.shapes)?);
        self.layers.push(layer);
        self.parameters.extend(parameters.iter().map(|&p| p as f32));
        Ok(())
    }

    fn last(&self) -> Shape {
        self.shapes[self.layers.len()]
    }

    /// Continues with the output of an earlier layer.
    fn from(&mut self, value: usize) -> Result<(), String> {
        if value == self.layers.len() { Ok(()) } else { self.push(Layer::From(value), &[]) }
    }

    fn dense(&mut self, weights: &[f64], bias: &[f64]) -> Result<(), String> {
        if self.last().height * self.last().width != 1 {
            self.push(Layer::Flatten, &[])?;
        }
        self.push(Layer::Dense(bias.len()), weights)?;
        self.parameters.extend(bias.iter().map(|&b| b as f32));
        Ok(())
    }

    fn window(&mut self, window: Option<&WindowLayer>, bias: &[f64]) -> Result<(), String> {
        let Some(WindowLayer { layer, from, weights }) = window else {
            return Err("dilated, one-sided or one-dimensional windows are no layer of the engine".into());
        };
        if self.last() != *from {
            return Err(format!("its input has the shape {from}, the layer before gives {}", self.last()));
        }
        self.push(*layer, weights)?;
        if layer.conv2d().is_some() {
            self.offsets(bias)?;
        }
        Ok(())
    }

    /// One offset for each channel of the last value.
    fn offsets(&mut self, bias: &[f64]) -> Result<(), String> {
        let all = channels(bias, self.last()).ok_or("an offset differs within a channel")?;
        self.parameters.extend(all.iter().map(|&b| b as f32));
        Ok(())
    }

    /// `scale x + shift` for each channel: a convolution with kernels of one pixel.
    fn affine(&mut self, map: &LinearMap) -> Result<(), String> {
        let from = self.last();
        let scale = diagonal(map).and_then(|scale| channels(&scale, from));
        let scale = scale.ok_or("it is a map that no layer of the engine computes, such as a transposition")?;
        if from.height * from.width == 1 && scale.len() <= MOST_DIAGONAL {
            let n = scale.len();
            let diagonal: Vec<f64> = (0..n * n).map(|i| if i / n == i % n { scale[i / n] } else { 0.0 }).collect();
            return self.dense(&diagonal, map.bias());
        }
        let one = Conv2d { groups: from.channels, ..Conv2d::square(1, from.channels) };
        self.push(Layer::Conv2d(one), &scale)?;
        self.offsets(map.bias())
    }

    fn finish(mut self, graph: &OpGraph) -> Result<Weights, Error> {
        let n = graph.outputs();
        if n < 2 {
            let why =
                "it has 1 output, attacks on classes need at least 2; `standoff verify-net` proves its properties";
            return Err(Error::Onnx(why.into()));
        }
        if !matches!(self.layers.last(), Some(Layer::Dense(_))) {
            if n > MOST_OUTPUTS {
                return Err(Error::Onnx(format!("it has {n} outputs, at most {MOST_OUTPUTS} are possible")));
            }
            let identity: Vec<f64> = (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect();
            self.dense(&identity, &vec![0.0; n]).map_err(Error::Onnx)?;
        }
        let model = Model::new(self.shapes[0], &self.layers)?;
        if model.size() != self.parameters.len() {
            let (got, want) = (self.parameters.len(), model.size());
            return Err(Error::Onnx(format!("{got} parameters were read, its layers have {want}")));
        }
        Ok(Weights { model, parameters: self.parameters, metadata: Metadata::new() })
    }
}

fn activation(kind: ActivationKind) -> Result<Layer, String> {
    match kind {
        ActivationKind::Relu { leak: 0.0 } => Ok(Layer::Relu),
        ActivationKind::Relu { leak } => Ok(Layer::LeakyRelu(leak as f32)),
        ActivationKind::Sigmoid => Ok(Layer::Sigmoid),
        ActivationKind::Tanh => Ok(Layer::Tanh),
        ActivationKind::Clip { low: 0.0, high } if high >= f64::from(f32::MAX) => Ok(Layer::Relu),
        ActivationKind::Clip { low, high } => Ok(Layer::HardTanh(low as f32, high as f32)),
    }
}

/// The diagonal of a map, if it has no other entries.
fn diagonal(map: &LinearMap) -> Option<Vec<f64>> {
    let MapWeights::Sparse(rows) = map.weights() else { return None };
    let n = map.outputs();
    let square = n == map.inputs() && rows.columns.len() == n;
    let own = (0..n).all(|i| rows.starts.get(i) == Some(&i) && rows.columns.get(i) == Some(&(i as u32)));
    (square && own).then(|| rows.values.clone())
}

/// One number for each channel of a shape, if the entries of every channel are equal.
fn channels(entries: &[f64], shape: Shape) -> Option<Vec<f64>> {
    let area = shape.height * shape.width;
    let parts = entries.chunks_exact(area);
    let equal = entries.len() == shape.size() && parts.clone().all(|part| part.iter().all(|x| *x == part[0]));
    equal.then(|| parts.map(|part| part[0]).collect())
}

/// Layers with windows, by the number of their node.
pub(super) type WindowLayers = HashMap<usize, WindowLayer>;

//! From the operators of an ONNX file to the elementary operations of [`OpGraph`]. Constants are folded on the way.

use std::collections::{HashMap, HashSet};

use super::proto::{OnnxAttribute, OnnxModel, OnnxNode};
use super::recover::WindowLayers;
use super::tensor::{ConstTensor, TensorNumbers, entries, transposed_places};
use super::{elementwise, shapes, windows};
use crate::Error;
use crate::verify::{
    ActivationKind, LARGEST, LARGEST_FACTOR, LinearMap, MOST_VALUES, NodeOp, OpGraph, OpNode, SoftmaxKind,
};

/// A named value while reading.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Const(ConstTensor),
    /// The value of a node, with its dimensions in the file.
    Node {
        id: usize,
        dims: Vec<usize>,
    },
}

/// The state of reading.
pub(super) struct Reading<'a> {
    pub(super) graph: OpGraph,
    opset: i64,
    values: HashMap<&'a str, Value>,
    /// The number of operators and outputs that read each name.
    uses: HashMap<&'a str, usize>,
    /// Nodes that have several names, or whose value is read several times.
    shared: HashSet<usize>,
    /// Layers with windows over images.
    pub(super) windows: WindowLayers,
}

/// The graph, and its layers with windows.
pub(super) fn read(model: &OnnxModel) -> Result<(OpGraph, WindowLayers), Error> {
    read_with(model, |_, _, _| {})
}

/// The same; after each operator, `seen` gets it with its dimensions, unless it is a constant, and the operations that it added.
pub(super) fn read_with<'a>(
    model: &'a OnnxModel,
    mut seen: impl FnMut(&'a OnnxNode, Option<&[usize]>, &[OpNode]),
) -> Result<(OpGraph, WindowLayers), Error> {
    let mut reading = begin(model).map_err(Error::Onnx)?;
    for (i, node) in model.nodes.iter().enumerate() {
        let before = reading.graph.nodes().len();
        let value = reading.operator(node, i + 1 == model.nodes.len());
        let value = value.map_err(|why| Error::Onnx(format!("{}: {why}", node.title())))?;
        let name = node.outputs.first().ok_or_else(|| Error::Onnx(format!("{} has no output", node.title())))?;
        reading.share(node, &value);
        let dims = if let Value::Node { dims, .. } = &value { Some(&dims[..]) } else { None };
        seen(node, dims, &reading.graph.nodes()[before..]);
        if reading.values.insert(name, value).is_some() {
            return Err(Error::Onnx(format!("{}: the name `{name}` is given twice", node.title())));
        }
    }
    let [output] = &model.outputs[..] else {
        return Err(Error::Onnx(format!("the network has {} outputs, one is supported", model.outputs.len())));
    };
    match reading.values.get(output.name.as_str()) {
        // The graph ends with its output; operators after it are not part of the network.
        Some(Value::Node { id, .. }) if *id + 1 == reading.graph.nodes().len() => Ok((reading.graph, reading.windows)),
        Some(Value::Node { id, dims }) => {
            let n = dims.iter().product();
            let places: Vec<usize> = (0..n).collect();
            let map = LinearMap::permutation(n, &places);
            reading.graph.push("output", NodeOp::Linear { input: *id, map })?;
            Ok((reading.graph, reading.windows))
        }
        Some(Value::Const(_)) => Err(Error::Onnx("the output does not depend on the input".into())),
        None => Err(Error::Onnx(format!("no operator computes the output `{}`", output.name))),
    }
}

fn begin(model: &OnnxModel) -> Result<Reading<'_>, String> {
    if model.opset < 7 {
        return Err(format!("operator set {} is too old; export it again with opset_version=17", model.opset));
    }
    let mut values = HashMap::new();
    for (name, tensor) in &model.constants {
        if values.insert(name.as_str(), Value::Const(tensor.clone())).is_some() {
            return Err(format!("the constant `{name}` is given twice"));
        }
    }
    let inputs: Vec<_> = model.inputs.iter().filter(|v| !values.contains_key(v.name.as_str())).collect();
    let [input] = inputs[..] else {
        return Err(format!("the network has {} inputs, one is supported", inputs.len()));
    };
    if let Some(name) = other_type(input.kind) {
        return Err(format!("the input `{}` is of type {name}; export the network in float32", input.name));
    }
    let mut dims = Vec::new();
    for (i, d) in input.dims.iter().enumerate() {
        // The first dimension counts the samples of a batch: one here.
        match d {
            Some(d) => dims.push(*d),
            None if i == 0 => dims.push(1),
            None => return Err(format!("dimension {i} of the input `{}` is not fixed; export it fixed", input.name)),
        }
    }
    if let [n, _, _, _] = dims[..]
        && n > 1
    {
        let advice = "export it with a batch of 1, or with a dynamic batch";
        return Err(format!("the input `{}` is a batch of {n} images; {advice}", input.name));
    }
    let size = entries(&dims).filter(|n| (1..=MOST_VALUES).contains(n));
    size.ok_or_else(|| format!("the input {dims:?} is too large: at most {MOST_VALUES} values are possible"))?;
    values.insert(input.name.as_str(), Value::Node { id: 0, dims: dims.clone() });
    let mut uses = HashMap::new();
    let reads = model.nodes.iter().flat_map(|n| &n.inputs).chain(model.outputs.iter().map(|v| &v.name));
    for name in reads {
        *uses.entry(name.as_str()).or_insert(0) += 1;
    }
    Ok(Reading {
        graph: OpGraph::new(dims),
        opset: model.opset,
        values,
        uses,
        shared: HashSet::new(),
        windows: WindowLayers::new(),
    })
}

/// The name of a type of numbers that is not float32. Files without a type are taken as float32.
fn other_type(kind: i64) -> Option<String> {
    let name = match kind {
        0 | 1 => return None,
        2 => "uint8",
        3 => "int8",
        6 => "int32",
        7 => "int64",
        10 => "float16",
        11 => "float64",
        16 => "bfloat16",
        _ => return Some(format!("number {kind}")),
    };
    Some(name.to_owned())
}

impl<'a> Reading<'a> {
    fn operator(&mut self, node: &'a OnnxNode, last: bool) -> Result<Value, String> {
        if !(node.domain.is_empty() || node.domain == "ai.onnx") {
            return Err(format!("operators of the domain `{}` are not supported", node.domain));
        }
        match node.op.as_str() {
            "Constant" => constant(node).map(Value::Const),
            "Identity" => self.value(node, 0),
            "Dropout" => match self.optional(node, 2)? {
                Some(Value::Const(t)) if t.ints()?.iter().all(|&i| i == 0) => self.value(node, 0),
                Some(_) => Err("it is in training mode; export the network for inference".into()),
                None => self.value(node, 0),
            },
            "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => shapes::reshape(self, node),
            "Shape" | "Gather" | "Concat" | "Cast" => shapes::fold(self, node),
            "Transpose" => self.transpose(node),
            "Gemm" => self.gemm(node),
            "MatMul" => self.matmul(node),
            "Add" | "Sub" | "Mul" | "Div" | "Neg" => elementwise::arithmetic(self, node),
            "BatchNormalization" => elementwise::batch_normalisation(self, node),
            "Conv" | "AveragePool" | "GlobalAveragePool" | "MaxPool" => windows::operator(self, node),
            "ReduceMean" => windows::mean(self, node),
            "Relu" => self.activation(node, ActivationKind::Relu { leak: 0.0 }),
            "LeakyRelu" => {
                let leak = node.float("alpha", f64::from(0.01_f32))?;
                if !(0.0..=1.0).contains(&leak) {
                    return Err(format!("alpha is {leak}; from 0 to 1 is supported"));
                }
                self.activation(node, ActivationKind::Relu { leak })
            }
            "Sigmoid" => self.activation(node, ActivationKind::Sigmoid),
            "Tanh" => self.activation(node, ActivationKind::Tanh),
            "Clip" => {
                let kind = self.clip(node)?;
                self.activation(node, kind)
            }
            "Softmax" | "LogSoftmax" if last => self.softmax(node),
            "Softmax" | "LogSoftmax" => Err("a softmax is supported at the end of a network only".into()),
            _ => Err(format!("the operator is not supported; supported are {SUPPORTED}")),
        }
    }

    /// Notes that the value of a node has another name beside an input that is read several times.
    fn share(&mut self, node: &OnnxNode, value: &Value) {
        let Value::Node { id, .. } = value else { return };
        for name in node.inputs.iter().filter(|name| self.uses.get(name.as_str()) != Some(&1)) {
            if matches!(self.values.get(name.as_str()), Some(Value::Node { id: other, .. }) if other == id) {
                self.shared.insert(*id);
            }
        }
    }

    /// A softmax over all entries keeps their order; it is left out.
    fn softmax(&mut self, node: &OnnxNode) -> Result<Value, String> {
        let (id, dims) = self.node(node, 0)?;
        // Before version 13, all axes from the given one on are normalised together.
        let joined = self.opset < 13;
        let axis = shapes::axis(node.int("axis", if joined { 1 } else { -1 })?, dims.len())?;
        let normalised: usize = if joined { dims[axis..].iter().product() } else { dims[axis] };
        if normalised != dims.iter().product::<usize>() {
            return Err(format!("a softmax along axis {axis} of {dims:?} is not over all entries"));
        }
        let kind = if node.op == "Softmax" { SoftmaxKind::Plain } else { SoftmaxKind::Log };
        self.graph.softmax_left_out = Some(kind);
        Ok(Value::Node { id, dims })
    }

    /// Input i of an operator.
    pub(super) fn value(&self, node: &OnnxNode, i: usize) -> Result<Value, String> {
        let name = node.inputs.get(i).filter(|n| !n.is_empty()).ok_or(format!("input {i} is missing"))?;
        self.values.get(name.as_str()).cloned().ok_or(format!("input `{name}` is not computed before it"))
    }

    /// Input i, if it is given.
    pub(super) fn optional(&self, node: &OnnxNode, i: usize) -> Result<Option<Value>, String> {
        match node.inputs.get(i) {
            Some(name) if !name.is_empty() => self.value(node, i).map(Some),
            _ => Ok(None),
        }
    }

    /// Input i, which must be a constant.
    pub(super) fn constant(&self, node: &OnnxNode, i: usize) -> Result<ConstTensor, String> {
        match self.value(node, i)? {
            Value::Const(tensor) => Ok(tensor),
            Value::Node { .. } => Err(format!("input {i} must be a constant, it depends on the network's input")),
        }
    }

    /// Input i, which must depend on the network's input: node and dimensions.
    pub(super) fn node(&self, node: &OnnxNode, i: usize) -> Result<(usize, Vec<usize>), String> {
        match self.value(node, i)? {
            Value::Node { id, dims } => Ok((id, dims)),
            Value::Const(_) => Err(format!("input {i} is a constant, it must depend on the network's input")),
        }
    }

    pub(super) fn push(&mut self, node: &OnnxNode, op: NodeOp, dims: Vec<usize>) -> Result<Value, String> {
        if let NodeOp::Linear { map, .. } = &op
            && !(map.largest() <= LARGEST)
        {
            return Err(format!("a weight is not finite or larger than {LARGEST:e}"));
        }
        let name = if node.name.is_empty() { node.outputs.first().map_or("", String::as_str) } else { &node.name };
        let id = self.graph.push(name, op).map_err(|e| e.to_string())?;
        Ok(Value::Node { id, dims })
    }

    /// True if nothing but the operator that is being read uses this input, and it is the last node of the graph.
    pub(super) fn sole_use(&self, node: &OnnxNode, i: usize, id: usize) -> bool {
        let single = self.uses.get(node.inputs[i].as_str()) == Some(&1) && !self.shared.contains(&id);
        single && id + 1 == self.graph.nodes().len()
    }

    fn activation(&mut self, node: &OnnxNode, kind: ActivationKind) -> Result<Value, String> {
        let (input, dims) = self.node(node, 0)?;
        self.push(node, NodeOp::Activation { input, kind }, dims)
    }

    fn clip(&self, node: &OnnxNode) -> Result<ActivationKind, String> {
        let side = |i: usize, name: &str, default: f64| match self.optional(node, i)? {
            Some(Value::Const(t)) => t.floats()?.first().copied().ok_or("an end of Clip is empty".to_string()),
            Some(Value::Node { .. }) => Err("an end of Clip depends on the input".to_string()),
            None => node.float(name, default),
        };
        let (low, high) = (side(1, "min", f64::MIN)?, side(2, "max", f64::MAX)?);
        if low <= high { Ok(ActivationKind::Clip { low, high }) } else { Err(format!("Clip from {low} to {high}")) }
    }

    fn transpose(&mut self, node: &OnnxNode) -> Result<Value, String> {
        let value = self.value(node, 0)?;
        let dims = match &value {
            Value::Const(t) => t.dims.clone(),
            Value::Node { dims, .. } => dims.clone(),
        };
        let order = match node.ints("perm")? {
            None => (0..dims.len()).rev().collect(),
            Some(order) => shapes::permutation(order, dims.len())?,
        };
        match value {
            Value::Const(t) => Ok(Value::Const(t.transposed(&order))),
            Value::Node { id, .. } => {
                let places = transposed_places(&dims, &order);
                let to = order.iter().map(|&a| dims[a]).collect();
                if places.iter().enumerate().all(|(i, p)| i == *p) {
                    return Ok(Value::Node { id, dims: to });
                }
                let map = LinearMap::permutation(places.len(), &places);
                self.push(node, NodeOp::Linear { input: id, map }, to)
            }
        }
    }

    /// `alpha A B + beta C` with a constant B; A is one row.
    fn gemm(&mut self, node: &OnnxNode) -> Result<Value, String> {
        let (input, dims) = self.node(node, 0)?;
        let weight = self.constant(node, 1)?;
        let (alpha, beta) = (node.float("alpha", 1.0)?, node.float("beta", 1.0)?);
        for (name, factor) in [("alpha", alpha), ("beta", beta)] {
            if factor != 0.0 && !(1.0 / LARGEST_FACTOR..=LARGEST_FACTOR).contains(&factor.abs()) {
                return Err(format!("{name} is {factor}; sizes from 2^-20 to 2^20 are supported"));
            }
        }
        if node.int("transA", 0)? != 0 && dims.first() != Some(&1) {
            return Err("transA of a batch is not supported".into());
        }
        let [rows, columns] = weight.dims[..] else {
            return Err(format!("its weight has the dimensions {:?}, two are needed", weight.dims));
        };
        let turned = node.int("transB", 0)? != 0;
        let (n, m) = if turned { (columns, rows) } else { (rows, columns) };
        let size: usize = dims.iter().product();
        if size != n || n == 0 || m == 0 {
            return Err(format!("its weight takes {n} values, it gets {dims:?}"));
        }
        let w = weight.floats()?;
        let dense = (0..m * n).map(|k| alpha * if turned { w[k] } else { w[k % n * m + k / n] }).collect();
        let bias = match self.optional(node, 2)? {
            None => vec![0.0; m],
            Some(Value::Const(c)) => match c.floats()? {
                [c] => vec![beta * c; m],
                c if c.len() == m => c.iter().map(|c| beta * c).collect(),
                c => return Err(format!("its offset has {} entries, {m} are needed", c.len())),
            },
            Some(Value::Node { .. }) => return Err("its offset must be a constant".into()),
        };
        let mut map = LinearMap::dense(dense, bias);
        if alpha != 1.0 || beta != 1.0 {
            map.add_bias(|_| 0.0); // the products with alpha and beta are rounded too
            map.add_bias(|_| 0.0);
        }
        self.push(node, NodeOp::Linear { input, map }, vec![1, m])
    }

    /// A product with a constant on either side.
    fn matmul(&mut self, node: &OnnxNode) -> Result<Value, String> {
        match (self.value(node, 0)?, self.value(node, 1)?) {
            (Value::Node { id, dims }, Value::Const(w)) => {
                let [n, m] = w.dims[..] else {
                    return Err(format!("its constant has the dimensions {:?}, two are needed", w.dims));
                };
                let rows: usize = dims.iter().product::<usize>() / n.max(1);
                if dims.last() != Some(&n) || rows != 1 || m == 0 {
                    return Err(format!("{dims:?} times {:?}: one row times a matrix is supported", w.dims));
                }
                let w = w.floats()?;
                let dense = (0..m * n).map(|k| w[k % n * m + k / n]).collect();
                let to = dims[..dims.len() - 1].iter().copied().chain([m]).collect();
                let map = LinearMap::dense(dense, vec![0.0; m]);
                self.push(node, NodeOp::Linear { input: id, map }, to)
            }
            (Value::Const(w), Value::Node { id, dims }) => {
                let [m, n] = w.dims[..] else {
                    return Err(format!("its constant has the dimensions {:?}, two are needed", w.dims));
                };
                let size: usize = dims.iter().product();
                let column = dims.len() == 1 || (dims.len() > 1 && dims[dims.len() - 1] == 1);
                if size != n || !column || m == 0 || n == 0 {
                    return Err(format!("{:?} times {dims:?}: a matrix times one column is supported", w.dims));
                }
                let map = LinearMap::dense(w.floats()?.to_vec(), vec![0.0; m]);
                let mut to = dims.clone();
                let place = to.len().saturating_sub(2);
                to[place] = m;
                self.push(node, NodeOp::Linear { input: id, map }, to)
            }
            _ => Err("a product of two values that depend on the input, or of two constants, is not supported".into()),
        }
    }
}

const SUPPORTED: &str = "Gemm, MatMul, Add, Sub, Mul, Div, Neg, Conv, Relu, LeakyRelu, Sigmoid, Tanh, Clip, MaxPool, AveragePool, \
    GlobalAveragePool, ReduceMean, BatchNormalization, Flatten, Reshape, Squeeze, Unsqueeze, Transpose, Constant, Identity, Dropout, Cast, \
    Shape, Gather, Concat, and Softmax at the end";

fn constant(node: &OnnxNode) -> Result<ConstTensor, String> {
    let scalar = |numbers| ConstTensor::new(Vec::new(), numbers);
    let (name, value) = node.attributes.first().ok_or("it has no value")?;
    match value {
        OnnxAttribute::Tensor(t) => Ok(t.clone()),
        OnnxAttribute::Float(x) => scalar(TensorNumbers::Floats(vec![*x])),
        OnnxAttribute::Int(i) => scalar(TensorNumbers::Ints(vec![*i])),
        OnnxAttribute::Floats(v) => ConstTensor::new(vec![v.len()], TensorNumbers::Floats(v.clone())),
        OnnxAttribute::Ints(v) => Ok(ConstTensor::ints_of(v.clone())),
        _ => Err(format!("the constant `{name}` is not supported")),
    }
}

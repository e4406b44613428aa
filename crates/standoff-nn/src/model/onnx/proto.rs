//! The parts of an ONNX file that networks use, as plain structs.

use super::tensor::{ConstTensor, TensorNumbers};
use super::wire::{Field, Message};

/// The most nodes of a graph.
const MOST_NODES: usize = 100_000;

/// An ONNX model: its graph and the version of its operators.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OnnxModel {
    /// Version of the standard operators.
    pub opset: i64,
    /// The operators in the order of the file.
    pub nodes: Vec<OnnxNode>,
    /// Constants by name.
    pub constants: Vec<(String, ConstTensor)>,
    /// The inputs; constants may be among them.
    pub inputs: Vec<OnnxValue>,
    /// The outputs.
    pub outputs: Vec<OnnxValue>,
}

/// An operator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OnnxNode {
    /// Its name, often empty.
    pub name: String,
    /// Its operator: `Gemm`, `Relu`, ...
    pub op: String,
    /// Domain of the operator; empty for the standard ones.
    pub domain: String,
    /// Names of its inputs; an empty name is an input left out.
    pub inputs: Vec<String>,
    /// Names of its outputs.
    pub outputs: Vec<String>,
    /// Its attributes by name.
    pub attributes: Vec<(String, OnnxAttribute)>,
}

/// An attribute of an operator.
#[derive(Debug, Clone, PartialEq)]
pub enum OnnxAttribute {
    /// A number.
    Float(f64),
    /// An integer.
    Int(i64),
    /// A text.
    Text(String),
    /// A tensor.
    Tensor(ConstTensor),
    /// Numbers.
    Floats(Vec<f64>),
    /// Integers.
    Ints(Vec<i64>),
    /// A type that no supported operator uses.
    Other,
}

/// An input or an output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OnnxValue {
    /// Its name.
    pub name: String,
    /// The number of its type: 1 for float32; 0 where the file has none.
    pub kind: i64,
    /// Its dimensions; `None` where the file has a name or nothing.
    pub dims: Vec<Option<usize>>,
}

impl OnnxNode {
    /// The node as named in messages.
    pub fn title(&self) -> String {
        let name = if self.name.is_empty() { self.outputs.first().map_or("", String::as_str) } else { &self.name };
        format!("node `{name}` ({})", self.op)
    }

    /// An attribute.
    pub fn attribute(&self, name: &str) -> Option<&OnnxAttribute> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, a)| a)
    }

    /// An integer attribute, or its default.
    pub fn int(&self, name: &str, default: i64) -> Result<i64, String> {
        match self.attribute(name) {
            None => Ok(default),
            Some(OnnxAttribute::Int(i)) => Ok(*i),
            Some(_) => Err(format!("attribute `{name}` is no integer")),
        }
    }

    /// A number attribute, or its default.
    pub fn float(&self, name: &str, default: f64) -> Result<f64, String> {
        match self.attribute(name) {
            None => Ok(default),
            Some(OnnxAttribute::Float(x)) => Ok(*x),
            Some(_) => Err(format!("attribute `{name}` is no number")),
        }
    }

    /// An attribute of integers, if it is there.
    pub fn ints(&self, name: &str) -> Result<Option<&[i64]>, String> {
        match self.attribute(name) {
            None => Ok(None),
            Some(OnnxAttribute::Ints(ints)) => Ok(Some(ints)),
            Some(_) => Err(format!("attribute `{name}` is no list of integers")),
        }
    }
}

/// Reads a whole file.
pub(super) fn model(bytes: &[u8]) -> Result<OnnxModel, String> {
    let (mut graph, mut opset) = (None, None);
    let mut message = Message::new(bytes);
    while let Some((number, field)) = message.next()? {
        match number {
            7 => graph = Some(field.bytes()?),
            8 => {
                let (domain, version) = operator_set(field.bytes()?)?;
                if domain.is_empty() || domain == "ai.onnx" {
                    opset = Some(version);
                }
            }
            _ => {}
        }
    }
    let graph = graph.ok_or("there is no graph in it; is it an ONNX model?")?;
    let mut model = OnnxModel { opset: opset.unwrap_or(1), ..OnnxModel::default() };
    let mut message = Message::new(graph);
    while let Some((number, field)) = message.next()? {
        match number {
            1 => model.nodes.push(node(field.bytes()?)?),
            5 => model.constants.push(tensor(field.bytes()?)?),
            11 => model.inputs.push(value(field.bytes()?)?),
            12 => model.outputs.push(value(field.bytes()?)?),
            15 => return Err("sparse constants are not supported; export dense ones".into()),
            _ => {}
        }
        if model.nodes.len() > MOST_NODES {
            return Err(format!("the graph has more than {MOST_NODES} nodes"));
        }
    }
    Ok(model)
}

fn operator_set(bytes: &[u8]) -> Result<(String, i64), String> {
    let (mut domain, mut version) = (String::new(), 1);
    let mut message = Message::new(bytes);
    while let Some((number, field)) = message.next()? {
        match number {
            1 => domain = field.text()?,
            2 => version = field.integer()?,
            _ => {}
        }
    }
    Ok((domain, version))
}

fn node(bytes: &[u8]) -> Result<OnnxNode, String> {
    let mut node = OnnxNode::default();
    let mut message = Message::new(bytes);
    while let Some((number, field)) = message.next()? {
        match number {
            1 => node.inputs.push(field.text()?),
            2 => node.outputs.push(field.text()?),
            3 => node.name = field.text()?,
            4 => node.op = field.text()?,
            5 => node.attributes.push(attribute(field.bytes()?)?),
            7 => node.domain = field.text()?,
            _ => {}
        }
    }
    Ok(node)
}

fn attribute(bytes: &[u8]) -> Result<(String, OnnxAttribute), String> {
    let (mut name, mut kind) = (String::new(), 0);
    let (mut float, mut int, mut text, mut tensor_value) = (0.0, 0, String::new(), None);
    let (mut floats, mut ints) = (Vec::new(), Vec::new());
    let mut message = Message::new(bytes);
    while let Some((number, field)) = message.next()? {
        match (number, field) {
            (1, field) => name = field.text()?,
            (2, Field::Fixed32(bits)) => float = f64::from(f32::from_bits(bits)),
            (3, field) => int = field.integer()?,
            (4, field) => text = String::from_utf8_lossy(field.bytes()?).into_owned(),
            (5, field) => tensor_value = Some(tensor(field.bytes()?)?.1),
            (7, field) => field.floats(&mut floats)?,
            (8, field) => field.integers(&mut ints)?,
            (20, field) => kind = field.integer()?,
            _ => {}
        }
    }
    let value = match kind {
        1 => OnnxAttribute::Float(float),
        2 => OnnxAttribute::Int(int),
        3 => OnnxAttribute::Text(text),
        4 => OnnxAttribute::Tensor(tensor_value.ok_or_else(|| format!("attribute `{name}` has no tensor"))?),
        6 => OnnxAttribute::Floats(floats),
        7 => OnnxAttribute::Ints(ints),
        _ => OnnxAttribute::Other,
    };
    Ok((name, value))
}

fn value(bytes: &[u8]) -> Result<OnnxValue, String> {
    let mut value = OnnxValue::default();
    let mut message = Message::new(bytes);
    while let Some((number, field)) = message.next()? {
        match number {
            1 => value.name = field.text()?,
            2 => {
                // TypeProto -> tensor_type (1) -> shape (2) -> dim (1), repeated -> dim_value (1).
                for tensor_type in children(field.bytes()?, 1)? {
                    let mut parts = Message::new(tensor_type);
                    while let Some((number, field)) = parts.next()? {
                        if number == 1 {
                            value.kind = field.integer()?;
                        }
                    }
                    for shape in children(tensor_type, 2)? {
                        for dim in children(shape, 1)? {
                            value.dims.push(dimension(dim)?);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    Ok(value)
}

fn children(bytes: &[u8], wanted: u64) -> Result<Vec<&[u8]>, String> {
    let mut out = Vec::new();
    let mut message = Message::new(bytes);
    while let Some((number, field)) = message.next()? {
        if number == wanted
            && let Field::Bytes(bytes) = field
        {
            out.push(bytes);
        }
    }
    Ok(out)
}

fn dimension(bytes: &[u8]) -> Result<Option<usize>, String> {
    let mut message = Message::new(bytes);
    while let Some((number, field)) = message.next()? {
        if number == 1 {
            return Ok(usize::try_from(field.integer()?).ok().filter(|&d| d > 0));
        }
    }
    Ok(None)
}

/// A tensor and its name.
fn tensor(bytes: &[u8]) -> Result<(String, ConstTensor), String> {
    let (mut name, mut kind, mut dims, mut raw) = (String::new(), 0, Vec::new(), None);
    let (mut numbers, mut ints, mut external) = (Vec::new(), Vec::new(), false);
    let mut message = Message::new(bytes);
    while let Some((number, field)) = message.next()? {
        match number {
            1 => field.integers(&mut dims)?,
            2 => kind = field.integer()?,
            4 => field.floats(&mut numbers)?,
            5 | 7 => field.integers(&mut ints)?,
            8 => name = field.text()?,
            9 => raw = Some(field.bytes()?),
            13 => external = true,
            14 => external |= field.integer()? == 1,
            _ => {}
        }
    }
    if external {
        let advice = "save it in one file: onnx.save(onnx.load(\"model.onnx\"), \"one-file.onnx\"), \
                      or export it again: torch.onnx.export(model, example, \"model.onnx\", external_data=False)";
        return Err(format!("the constant `{name}` is stored in another file; {advice}"));
    }
    let numbers = match (kind, raw) {
        (1, Some(raw)) => float_bytes(raw, |b| f64::from(f32::from_le_bytes(b)))?,
        (1, None) => TensorNumbers::Floats(numbers),
        (7, Some(raw)) => int_bytes(raw, i64::from_le_bytes)?,
        (6, Some(raw)) => int_bytes(raw, |b| i64::from(i32::from_le_bytes(b)))?,
        (9, Some(raw)) => int_bytes(raw, |b: [u8; 1]| i64::from(b[0]))?,
        (6 | 7 | 9, None) => TensorNumbers::Ints(ints),
        (kind, _) => {
            let want = "float32, int32, int64 and bool are read; export the network in float32";
            return Err(format!("the constant `{name}` has data type {kind}; {want}"));
        }
    };
    let dims = dims.iter().map(|&d| usize::try_from(d).map_err(|_| format!("`{name}` has the dimension {d}")));
    let dims = dims.collect::<Result<Vec<usize>, String>>()?;
    let tensor = ConstTensor::new(dims, numbers).map_err(|why| format!("the constant `{name}` {why}"))?;
    Ok((name, tensor))
}

fn float_bytes<const N: usize>(raw: &[u8], read: impl Fn([u8; N]) -> f64) -> Result<TensorNumbers, String> {
    chunks(raw, read).map(TensorNumbers::Floats)
}

fn int_bytes<const N: usize>(raw: &[u8], read: impl Fn([u8; N]) -> i64) -> Result<TensorNumbers, String> {
    chunks(raw, read).map(TensorNumbers::Ints)
}

fn chunks<const N: usize, T>(raw: &[u8], read: impl Fn([u8; N]) -> T) -> Result<Vec<T>, String> {
    match raw.as_chunks::<N>() {
        (chunks, []) => Ok(chunks.iter().map(|c| read(*c)).collect()),
        _ => Err(format!("a constant of {} bytes is not a whole number of entries of {N} bytes", raw.len())),
    }
}

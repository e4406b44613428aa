//! A built-in model as an ONNX graph.

mod fold;

use super::proto::{OnnxAttribute, OnnxModel, OnnxNode, OnnxValue};
use super::tensor::{ConstTensor, TensorNumbers};
use crate::model::PoolKind;
use crate::{Error, Layer, Model};

/// The version of the operators that are written.
const OPSET: i64 = 13;

impl OnnxModel {
    /// The network with these parameters; the first dimension of its input counts the samples of a batch.
    ///
    /// ```
    /// use standoff_nn::model::onnx::OnnxModel;
    /// use standoff_nn::{Biases, Model, Shape};
    ///
    /// let model = Model::preset("lenet", Shape::new(1, 28, 28), 10)?;
    /// let bytes = OnnxModel::of_model(&model, &model.initialise(Biases::Zero, 1))?.to_bytes();
    /// let graph = OnnxModel::from_bytes(&bytes)?.graph()?;
    /// assert_eq!((graph.inputs(), graph.outputs()), (784, 10));
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn of_model(model: &Model, parameters: &[f32]) -> Result<Self, Error> {
        if parameters.len() != model.size() {
            let (got, want) = (parameters.len(), model.size());
            return Err(Error::Mismatch(format!("{got} parameters, the model has {want}")));
        }
        let mut out = Self { opset: OPSET, ..Self::default() };
        for view in model.views() {
            let floats = parameters[view.range.clone()].iter().map(|&x| f64::from(x)).collect();
            let tensor = ConstTensor::new(view.shape.clone(), TensorNumbers::Floats(floats)).map_err(Error::Onnx)?;
            out.constants.push((view.name.clone(), tensor));
        }
        let name = |value: usize| if value == 0 { "input".to_owned() } else { format!("value{value}") };
        let vector = model.input().height == 1 && model.input().width == 1;
        // True for values of two dimensions: batch and entries.
        let mut flat = vec![vector];
        for (i, layer) in model.layers().iter().enumerate() {
            let refuse = |why: &str| Error::Layer { index: i + 1, layer: layer.to_string(), why: why.into() };
            let (op, attributes) = operator(layer).map_err(refuse)?;
            let (first, second) = model.reads(i);
            let mut inputs = vec![name(first)];
            inputs.extend(second.map(name));
            inputs.extend(model.views().iter().filter(|v| v.layer == i).map(|v| v.name.clone()));
            let (title, output) = (format!("layer{}", i + 1), name(i + 1));
            if matches!(layer, Layer::Dense(_)) && !flat[first] {
                let flattened = format!("{title}.flat");
                let given = std::mem::replace(&mut inputs[0], flattened.clone());
                out.nodes.push(node(flattened.clone(), "Flatten", vec![given], (Vec::new(), flattened)));
            }
            flat.push(flat[first] || matches!(layer, Layer::Dense(_) | Layer::Flatten));
            for (part, tensor) in constants(layer, flat[first]).map_err(Error::Onnx)? {
                inputs.push(format!("{title}.{part}"));
                out.constants.push((format!("{title}.{part}"), tensor));
            }
            if let Layer::Normalise(_) = layer {
                inputs = centre(&mut out, &title, inputs);
            }
            out.nodes.push(node(title, op, inputs, (attributes, output)));
        }
        let last = name(model.layers().len());
        let shape = model.input();
        let image = [None, Some(shape.channels), Some(shape.height), Some(shape.width)];
        let dims = if vector { image[..2].to_vec() } else { image.to_vec() };
        out.inputs.push(OnnxValue { name: "input".into(), kind: 1, dims });
        out.outputs.push(OnnxValue { name: last, kind: 1, dims: vec![None, Some(model.outputs())] });
        Ok(out)
    }

    /// The bytes of an ONNX file.
    pub fn to_bytes(&self) -> Vec<u8> {
        super::write::bytes(self)
    }
}

type NamedAttributes = Vec<(String, OnnxAttribute)>;

fn node(name: String, op: &str, inputs: Vec<String>, (attributes, output): (NamedAttributes, String)) -> OnnxNode {
    OnnxNode { name, op: op.into(), inputs, outputs: vec![output], attributes, ..OnnxNode::default() }
}

/// Adds `x - mean`, and returns the inputs of the division by the deviations.
fn centre(out: &mut OnnxModel, title: &str, mut inputs: Vec<String>) -> Vec<String> {
    let centred = format!("{title}.centred");
    let std = inputs.pop().unwrap_or_default();
    out.nodes.push(node(format!("{title}.shift"), "Sub", inputs, (Vec::new(), centred.clone())));
    vec![centred, std]
}

/// Constants of a layer that are no parameters, by name.
fn constants(layer: &Layer, flat: bool) -> Result<Vec<(&'static str, ConstTensor)>, String> {
    let tensor = |dims: Vec<usize>, numbers: &[f32]| {
        ConstTensor::new(dims, TensorNumbers::Floats(numbers.iter().map(|&x| f64::from(x)).collect()))
    };
    Ok(match layer {
        Layer::Normalise(stats) => {
            let dims = if flat { vec![1, stats.mean().len()] } else { vec![1, stats.mean().len(), 1, 1] };
            vec![("mean", tensor(dims.clone(), stats.mean())?), ("std", tensor(dims, stats.std())?)]
        }
        Layer::HardTanh(low, high) => vec![("low", tensor(vec![], &[*low])?), ("high", tensor(vec![], &[*high])?)],
        _ => Vec::new(),
    })
}

fn operator(layer: &Layer) -> Result<(&'static str, NamedAttributes), &'static str> {
    let ints = |name: &str, values: &[usize]| {
        (name.to_owned(), OnnxAttribute::Ints(values.iter().map(|&v| v as i64).collect()))
    };
    let float = |name: &str, x: f32| (name.to_owned(), OnnxAttribute::Float(f64::from(x)));
    let pads = |p: [usize; 2]| ints("pads", &[p[0], p[1], p[0], p[1]]);
    Ok(match layer {
        Layer::Conv { kernel, .. } => ("Conv", vec![ints("kernel_shape", &[*kernel; 2])]),
        Layer::Conv2d(c) => {
            let group = ("group".to_owned(), OnnxAttribute::Int(c.groups as i64));
            ("Conv", vec![ints("kernel_shape", &c.kernel), ints("strides", &c.stride), pads(c.padding), group])
        }
        Layer::Tanh => ("Tanh", Vec::new()),
        Layer::Relu => ("Relu", Vec::new()),
        Layer::LeakyRelu(slope) => ("LeakyRelu", vec![float("alpha", *slope)]),
        Layer::Sigmoid => ("Sigmoid", Vec::new()),
        Layer::HardTanh(..) => ("Clip", Vec::new()),
        Layer::MaxPool(side) => ("MaxPool", vec![ints("kernel_shape", &[*side; 2]), ints("strides", &[*side; 2])]),
        Layer::Pool(p) => {
            let op = if p.kind == PoolKind::Max { "MaxPool" } else { "AveragePool" };
            (op, vec![ints("kernel_shape", &p.window), ints("strides", &p.stride), pads(p.padding)])
        }
        Layer::GlobalAverage => ("GlobalAveragePool", Vec::new()),
        Layer::BatchNorm => ("BatchNormalization", vec![float("epsilon", 1e-5)]),
        Layer::Normalise(_) => ("Div", Vec::new()),
        Layer::Dropout(_) | Layer::From(_) => ("Identity", Vec::new()),
        Layer::Flatten => ("Flatten", Vec::new()),
        Layer::Dense(_) => ("Gemm", vec![("transB".to_owned(), OnnxAttribute::Int(1))]),
        Layer::Add(_) => ("Add", Vec::new()),
        Layer::Gelu | Layer::Ramp => return Err("has no operator among those that are written"),
    })
}

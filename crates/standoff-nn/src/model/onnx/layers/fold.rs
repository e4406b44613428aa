//! Batch normalisation folded into the convolution or dense layer before it.
//!
//! `s (W x + b - mean) + beta = (s W) x + (s (b - mean) + beta)` with `s = gamma / sqrt(variance + eps)`, per channel.

use std::collections::{HashMap, HashSet};

use super::super::proto::{OnnxAttribute, OnnxModel, OnnxNode};
use super::super::tensor::{ConstTensor, TensorNumbers};

impl OnnxModel {
    /// Folds every `BatchNormalization` into the `Conv` or `Gemm` before it, if nothing else reads the result of that operator or its
    /// constants. Returns the numbers of folded and of kept ones. The constants are computed in `f64` and rounded to `f32` once, so the
    /// network rounds differently than before: a proof about the one is not a proof about the other.
    ///
    /// ```
    /// use standoff_nn::model::onnx::OnnxModel;
    /// use standoff_nn::{Biases, Model};
    ///
    /// let model = Model::from_toml("input = [3]\nlayers = [\"dense(5)\", \"batchnorm\", \"relu\", \"dense(2)\"]")?;
    /// let mut onnx = OnnxModel::of_model(&model, &model.initialise(Biases::Zero, 1))?;
    /// assert_eq!(onnx.fold_batch_normalisation(), [1, 0]);
    /// assert!(onnx.nodes.iter().all(|node| node.op != "BatchNormalization"));
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn fold_batch_normalisation(&mut self) -> [usize; 2] {
        let mut network = Network::new(self);
        let folded: Vec<bool> = (0..network.model.nodes.len()).map(|i| network.fold(i).is_some()).collect();
        let unused = network.unused;
        let mut left = folded.iter();
        self.nodes.retain(|_| left.next() == Some(&false));
        self.constants.retain(|(name, _)| !unused.contains(name.as_str()));
        // Files of old versions list their constants among the inputs.
        self.inputs.retain(|input| !unused.contains(input.name.as_str()));
        let kept = self.nodes.iter().filter(|node| node.op == "BatchNormalization").count();
        [folded.len() - self.nodes.len(), kept]
    }
}

/// A network that is being folded.
struct Network<'a> {
    model: &'a mut OnnxModel,
    /// The operator that computes each value.
    producers: HashMap<String, usize>,
    /// The index of each constant.
    constants: HashMap<String, usize>,
    /// The number of operators and outputs that read each name.
    uses: HashMap<String, usize>,
    /// Constants that nothing reads any more.
    unused: HashSet<String>,
}

/// A factor and a term for each channel: the normalisation of x is `factor x + term`.
struct Affine {
    factors: Vec<f64>,
    terms: Vec<f64>,
}

impl<'a> Network<'a> {
    fn new(model: &'a mut OnnxModel) -> Self {
        let outputs =
            model.nodes.iter().enumerate().flat_map(|(i, node)| node.outputs.iter().map(move |name| (name, i)));
        let producers = outputs.map(|(name, i)| (name.clone(), i)).collect();
        let constants = model.constants.iter().enumerate().map(|(i, (name, _))| (name.clone(), i)).collect();
        let mut uses = HashMap::new();
        let reads = model.nodes.iter().flat_map(|node| &node.inputs).chain(model.outputs.iter().map(|v| &v.name));
        for name in reads {
            *uses.entry(name.clone()).or_insert(0) += 1;
        }
        Self { model, producers, constants, uses, unused: HashSet::new() }
    }

    /// Folds operator `i` if it is a batch normalisation that can be; `None` if nothing changes.
    fn fold(&mut self, i: usize) -> Option<()> {
        let norm = self.model.nodes[i].clone();
        let input = norm.inputs.first().filter(|name| self.uses.get(*name) == Some(&1))?;
        let before = *self.producers.get(input)?;
        let layer = self.model.nodes[before].clone();
        let affine = self.affine(&norm)?;
        let weight = self.own(layer.inputs.get(1)?)?;
        let weights = scaled(&layer, &self.model.constants[weight].1, &affine.factors)?;
        // Without an offset of its own, the layer reads that of the normalisation.
        let (offset, offsets) = match layer.inputs.get(2).filter(|name| !name.is_empty()) {
            None => (self.own(&norm.inputs[2])?, vec![0.0; affine.terms.len()]),
            Some(name) => (self.own(name)?, self.numbers(name)?.to_vec()),
        };
        let terms = offsets.iter().zip(&affine.factors).zip(&affine.terms).map(|((b, factor), term)| b * factor + term);
        let offsets = rounded(terms).filter(|all| all.len() == affine.terms.len() && all.len() == offsets.len())?;
        let name = self.model.constants[offset].0.clone();
        self.model.constants[offset].1 =
            ConstTensor { dims: vec![offsets.len()], numbers: TensorNumbers::Floats(offsets) };
        self.model.constants[weight].1.numbers = TensorNumbers::Floats(weights);
        let only = |constant: &&String| **constant != name && self.uses.get(*constant) == Some(&1);
        let unused: Vec<String> = norm.inputs[1..].iter().filter(only).cloned().collect();
        self.unused.extend(unused);
        let node = &mut self.model.nodes[before];
        node.inputs.truncate(2);
        node.inputs.push(name);
        node.outputs.clone_from(&norm.outputs);
        self.producers.insert(norm.outputs[0].clone(), before);
        Some(())
    }

    /// The index of a constant that one operator reads.
    fn own(&self, name: &str) -> Option<usize> {
        self.constants.get(name).copied().filter(|_| self.uses.get(name) == Some(&1))
    }

    fn numbers(&self, name: &str) -> Option<&[f64]> {
        self.model.constants[*self.constants.get(name)?].1.floats().ok()
    }

    /// A batch normalisation for inference, with constants.
    fn affine(&self, norm: &OnnxNode) -> Option<Affine> {
        let frozen = norm.int("training_mode", 0) == Ok(0) && norm.outputs.len() == 1 && norm.inputs.len() == 5;
        if norm.op != "BatchNormalization" || !is_standard(norm) || !frozen {
            return None;
        }
        let [scale, offset, mean, variance] = [1, 2, 3, 4].map(|i| self.numbers(&norm.inputs[i]));
        let (scale, offset, mean, variance) = (scale?, offset?, mean?, variance?);
        let epsilon = norm.float("epsilon", f64::from(1e-5_f32)).ok()?;
        let n = scale.len();
        if [offset, mean, variance].iter().any(|part| part.len() != n) {
            return None;
        }
        let factors: Vec<f64> = scale.iter().zip(variance).map(|(s, v)| s / (v + epsilon).sqrt()).collect();
        let terms = (0..n).map(|c| offset[c] - factors[c] * mean[c]).collect();
        Some(Affine { factors, terms })
    }
}

fn is_standard(node: &OnnxNode) -> bool {
    node.domain.is_empty() || node.domain == "ai.onnx"
}

/// The weights of a convolution or a dense layer, each output times its factor. `None` for other operators.
fn scaled(layer: &OnnxNode, weight: &ConstTensor, factors: &[f64]) -> Option<Vec<f64>> {
    if !is_standard(layer) || layer.outputs.len() != 1 {
        return None;
    }
    let plain = |name: &str| matches!(layer.attribute(name), None | Some(OnnxAttribute::Float(1.0)));
    let turned = match layer.op.as_str() {
        "Conv" => true,
        "Gemm" if plain("alpha") && plain("beta") && weight.dims.len() == 2 => layer.int("transB", 0).ok()? != 0,
        _ => return None,
    };
    // Outputs are the first dimension of the weights, or the last.
    let outputs = *if turned { weight.dims.first() } else { weight.dims.last() }?;
    let numbers = weight.floats().ok().filter(|all| outputs == factors.len() && !all.is_empty())?;
    let each = numbers.len() / outputs;
    let output = |k: usize| if turned { k / each } else { k % outputs };
    rounded(numbers.iter().enumerate().map(|(k, w)| factors[output(k)] * w))
}

/// Numbers as `f32` has them; `None` if one is not finite there.
fn rounded(numbers: impl Iterator<Item = f64>) -> Option<Vec<f64>> {
    numbers.map(|x| Some(f64::from(x as f32)).filter(|x| x.is_finite())).collect()
}

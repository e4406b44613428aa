//! Assigns the tensors of a file to the parameters of a model.
//!
//! It recognises the model's own names (`conv1.weight`, `fc2.bias`); the same names with a prefix that every tensor has, such as
//! `module.`; and the numbers of `nn.Sequential` (`0.weight`, `3.weight`, or `features.0.weight` and `classifier.1.weight`).
//! Numbered layers are taken in the order of their numbers. Of two sequences, the one with convolutions is first. PyTorch's count of the
//! batches of batch normalisation, `num_batches_tracked`, is ignored, and a layer before batch normalisation may have no bias.

use super::super::{Layer, Model, View};
use crate::Error;
use safetensors::tensor::TensorView;
use std::collections::BTreeMap;

type Tensors<'b> = BTreeMap<String, TensorView<'b>>;

/// PyTorch's number of batches that batch normalisation has seen. Only moving averages without a momentum use it.
const BATCHES: &str = ".num_batches_tracked";

/// The name in the file of every view of the model, in order. The file may have no tensor of a bias that is optional: it is zero.
pub(super) fn assign(model: &Model, tensors: &Tensors<'_>) -> Result<Vec<String>, Error> {
    let used = tensors.iter().filter(|(name, _)| !name.ends_with(BATCHES));
    let tensors: &Tensors<'_> = &used.map(|(name, tensor)| (name.clone(), tensor.clone())).collect();
    let mut prefix = "";
    let found = loop {
        let named = model.views().iter().map(|view| format!("{prefix}{}", view.name));
        let named: Vec<String> = named.collect();
        // One name is enough to recognise the naming; missing tensors are then reported by name.
        if named.iter().any(|name| tensors.contains_key(name)) {
            break named;
        }
        if let Some(numbered) = numbered(prefix, tensors) {
            break numbered?;
        }
        match common(prefix, tensors) {
            Some(longer) => prefix = longer,
            None => break model.views().iter().map(|view| view.name.clone()).collect(),
        }
    };
    check(model, tensors, &found)?;
    Ok(found)
}

/// A prefix longer by one word and its dot, if every tensor has it.
fn common<'t>(prefix: &str, tensors: &'t Tensors<'_>) -> Option<&'t str> {
    let first = tensors.keys().next()?;
    let dot = first.get(prefix.len()..)?.find('.')?;
    let longer = &first[..=prefix.len() + dot];
    tensors.keys().all(|name| name.starts_with(longer)).then_some(longer)
}

/// Layers that are numbered as one sequence.
#[derive(Default)]
struct Sequence<'t> {
    /// True if one of them is a convolution.
    convolutions: bool,
    /// By number and path; true for batch normalisation, which has statistics.
    layers: BTreeMap<(u64, &'t str), bool>,
}

/// The names of numbered layers, in order; `None` if the tensors have other names.
fn numbered(prefix: &str, tensors: &Tensors<'_>) -> Option<Result<Vec<String>, Error>> {
    let mut sequences: BTreeMap<&str, Sequence<'_>> = BTreeMap::new();
    for (name, tensor) in tensors {
        let (path, part) = name.strip_prefix(prefix)?.rsplit_once('.')?;
        let (sequence, number) = path.rsplit_once('.').unwrap_or(("", path));
        let sequence = sequences.entry(sequence).or_default();
        let statistics = sequence.layers.entry((number.parse().ok()?, path)).or_default();
        match part {
            // Weights of batch normalisation have one dimension, those of dense layers two.
            "weight" => sequence.convolutions |= tensor.shape().len() > 2,
            "bias" => {}
            "running_mean" | "running_var" => *statistics = true,
            _ => return None,
        }
    }
    let mut order: Vec<(&str, Sequence<'_>)> = sequences.into_iter().collect();
    order.sort_by_key(|(_, sequence)| !sequence.convolutions);
    if let [(a, first), (b, second), rest @ ..] = &order[..]
        && (first.convolutions == second.convolutions || !rest.is_empty())
    {
        let why = format!("which of the sequences `{a}` and `{b}` comes first is not known");
        return Some(Err(Error::Weights(format!("{why}; name the tensors conv1.weight, ..., fc1.weight, ..."))));
    }
    let mut names = Vec::with_capacity(tensors.len());
    for ((_, path), statistics) in order.into_iter().flat_map(|(_, sequence)| sequence.layers) {
        let parts = ["weight", "bias", "running_mean", "running_var"];
        let parts = &parts[..if statistics { 4 } else { 2 }];
        names.extend(parts.iter().map(|part| format!("{prefix}{path}.{part}")));
    }
    Some(Ok(names))
}

/// True for the bias of a convolution or dense layer that batch normalisation follows, which removes it: PyTorch's networks often have
/// `bias=False` there.
fn is_optional(model: &Model, view: &View) -> bool {
    let normalised = model.layers().get(view.layer + 1) == Some(&Layer::BatchNorm);
    let weighted =
        model.layers()[view.layer].conv2d().is_some() || matches!(model.layers()[view.layer], Layer::Dense(_));
    normalised && weighted && view.name.ends_with(".bias")
}

/// Checks that every view has a tensor of its shape, but for optional ones, and that no tensor remains.
fn check(model: &Model, tensors: &Tensors<'_>, names: &[String]) -> Result<(), Error> {
    let has = || {
        let all: Vec<String> = tensors.iter().map(|(name, t)| format!("{name} {:?}", t.shape())).collect();
        if all.is_empty() { "no tensor at all".into() } else { all.join(", ") }
    };
    for (i, view) in model.views().iter().enumerate() {
        let name = names.get(i).unwrap_or(&view.name);
        let wanted = if *name == view.name { String::new() } else { format!(" as {}", view.name) };
        let Some(tensor) = tensors.get(name) else {
            if is_optional(model, view) {
                continue;
            }
            let why = format!("{name} is missing: the model needs {:?}{wanted}; the file has {}", view.shape, has());
            return Err(Error::Weights(why));
        };
        if tensor.shape() != view.shape {
            let (got, want) = (tensor.shape(), &view.shape);
            return Err(Error::Weights(format!("{name} is {got:?}, the model needs {want:?}{wanted}")));
        }
    }
    let needed = &names[..model.views().len()];
    match tensors.iter().find(|(name, _)| !needed.contains(name)) {
        None => Ok(()),
        Some((name, tensor)) => {
            let all: Vec<&str> = model.views().iter().map(|view| view.name.as_str()).collect();
            let why = format!("{name} {:?} is unknown: the model has {}", tensor.shape(), all.join(", "));
            Err(Error::Weights(why))
        }
    }
}

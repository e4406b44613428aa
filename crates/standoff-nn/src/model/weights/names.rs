//! Assigns the tensors of a file to the parameters of a model.
//!
//! It recognises the model's own names (`conv1.weight`, `fc2.bias`); the same names with a prefix that every tensor has, such as
//! `module.`; and the numbers of `nn.Sequential` (`0.weight`, `3.weight`, or `features.0.weight` and `classifier.1.weight`).
//! Numbered layers are taken in the order of their numbers. Of two sequences, the one with convolutions is first.

use super::super::Model;
use crate::Error;
use safetensors::tensor::TensorView;
use std::collections::BTreeMap;

type Tensors<'b> = BTreeMap<String, TensorView<'b>>;

/// The name in the file of every view of the model, in order.
pub(super) fn assign(model: &Model, tensors: &Tensors<'_>) -> Result<Vec<String>, Error> {
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
struct Sequence<'t> {
    /// True if all of them are dense.
    dense: bool,
    /// Their numbers and paths.
    layers: Vec<(u64, &'t str)>,
}

/// The names of numbered layers, in order; `None` if the tensors have other names.
fn numbered(prefix: &str, tensors: &Tensors<'_>) -> Option<Result<Vec<String>, Error>> {
    let mut sequences: BTreeMap<&str, Sequence<'_>> = BTreeMap::new();
    for (name, tensor) in tensors {
        let (path, part) = name.strip_prefix(prefix)?.rsplit_once('.')?;
        let (sequence, number) = path.rsplit_once('.').unwrap_or(("", path));
        let number = number.parse().ok()?;
        match part {
            "weight" => {
                let empty = Sequence { dense: true, layers: Vec::new() };
                let sequence = sequences.entry(sequence).or_insert(empty);
                sequence.dense &= tensor.shape().len() == 2;
                sequence.layers.push((number, path));
            }
            "bias" => {}
            _ => return None,
        }
    }
    let mut order: Vec<(&str, Sequence<'_>)> = sequences.into_iter().collect();
    order.sort_by_key(|(_, sequence)| sequence.dense);
    if let [(a, first), (b, second), rest @ ..] = &order[..]
        && (first.dense == second.dense || !rest.is_empty())
    {
        let why = format!("which of the sequences `{a}` and `{b}` comes first is not known");
        return Some(Err(Error::Weights(format!("{why}; name the tensors conv1.weight, ..., fc1.weight, ..."))));
    }
    let mut names = Vec::with_capacity(tensors.len());
    for (_, mut sequence) in order {
        sequence.layers.sort_unstable();
        let parts = sequence.layers.iter().flat_map(|(_, path)| ["weight", "bias"].map(|part| (path, part)));
        names.extend(parts.map(|(path, part)| format!("{prefix}{path}.{part}")));
    }
    Some(Ok(names))
}

/// Checks that every view has a tensor of its shape, and that no tensor remains.
fn check(model: &Model, tensors: &Tensors<'_>, names: &[String]) -> Result<(), Error> {
    let has = || {
        let all: Vec<String> = tensors.iter().map(|(name, t)| format!("{name} {:?}", t.shape())).collect();
        if all.is_empty() { "no tensor at all".into() } else { all.join(", ") }
    };
    for (i, view) in model.views().iter().enumerate() {
        let name = names.get(i).unwrap_or(&view.name);
        let wanted = if *name == view.name { String::new() } else { format!(" as {}", view.name) };
        let Some(tensor) = tensors.get(name) else {
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

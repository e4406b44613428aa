//! Operators that change shapes only, and those that compute shapes from constants.

use super::convert::{Reading, Value};
use super::proto::{OnnxAttribute, OnnxNode};
use super::tensor::{ConstTensor, TensorNumbers, entries};

/// Flatten, Reshape, Squeeze and Unsqueeze of a constant or of a node.
pub(super) fn reshape(reading: &Reading<'_>, node: &OnnxNode) -> Result<Value, String> {
    let value = reading.value(node, 0)?;
    let dims = match &value {
        Value::Const(t) => t.dims.clone(),
        Value::Node { dims, .. } => dims.clone(),
    };
    let to = match node.op.as_str() {
        "Flatten" => {
            // Negative axes count from the end; one past the last axis is allowed.
            let given = node.int("axis", 1)?;
            let axis = axis(given, dims.len() + usize::from(given >= 0))?;
            vec![dims[..axis].iter().product(), dims[axis..].iter().product()]
        }
        "Reshape" => {
            let wanted = match node.ints("shape")? {
                Some(shape) => shape.to_vec(),
                None => reading.constant(node, 1)?.ints()?.to_vec(),
            };
            reshaped(&dims, &wanted, node.int("allowzero", 0)? != 0)?
        }
        "Squeeze" => {
            let gone = axes(reading, node, dims.len())?;
            let keep = |i: usize| gone.as_ref().map_or(dims[i] != 1, |gone| !gone.contains(&i));
            (0..dims.len()).filter(|&i| keep(i)).map(|i| dims[i]).collect()
        }
        _ => {
            let count = axes(reading, node, usize::MAX / 2)?.map_or(0, |a| a.len());
            let new = axes(reading, node, dims.len() + count)?.ok_or("Unsqueeze needs axes")?;
            let mut old = dims.iter();
            (0..dims.len() + count)
                .map(|i| if new.contains(&i) { 1 } else { old.next().copied().unwrap_or(1) })
                .collect()
        }
    };
    if entries(&to) != entries(&dims) {
        return Err(format!("{dims:?} cannot become {to:?}"));
    }
    Ok(match value {
        Value::Const(t) => Value::Const(t.reshaped(to)?),
        Value::Node { id, .. } => Value::Node { id, dims: to },
    })
}

/// The dimensions that Reshape asks for: 0 keeps a dimension, -1 is what is left.
fn reshaped(dims: &[usize], wanted: &[i64], zero: bool) -> Result<Vec<usize>, String> {
    let total = entries(dims).ok_or("too large")?;
    let mut to = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (i, &w) in wanted.iter().enumerate() {
        to.push(match w {
            0 if !zero => *dims.get(i).ok_or(format!("dimension {i} of {dims:?} does not exist"))?,
            -1 if open.is_none() => {
                open = Some(i);
                1
            }
            w => usize::try_from(w).map_err(|_| format!("the shape {wanted:?} is not valid"))?,
        });
    }
    if let Some(i) = open {
        let rest = entries(&to).filter(|&r| r > 0 && total % r == 0);
        to[i] = total / rest.ok_or(format!("{dims:?} cannot become {wanted:?}"))?;
    }
    Ok(to)
}

/// The attribute or the input `axes`.
pub(super) fn axes(reading: &Reading<'_>, node: &OnnxNode, n: usize) -> Result<Option<Vec<usize>>, String> {
    let given = match node.ints("axes")? {
        Some(axes) => axes.to_vec(),
        None => match reading.optional(node, 1)? {
            Some(Value::Const(t)) => t.ints()?.to_vec(),
            Some(Value::Node { .. }) => return Err("its axes depend on the input".into()),
            None => return Ok(None),
        },
    };
    given.iter().map(|&a| axis(a, n.max(1))).collect::<Result<Vec<usize>, String>>().map(Some)
}

/// An axis of n, counted from the end if it is negative.
pub(super) fn axis(a: i64, n: usize) -> Result<usize, String> {
    let place = if a < 0 { a.checked_add(n as i64).unwrap_or(-1) } else { a };
    usize::try_from(place).ok().filter(|&p| p < n).ok_or(format!("axis {a} does not exist"))
}

/// Checks that these numbers are the numbers 0 to n - 1 in some order.
pub(super) fn permutation(order: &[i64], n: usize) -> Result<Vec<usize>, String> {
    let places: Vec<usize> = order.iter().filter_map(|&a| usize::try_from(a).ok()).collect();
    let mut seen = places.clone();
    seen.sort_unstable();
    if seen.iter().copied().eq(0..n) && order.len() == n {
        Ok(places)
    } else {
        Err(format!("perm {order:?} is no order of {n} axes"))
    }
}

/// Shape, Gather, Concat and Cast: of constants, or of what is known before any input.
pub(super) fn fold(reading: &Reading<'_>, node: &OnnxNode) -> Result<Value, String> {
    match (node.op.as_str(), reading.value(node, 0)?) {
        ("Shape", _) if node.attribute("start").is_some() || node.attribute("end").is_some() => {
            Err("a part of a shape is not supported".into())
        }
        ("Shape", Value::Node { dims, .. }) => Ok(Value::Const(shape(&dims))),
        ("Shape", Value::Const(t)) => Ok(Value::Const(shape(&t.dims))),
        ("Cast", value @ Value::Node { .. }) => match node.int("to", 1)? {
            1 => Ok(value),
            to => Err(format!("converts the network's values to data type {to}; float32 is supported")),
        },
        ("Cast", Value::Const(t)) => cast(t, node.int("to", 1)?).map(Value::Const),
        ("Gather", Value::Const(t)) => {
            if node.int("axis", 0)? != 0 {
                return Err("Gather is supported along axis 0".into());
            }
            let index = reading.constant(node, 1)?;
            if index.dims.len() > 1 {
                return Err(format!("Gather with indices of shape {:?}; a list or a number is supported", index.dims));
            }
            let mut out = t.gathered(index.ints()?)?;
            if index.dims.is_empty() {
                out.dims.remove(0);
            }
            Ok(Value::Const(out))
        }
        ("Concat", Value::Const(_)) => {
            let mut all = Vec::new();
            for i in 0..node.inputs.len() {
                all.extend_from_slice(reading.constant(node, i)?.ints()?);
                if all.len() > 64 {
                    return Err("Concat is supported for shapes only".into());
                }
            }
            Ok(Value::Const(ConstTensor::ints_of(all)))
        }
        (op, _) => Err(format!("{op} of values that depend on the input is not supported")),
    }
}

fn shape(dims: &[usize]) -> ConstTensor {
    ConstTensor::ints_of(dims.iter().map(|&d| d as i64).collect())
}

fn cast(t: ConstTensor, to: i64) -> Result<ConstTensor, String> {
    let numbers = match (to, t.numbers) {
        (1, TensorNumbers::Floats(v)) => TensorNumbers::Floats(v.iter().map(|&x| f64::from(x as f32)).collect()),
        (1, TensorNumbers::Ints(v)) => TensorNumbers::Floats(v.iter().map(|&i| f64::from(i as f32)).collect()),
        (6 | 7, TensorNumbers::Floats(v)) if v.iter().all(|x| x.abs() < f64::from(i32::MAX)) => {
            TensorNumbers::Ints(v.iter().map(|&x| x as i64).collect())
        }
        (7, same @ TensorNumbers::Ints(_)) => same,
        (6, TensorNumbers::Ints(v)) if v.iter().all(|&i| i32::try_from(i).is_ok()) => TensorNumbers::Ints(v),
        (to, _) => return Err(format!("converts a constant to data type {to}")),
    };
    Ok(ConstTensor { dims: t.dims, numbers })
}

/// True if an attribute is absent or has this text.
pub(super) fn text_is(node: &OnnxNode, name: &str, wanted: &str) -> bool {
    match node.attribute(name) {
        None => true,
        Some(OnnxAttribute::Text(text)) => text == wanted,
        Some(_) => false,
    }
}

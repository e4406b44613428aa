//! Add, Sub, Mul, Div and Neg with constants or between nodes, and batch normalisation.

use super::convert::{Reading, Value};
use super::proto::OnnxNode;
use super::tensor::{ConstTensor, TensorNumbers, broadcast, broadcast_places};
use crate::verify::{LARGEST, LinearMap, MOST_VALUES, NodeOp};

pub(super) fn arithmetic(reading: &mut Reading<'_>, node: &OnnxNode) -> Result<Value, String> {
    let op = node.op.as_str();
    if op == "Neg" {
        let (id, dims) = reading.node(node, 0)?;
        return scaled(reading, node, (id, &dims), -1.0);
    }
    match (reading.value(node, 0)?, reading.value(node, 1)?) {
        (Value::Const(a), Value::Const(b)) => constants(op, &a, &b).map(Value::Const),
        (Value::Node { id, dims }, Value::Const(c)) => with_constant(reading, node, 0, (id, dims, c)),
        (Value::Const(c), Value::Node { id, dims }) => match op {
            "Add" | "Mul" => with_constant(reading, node, 1, (id, dims, c)),
            "Sub" => {
                // c - x = (-x) + c
                let Value::Node { id, dims } = scaled(reading, node, (id, &dims), -1.0)? else { unreachable!() };
                offset(reading, node, (id, dims, c), 1.0)
            }
            _ => Err("a constant divided by a value is not supported".into()),
        },
        (Value::Node { id: left, dims: a }, Value::Node { id: right, dims: b }) => {
            if a != b {
                return Err(format!("values of shapes {a:?} and {b:?}; equal shapes are supported"));
            }
            match op {
                "Add" => reading.push(node, NodeOp::Add { left, right }, a),
                "Sub" => {
                    let Value::Node { id: right, .. } = scaled(reading, node, (right, &b), -1.0)? else {
                        unreachable!()
                    };
                    reading.push(node, NodeOp::Add { left, right }, a)
                }
                _ => Err(format!("{op} of two values that depend on the input is not supported")),
            }
        }
    }
}

fn constants(op: &str, a: &ConstTensor, b: &ConstTensor) -> Result<ConstTensor, String> {
    let dims = broadcast(&a.dims, &b.dims)?;
    let (left, right) = (broadcast_places(&a.dims, &dims), broadcast_places(&b.dims, &dims));
    let places = left.into_iter().zip(right);
    let numbers = match (&a.numbers, &b.numbers) {
        (TensorNumbers::Floats(x), TensorNumbers::Floats(y)) => {
            // As the runtime does: in f32.
            let value = |(i, j): (usize, usize)| f64::from(compute(op, x[i] as f32, y[j] as f32));
            TensorNumbers::Floats(places.map(value).collect())
        }
        (TensorNumbers::Ints(x), TensorNumbers::Ints(y)) => {
            let value = |(i, j): (usize, usize)| match op {
                "Add" => x[i].checked_add(y[j]),
                "Sub" => x[i].checked_sub(y[j]),
                "Mul" => x[i].checked_mul(y[j]),
                _ => x[i].checked_div(y[j]),
            };
            // The constants may be int32: a result is one of both types, or is refused.
            let values: Option<Vec<i64>> = places.map(|at| value(at).filter(|v| i32::try_from(*v).is_ok())).collect();
            TensorNumbers::Ints(values.ok_or("integers overflow")?)
        }
        _ => return Err("a constant of integers meets one of numbers".into()),
    };
    ConstTensor::new(dims, numbers)
}

fn compute(op: &str, x: f32, y: f32) -> f32 {
    match op {
        "Add" => x + y,
        "Sub" => x - y,
        "Mul" => x * y,
        _ => x / y,
    }
}

/// A node with its dimensions, and the constant beside it.
type Operands = (usize, Vec<usize>, ConstTensor);

fn with_constant(reading: &mut Reading<'_>, node: &OnnxNode, place: usize, given: Operands) -> Result<Value, String> {
    match node.op.as_str() {
        "Add" | "Sub" => {
            let sign = if node.op == "Sub" { -1.0 } else { 1.0 };
            let (id, dims, c) = &given;
            let same = broadcast(dims, &c.dims)? == *dims;
            // A sum of products with an offset is one operation, in any order.
            if same
                && reading.sole_use(node, place, *id)
                && let NodeOp::Linear { map, .. } = &mut reading.graph.node_mut(*id).op
                && map.roundings() > 0
            {
                let (places, c) = (broadcast_places(&c.dims, dims), c.floats()?);
                if c.iter().any(|x| !x.is_finite()) {
                    return Err("a constant is not finite".into());
                }
                // Only the first offset: the sum of two could cancel what rounding loses in between.
                if map.bias().iter().all(|b| *b == 0.0) {
                    map.add_bias(|i| sign * c[places[i]]);
                    return Ok(Value::Node { id: *id, dims: dims.clone() });
                }
            }
            offset(reading, node, given, sign)
        }
        op => {
            let (id, dims, c) = given;
            let (to, spread) = spread(reading, node, (id, &dims), &c)?;
            let places = broadcast_places(&c.dims, &to);
            let c = c.floats()?;
            if c.iter().any(|c| op == "Div" && c.abs() < 1.0 / LARGEST) {
                return Err("a divisor is zero, or too small for float32".into());
            }
            let scale: Vec<f64> = places.iter().map(|&p| if op == "Div" { 1.0 / c[p] } else { c[p] }).collect();
            let (n, roundings) = (scale.len(), if op == "Div" { 2 } else { 1 });
            let is_exact = op == "Mul" || places.iter().zip(&scale).all(|(&p, s)| s.mul_add(c[p], -1.0) == 0.0);
            let map = LinearMap::diagonal(&scale, vec![0.0; n], vec![0.0; n], roundings);
            let map = if is_exact { map } else { map.rounded() };
            reading.push(node, NodeOp::Linear { input: spread, map }, to)
        }
    }
}

/// `x + sign c`.
fn offset(reading: &mut Reading<'_>, node: &OnnxNode, (id, dims, c): Operands, sign: f64) -> Result<Value, String> {
    let (to, id) = spread(reading, node, (id, &dims), &c)?;
    let places = broadcast_places(&c.dims, &to);
    let c = c.floats()?;
    let shift: Vec<f64> = places.iter().map(|&p| sign * c[p]).collect();
    let sizes = shift.iter().map(|s| s.abs()).collect();
    let map = LinearMap::diagonal(&vec![1.0; shift.len()], shift, sizes, 1);
    reading.push(node, NodeOp::Linear { input: id, map }, to)
}

fn scaled(reading: &mut Reading<'_>, node: &OnnxNode, (id, dims): (usize, &[usize]), by: f64) -> Result<Value, String> {
    let n: usize = dims.iter().product();
    let map = LinearMap::diagonal(&vec![by; n], vec![0.0; n], vec![0.0; n], 0);
    reading.push(node, NodeOp::Linear { input: id, map }, dims.to_vec())
}

/// Repeats the entries of a node where the constant has more dimensions: the new shape and the node.
fn spread(
    reading: &mut Reading<'_>,
    node: &OnnxNode,
    (id, dims): (usize, &[usize]),
    c: &ConstTensor,
) -> Result<(Vec<usize>, usize), String> {
    let to = broadcast(dims, &c.dims)?;
    let n: usize = to.iter().product();
    if n > MOST_VALUES {
        return Err(format!("{to:?} has more than {MOST_VALUES} values"));
    }
    if n == dims.iter().product::<usize>() {
        return Ok((to, id));
    }
    let map = LinearMap::permutation(dims.iter().product(), &broadcast_places(dims, &to));
    match reading.push(node, NodeOp::Linear { input: id, map }, to.clone())? {
        Value::Node { id, .. } => Ok((to, id)),
        Value::Const(_) => Err("a constant where a value is needed".into()),
    }
}

/// `scale (x - mean) / sqrt(variance + epsilon) + offset`, with the constants of training.
pub(super) fn batch_normalisation(reading: &mut Reading<'_>, node: &OnnxNode) -> Result<Value, String> {
    if node.int("training_mode", 0)? != 0 {
        return Err("it is in training mode; export the network for inference".into());
    }
    let (input, dims) = reading.node(node, 0)?;
    let channels = *dims.get(1).ok_or(format!("its input {dims:?} has no channels"))?;
    let mut constants = Vec::new();
    for i in 1..5 {
        let c = reading.constant(node, i)?.floats()?.to_vec();
        if c.len() != channels {
            return Err(format!("input {i} has {} entries, {channels} channels need one each", c.len()));
        }
        constants.push(c);
    }
    let [gain, shift, mean, variance] = &constants[..] else { return Err("inputs are missing".into()) };
    let epsilon = node.float("epsilon", f64::from(1e-5_f32))?;
    if dims[0] != 1 || variance.iter().any(|v| !(v + epsilon >= 1.0 / LARGEST)) {
        return Err("a variance is not positive, or too small for float32, or the batch is larger than 1".into());
    }
    let area: usize = dims[2..].iter().product();
    let n = channels * area;
    let scale: Vec<f64> = (0..n).map(|i| gain[i / area] / (variance[i / area] + epsilon).sqrt()).collect();
    let offsets = (0..n).map(|i| shift[i / area] - scale[i] * mean[i / area]).collect();
    let sizes = (0..n).map(|i| shift[i / area].abs() + (scale[i] * mean[i / area]).abs()).collect();
    // Five operations in f32, each rounded once, the scale itself a few times more.
    let map = LinearMap::diagonal(&scale, offsets, sizes, 12).rounded();
    reading.push(node, NodeOp::Linear { input, map }, dims)
}

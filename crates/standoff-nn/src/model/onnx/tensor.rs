//! Constants of an ONNX file, and the operations that fold them.

/// The most entries of a tensor.
pub(crate) const MOST_ENTRIES: usize = 1 << 28;

/// A constant: dimensions and numbers, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstTensor {
    /// Its dimensions; empty for a scalar.
    pub dims: Vec<usize>,
    /// Its entries.
    pub numbers: TensorNumbers,
}

/// The entries of a constant.
#[derive(Debug, Clone, PartialEq)]
pub enum TensorNumbers {
    /// Numbers of `f32` or `f64`.
    Floats(Vec<f64>),
    /// Integers and truth values.
    Ints(Vec<i64>),
}

impl TensorNumbers {
    fn len(&self) -> usize {
        match self {
            Self::Floats(v) => v.len(),
            Self::Ints(v) => v.len(),
        }
    }

    fn pick(&self, places: impl Iterator<Item = usize>) -> Self {
        match self {
            Self::Floats(v) => Self::Floats(places.map(|i| v[i]).collect()),
            Self::Ints(v) => Self::Ints(places.map(|i| v[i]).collect()),
        }
    }
}

/// The product of dimensions, if it is at most [`MOST_ENTRIES`].
pub(crate) fn entries(dims: &[usize]) -> Option<usize> {
    dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d)).filter(|n| *n <= MOST_ENTRIES)
}

impl ConstTensor {
    pub(super) fn new(dims: Vec<usize>, numbers: TensorNumbers) -> Result<Self, String> {
        match entries(&dims) {
            None => Err(format!("has more than {MOST_ENTRIES} entries")),
            Some(n) if n != numbers.len() => {
                Err(format!("has {} entries, its dimensions {dims:?} need {n}", numbers.len()))
            }
            Some(_) => Ok(Self { dims, numbers }),
        }
    }

    pub(super) fn ints_of(values: Vec<i64>) -> Self {
        Self { dims: vec![values.len()], numbers: TensorNumbers::Ints(values) }
    }

    /// The numbers, if it holds numbers.
    pub fn floats(&self) -> Result<&[f64], String> {
        match &self.numbers {
            TensorNumbers::Floats(v) => Ok(v),
            TensorNumbers::Ints(_) => Err("a constant holds integers, numbers are needed".into()),
        }
    }

    /// The integers, if it holds integers.
    pub fn ints(&self) -> Result<&[i64], String> {
        match &self.numbers {
            TensorNumbers::Ints(v) => Ok(v),
            TensorNumbers::Floats(_) => Err("a constant holds numbers, integers are needed".into()),
        }
    }

    /// The same entries with other dimensions.
    pub(super) fn reshaped(&self, dims: Vec<usize>) -> Result<Self, String> {
        Self::new(dims, self.numbers.clone())
    }

    /// The entries with the axes in another order.
    pub(super) fn transposed(&self, order: &[usize]) -> Self {
        let places = transposed_places(&self.dims, order);
        let dims = order.iter().map(|&a| self.dims[a]).collect();
        Self { dims, numbers: self.numbers.pick(places.into_iter()) }
    }

    /// The entries at these places along the first axis.
    pub(super) fn gathered(&self, places: &[i64]) -> Result<Self, String> {
        let n = *self.dims.first().ok_or("Gather needs a list")?;
        let step: usize = self.dims[1..].iter().product();
        let index = |&i: &i64| {
            let j = if i < 0 { i + n as i64 } else { i };
            usize::try_from(j).ok().filter(|&j| j < n).ok_or(format!("index {i} is outside of a list of {n}"))
        };
        let rows = places.iter().map(index).collect::<Result<Vec<usize>, String>>()?;
        let mut dims = self.dims.clone();
        dims[0] = rows.len();
        entries(&dims).ok_or("Gather makes a constant that is too large")?;
        let numbers = self.numbers.pick(rows.iter().flat_map(|r| r * step..(r + 1) * step));
        Ok(Self { dims, numbers })
    }
}

/// For every entry of the transposed tensor, its place in the tensor of these dimensions.
pub(super) fn transposed_places(dims: &[usize], order: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for a in (0..dims.len().saturating_sub(1)).rev() {
        strides[a] = strides[a + 1] * dims[a + 1];
    }
    let mut places = vec![0];
    for &axis in order {
        places = places
            .iter()
            .flat_map(|&p| (0..dims[axis]).map(move |i| (p, i)))
            .map(|(p, i)| p + i * strides[axis])
            .collect();
    }
    places
}

/// Shape of the result of an elementwise operation on these two shapes (NumPy's broadcasting).
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, String> {
    let n = a.len().max(b.len());
    let side = |dims: &[usize], i: usize| if i + dims.len() >= n { dims[i + dims.len() - n] } else { 1 };
    let dims = (0..n).map(|i| match (side(a, i), side(b, i)) {
        (x, y) if x == y || y == 1 => Ok(x),
        (1, y) => Ok(y),
        _ => Err(format!("shapes {a:?} and {b:?} do not fit together")),
    });
    let dims = dims.collect::<Result<Vec<usize>, String>>()?;
    entries(&dims).ok_or(format!("shapes {a:?} and {b:?} make a tensor that is too large"))?;
    Ok(dims)
}

/// For every entry of a tensor of shape `to`, its place in a tensor of shape `from` that is broadcast to it.
pub(super) fn broadcast_places(from: &[usize], to: &[usize]) -> Vec<usize> {
    let skip = to.len() - from.len();
    let mut places = vec![0];
    for (i, &d) in to.iter().enumerate() {
        let own = if i < skip { 1 } else { from[i - skip] };
        places = places.iter().flat_map(|&p| (0..d).map(move |j| p * own + if own == 1 { 0 } else { j })).collect();
    }
    places
}

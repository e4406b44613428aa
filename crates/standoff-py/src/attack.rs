//! Attacks on functions of the caller: logits and gradients come from Python, the attacks are those of the library.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff_nn::Error;
use standoff_nn::attack::{
    Attack, Ball, Evaluator, FunctionEvaluator, LabelledImages, Norm, PixelRange, Progress, Run, SmallestChanges,
    VectorJacobian, smallest_changes,
};
use standoff_train::attack::images::Images;

use crate::evaluate::{EvaluateRequest, ImageArrays, dictionary, measure};
use crate::network::{Sides, shape};
use crate::progress::{SignalPoll, option, refuse};

/// A function, and images with the output that each should give.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FunctionArrays<'py> {
    images: PyReadonlyArray2<'py, f32>,
    labels: PyReadonlyArray1<'py, u16>,
    sides: Sides,
    outputs: usize,
    bounds: Option<(f32, f32)>,
    batch_size: usize,
    /// `forward(rows, gradients)` returns logits.
    forward: Py<PyAny>,
    /// `backward(coefficients)` returns the gradient of the sum of the last logits times these, or `None`.
    backward: Option<Py<PyAny>>,
}

impl FunctionArrays<'_> {
    fn images(&self) -> PyResult<Images> {
        let labels = self.labels.as_slice()?.to_vec();
        Ok(Images {
            pixels: self.images.as_slice()?.to_vec(),
            places: (0..labels.len()).collect(),
            labels,
            shape: shape(self.sides),
            names: (0..self.outputs).map(|output| output.to_string()).collect(),
            about: "arrays".to_owned(),
            notes: Vec::new(),
        })
    }
}

impl FunctionArrays<'_> {
    /// Runs attacks on the function, without the lock of the interpreter. An exception of the function is returned.
    fn run<T: Send>(&self, py: Python<'_>, attack: impl FnOnce(&dyn Evaluator) -> PyResult<T> + Send) -> PyResult<T> {
        let (sides, outputs, most_rows) = (self.sides, self.outputs, self.batch_size);
        let (forward, backward) = (&self.forward, self.backward.as_ref());
        py.detach(|| {
            let width = shape(sides).size();
            let network = PythonNetwork { forward, backward, width, outputs, raised: RefCell::new(None) };
            let logits = |rows: &[f32], gradients: bool, out: &mut [f64]| network.logits(rows, gradients, out);
            let product = |coefficients: &[f64], out: &mut [f32]| network.gradient(coefficients, out);
            let product = backward.map(|_| &product as &VectorJacobian<'_>);
            let mut evaluator = FunctionEvaluator::new(shape(sides), outputs, &logits, product);
            evaluator.most_rows = most_rows;
            let done = attack(&evaluator);
            network.raised.take().map_or(done, Err)
        })
    }
}

/// The functions of a network, and the first exception that one of them raised.
struct PythonNetwork<'a> {
    forward: &'a Py<PyAny>,
    backward: Option<&'a Py<PyAny>>,
    width: usize,
    outputs: usize,
    raised: RefCell<Option<PyErr>>,
}

impl PythonNetwork<'_> {
    /// Keeps an exception and returns an error that ends the attack.
    fn fail(&self, error: PyErr) -> Error {
        self.raised.borrow_mut().get_or_insert(error);
        Error::Mismatch("the function raised an exception".into())
    }

    fn logits(&self, rows: &[f32], gradients: bool, out: &mut [f64]) -> Result<(), Error> {
        let count = rows.len() / self.width.max(1);
        let call = |py: Python<'_>| -> PyResult<()> {
            let given = PyArray1::from_slice(py, rows).reshape([count, self.width])?;
            let logits = self.forward.bind(py).call1((given, gradients))?;
            read(&logits, [count, self.outputs], "logits", out)
        };
        Python::attach(call).map_err(|error| self.fail(error))
    }

    fn gradient(&self, coefficients: &[f64], out: &mut [f32]) -> Result<(), Error> {
        let count = coefficients.len() / self.outputs.max(1);
        let call = |py: Python<'_>| -> PyResult<()> {
            let Some(backward) = self.backward else { return Err(refuse("the function has no gradients")) };
            let given = PyArray1::from_slice(py, coefficients).reshape([count, self.outputs])?;
            let gradient = backward.bind(py).call1((given,))?;
            read(&gradient, [count, self.width], "gradients", out)
        };
        Python::attach(call).map_err(|error| self.fail(error))
    }
}

/// Copies an array of this shape.
fn read<T: numpy::Element + Copy>(
    given: &Bound<'_, PyAny>,
    shape: [usize; 2],
    what: &str,
    out: &mut [T],
) -> PyResult<()> {
    let array = given.cast::<PyArray2<T>>()?.try_readonly()?;
    if array.shape() != shape {
        let got = array.shape();
        return Err(refuse(format!("f returned {what} of shape {got:?}, want {shape:?}")));
    }
    out.copy_from_slice(array.as_slice()?);
    Ok(())
}

/// Attacks a function at every eps; one dictionary each, without proofs. An exception, Ctrl-C among them, ends it.
#[pyfunction]
pub(crate) fn attack_function<'py>(
    py: Python<'py>,
    data: FunctionArrays<'py>,
    request: EvaluateRequest,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let images = data.images()?;
    let pixels = PixelRange { limits: data.bounds, magnitude: magnitude(&images.pixels, data.bounds) };
    let protocols = request.protocols_in(shape(data.sides), pixels)?;
    let measured = data.run(py, |network| measure((network, None), &images, &protocols, &request))?;
    measured.into_iter().map(|one| dictionary(py, one)).collect()
}

/// The largest magnitude that a pixel may have.
fn magnitude(pixels: &[f32], bounds: Option<(f32, f32)>) -> f64 {
    let ends = bounds.map_or([0.0, 0.0], |(low, high)| [low.abs(), high.abs()]);
    f64::from(pixels.iter().chain(&ends).fold(0.0_f32, |most, v| if v.abs() > most { v.abs() } else { most }))
}

/// Options of a search for smallest changes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SmallestRequest {
    norm: String,
    /// Attacks in smaller balls.
    refine: Vec<String>,
    seed: u64,
    threads: usize,
    progress: Option<Py<PyAny>>,
}

impl SmallestRequest {
    fn search(&self, network: &dyn Evaluator, images: &Images, pixels: PixelRange) -> PyResult<SmallestChanges> {
        let refine: Result<Vec<Attack>, _> = self.refine.iter().map(|name| Attack::named(name)).collect();
        let ball = Ball::of_norm(option::<Norm>("norm", &self.norm)?, 0.0);
        let ball = ball.of_images(network.input().size(), pixels.magnitude, pixels.limits);
        let (stop, raised) = (AtomicBool::new(false), Cell::new(None));
        let poll = RefCell::new(SignalPoll::new(self.progress.as_ref()));
        let progress = |p: Progress<'_>| {
            if let Err(error) = poll.borrow_mut().poll(p.done, p.standing as f64) {
                raised.set(Some(error));
                stop.store(true, Ordering::Relaxed);
            }
        };
        let run = Run { stop: Some(&stop), progress: Some(&progress), ..Run::new(self.seed) };
        let labelled = LabelledImages { images: &images.pixels, labels: &images.labels };
        let found = smallest_changes(network, labelled, &ball, &refine.map_err(refuse)?, &run).map_err(refuse);
        raised.take().map_or(found, Err)
    }
}

/// The smallest change found of every input of a function.
#[pyfunction]
pub(crate) fn smallest_of_function<'py>(
    py: Python<'py>,
    data: FunctionArrays<'py>,
    request: SmallestRequest,
) -> PyResult<Bound<'py, PyDict>> {
    let images = data.images()?;
    let pixels = PixelRange { limits: data.bounds, magnitude: magnitude(&images.pixels, data.bounds) };
    let found = data.run(py, |network| request.search(network, &images, pixels))?;
    smallest_dictionary(py, found)
}

/// The smallest change found of every image of a built-in network.
#[pyfunction]
pub(crate) fn smallest_of_images<'py>(
    py: Python<'py>,
    data: ImageArrays<'py>,
    request: SmallestRequest,
) -> PyResult<Bound<'py, PyDict>> {
    let (engine, images) = data.load(request.threads)?;
    let found = py.detach(|| request.search(&engine, &images, PixelRange::UNIT))?;
    smallest_dictionary(py, found)
}

fn smallest_dictionary(py: Python<'_>, found: SmallestChanges) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("natural", PyArray1::from_vec(py, found.natural))?;
    all.set_item("distances", PyArray1::from_vec(py, found.distances))?;
    all.set_item("images", PyArray1::from_vec(py, found.images))?;
    all.set_item("forward", found.cost.forward)?;
    all.set_item("gradients", found.cost.gradients)?;
    Ok(all)
}

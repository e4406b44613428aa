//! Networks of elementary operations: ONNX files, and models that standoff wrote.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use standoff_nn::model::onnx::OnnxModel;
use standoff_nn::verify::{Arithmetic, BoundMethod, Bounder, GraphNetwork, InputRegion, NodeOp, OpGraph, OutputRow};
use standoff_train::verification;

use crate::progress::{refuse, train_error};

/// A network, its file as ONNX, and what runs it.
#[pyclass(frozen, name = "Graph", module = "standoff._core")]
pub(crate) struct PyGraph {
    onnx: OnnxModel,
    graph: OpGraph,
    network: GraphNetwork,
}

impl PyGraph {
    fn new(onnx: OnnxModel) -> PyResult<Self> {
        let graph = onnx.graph().map_err(refuse)?;
        let network = GraphNetwork::new(&graph).map_err(refuse)?;
        Ok(Self { onnx, graph, network })
    }
}

/// The lower and the upper bound of every logit.
type LogitBounds<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl PyGraph {
    /// Bounds of every logit over the box from `lower` to `upper`.
    fn bounds<'py>(
        &self,
        py: Python<'py>,
        lower: PyReadonlyArray1<'py, f64>,
        upper: PyReadonlyArray1<'py, f64>,
        method: (String, usize),
        float32: bool,
    ) -> PyResult<LogitBounds<'py>> {
        let (name, steps) = method;
        let method = match name.as_str() {
            "interval" => BoundMethod::Interval,
            "crown" => BoundMethod::Crown,
            "alpha" => BoundMethod::Alpha { steps },
            other => return Err(refuse(format!("unknown method `{other}`; there are interval, crown, alpha"))),
        };
        let n = self.graph.inputs();
        if lower.len() != n || upper.len() != n {
            return Err(refuse(format!(
                "the box has {} and {} entries, the network has {n} inputs",
                lower.len(),
                upper.len()
            )));
        }
        let region = InputRegion::new(lower.as_slice()?.to_vec(), upper.as_slice()?.to_vec()).map_err(refuse)?;
        let outputs = self.graph.outputs();
        let row = |k: usize| {
            let unit = |j: usize| {
                if j != k % outputs {
                    0.0
                } else if k < outputs {
                    1.0
                } else {
                    -1.0
                }
            };
            OutputRow { coefficients: (0..outputs).map(unit).collect(), constant: 0.0 }
        };
        let rows: Vec<OutputRow> = (0..2 * outputs).map(row).collect();
        let mut least = py.detach(|| {
            let arithmetic = if float32 { Arithmetic::Float32 } else { Arithmetic::Real };
            let bounder = Bounder::new(&self.graph, arithmetic)?;
            Ok::<_, standoff_nn::Error>(bounder.lower_bounds(&region, &rows, method))
        });
        let least = least.as_mut().map_err(refuse)?;
        let most = least.split_off(outputs).iter().map(|bound| -bound).collect();
        Ok((PyArray1::from_slice(py, least), PyArray1::from_vec(py, most)))
    }

    /// Reads a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Self::new(verification::onnx(&path).map_err(train_error)?)
    }

    /// Reads the bytes of an ONNX file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Self::new(OnnxModel::from_bytes(bytes).map_err(refuse)?)
    }

    /// The bytes of an ONNX file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.onnx.to_bytes())
    }

    /// Dimensions of the input in the file.
    #[getter]
    fn input_dims(&self) -> Vec<usize> {
        self.graph.input_dims().to_vec()
    }

    #[getter]
    fn outputs(&self) -> usize {
        self.graph.outputs()
    }

    #[getter]
    fn parameters(&self) -> usize {
        self.graph.parameters()
    }

    /// True if the file ends with a softmax, which the logits leave out.
    #[getter]
    fn softmax_left_out(&self) -> bool {
        self.graph.softmax_left_out.is_some()
    }

    /// Kind, number of values and name of every operation.
    #[getter]
    fn operations(&self) -> Vec<(&'static str, usize, String)> {
        let kind = |op: &NodeOp| match op {
            NodeOp::Input => "input",
            NodeOp::Linear { .. } => "linear",
            NodeOp::Activation { .. } => "activation",
            NodeOp::MaxPool { .. } => "max-pool",
            NodeOp::Add { .. } => "add",
        };
        self.graph.nodes().iter().map(|node| (kind(&node.op), node.size, node.name.clone())).collect()
    }

    /// The logits of rows.
    fn logits<'py>(&self, py: Python<'py>, rows: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (count, inputs, outputs) = (rows.shape()[0], self.graph.inputs(), self.graph.outputs());
        if rows.shape()[1] != inputs {
            return Err(refuse(format!("rows have {} entries, the network has {inputs} inputs", rows.shape()[1])));
        }
        let (rows, mut out) = (rows.as_slice()?, vec![0.0; count * outputs]);
        py.detach(|| self.network.logits(rows, &mut out));
        PyArray1::from_vec(py, out).reshape([count, outputs])
    }

    /// The gradients of sums of the last logits times these coefficients.
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        coefficients: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (count, inputs, outputs) = (coefficients.shape()[0], self.graph.inputs(), self.graph.outputs());
        if coefficients.shape()[1] != outputs {
            return Err(refuse(format!("coefficients of {} logits, want {outputs}", coefficients.shape()[1])));
        }
        let (coefficients, mut out) = (coefficients.as_slice()?, vec![0.0; count * inputs]);
        py.detach(|| self.network.gradients(coefficients, &mut out)).map_err(refuse)?;
        PyArray1::from_vec(py, out).reshape([count, inputs])
    }
}

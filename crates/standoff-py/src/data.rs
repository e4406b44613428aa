//! Data read as the command reads it: CSV tables, split and encoded, and IDX images.

use std::path::PathBuf;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff_nn::data::{ImageSet, Preprocessing, Sheet, SheetOptions, Table, TableData, TableOptions};

use crate::progress::refuse;

/// Options for reading and splitting a table.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TableRequest {
    label: String,
    group: Vec<String>,
    features: Vec<String>,
    categorical: Vec<String>,
    test: f64,
    seed: u64,
    header: Option<bool>,
    skip_lines: usize,
}

/// A file, or the CSV text of a data frame.
#[derive(FromPyObject)]
pub(crate) enum TableSource {
    Text(Vec<u8>),
    File(PathBuf),
}

impl TableSource {
    fn sheet(&self, options: SheetOptions) -> Result<Sheet, standoff_nn::Error> {
        match self {
            Self::Text(text) => {
                Sheet::read("the data frame", text.as_slice(), SheetOptions { header: Some(true), ..options })
            }
            Self::File(path) => Sheet::open(path, options),
        }
    }
}

fn part<'py>(py: Python<'py>, table: Table) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let shape = [table.len(), table.width];
    all.set_item("X", PyArray1::from_vec(py, table.features).reshape(shape)?)?;
    all.set_item("y", PyArray1::from_vec(py, table.labels))?;
    all.set_item("groups", PyArray1::from_vec(py, table.groups.group_of().unwrap_or_default()))?;
    Ok(all)
}

fn named(all: &Bound<'_, PyDict>, preprocessing: &Preprocessing, warnings: Vec<String>) -> PyResult<()> {
    all.set_item("classes", &preprocessing.classes)?;
    all.set_item("group_names", &preprocessing.group_names)?;
    all.set_item("feature_names", preprocessing.feature_names())?;
    all.set_item("preprocessing", serde_json::to_string(preprocessing).map_err(refuse)?)?;
    all.set_item("warnings", warnings)
}

/// Reads, splits and encodes a table: training part, test part and names.
#[pyfunction]
pub(crate) fn table_read(py: Python<'_>, source: TableSource, request: TableRequest) -> PyResult<Bound<'_, PyDict>> {
    let data = py.detach(|| {
        let sheet = source.sheet(SheetOptions { header: request.header, skip_lines: request.skip_lines })?;
        let options = TableOptions {
            label: request.label,
            groups: request.group,
            features: (!request.features.is_empty()).then_some(request.features),
            categorical: request.categorical,
            by_label: false,
            overlap: false,
            test: request.test,
            validation: 0.0,
            seed: request.seed,
            fold: None,
        };
        TableData::new(&sheet, &options)
    });
    let data = data.map_err(refuse)?;
    let all = part(py, data.train)?;
    all.set_item("test", part(py, data.test)?)?;
    named(&all, &data.preprocessing, data.warnings)?;
    Ok(all)
}

/// Encodes a table by the preprocessing of another; labels and groups are empty if it has no such columns.
#[pyfunction]
pub(crate) fn table_prepare<'py>(
    py: Python<'py>,
    source: TableSource,
    preprocessing: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let preprocessing: Preprocessing = serde_json::from_str(preprocessing).map_err(refuse)?;
    preprocessing.check().map_err(refuse)?;
    let sheet = source.sheet(SheetOptions::default()).map_err(refuse)?;
    let (table, warnings) = preprocessing.encode(&sheet).map_err(refuse)?;
    let all = part(py, table)?;
    named(&all, &preprocessing, warnings)?;
    Ok(all)
}

/// A pair of IDX files, plain or gzip: `[image][row][column]` and labels, as bytes.
#[pyfunction]
pub(crate) fn images_read<'py>(py: Python<'py>, images: PathBuf, labels: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let set = py.detach(|| ImageSet::open(&images, &labels)).map_err(refuse)?;
    let all = PyDict::new(py);
    let shape = [set.len(), set.shape.height, set.shape.width];
    all.set_item("X", PyArray1::from_vec(py, set.images).reshape(shape)?)?;
    all.set_item("y", PyArray1::from_vec(py, set.labels))?;
    Ok(all)
}

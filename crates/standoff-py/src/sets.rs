//! Convex sets built from NumPy arrays. Each keeps its recipe too: a product builds its parts again.

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use standoff::sets::Matrix;
use standoff::{Error, Set};

use crate::bad_input;
use crate::custom::{Custom, Projected};

/// The parameters of a set.
#[derive(Debug, Clone)]
enum Recipe {
    Free(usize),
    Box(Vec<f64>, Vec<f64>),
    Ball(Vec<f64>, f64),
    L1Ball(usize, f64),
    Simplex(usize, f64),
    Halfspace(Vec<f64>, f64),
    Affine(Matrix, Vec<f64>),
    Polyhedron(Matrix, Vec<f64>),
    Product(Vec<Recipe>),
    Custom(Arc<Custom>),
}

impl Recipe {
    /// Every set in it whose projection is a Python function.
    fn customs(&self) -> Vec<Arc<Custom>> {
        match self {
            Self::Custom(custom) => vec![Arc::clone(custom)],
            Self::Product(parts) => parts.iter().flat_map(Self::customs).collect(),
            _ => Vec::new(),
        }
    }

    fn build(&self) -> Result<Set<f64>, Error> {
        match self {
            Self::Free(dim) => Ok(Set::free(*dim)),
            Self::Box(lower, upper) => Set::boxed(lower.clone(), upper.clone()),
            Self::Ball(centre, radius) => Set::ball(centre.clone(), *radius),
            Self::L1Ball(dim, radius) => Set::l1_ball(*dim, *radius),
            Self::Simplex(dim, scale) => Set::simplex(*dim, *scale),
            Self::Halfspace(normal, offset) => Set::halfspace(normal.clone(), *offset),
            Self::Affine(a, b) => Set::affine(a.clone(), b),
            Self::Polyhedron(a, b) => Set::polyhedron(a.clone(), b),
            Self::Product(parts) => {
                let parts: Result<Vec<_>, _> = parts.iter().map(Self::build).collect();
                Set::product(parts?)
            }
            Self::Custom(custom) => Ok(Set::Custom(Box::new(Projected(Arc::clone(custom))))),
        }
    }
}

/// A convex set.
#[pyclass(name = "Set", module = "standoff._core", frozen)]
pub(crate) struct PySet {
    recipe: Recipe,
    set: Arc<Set<f64>>,
}

impl PySet {
    fn of(recipe: Recipe) -> PyResult<Self> {
        let set = Arc::new(recipe.build().map_err(bad_input)?);
        Ok(Self { recipe, set })
    }

    /// Every set in it whose projection is a Python function.
    pub(crate) fn customs(&self) -> Vec<Arc<Custom>> {
        self.recipe.customs()
    }

    /// The set, shared.
    pub(crate) fn set(&self) -> Arc<Set<f64>> {
        Arc::clone(&self.set)
    }
}

/// A vector from Python, read where it is.
pub(crate) type Vector<'py> = PyReadonlyArray1<'py, f64>;

/// The largest dimension of a set: a point then takes 800 MB.
const MOST: usize = 100_000_000;

/// Refuses a dimension above [`MOST`]. Dimension 0 is refused when the set is built.
fn limited(name: &str, dim: usize) -> PyResult<usize> {
    if dim <= MOST {
        return Ok(dim);
    }
    Err(PyValueError::new_err(format!("{name}: dimension {dim} is too large; at most {MOST} is possible")))
}

fn matrix(a: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
    let [rows, cols] = [a.shape()[0], a.shape()[1]];
    Matrix::new(rows, cols, a.as_array().iter().copied().collect()).map_err(bad_input)
}

#[pymethods]
impl PySet {
    #[staticmethod]
    fn free(dim: usize) -> PyResult<Self> {
        if dim == 0 {
            return Err(PyValueError::new_err("free: dimension 0 is not allowed; it must be at least 1"));
        }
        Self::of(Recipe::Free(limited("free", dim)?))
    }

    /// Refuses a dimension that is too large, before arrays of that size are made.
    #[staticmethod]
    fn limit(name: &str, dim: usize) -> PyResult<()> {
        limited(name, dim).map(drop)
    }

    #[staticmethod]
    fn boxed(lower: Vector<'_>, upper: Vector<'_>) -> PyResult<Self> {
        Self::of(Recipe::Box(lower.as_slice()?.to_vec(), upper.as_slice()?.to_vec()))
    }

    #[staticmethod]
    fn ball(centre: Vector<'_>, radius: f64) -> PyResult<Self> {
        Self::of(Recipe::Ball(centre.as_slice()?.to_vec(), radius))
    }

    #[staticmethod]
    fn l1_ball(dim: usize, radius: f64) -> PyResult<Self> {
        Self::of(Recipe::L1Ball(limited("l1_ball", dim)?, radius))
    }

    #[staticmethod]
    fn simplex(dim: usize, scale: f64) -> PyResult<Self> {
        Self::of(Recipe::Simplex(limited("simplex", dim)?, scale))
    }

    #[staticmethod]
    fn halfspace(a: Vector<'_>, b: f64) -> PyResult<Self> {
        Self::of(Recipe::Halfspace(a.as_slice()?.to_vec(), b))
    }

    #[staticmethod]
    fn affine(a: PyReadonlyArray2<'_, f64>, b: Vector<'_>) -> PyResult<Self> {
        Self::of(Recipe::Affine(matrix(&a)?, b.as_slice()?.to_vec()))
    }

    #[staticmethod]
    fn polyhedron(a: PyReadonlyArray2<'_, f64>, b: Vector<'_>) -> PyResult<Self> {
        Self::of(Recipe::Polyhedron(matrix(&a)?, b.as_slice()?.to_vec()))
    }

    #[staticmethod]
    fn product(parts: Vec<Bound<'_, PySet>>) -> PyResult<Self> {
        limited("product", parts.iter().fold(0, |dim: usize, part| dim.saturating_add(part.get().dim())))?;
        Self::of(Recipe::Product(parts.iter().map(|p| p.get().recipe.clone()).collect()))
    }

    #[staticmethod]
    fn custom(dim: usize, project: Py<PyAny>, diameter: f64, accuracy: f64) -> PyResult<Self> {
        if dim == 0 || !(diameter >= 0.0) {
            let why = format!(
                "custom: dimension {dim} and diameter {diameter}: want at least 1, and zero or a positive number"
            );
            return Err(PyValueError::new_err(why));
        }
        limited("custom", dim)?;
        if !(accuracy >= 0.0 && accuracy.is_finite()) {
            let why = format!("custom: accuracy = {accuracy} is not allowed: it must be zero or a positive number");
            return Err(PyValueError::new_err(why));
        }
        Self::of(Recipe::Custom(Arc::new(Custom::new(dim, project, diameter, accuracy))))
    }

    #[getter]
    fn dim(&self) -> usize {
        self.set.dim()
    }

    /// Projects in place; the caller has checked the length.
    fn project(&self, py: Python<'_>, mut v: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
        let entries = v.as_slice_mut()?;
        self.check(entries.len())?;
        py.detach(|| self.set.project(entries));
        self.raise()
    }

    fn distance(&self, py: Python<'_>, v: Vector<'_>) -> PyResult<f64> {
        let entries = v.as_slice()?;
        self.check(entries.len())?;
        let distance = py.detach(|| self.set.distance(entries));
        self.raise()?;
        Ok(distance)
    }

    fn centre<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let centre = py.detach(|| self.set.centre());
        self.raise()?;
        Ok(PyArray1::from_vec(py, centre))
    }

    fn diameter(&self) -> f64 {
        self.set.diameter_bound()
    }
}

impl PySet {
    /// Raises the exception of a projection, if there was one.
    fn raise(&self) -> PyResult<()> {
        self.customs().iter().find_map(|custom| custom.take()).map_or(Ok(()), Err)
    }

    fn check(&self, got: usize) -> PyResult<()> {
        let want = self.set.dim();
        if got == want {
            return Ok(());
        }
        Err(PyValueError::new_err(format!("v has shape ({got},), the set has shape ({want},)")))
    }
}

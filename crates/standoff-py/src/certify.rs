//! Certificates and verdicts of any point, as dictionaries.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::certify::{check_projections, evidence, is_inside};
use standoff::check::derivatives;
use standoff::measures::{Assumptions, Measures, measure};
use standoff::{Certificate, Claim, Constants, Error, Game, Gap, Point, Verdict, radius, verify};

use crate::measures::measures_dictionary;
use crate::result::bounds;

/// Coordinates of each player whose derivative is compared with a central difference; the command uses the same number.
const COMPARED: usize = 200;

/// Options of a certificate.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CertifyRequest {
    radius: f64,
    /// Compare the gradients with central differences.
    compare: bool,
    mu_x: Option<f64>,
    pub(crate) grad_error: Option<f64>,
}

/// A certificate of a point and its further measures.
pub(crate) struct Certified {
    value: f64,
    certificate: Certificate,
    apart: Option<(f64, f64)>,
    measures: Measures,
}

/// A claim about a point.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct VerifyRequest {
    eps: f64,
    radius: f64,
    fun: Option<f64>,
    gap: Option<(f64, f64)>,
    pub(crate) grad_error: Option<f64>,
}

/// Certifies a point. The gap of a point outside its set is unknown, even where the gradient is zero.
pub(crate) fn certified(
    game: &mut dyn Game<Real = f64>,
    z: &Point<f64>,
    request: &CertifyRequest,
    constants: Option<Constants>,
) -> Result<Certified, Error> {
    check_radius(request.radius)?;
    let radius = radius::resolve(game, request.radius)?;
    check_projections(game, z, radius)?;
    let found = evidence(game, z, radius);
    let mut certificate = found.certificate;
    if !is_inside(game.x_set(), &z.x) {
        certificate.x = Gap::UNKNOWN;
    }
    if !is_inside(game.y_set(), &z.y) {
        certificate.y = Gap::UNKNOWN;
    }
    let apart = request.compare.then(|| derivatives(game, z, COMPARED)).map(|d| (d.x, d.y));
    let measures = measure(game, z, &certificate, &Assumptions { constants, mu_x: request.mu_x });
    Ok(Certified { value: found.value, certificate, apart, measures })
}

impl Certified {
    pub(crate) fn dictionary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        all.set_item("fun", self.value)?;
        all.set_item("gap", bounds(&self.certificate))?;
        all.set_item("disagreement", self.apart)?;
        all.set_item("measures", measures_dictionary(py, &self.measures)?)?;
        Ok(all)
    }
}

/// Checks a claim by computing everything again.
pub(crate) fn verified(
    game: &mut dyn Game<Real = f64>,
    z: &Point<f64>,
    request: &VerifyRequest,
) -> Result<Verdict, Error> {
    check_positive("eps", request.eps)?;
    check_radius(request.radius)?;
    let gap = [request.gap.map(|g| g.0), request.gap.map(|g| g.1)];
    verify(game, z, &Claim { eps: request.eps, radius: request.radius, value: request.fun, gap })
}

pub(crate) fn verdict_dictionary<'py>(py: Python<'py>, verdict: &Verdict) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("verified", verdict.verified())?;
    all.set_item("reasons", verdict.failures.clone())?;
    all.set_item("fun", verdict.value)?;
    all.set_item("gap", bounds(&verdict.certificate))?;
    all.set_item("at_kink", verdict.at_kink)?;
    all.set_item("disagreement", (verdict.derivatives.x, verdict.derivatives.y))?;
    Ok(all)
}

/// A positive number, or infinity for whole sets.
fn check_radius(value: f64) -> Result<(), Error> {
    if value == f64::INFINITY { Ok(()) } else { check_positive("radius", value) }
}

fn check_positive(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::Setting { name, value, want: "a positive number" })
}

//! What follows from a gain: where the state goes, what the input spends, how the cost changes with the gain.

use nalgebra::DMatrix;

use super::System;
use super::doubling::Doubling;
use super::symmetrise;

/// A gain and its consequences, kept until the gain changes. The matrices of every step are kept too.
#[derive(Debug)]
pub(super) struct Policy {
    system: System,
    doubling: Doubling,
    k: DMatrix<f64>,
    stable: bool,
    /// `F = A - B K`.
    closed: DMatrix<f64>,
    /// `Sigma_K = Sigma0 + F Sigma_K F'`.
    visits: DMatrix<f64>,
    /// `K Sigma_K K'`.
    effort: DMatrix<f64>,
    /// Scratch: `P_K`, `R`, and one matrix of each other shape.
    worth: DMatrix<f64>,
    price: DMatrix<f64>,
    states_inputs: DMatrix<f64>,
    inputs_states: DMatrix<f64>,
    slope: DMatrix<f64>,
}

impl Policy {
    pub(super) fn new(system: &System) -> Self {
        let (n, m) = (system.states(), system.inputs());
        Self {
            system: system.clone(),
            doubling: Doubling::new(n),
            k: DMatrix::from_element(m, n, f64::NAN),
            stable: false,
            closed: DMatrix::zeros(n, n),
            visits: DMatrix::zeros(n, n),
            effort: DMatrix::zeros(m, m),
            worth: DMatrix::zeros(n, n),
            price: DMatrix::zeros(m, m),
            states_inputs: DMatrix::zeros(n, m),
            inputs_states: DMatrix::zeros(m, n),
            slope: DMatrix::zeros(m, n),
        }
    }

    /// Moves to a gain, column by column; whether it stabilises.
    pub(super) fn at(&mut self, k: &[f64]) -> bool {
        // A NaN differs from itself, so it is never taken for known.
        if self.k.as_slice() == k {
            return self.stable;
        }
        self.k.copy_from_slice(k);
        self.closed.copy_from(self.system.a());
        self.closed.gemm(-1.0, self.system.b(), &self.k, 1.0);
        self.stable = self.doubling.factor(&self.closed);
        if self.stable {
            self.visits.copy_from(self.system.sigma0());
            self.doubling.sum(&mut self.visits);
            self.k.transpose_to(&mut self.states_inputs);
            self.inputs_states.gemm(1.0, &self.k, &self.visits, 0.0);
            self.effort.gemm(1.0, &self.inputs_states, &self.states_inputs, 0.0);
        }
        self.stable
    }

    /// `(Sigma_K, K Sigma_K K')`, the two entries after each other: the gradient of the cost by `(Q, R)`. Only where it stabilises.
    pub(super) fn footprint(&self) -> impl Iterator<Item = &f64> {
        self.visits.iter().chain(self.effort.iter())
    }

    /// Writes `grad_K C = 2 (R K - B' P_K F) Sigma_K`, with `P_K = Q + K'RK + F' P_K F`. Only where it stabilises.
    pub(super) fn slope(&mut self, q: &[f64], r: &[f64], out: &mut [f64]) {
        self.worth.copy_from_slice(q);
        self.price.copy_from_slice(r);
        // The cost sees the symmetric parts alone.
        symmetrise(&mut self.worth);
        symmetrise(&mut self.price);
        self.inputs_states.gemm(1.0, &self.price, &self.k, 0.0); // R K
        self.worth.gemm_tr(1.0, &self.k, &self.inputs_states, 1.0);
        self.doubling.sum_transposed(&mut self.worth);
        self.states_inputs.gemm(1.0, &self.worth, self.system.b(), 0.0); // P B
        self.inputs_states.gemm_tr(-1.0, &self.states_inputs, &self.closed, 1.0); // R K - B'P F
        self.slope.gemm(2.0, &self.inputs_states, &self.visits, 0.0);
        out.copy_from_slice(self.slope.as_slice());
    }
}

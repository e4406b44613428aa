//! Quantities that follow from a gain: the covariance of the states, the cost of the inputs, and the gradient of the
//! cost.

use nalgebra::DMatrix;

use super::doubling::Doubling;
use super::{System, lyapunov, symmetrise};
use crate::Error;

/// A gain with its closed loop and covariances, cached until the gain changes; the expert's for comparison; and scratch
/// space.
#[derive(Debug)]
pub(super) struct Policy {
    system: System,
    doubling: Doubling,
    expert: Expert,
    k: DMatrix<f64>,
    stable: bool,
    /// `F = A - B K`.
    closed: DMatrix<f64>,
    /// `Sigma_K = Sigma0 + F Sigma_K F'`.
    visits: DMatrix<f64>,
    /// `Sigma_K` and `K Sigma_K K'`, each minus the expert's.
    more_visits: DMatrix<f64>,
    more_effort: DMatrix<f64>,
    /// Scratch space: `P_K`, `R`, and one or two matrices of each other shape.
    worth: DMatrix<f64>,
    price: DMatrix<f64>,
    states_inputs: DMatrix<f64>,
    inputs_states: DMatrix<f64>,
    slope: DMatrix<f64>,
}

/// The expert's gain, closed loop and covariance.
#[derive(Debug)]
struct Expert {
    k: DMatrix<f64>,
    closed: DMatrix<f64>,
    visits: DMatrix<f64>,
}

impl Policy {
    /// A policy for an expert that stabilises the system.
    pub(super) fn new(system: &System, expert: &DMatrix<f64>) -> Result<Self, Error> {
        let (n, m) = (system.states(), system.inputs());
        let closed = system.closed_loop(expert);
        let visits = lyapunov(&closed, system.sigma0())?;
        let zeros = DMatrix::zeros;
        Ok(Self {
            system: system.clone(),
            doubling: Doubling::new(n),
            expert: Expert { k: expert.clone(), closed, visits },
            k: DMatrix::from_element(m, n, f64::NAN),
            stable: false,
            closed: zeros(n, n),
            visits: zeros(n, n),
            more_visits: zeros(n, n),
            more_effort: zeros(m, m),
            worth: zeros(n, n),
            price: zeros(m, m),
            states_inputs: zeros(n, m),
            inputs_states: zeros(m, n),
            slope: zeros(m, n),
        })
    }

    /// Moves to a gain, given column by column. Returns true if it stabilises.
    pub(super) fn at(&mut self, k: &[f64]) -> bool {
        // NaN differs from itself, so a gain with NaN is always recomputed.
        if self.k.as_slice() == k {
            return self.stable;
        }
        self.k.copy_from_slice(k);
        self.closed.copy_from(self.system.a());
        self.closed.gemm(-1.0, self.system.b(), &self.k, 1.0);
        self.stable = self.doubling.factor(&self.closed);
        if self.stable {
            self.compare();
        }
        self.stable
    }

    /// Computes the differences from the expert without subtracting nearly equal numbers: near the equilibrium the game's value
    /// is much smaller than either cost. With `K = K_E + D`, the expert's covariance `S` and the wanted difference `E`,
    /// `E = F E F' - B D S F_E' - F S (B D)'`, and `K (S + E) K' - K_E S K_E' = K E K' + D S K' + K_E S D'`.
    fn compare(&mut self) {
        let expert = &self.expert;
        self.slope.copy_from(&self.k);
        self.slope -= &expert.k; // D
        self.inputs_states.gemm(1.0, &self.slope, &expert.visits, 0.0); // D S
        self.inputs_states.transpose_to(&mut self.states_inputs); // S D'
        self.more_effort.gemm(1.0, &expert.k, &self.states_inputs, 0.0);
        self.k.transpose_to(&mut self.states_inputs);
        self.more_effort.gemm(1.0, &self.inputs_states, &self.states_inputs, 1.0);

        self.visits.gemm(1.0, self.system.b(), &self.inputs_states, 0.0); // B D S
        expert.closed.transpose_to(&mut self.worth);
        self.more_visits.gemm(-1.0, &self.visits, &self.worth, 0.0);
        self.visits.transpose_to(&mut self.worth); // S (B D)'
        self.more_visits.gemm(-1.0, &self.closed, &self.worth, 1.0);
        symmetrise(&mut self.more_visits);
        self.doubling.sum(&mut self.more_visits);

        self.visits.copy_from(&expert.visits);
        self.visits += &self.more_visits;
        self.inputs_states.gemm(1.0, &self.k, &self.more_visits, 0.0);
        self.more_effort.gemm(1.0, &self.inputs_states, &self.states_inputs, 1.0);
        symmetrise(&mut self.more_effort);
    }

    /// The entries of `(Sigma_K, K Sigma_K K')` minus the expert's: the gradient of the difference in cost with respect
    /// to `(Q, R)`. Only for a stabilising gain.
    pub(super) fn excess(&self) -> impl Iterator<Item = &f64> {
        self.more_visits.iter().chain(self.more_effort.iter())
    }

    /// Writes `grad_K C = 2 (R K - B' P_K F) Sigma_K`, with `P_K = Q + K'RK + F' P_K F`. Only for a stabilising gain.
    pub(super) fn slope(&mut self, q: &[f64], r: &[f64], out: &mut [f64]) {
        self.worth.copy_from_slice(q);
        self.price.copy_from_slice(r);
        // The cost depends only on the symmetric parts.
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

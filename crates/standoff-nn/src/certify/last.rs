//! The last layer of a proof: upper bounds of the margins `z_j - z_y` of one sample.

use super::rounding::{LARGEST, TINY, gamma, grow, times, wide_gamma};

/// Partial sums of a blocked sum.
const BLOCK: usize = 8;

/// The last layer, by rows `[output][k]`.
pub(super) struct Last {
    weights: Vec<f64>,
    bias: Vec<f64>,
    /// Sums of the absolute values of the rows.
    sizes: Vec<f64>,
    /// Factors of r and of m in the radius of the margins.
    radius: f64,
    size: f64,
    /// `gamma` and 2^-120, with what the rounding of `f64` takes.
    gamma: f64,
    tiny: f64,
}

/// Centres, radii and sizes of the inputs of one sample.
#[derive(Default)]
pub(super) struct Inputs {
    centre: Vec<f64>,
    radius: Vec<f64>,
    size: Vec<f64>,
}

impl Last {
    pub(super) fn new(weight: &[f32], bias: &[f32]) -> Self {
        let k = weight.len() / bias.len();
        // Roundings of a product in a blocked sum.
        let q = k.div_ceil(BLOCK) + k.min(BLOCK) - 1;
        let weights: Vec<f64> = weight.iter().map(|&w| f64::from(w)).collect();
        Self {
            sizes: weights.chunks(k).map(|row| row.iter().map(|w| w.abs()).sum()).collect(),
            weights,
            bias: bias.iter().map(|&b| f64::from(b)).collect(),
            radius: grow(q + 2),
            size: times(wide_gamma(q + 3), grow(q + 2)),
            gamma: times(gamma(k), grow(q + 6)),
            tiny: times(TINY, grow(k + 8)),
        }
    }

    /// Upper bounds of `z_j - z_y` as computed, zero at the label; infinite where nothing is known. `ends` are the ends of the inputs.
    pub(super) fn margins(
        &self,
        ends: impl Iterator<Item = (f64, f64)>,
        label: usize,
        inputs: &mut Inputs,
        out: &mut [f64],
    ) {
        inputs.fill(ends, self.radius, self.size);
        let (k, all) = (inputs.centre.len(), inputs.size.iter().sum());
        let own = &self.weights[label * k..(label + 1) * k];
        let own_error = self.error(label, own, inputs, all);
        for (j, margin) in out.iter_mut().enumerate() {
            if j == label {
                *margin = 0.0;
                continue;
            }
            let row = &self.weights[j * k..(j + 1) * k];
            let centre = blocked(k, |i| (row[i] - own[i]) * inputs.centre[i]);
            let radius = blocked(k, |i| (row[i] - own[i]).abs() * inputs.radius[i]);
            let mut sum = (self.bias[j] - self.bias[label]).next_up();
            for part in [centre, radius, self.error(j, row, inputs, all), own_error] {
                sum = (sum + part).next_up();
            }
            *margin = if sum.is_finite() { sum } else { f64::INFINITY };
        }
    }

    /// The largest rounding error of a logit; infinite if it could overflow. `all` is the sum of the sizes of the inputs.
    fn error(&self, j: usize, row: &[f64], inputs: &Inputs, all: f64) -> f64 {
        let sum = blocked(row.len(), |i| row[i].abs() * inputs.size[i]) + self.bias[j].abs();
        // False for NaN.
        if sum <= LARGEST {
            self.gamma * sum + self.tiny * (row.len() as f64 + self.sizes[j] + all)
        } else {
            f64::INFINITY
        }
    }
}

impl Inputs {
    fn fill(&mut self, ends: impl Iterator<Item = (f64, f64)>, of_radius: f64, of_size: f64) {
        self.centre.clear();
        self.radius.clear();
        self.size.clear();
        for (lo, hi) in ends {
            let (centre, radius) = (0.5 * (lo + hi), 0.5 * (hi - lo));
            let size = centre.abs() + radius;
            self.centre.push(centre);
            self.radius.push(of_radius * radius + of_size * size);
            self.size.push(size);
        }
    }
}

/// The sum of k terms in eight partial sums, so that each term takes part in few additions.
fn blocked(k: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; BLOCK];
    for i in 0..k {
        sums[i % BLOCK] += term(i);
    }
    sums.iter().sum()
}

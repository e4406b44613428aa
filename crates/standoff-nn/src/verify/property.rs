//! Properties of a network: boxes of inputs, and sets of outputs that none of these inputs may reach.

use super::region::{InputRegion, L2Ball};
use crate::Error;

/// The condition `sum of coefficients[j] y[j] + constant <= 0` on the outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputRow {
    /// A coefficient for every output.
    pub coefficients: Vec<f64>,
    /// The constant that is added to the products.
    pub constant: f64,
}

impl OutputRow {
    /// Its left-hand side.
    pub fn value(&self, y: &[f64]) -> f64 {
        self.coefficients.iter().zip(y).map(|(c, y)| c * y).sum::<f64>() + self.constant
    }
}

/// Outputs that satisfy all of these conditions are unsafe.
pub type UnsafeSet = Vec<OutputRow>;

/// Inputs, and the outputs that they must not have.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyCase {
    /// The least value of every input.
    pub lower: Vec<f64>,
    /// The largest value of every input.
    pub upper: Vec<f64>,
    /// A ball; the inputs lie in it and in the box.
    pub ball: Option<L2Ball>,
    /// Unsafe outputs: the property is violated if the outputs are in one of the sets.
    pub unsafe_sets: Vec<UnsafeSet>,
}

/// A property: no input of a case has outputs in an unsafe set of that case.
///
/// ```
/// use standoff_nn::verify::Property;
///
/// // The first of three outputs stays the largest.
/// let property = Property::classified(vec![0.0; 2], vec![1.0; 2], 0, 3);
/// assert_eq!(property.cases[0].unsafe_sets.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// The cases; all of them must hold.
    pub cases: Vec<PropertyCase>,
}

impl Property {
    /// Every input of the box is classified as `label`: no other output is as large.
    pub fn classified(lower: Vec<f64>, upper: Vec<f64>, label: usize, outputs: usize) -> Self {
        Self::classified_in(InputRegion { lower, upper, ball: None }, label, outputs)
    }

    /// Every input of the region is classified as `label`: no other output is as large.
    pub fn classified_in(region: InputRegion, label: usize, outputs: usize) -> Self {
        let row = |j: usize| {
            let mut coefficients = vec![0.0; outputs];
            coefficients[label] = 1.0;
            coefficients[j] = -1.0;
            OutputRow { coefficients, constant: 0.0 }
        };
        let unsafe_sets = (0..outputs).filter(|&j| j != label).map(|j| vec![row(j)]).collect();
        let InputRegion { lower, upper, ball } = region;
        Self { cases: vec![PropertyCase { lower, upper, ball, unsafe_sets }] }
    }

    /// Checks the lengths against a network, and that every number is finite and no box is empty.
    pub fn check(&self, inputs: usize, outputs: usize) -> Result<(), Error> {
        for case in &self.cases {
            if case.lower.len() != inputs || case.upper.len() != inputs {
                let got = case.lower.len();
                return Err(Error::Property(format!("the property has {got} inputs, the network {inputs}")));
            }
            let ends = case.lower.iter().zip(&case.upper);
            if let Some(i) = ends.clone().position(|(l, u)| !(l <= u && l.is_finite() && u.is_finite())) {
                let (l, u) = (case.lower[i], case.upper[i]);
                return Err(Error::Property(format!(
                    "input {i} lies between {l} and {u}: give two finite ends in order"
                )));
            }
            if let Some(ball) = &case.ball {
                let finite = ball.centre.iter().chain([&ball.radius]).all(|c| c.is_finite());
                if ball.centre.len() != inputs || !finite || ball.radius < 0.0 {
                    let why = format!("a ball of the property needs {inputs} finite numbers and a radius from 0");
                    return Err(Error::Property(why));
                }
            }
            for row in case.unsafe_sets.iter().flatten() {
                if row.coefficients.len() != outputs {
                    let got = row.coefficients.len();
                    return Err(Error::Property(format!("the property has {got} outputs, the network {outputs}")));
                }
                if !row.coefficients.iter().chain([&row.constant]).all(|c| c.is_finite()) {
                    return Err(Error::Property("a coefficient of an output is not finite".into()));
                }
            }
        }
        Ok(())
    }

    /// True if all conditions compare two outputs, so that only their order counts.
    pub fn compares_outputs(&self) -> bool {
        let order = |row: &OutputRow| {
            let used: Vec<f64> = row.coefficients.iter().copied().filter(|c| *c != 0.0).collect();
            row.constant == 0.0 && used.len() == 2 && used[0] == -used[1]
        };
        self.cases.iter().flat_map(|c| c.unsafe_sets.iter().flatten()).all(order)
    }
}

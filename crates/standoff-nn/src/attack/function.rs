//! Functions of the caller under attack: logits of rows, and gradients as products with the Jacobian of the logits.

use super::Evaluator;
use crate::{Ask, Batch, Error, Loss, Outcome, Samples, Shape};
use std::cell::RefCell;

/// Computes the logits of rows `[row][entry]`, written to `[row][output]`. If the flag is set, a product with the Jacobian at these
/// rows follows.
pub type Forward<'a> = dyn Fn(&[f32], bool, &mut [f64]) -> Result<(), Error> + 'a;

/// Multiplies the Jacobian of the last logits from the left: coefficients of the logits, `[row][output]`, give the gradient of
/// their sum with respect to the rows, `[row][entry]`.
pub type VectorJacobian<'a> = dyn Fn(&[f64], &mut [f32]) -> Result<(), Error> + 'a;

/// A network given by functions, for [`ensemble`](super::ensemble) and the other attacks. Losses and their derivatives with respect to
/// the logits are computed here, in `f64`, so a function provides logits only.
///
/// ```
/// use standoff_nn::attack::{Attack, Ball, FunctionEvaluator, LabelledImages, Run, attack};
/// use standoff_nn::{Error, Shape};
///
/// // Two pixels; the second class wins where their sum is above 1.
/// let forward = |x: &[f32], _gradients: bool, z: &mut [f64]| -> Result<(), Error> {
///     for (x, z) in x.chunks(2).zip(z.chunks_mut(2)) {
///         z.copy_from_slice(&[0.0, f64::from(x[0]) + f64::from(x[1]) - 1.0]);
///     }
///     Ok(())
/// };
/// let backward = |c: &[f64], g: &mut [f32]| -> Result<(), Error> {
///     c.chunks(2).zip(g.chunks_mut(2)).for_each(|(c, g)| g.fill(c[1] as f32));
///     Ok(())
/// };
/// let f = FunctionEvaluator::new(Shape::vector(2), 2, &forward, Some(&backward));
/// let labelled = LabelledImages { images: &[0.4, 0.5, 0.1, 0.2], labels: &[0, 0] };
/// let found = attack(&f, labelled, &Attack::named("apgd-ce10")?, &Ball::linf(0.1), &Run::new(1))?;
/// assert_eq!(found.fallen_to, [Some(0), None]);
/// # Ok::<(), Error>(())
/// ```
pub struct FunctionEvaluator<'a> {
    input: Shape,
    outputs: usize,
    forward: &'a Forward<'a>,
    backward: Option<&'a VectorJacobian<'a>>,
    /// The largest number of rows of a call.
    pub most_rows: usize,
    scratch: RefCell<FunctionScratch>,
}

#[derive(Default)]
struct FunctionScratch {
    rows: Vec<f32>,
    logits: Vec<f64>,
    slopes: Vec<f64>,
}

impl<'a> FunctionEvaluator<'a> {
    /// A network of functions; without `backward` only attacks without gradients are possible.
    pub fn new(
        input: Shape,
        outputs: usize,
        forward: &'a Forward<'a>,
        backward: Option<&'a VectorJacobian<'a>>,
    ) -> Self {
        Self { input, outputs, forward, backward, most_rows: usize::MAX, scratch: RefCell::default() }
    }

    /// The places from `first` on, as many as fit into a call, with the buffers of the call.
    fn call(
        &self,
        (batch, first): (&Batch<'_>, usize),
        loss: Loss<'_>,
        ask: Ask,
        out: &mut Outcome,
    ) -> Result<usize, Error> {
        let (width, outputs) = (self.input.size(), self.outputs);
        let count = (batch.len() - first).min(self.most_rows.max(1));
        let mut scratch = self.scratch.borrow_mut();
        let FunctionScratch { rows, logits, slopes } = &mut *scratch;
        gather(rows, batch, first..first + count, width);
        logits.clear();
        logits.resize(count * outputs, 0.0);
        slopes.clear();
        slopes.resize(count * outputs, 0.0);
        let differentiate = ask == Ask::InputGradients;
        (self.forward)(rows, differentiate, logits)?;
        for (i, (z, dz)) in logits.chunks(outputs).zip(slopes.chunks_mut(outputs)).enumerate() {
            let place = first + i;
            if let Some(j) = z.iter().position(|z| !z.is_finite()) {
                return Err(Error::NonFinite(format!("logit {j} of sample {place} of the batch is {}", z[j])));
            }
            out.losses[place] = loss.sample(dz, z, usize::from(batch.label(place)), place) as f32;
            out.predictions[place] = first_largest(z);
            let weight = batch.weights.map_or(1.0, |w| f64::from(w[place]));
            dz.iter_mut().for_each(|d| *d *= weight);
            for (out, &z) in out.logits[place * outputs..(place + 1) * outputs].iter_mut().zip(z) {
                *out = z as f32;
            }
        }
        if let (true, Some(backward)) = (differentiate, self.backward) {
            let gradients = &mut out.input_gradients[first * width..(first + count) * width];
            backward(slopes, gradients)?;
            if let Some(i) = gradients.iter().position(|g| !g.is_finite()) {
                let (place, value) = (first + i / width.max(1), gradients[i]);
                let what = format!("the input gradient of sample {place} of the batch has an entry {value}");
                return Err(Error::NonFinite(what));
            }
        }
        Ok(count)
    }
}

impl Evaluator for FunctionEvaluator<'_> {
    fn input(&self) -> Shape {
        self.input
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn differentiable(&self) -> bool {
        self.backward.is_some()
    }

    fn depends_on_batch(&self) -> bool {
        true
    }

    fn pass(&self, batch: &Batch<'_>, loss: Loss<'_>, ask: Ask, out: &mut Outcome) -> Result<(), Error> {
        let (n, width) = (batch.len(), self.input.size());
        loss.check(n, self.outputs)?;
        if ask == Ask::Gradients || (ask == Ask::InputGradients && self.backward.is_none()) {
            return Err(Error::Mismatch("the function has no gradients; only square and random need none".into()));
        }
        out.losses.resize(n, 0.0);
        out.logits.resize(n * self.outputs, 0.0);
        out.predictions.resize(n, 0);
        out.input_gradients.resize(if ask == Ask::InputGradients { n * width } else { 0 }, 0.0);
        let mut first = 0;
        while first < n {
            first += self.call((batch, first), loss, ask, out)?;
        }
        match out.losses.iter().position(|loss| !loss.is_finite()) {
            Some(i) => Err(Error::NonFinite(format!("the loss of sample {i} of the batch is {}", out.losses[i]))),
            None => Ok(()),
        }
    }
}

/// The rows of some places, one after the other.
fn gather(rows: &mut Vec<f32>, batch: &Batch<'_>, places: std::ops::Range<usize>, width: usize) {
    rows.clear();
    for place in places {
        let at = batch.row(place) * width;
        match batch.samples {
            Samples::Floats(data) => rows.extend_from_slice(&data[at..at + width]),
            Samples::Bytes { data, scale } => rows.extend(data[at..at + width].iter().map(|&b| f32::from(b) / scale)),
        }
    }
}

/// The index of the largest logit; ties go to the first.
fn first_largest(z: &[f64]) -> u16 {
    let mut best = 0;
    for j in 1..z.len() {
        if z[j] > z[best] {
            best = j;
        }
    }
    best as u16
}

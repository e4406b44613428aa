//! Value, certificate and accuracies of a frozen game at given parameters.

use super::RobustGame;
use crate::Error;
use standoff::certify::with_gradients;
use standoff::inner::{Answer, Exact, Inner, Regulariser, Stop};
use standoff::oracle::Limits;
use standoff::{Certificate, Game, Need, Oracle, Point};

/// How many images are classified as labelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Of so many.
    pub images: usize,
    /// As they are; `None` for [`Objective::Madry`](super::Objective::Madry), which never looks at them.
    pub natural: Option<usize>,
    /// In every frozen image of theirs: under the attack of the objective, an upper bound of the robust accuracy.
    pub attacked: usize,
}

/// A frozen game at given parameters, and the y that answers them.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// f: the mean loss under attack.
    pub value: f64,
    /// What either player could still gain to first order, the images being frozen.
    pub certificate: Certificate,
    /// How many images are classified as labelled.
    pub tally: Tally,
    /// The answer.
    pub y: Vec<f32>,
}

impl RobustGame {
    /// Fixes x, lets y answer (exactly; regularised by `lambda` if that is positive, see [`lambda`](Self::lambda)), and
    /// measures the pair in the original game.
    pub fn measure(&mut self, x: &[f32], lambda: f64) -> Result<Measured, Error> {
        if !(lambda >= 0.0 && lambda.is_finite()) {
            return Err(Error::Mismatch(format!("lambda is {lambda}: want zero or a positive number")));
        }
        if x.len() != self.x_set().dim() {
            let (got, want) = (x.len(), self.x_set().dim());
            return Err(Error::Mismatch(format!("got {got} parameters, the model has {want}")));
        }
        let centre = self.y_set().centre();
        let mut y = centre.clone();
        let (mut gx, mut gy) = (vec![0.0; x.len()], vec![0.0; y.len()]);
        let mut f = Oracle::new(self, Limits::default());
        f.look(x, Need::Gradients);
        let regulariser = Regulariser { lambda, centre };
        let answer = Exact::new(y.len()).answer(&mut f, &mut y, &regulariser, Stop::Steps(1).into());
        let value = f.peek_grad_x(&y, &mut gx);
        f.peek_grad_y(&y, &mut gy);
        if let Some(error) = self.error() {
            return Err(error.clone());
        }
        if !(matches!(answer, Ok(Answer::Settled { .. })) && value.is_finite()) {
            return Err(Error::NonFinite(format!("the value of the game is {value}")));
        }
        let certificate = with_gradients(self, &Point::new(x, &y), value, (&gx, &gy), 1.0);
        Ok(Measured { value, certificate, tally: self.tally(), y })
    }
}

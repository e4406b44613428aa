//! The method of fair linear models: sequential quadratic programming, then Newton's method under a barrier.
//!
//! The first is fast where it works, and gives up early. The second converges for every table, only slower.

use super::barrier_newton::BarrierNewton;
use super::curvature::Curvature;
use super::game::LinearGame;
use super::sequential::SequentialQuadratic;
use standoff::{Game, Method, Need, Oracle, Point, StopReason};

/// Steps inside one call that refine a point whose X and Y are small enough and whose global gap is not.
const REFINEMENTS: usize = 8;

/// The method of [`solve_linear`](super::solve_linear).
#[derive(Debug)]
pub struct LinearMethod {
    curvature: Curvature,
    /// None after it gave up.
    sequential: Option<SequentialQuadratic>,
    barrier: BarrierNewton,
    eps: f64,
    gradient: Vec<f64>,
    answer: Vec<f64>,
    /// Steps so far.
    pub(super) steps: u64,
}

impl LinearMethod {
    /// The method for a game and the gap `eps`.
    pub fn new(game: &LinearGame<'_>, eps: f64) -> Self {
        let (parameters, losses) = (game.x_set().dim(), game.y_set().dim());
        Self {
            curvature: Curvature::new(game),
            sequential: Some(SequentialQuadratic::new(parameters, losses)),
            barrier: BarrierNewton::new(parameters, losses, Y_SHARE * eps),
            eps,
            gradient: vec![0.0; parameters],
            answer: vec![0.0; losses],
            steps: 0,
        }
    }

    /// Asks for another gap.
    pub(super) fn tighten(&mut self, eps: f64) {
        self.eps = eps;
        self.barrier.tighten(Y_SHARE * eps);
    }

    fn step(&mut self, f: &mut Oracle<'_, LinearGame<'_>>, z: &mut Point<f64>) -> Result<(), StopReason> {
        self.steps += 1;
        if let Some(sequential) = &mut self.sequential {
            if sequential.advance(&mut self.curvature, f, z)? {
                return Ok(());
            }
            self.sequential = None;
        }
        self.barrier.advance(&mut self.curvature, f, z)
    }

    /// True if X and Y are small enough at z and the global gap is not.
    fn refine(&mut self, f: &mut Oracle<'_, LinearGame<'_>>, z: &Point<f64>) -> bool {
        f.at(&z.x, Need::Gradients);
        let game = f.game();
        game.gradient(&z.y, &mut self.gradient);
        let along_y = game.best_response(&mut self.answer) - game.value_at(&z.y);
        let along_x = self.gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let gap = game.x_gap(&self.gradient) + along_y;
        along_x <= self.eps && along_y <= self.eps && gap > self.eps && gap.is_finite()
    }
}

/// The part of eps that Y may use.
const Y_SHARE: f64 = 0.3;

impl<'a> Method<LinearGame<'a>> for LinearMethod {
    fn advance(&mut self, f: &mut Oracle<'_, LinearGame<'a>>, z: &mut Point<f64>) -> Result<(), StopReason> {
        self.step(f, z)?;
        for _ in 0..REFINEMENTS {
            // A step that fails here leaves a point whose X and Y are small enough.
            if !self.refine(f, z) || self.step(f, z).is_err() {
                break;
            }
        }
        Ok(())
    }
}

//! Solves a fair linear problem to a certificate.

use super::game::{LinearGame, Mixing};
use super::method::LinearMethod;
use super::problem::{LinearLoss, LinearProblem};
use crate::Error;
use standoff::observe::Observer;
use standoff::{Certificate, Game, Need, Point, Settings, StopReason, certify, solve_with};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options of [`solve_linear`].
#[derive(Debug, Clone)]
pub struct LinearOptions {
    /// The losses that y weighs.
    pub mixing: Mixing,
    /// The modulus of the L2 penalty; 0 for none.
    pub mu: f64,
    /// The run has converged when X and Y, and with a penalty the global gap, are at most this.
    pub eps: f64,
    /// Limit of steps.
    pub max_iterations: u64,
    /// Threads; 0 for all cores.
    pub threads: usize,
    /// Set from outside to end the run.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// The start of x; zeros if absent.
    pub start: Option<Vec<f64>>,
}

impl Default for LinearOptions {
    fn default() -> Self {
        Self {
            mixing: Mixing::Worst { lambda: 0.0 },
            mu: 0.0,
            eps: 1e-4,
            max_iterations: 1000,
            threads: 1,
            interrupt: None,
            start: None,
        }
    }
}

/// A solved linear model.
#[derive(Debug, Clone)]
pub struct LinearSolution {
    /// `[output][feature]`, then one intercept per output.
    pub x: Vec<f64>,
    /// The weight of each loss: of each group, or one entry.
    pub y: Vec<f64>,
    /// The mean loss of each group, without the penalty.
    pub group_losses: Vec<f64>,
    /// `f` of the game without the regulariser of y.
    pub value: f64,
    /// X and Y of the game without the regulariser of y, for steps of length at most 1.
    pub certificate: Certificate,
    /// With a penalty: `max over y of f(x, y)`, with the regulariser, is at most this above its minimum over all x.
    pub gap: Option<f64>,
    /// The reason why the run ended.
    pub reason: StopReason,
    /// Steps.
    pub iterations: u64,
    /// Passes over the rows.
    pub passes: u64,
}

/// Solves a problem. A run that ends early returns its best pair, with the reason.
///
/// ```
/// use standoff::StopReason;
/// use standoff_nn::data::Groups;
/// use standoff_nn::linear::{LinearLoss, LinearOptions, LinearProblem, Numbers, Rows, solve_linear};
///
/// // Two groups around 0 and 1: the fair constant is in the middle, whatever their sizes.
/// let rows = Rows::dense(Numbers::F64(&[0.0; 5]), 1)?;
/// let groups = Groups::new(&[0, 1, 1, 1, 1], 2)?;
/// let problem = LinearProblem::new(rows, &[0.0, 1.0, 1.0, 1.0, 1.0], &groups, LinearLoss::Squared)?;
/// let found = solve_linear(&problem, &LinearOptions { mu: 1e-3, ..Default::default() }, &mut ())?;
/// assert_eq!(found.reason, StopReason::Converged);
/// assert!((found.x[1] - 0.5).abs() < 1e-6 && found.gap.is_some_and(|gap| gap <= 1e-4));
/// # Ok::<(), standoff_nn::Error>(())
/// ```
pub fn solve_linear(
    problem: &LinearProblem<'_>,
    options: &LinearOptions,
    observer: &mut dyn Observer,
) -> Result<LinearSolution, Error> {
    let mut game = LinearGame::new(problem, options.mixing, options.mu, options.threads)?;
    let (size, members) = (game.x_set().dim(), game.y_set().dim());
    let x = options.start.clone().unwrap_or_else(|| vec![0.0; size]);
    let mut point = Point { x, y: vec![1.0 / members as f64; members] };
    let mut method = LinearMethod::new(&game, options.eps);
    let mut eps = options.eps;
    let (gap, reason) = loop {
        let settings = Settings {
            max_iterations: options.max_iterations.saturating_sub(method.steps),
            interrupt: options.interrupt.clone(),
            ..Settings::eps(eps)
        };
        let found = solve_with(&mut game, &point, &mut method, &settings, observer)
            .map_err(|e| Error::Mismatch(e.to_string()))?;
        point = found.point;
        let gap = (options.mu > 0.0).then(|| global_gap(&mut game, &point, problem.loss));
        let open = gap.is_some_and(|gap| !(gap <= options.eps + problem.loss.smoothing()));
        // X and Y are first-order; the global gap may need smaller ones.
        if found.reason != StopReason::Converged || !open || eps < 1e-12 {
            break (gap, found.reason);
        }
        eps *= 0.03;
        method.tighten(eps);
    };
    Ok(conclude(game, point, problem, (gap, reason, method.steps)))
}

/// `|g_x|^2 / (2 mu) + Y` over the whole simplex, and the smoothing of the loss.
pub(super) fn global_gap(game: &mut LinearGame<'_>, point: &Point<f64>, loss: LinearLoss) -> f64 {
    game.fix(&point.x, Need::Gradients);
    let (mut gradient, mut answer) = (vec![0.0; point.x.len()], point.y.clone());
    game.gradient(&point.y, &mut gradient);
    let best = game.best_response(&mut answer);
    let along_y = best - game.value_at(&point.y);
    game.x_gap(&gradient) + if along_y < 0.0 { 0.0 } else { along_y } + loss.smoothing()
}

fn conclude(
    mut game: LinearGame<'_>,
    point: Point<f64>,
    problem: &LinearProblem<'_>,
    (gap, reason, iterations): (Option<f64>, StopReason, u64),
) -> LinearSolution {
    let passes = game.passes_made.get();
    game.lambda = 0.0;
    let certificate = certify(&mut game, &point, 1.0);
    let value = game.value_at(&point.y);
    // The smoothed absolute loss is replaced by the absolute loss itself.
    let exact = match problem.loss {
        LinearLoss::Absolute { .. } => LinearLoss::Absolute { delta: 1e-100 },
        loss => loss,
    };
    let group_losses = game.group_losses(&point.x, exact);
    LinearSolution { x: point.x, y: point.y, group_losses, value, certificate, gap, reason, iterations, passes }
}

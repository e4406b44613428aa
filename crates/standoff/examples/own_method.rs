//! Your own method in thirty lines: fictitious play, solved with and raced like a built-in one.
#![allow(clippy::print_stdout)]

use standoff::methods::MethodInfo;
use standoff::race::{BenchmarkGame, Entrant, Rules, Trial};
use standoff::{Error, Game, Method, Need, Oracle, Point, Settings, StopReason, Visitor, solve_with, zoo};

/// Each player moves towards its best response to the mixture that the other has played so far.
struct FictitiousPlay {
    round: u64,
    slope: Point<f64>,
    best: Point<f64>,
}

impl<G: Game<Real = f64>> Method<G> for FictitiousPlay {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<f64>) -> Result<(), StopReason> {
        f.at(&z.x, Need::Gradients);
        f.grad_x(&z.y, &mut self.slope.x);
        f.grad_y(&z.y, &mut self.slope.y);
        self.slope.y.iter_mut().for_each(|g| *g = -*g);
        f.x_set().minimise_linear(&self.slope.x, &mut self.best.x);
        f.y_set().minimise_linear(&self.slope.y, &mut self.best.y);
        self.round += 1;
        let share = 1.0 / (self.round + 1) as f64;
        z.x.iter_mut().zip(&self.best.x).for_each(|(x, b)| *x += share * (b - *x));
        z.y.iter_mut().zip(&self.best.y).for_each(|(y, b)| *y += share * (b - *y));
        Ok(())
    }

    /// The state that a saved run needs.
    fn visit(&mut self, visitor: &mut dyn Visitor<f64>) {
        visitor.count("round", &mut self.round);
    }
}

fn main() -> Result<(), Error> {
    let mut rps = (zoo::find("rps").expect("a game of the zoo").make)();
    let (slope, best) = (rps.start.clone(), rps.start.clone());
    let mut method = FictitiousPlay { round: 0, slope, best };
    let found = solve_with(&mut rps.game, &rps.start, &mut method, &Settings::eps(5e-2), &mut ())?;
    assert_eq!(found.reason, StopReason::Converged);

    // In a race it is built again for every game.
    let own = Entrant::own("fictitious-play", |game, _constants, _goal| {
        let zeros = Point { x: vec![0.0; game.x_set().dim()], y: vec![0.0; game.y_set().dim()] };
        Ok(Box::new(FictitiousPlay { round: 0, slope: zeros.clone(), best: zeros }))
    });
    let benchmark = BenchmarkGame::from(zoo::find("rps").expect("a game of the zoo"));
    for method in [own, Entrant::from(MethodInfo::find("extragradient")?)] {
        let result =
            Trial { benchmark: &benchmark, method: &method }.run(&Rules { eps: vec![5e-2], ..Rules::default() })?;
        println!("{}: {:?} gradients", result.method, result.scores[0].gradients());
    }
    Ok(())
}

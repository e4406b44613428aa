//! A game with noise on its gradient in x, for trying methods in the stochastic setting.

use crate::random::Xoshiro;
use crate::{Error, Game, Need, Real, Set};

/// A game with seeded Gaussian noise on `grad_x`; values and `grad_y` are exact.
///
/// The noise of a step is a pure function of the seed and the step. All gradients of one step have the same noise, like
/// the gradients of a mini-batch, and a continued run has the same noise as an uninterrupted one.
/// [`whole`](Game::whole) switches the noise off, so measurements are exact.
///
/// ```
/// use standoff::noise::Noisy;
/// use standoff::{Game, Need, zoo};
///
/// let made = (zoo::find("bilinear").unwrap().make)();
/// let mut game = Noisy::new(made.game, 0.1, 7)?;
/// let (mut g, mut again) = ([0.0], [0.0]);
/// game.resample(3);
/// game.fix(&[0.5], Need::Gradients);
/// game.grad_x(&[0.25], &mut g);
/// game.grad_x(&[0.25], &mut again);
/// assert!(g[0] != 0.25 && g == again);
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug)]
pub struct Noisy<G> {
    game: G,
    sigma: f64,
    seed: u64,
    on: bool,
    step: Option<u64>,
    noise: Vec<f64>,
}

impl<G: Game> Noisy<G> {
    /// Adds noise of standard deviation `sigma` to every entry of `grad_x`.
    pub fn new(game: G, sigma: f64, seed: u64) -> Result<Self, Error> {
        if !(sigma >= 0.0 && sigma.is_finite()) {
            return Err(Error::Setting { name: "noise", value: sigma, want: "zero or a positive number" });
        }
        let noise = vec![0.0; game.x_set().dim()];
        Ok(Self { game, sigma, seed, on: false, step: None, noise })
    }
}

impl<G: Game> Game for Noisy<G> {
    type Real = G::Real;

    fn x_set(&self) -> &Set<G::Real> {
        self.game.x_set()
    }

    fn y_set(&self) -> &Set<G::Real> {
        self.game.y_set()
    }

    fn fix(&mut self, x: &[G::Real], need: Need) {
        self.game.fix(x, need);
    }

    fn value(&mut self, y: &[G::Real]) -> f64 {
        self.game.value(y)
    }

    fn grad_x(&mut self, y: &[G::Real], out: &mut [G::Real]) -> f64 {
        let value = self.game.grad_x(y, out);
        if self.on {
            for (o, e) in out.iter_mut().zip(&self.noise) {
                *o = G::Real::from_f64(o.to_f64() + e);
            }
        }
        value
    }

    fn grad_y(&mut self, y: &[G::Real], out: &mut [G::Real]) -> f64 {
        self.game.grad_y(y, out)
    }

    fn linear_in_y(&self) -> bool {
        self.game.linear_in_y()
    }

    fn linear_in_x(&self) -> bool {
        self.game.linear_in_x()
    }

    fn resample(&mut self, step: u64) -> bool {
        let mut changed = self.game.resample(step) || !self.on;
        if self.step != Some(step) {
            let mut random = Xoshiro::stream(self.seed, step);
            self.noise.iter_mut().for_each(|e| *e = self.sigma * random.normal());
            self.step = Some(step);
            changed = true;
        }
        self.on = true;
        changed
    }

    fn whole(&mut self) -> bool {
        self.game.whole() | std::mem::take(&mut self.on)
    }
}

//! Your own game in twenty lines: minimise over x the larger of two losses, written as a maximum over weights.
#![allow(clippy::print_stdout)]
use standoff::{Error, Game, Need, Point, Set, Settings, solve};

/// f(x, y) = y0 (x - 1)^2 + y1 (sin(3 x) + 1),  x in [-2, 2],  y in the simplex.
#[rustfmt::skip]
struct TwoLosses { x_set: Set<f64>, y_set: Set<f64>, x: f64 }

#[rustfmt::skip]
impl Game for TwoLosses {
    type Real = f64;
    fn x_set(&self) -> &Set<f64> { &self.x_set }
    fn y_set(&self) -> &Set<f64> { &self.y_set }
    fn fix(&mut self, x: &[f64], _: Need) { self.x = x[0]; }
    fn value(&mut self, y: &[f64]) -> f64 { y[0] * (self.x - 1.0).powi(2) + y[1] * ((3.0 * self.x).sin() + 1.0) }
    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out[0] = y[0] * 2.0 * (self.x - 1.0) + y[1] * 3.0 * (3.0 * self.x).cos();
        self.value(y)
    }
    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(&[(self.x - 1.0).powi(2), (3.0 * self.x).sin() + 1.0]);
        self.value(y)
    }
}

fn main() -> Result<(), Error> {
    let mut game = TwoLosses { x_set: Set::interval(-2.0, 2.0)?, y_set: Set::simplex(2, 1.0)?, x: 0.0 };
    let found = solve(&mut game, &Point::new(&[0.0], &[0.5, 0.5]), &Settings::eps(1e-6))?;
    let (z, c) = (&found.point, &found.certificate);
    println!("{:?}: x = {:.6}, weights = {:.4?}, worst loss = {:.6}", found.reason, z.x[0], z.y, found.value);
    println!("proof: X <= {:.1e}, Y <= {:.1e}, {} gradients", c.x.upper, c.y.upper, found.calls.gradients());
    Ok(())
}

//! Code shared by the integration tests.
#![allow(dead_code, unreachable_pub)] // each test binary uses a part of this

pub mod verify;

use standoff::{Game, Need, Set};

/// A game from three closures of (x, y).
pub struct Plain<F, GX, GY> {
    pub x_set: Set<f64>,
    pub y_set: Set<f64>,
    pub f: F,
    pub gx: GX,
    pub gy: GY,
    pub linear: bool,
    x: Vec<f64>,
}

impl<F, GX, GY> Plain<F, GX, GY>
where
    F: Fn(&[f64], &[f64]) -> f64,
    GX: Fn(&[f64], &[f64], &mut [f64]),
    GY: Fn(&[f64], &[f64], &mut [f64]),
{
    pub fn new(x_set: Set<f64>, y_set: Set<f64>, f: F, gx: GX, gy: GY) -> Self {
        let x = vec![0.0; x_set.dim()];
        Self { x_set, y_set, f, gx, gy, linear: false, x }
    }
}

impl<F, GX, GY> Game for Plain<F, GX, GY>
where
    F: Fn(&[f64], &[f64]) -> f64,
    GX: Fn(&[f64], &[f64], &mut [f64]),
    GY: Fn(&[f64], &[f64], &mut [f64]),
{
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        self.x.copy_from_slice(x);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        (self.f)(&self.x, y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        (self.gx)(&self.x, y, out);
        (self.f)(&self.x, y)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        (self.gy)(&self.x, y, out);
        (self.f)(&self.x, y)
    }

    fn linear_in_y(&self) -> bool {
        self.linear
    }
}

//! Elementary steps of one-loop methods.

use crate::{Game, Need, Oracle, Point, Real, ops};

/// Scratch space with a game's dimensions.
pub(super) fn zeros<G: Game>(game: &G) -> Point<G::Real> {
    Point { x: vec![Default::default(); game.x_set().dim()], y: vec![Default::default(); game.y_set().dim()] }
}

/// `(grad_x f, grad_y f)` at `z`.
pub(super) fn gradients<G: Game>(f: &mut Oracle<'_, G>, z: &Point<G::Real>, out: &mut Point<G::Real>) {
    f.at(&z.x, Need::Gradients);
    f.grad_x(&z.y, &mut out.x);
    f.grad_y(&z.y, &mut out.y);
}

/// `grad_x f` at `z`.
pub(super) fn slope_x<G: Game>(f: &mut Oracle<'_, G>, z: &Point<G::Real>, out: &mut [G::Real]) {
    f.at(&z.x, Need::Gradients);
    f.grad_x(&z.y, out);
}

/// `grad_y f` at `z`.
pub(super) fn slope_y<G: Game>(f: &mut Oracle<'_, G>, z: &Point<G::Real>, out: &mut [G::Real]) {
    f.at(&z.x, Need::Gradients);
    f.grad_y(&z.y, out);
}

/// `x := P_X(x - step * g)`.
pub(super) fn descend<G: Game>(f: &Oracle<'_, G>, x: &mut [G::Real], step: f64, g: &[G::Real]) {
    ops::axpy(-step, g, x);
    f.x_set().project(x);
}

/// `y := P_Y(y + step * g)`.
pub(super) fn ascend<G: Game>(f: &Oracle<'_, G>, y: &mut [G::Real], step: f64, g: &[G::Real]) {
    ops::axpy(step, g, y);
    f.y_set().project(y);
}

/// `g := g + weight (at - anchor)`: adds the gradient of `(weight/2) ||at - anchor||^2`.
pub(super) fn pull<R: Real>(g: &mut [R], weight: f64, at: &[R], anchor: &[R]) {
    for i in 0..g.len() {
        g[i] = R::from_f64(g[i].to_f64() + weight * (at[i].to_f64() - anchor[i].to_f64()));
    }
}

/// `anchor := anchor + share (to - anchor)`.
pub(super) fn follow<R: Real>(anchor: &mut [R], share: f64, to: &[R]) {
    for i in 0..anchor.len() {
        let a = anchor[i].to_f64();
        anchor[i] = R::from_f64(a + share * (to[i].to_f64() - a));
    }
}

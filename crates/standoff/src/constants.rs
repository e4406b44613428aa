//! The constants that the theorems speak of.

/// Lipschitz and other constants of a game, for the methods and plans that need them. `auto` needs none.
///
/// ```
/// use standoff::Constants;
///
/// // f(x, y) = x y - y^2: grad_x = y, grad_y = x - 2 y.
/// let c = Constants { l12: 1.0, l22: 2.0, mu: 2.0, ..Constants::default() };
/// assert_eq!(c.l11, 0.0);
/// assert_eq!(c.radius_y, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Constants {
    /// `grad_x` is `l11`-Lipschitz in x.
    pub l11: f64,
    /// `grad_x` is `l12`-Lipschitz in y, and `grad_y` in x.
    pub l12: f64,
    /// `grad_y` is `l22`-Lipschitz in y.
    pub l22: f64,
    /// The Polyak-Lojasiewicz (or strong concavity) constant in y; 0 when f is merely concave.
    pub mu: f64,
    /// `g(x_0) - min g`, where `g(x) = max_y f(x, y)`.
    pub delta_g: Option<f64>,
    /// A bound on `g(x_t) - f(x_t, y_t)` along the run.
    pub delta: Option<f64>,
    /// A bound on `||grad g||` over X (at least 1).
    pub g_max: Option<f64>,
    /// The radius of X.
    pub radius_x: Option<f64>,
    /// The radius of Y around the regulariser's centre.
    pub radius_y: Option<f64>,
    /// Whether these were estimated by sampling rather than given.
    pub estimated: bool,
}

//! Parameters of the paper's methods.

use super::{Mode, NamedParameters};
use crate::{Constants, Error};

/// Algorithm 1, multi-step gradient descent ascent, for games whose max side is unconstrained and satisfies the
/// Polyak-Lojasiewicz condition. Without constants, backtracking finds the steps.
///
/// ```
/// use standoff::methods::Multistep;
/// use standoff::{Settings, solve, zoo};
///
/// let mut i = (zoo::find("trap").expect("a game of the zoo").make)();
/// let method = Multistep { constants: i.constants, ..Multistep::default() };
/// let found = solve(&mut i.game, &i.start, &Settings { method: method.into(), ..Settings::eps(1e-2) })?;
/// assert!(found.certificate.proves(1e-2));
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Multistep {
    /// Constants of the game: L11, L12, L22 and mu; in theory mode also delta_g, delta, g_max and radius_x.
    pub constants: Option<Constants>,
    /// Stopping rule of y's ascent.
    pub mode: Mode,
    /// True to follow the paper exactly as printed, including its errors.
    pub as_printed: bool,
}

impl Multistep {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self { constants: given.constants, mode: given.mode, as_printed: given.as_printed })
    }
}

/// Defines the two variants of Algorithm 2, which have the same fields.
macro_rules! algorithm2 {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $name {
            /// The weight of the regulariser; by default `eps/(2 radius_y)`, which adds at most `eps/2` to Y.
            pub lambda: Option<f64>,
            /// The factor between stages of decreasing accuracy; 1, the default, means a single stage.
            pub continuation: f64,
            /// Constants of the game: L11, L12, L22, and Y must be bounded; in theory mode also delta_g, delta, g_max
            /// and radius_x.
            pub constants: Option<Constants>,
            /// Stopping rule of y's ascent.
            pub mode: Mode,
            /// True to follow the paper exactly as printed, including its errors.
            pub as_printed: bool,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { lambda: None, continuation: 1.0, constants: None, mode: Mode::Certificate, as_printed: false }
            }
        }

        impl $name {
            /// Reads the parameters by name.
            pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
                Ok(Self {
                    lambda: given.get("lambda"),
                    continuation: given.or("continuation", 1.0),
                    constants: given.constants,
                    mode: given.mode,
                    as_printed: given.as_printed,
                })
            }
        }
    };
}

algorithm2! {
    /// Algorithm 2 with projected gradient steps, for nonconvex-concave games with a bounded Y.
    ///
    /// ```
    /// use standoff::methods::Regularised;
    /// use standoff::{Settings, solve, zoo};
    ///
    /// let mut i = (zoo::find("kink").expect("a game of the zoo").make)();
    /// let method = Regularised { constants: i.constants, ..Regularised::default() };
    /// let found = solve(&mut i.game, &i.start, &Settings { method: method.into(), ..Settings::eps(1e-1) })?;
    /// assert!(found.certificate.proves(1e-1));
    /// # Ok::<(), standoff::Error>(())
    /// ```
    Regularised
}

algorithm2! {
    /// Algorithm 2 with Frank-Wolfe steps along the direction of the certificate, for nonconvex-concave games with a
    /// bounded Y.
    ///
    /// ```
    /// use standoff::Settings;
    /// use standoff::methods::FrankWolfe;
    ///
    /// let method = FrankWolfe { lambda: Some(0.1), ..FrankWolfe::default() };
    /// let settings = Settings { method: method.into(), ..Settings::eps(1e-1) };
    /// ```
    FrankWolfe
}

//! The constants of the theorems, in one list.

use crate::Error;

/// Lipschitz and other constants of a game, for the methods and plans that need them. `auto` needs none.
///
/// ```
/// use standoff::Constants;
///
/// let mut c = Constants { l11: 1.0, l12: 2.0, ..Constants::default() };
/// c.set("radius-y", 0.5)?;
/// assert_eq!(c.radius_y, Some(0.5));
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Constants {
    /// `grad_x` is `l11`-Lipschitz in x.
    pub l11: f64,
    /// `grad_x` is `l12`-Lipschitz in y, and `grad_y` in x.
    pub l12: f64,
    /// `grad_y` is `l22`-Lipschitz in y.
    pub l22: f64,
    /// The Polyak-Lojasiewicz (or strong concavity) constant in y; 0 if f is only concave.
    pub mu: f64,
    /// `g(x_0) - min g`, where `g(x) = max_y f(x, y)`.
    pub delta_g: Option<f64>,
    /// Upper bound of `g(x_t) - f(x_t, y_t)` along the run.
    pub delta: Option<f64>,
    /// Upper bound of `||grad g||` over X (at least 1).
    pub g_max: Option<f64>,
    /// The radius of X.
    pub radius_x: Option<f64>,
    /// The radius of Y around the regulariser's centre.
    pub radius_y: Option<f64>,
    /// True if these were estimated by sampling.
    pub estimated: bool,
}

/// Description of one constant: its name, its meaning, and its field.
#[derive(Debug, Clone, Copy)]
pub struct ConstantInfo {
    /// The name in game files: `L11`, `delta_g`.
    pub name: &'static str,
    /// The name in Python and in JSON: `l11`, `delta_g`.
    pub key: &'static str,
    /// The name on the command line: `l11`, `delta-g`.
    pub flag: &'static str,
    /// Its meaning, in one line.
    pub meaning: &'static str,
    /// True if a game that states constants must state this one.
    pub required: bool,
    /// Reads its value, if known.
    pub value: fn(&Constants) -> Option<f64>,
    put: fn(&mut Constants, f64),
}

/// One row of the list, for a number or for an optional number.
macro_rules! constant {
    ($name:literal, $flag:literal, $field:ident: number, $required:literal, $meaning:literal) => {
        ConstantInfo {
            name: $name,
            key: stringify!($field),
            flag: $flag,
            meaning: $meaning,
            required: $required,
            value: |c| Some(c.$field),
            put: |c, value| c.$field = value,
        }
    };
    ($name:literal, $flag:literal, $field:ident: option, $meaning:literal) => {
        ConstantInfo {
            name: $name,
            key: stringify!($field),
            flag: $flag,
            meaning: $meaning,
            required: false,
            value: |c| c.$field,
            put: |c, value| c.$field = Some(value),
        }
    };
}

/// All constants, in the order of tables.
pub const CONSTANTS: &[ConstantInfo] = &[
    constant!("L11", "l11", l11: number, true, "Lipschitz constant of grad_x in x"),
    constant!("L12", "l12", l12: number, true, "Lipschitz constant of grad_x in y, and of grad_y in x"),
    constant!("L22", "l22", l22: number, true, "Lipschitz constant of grad_y in y"),
    constant!("mu", "mu", mu: number, false, "Polyak-Lojasiewicz or strong concavity constant in y"),
    constant!("delta_g", "delta-g", delta_g: option, "g(start) minus the minimum of g, where g(x) = max over y"),
    constant!("delta", "delta", delta: option, "upper bound of g(x) - f(x, y) during the run"),
    constant!("g_max", "g-max", g_max: option, "upper bound of the gradient of g"),
    constant!("radius_x", "radius-x", radius_x: option, "radius of the set of x"),
    constant!("radius_y", "radius-y", radius_y: option, "radius of the set of y"),
];

impl Constants {
    /// Finds the row of a constant by its name, flag or key.
    pub fn find(name: &str) -> Option<&'static ConstantInfo> {
        let key = name.to_lowercase().replace('-', "_");
        CONSTANTS.iter().find(|c| c.key == key)
    }

    /// Sets a constant by its name, flag or key; the value must be 0 or positive.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), Error> {
        let Some(info) = Self::find(name) else {
            let known = CONSTANTS.iter().map(|c| c.key).collect::<Vec<_>>().join(", ");
            return Err(Error::UnknownConstant { name: name.to_owned(), known });
        };
        (info.put)(self, value);
        self.check()
    }

    /// Refuses negative numbers and NaN.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for info in CONSTANTS {
            if let Some(value) = (info.value)(self).filter(|v| !(*v >= 0.0)) {
                return Err(Error::Setting { name: info.name, value, want: "zero or a positive number" });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reaches_its_own_field() {
        for (i, info) in CONSTANTS.iter().enumerate() {
            for name in [info.name, info.key, info.flag] {
                let mut c = Constants::default();
                c.set(name, 2.5).unwrap();
                let set: Vec<usize> = (0..9).filter(|k| (CONSTANTS[*k].value)(&c) == Some(2.5)).collect();
                assert_eq!(set, [i], "{name}");
            }
            for bad in [-1.0, f64::NAN] {
                assert!(matches!(Constants::default().set(info.name, bad), Err(Error::Setting { .. })));
            }
        }
        let unknown = Constants::default().set("L13", 1.0).unwrap_err().to_string();
        assert_eq!(
            unknown,
            "there is no constant `L13`; there are: l11, l12, l22, mu, delta_g, delta, g_max, radius_x, radius_y"
        );
    }
}

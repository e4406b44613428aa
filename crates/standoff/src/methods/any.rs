//! One type for every built-in method, so that a method is a plain value in [`Settings`](crate::Settings).

use super::{
    Agda, Auto, DsGda, Extragradient, FastNash, FrankWolfe, GdMax, Gda, HiBsa, METHODS, Method, MethodInfo, Multistep,
    NamedParameters, NegativeMomentum, Optimistic, PerturbedSmoothedGda, Regularised, SmoothedGda, TiAda, TwoTimeScale,
};
use crate::{Error, Game, Goal};

/// Defines the enum, its conversions and its dispatch from the list of methods in the order of the table.
macro_rules! any_method {
    ($($method:ident)*) => {
        /// A built-in method with its parameters.
        ///
        /// ```
        /// use standoff::methods::{AnyMethod, Auto, Gda};
        ///
        /// let method: AnyMethod = Gda { step: Some(0.1), ..Gda::default() }.into();
        /// assert_eq!(method.info().name, "gda");
        /// assert_eq!(AnyMethod::default(), Auto::default().into());
        /// assert_eq!(AnyMethod::named("gda", &Default::default())?, Gda::default().into());
        /// # Ok::<(), standoff::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub enum AnyMethod {
            $(#[doc = concat!("See [`", stringify!($method), "`].")] $method($method),)*
        }

        $(impl From<$method> for AnyMethod {
            fn from(method: $method) -> Self {
                Self::$method(method)
            }
        })*

        /// The methods' types, in the order of the table.
        #[derive(Clone, Copy)]
        enum MethodIndex { $($method,)* }

        impl AnyMethod {
            fn place(&self) -> MethodIndex {
                match self { $(Self::$method(_) => MethodIndex::$method,)* }
            }

            fn dispatch<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
                match self { $(Self::$method(method) => method.build(game, goal),)* }
            }
        }
    };
}

any_method! {
    Auto Multistep Regularised FrankWolfe Gda Agda TwoTimeScale GdMax Extragradient Optimistic NegativeMomentum HiBsa SmoothedGda
    PerturbedSmoothedGda DsGda TiAda FastNash
}

impl Default for AnyMethod {
    fn default() -> Self {
        Auto::default().into()
    }
}

impl AnyMethod {
    /// Makes a method from its name and parameters by name, both as entered by a user.
    pub fn named(name: &str, given: &NamedParameters) -> Result<Self, Error> {
        MethodInfo::find(name)?.method(given)
    }

    /// Checks the parameters and builds the method for a game. A method that needs exact gradients refuses a game that
    /// draws batches.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let info = self.info();
        if game.draws_batches() && !info.noise {
            let able: Vec<&str> = METHODS.iter().filter(|m| m.noise).map(|m| m.name).collect();
            let why = format!(
                "it needs exact gradients, and the game draws batches; remove [batch], or use one of {}",
                able.join(", ")
            );
            return Err(Error::Unsuitable { method: info.name, why });
        }
        self.dispatch(game, Goal { radius: crate::radius::resolve(game, goal.radius)?, ..goal })
    }

    /// The row of the table for this method.
    pub fn info(&self) -> &'static MethodInfo {
        &METHODS[self.place() as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Constants;

    #[test]
    fn every_row_constructs_its_own_method() {
        for row in METHODS {
            assert_eq!(row.method(&NamedParameters::default()).unwrap().info().name, row.name);
        }
    }

    #[test]
    fn every_parameter_and_the_constants_reach_the_method() {
        let constants = Some(Constants { l11: 3.0, ..Constants::default() });
        for row in METHODS {
            let plain = row.method(&NamedParameters::default()).unwrap();
            for (name, _) in row.params {
                // The last value of a name counts. `adaptive` is a switch, off by default.
                let last = if *name == "adaptive" { 1.0 } else { 0.75 };
                let values = vec![((*name).to_owned(), 0.0), ((*name).to_owned(), last)];
                let given = row.method(&NamedParameters { values, ..Default::default() }).unwrap();
                assert_ne!(given, plain, "{} ignores {name}", row.name);
            }
            let informed = row.method(&constants.into()).unwrap();
            assert!(informed != plain || !row.needs_constants, "{} ignores constants", row.name);
        }
    }
}

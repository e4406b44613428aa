//! The methods of `standoff fair`, as the command line names them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
pub use standoff_nn::fair::Method;

/// Reads a method, and lists them all in the help.
pub(crate) fn parser() -> impl TypedValueParser<Value = Method> {
    let known = Method::ALL.map(|m| PossibleValue::new(m.name()).help(m.about()));
    PossibleValuesParser::new(known).try_map(|name| Method::named(&name))
}

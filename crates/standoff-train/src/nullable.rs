//! Numbers in JSON files, where `null` is a number that is not finite.

use serde::{Deserialize, Deserializer};

/// A number; NaN for `null`.
pub(crate) fn scalar<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    Ok(known(Option::deserialize(source)?))
}

/// A list of numbers.
pub(crate) fn list<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<f64>, D::Error> {
    Ok(Vec::deserialize(source)?.into_iter().map(known).collect())
}

/// Two numbers.
pub(crate) fn pair<'de, D: Deserializer<'de>>(source: D) -> Result<[f64; 2], D::Error> {
    Ok(<[Option<f64>; 2]>::deserialize(source)?.map(known))
}

/// For `skip_serializing_if`: a setting with its default is left out, so that files without it stay unchanged.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The default of a number that a file does not have.
pub(crate) fn unknown() -> f64 {
    f64::NAN
}

fn known(number: Option<f64>) -> f64 {
    number.unwrap_or(f64::NAN)
}

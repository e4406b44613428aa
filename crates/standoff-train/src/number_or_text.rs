//! Values that files write as a number or as text.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// A value that files write as a number or as text.
pub(crate) trait NumberOrText: Sized {
    /// The values that a file may have, for errors.
    const EXPECTED: &'static str;

    /// The value of a whole number.
    fn from_whole(number: i64) -> Option<Self>;

    /// The value of a number with a fraction.
    fn from_fraction(number: f64) -> Option<Self>;

    /// The value of a text.
    fn from_text(text: &str) -> Option<Self>;
}

/// Reads a value, for `Deserialize`.
pub(crate) fn read<'de, T: NumberOrText, D: Deserializer<'de>>(source: D) -> Result<T, D::Error> {
    source.deserialize_any(Reader(PhantomData))
}

struct Reader<T>(PhantomData<T>);

impl<T: NumberOrText> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<T, E> {
        T::from_whole(v).ok_or_else(|| E::invalid_value(Unexpected::Signed(v), &self))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<T, E> {
        let whole = i64::try_from(v).ok().and_then(T::from_whole);
        whole.or_else(|| T::from_fraction(v as f64)).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(v), &self))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<T, E> {
        T::from_fraction(v).ok_or_else(|| E::invalid_type(Unexpected::Float(v), &self))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<T, E> {
        T::from_text(v).ok_or_else(|| E::invalid_value(Unexpected::Str(v), &self))
    }
}

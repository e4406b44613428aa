//! A class of an image dataset, by number or by name.

use std::convert::Infallible;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::number_or_text::{self, NumberOrText};

/// A class, as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// Its label in the files.
    Number(u8),
    /// Its name: `Shirt`.
    Name(String),
}

impl FromStr for Class {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let text = text.trim();
        Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Number))
    }
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => out.serialize_u8(*number),
            Self::Name(name) => out.serialize_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        number_or_text::read(source)
    }
}

impl NumberOrText for Class {
    const EXPECTED: &'static str = "the number of a class, at most 255, or its name";

    fn from_whole(number: i64) -> Option<Self> {
        u8::try_from(number).ok().map(Self::Number)
    }

    fn from_fraction(_: f64) -> Option<Self> {
        None
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::config::FairConfig;
    use crate::training::Description as _;

    #[test]
    fn classes_are_numbers_or_names_in_a_configuration() {
        let config: FairConfig = toml::from_str("classes = [0, \"Ankle boot\", \"6\"]\n").unwrap();
        assert_eq!(config.classes, [Class::Number(0), Class::Name("Ankle boot".into()), Class::Number(6)]);
        assert_eq!(toml::from_str::<FairConfig>(&config.to_toml().unwrap()).unwrap(), config);
        assert!(toml::from_str::<FairConfig>("classes = [300]\n").unwrap_err().to_string().contains("at most 255"));
        assert!(toml::from_str::<FairConfig>("classes = [0.5]\n").is_err());
    }
}

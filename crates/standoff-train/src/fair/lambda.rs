//! The weight of the regulariser: a number, or `auto` for the best one on validation data.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result, error};
use crate::number_or_text::{self, NumberOrText};

/// The candidates of `auto` and `--frontier`, unless others are given. At the smallest one nearly all weight is on the worst group; at
/// the largest one, with losses around 1, the weights are nearly equal.
pub const CANDIDATES: [f64; 6] = [0.001, 0.01, 0.03, 0.1, 0.3, 1.0];

/// The weight of the regulariser in `minmax-reg`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lambda {
    /// Chosen on validation data.
    Auto,
    /// A number.
    Given(f64),
}

const AUTO: &str = "auto";

impl fmt::Display for Lambda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str(AUTO),
            Self::Given(lambda) => lambda.fmt(f),
        }
    }
}

impl FromStr for Lambda {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim() {
            AUTO => Ok(Self::Auto),
            number => number
                .parse()
                .map(Self::Given)
                .map_err(|_| error!(Setting, "`{number}` is neither a number nor `auto`")),
        }
    }
}

/// Reads `--lambda`: one number; several, to compare; or `auto`, with its candidates if they are given.
pub fn read(text: &str) -> Result<(Lambda, Vec<f64>)> {
    let wrong =
        |why: &dyn fmt::Display| error!(Setting, "--lambda {text}: {why}; want a number, a list of numbers, or auto");
    let given: Vec<Lambda> = text.split(',').map(|part| part.parse().map_err(|e| wrong(&e))).collect::<Result<_>>()?;
    let (first, rest) = given.split_first().ok_or_else(|| wrong(&"it is empty"))?;
    let listed = if *first == Lambda::Auto { rest } else { &given };
    let number = |lambda: &Lambda| match lambda {
        Lambda::Given(v) => Ok(*v),
        Lambda::Auto => Err(wrong(&"`auto` comes first, before its candidates")),
    };
    let numbers: Vec<f64> = listed.iter().map(number).collect::<Result<_>>()?;
    let alone = *first != Lambda::Auto && rest.is_empty();
    Ok((*first, if alone { Vec::new() } else { numbers }))
}

impl Serialize for Lambda {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => out.serialize_str(AUTO),
            Self::Given(lambda) => out.serialize_f64(*lambda),
        }
    }
}

impl<'de> Deserialize<'de> for Lambda {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        number_or_text::read(source)
    }
}

impl NumberOrText for Lambda {
    const EXPECTED: &'static str = "a number or \"auto\"";

    fn from_whole(number: i64) -> Option<Self> {
        Some(Self::Given(number as f64))
    }

    fn from_fraction(number: f64) -> Option<Self> {
        Some(Self::Given(number))
    }

    fn from_text(text: &str) -> Option<Self> {
        (text == AUTO).then_some(Self::Auto)
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::FairConfig;
    use super::*;
    use crate::training::Description as _;

    #[test]
    fn a_number_or_auto_goes_through_the_configuration_and_nothing_else_does() {
        for (text, want) in [("0.1", Lambda::Given(0.1)), ("1", Lambda::Given(1.0)), ("\"auto\"", Lambda::Auto)] {
            let config: FairConfig = toml::from_str(&format!("lambda = {text}\n")).unwrap();
            assert_eq!(config.lambda, want);
            let again: FairConfig = toml::from_str(&config.to_toml().unwrap()).unwrap();
            assert_eq!(again, config);
        }
        let refused = toml::from_str::<FairConfig>("lambda = \"automatic\"\n").unwrap_err().to_string();
        assert!(refused.contains("a number or \"auto\""), "{refused}");
        assert_eq!(read("auto").unwrap(), (Lambda::Auto, vec![]));
        assert_eq!(read("auto, 0.1,1").unwrap(), (Lambda::Auto, vec![0.1, 1.0]));
        assert_eq!(read("0.3").unwrap(), (Lambda::Given(0.3), vec![]));
        assert_eq!(read("0.3,1").unwrap(), (Lambda::Given(0.3), vec![0.3, 1.0]));
        assert!(read("0.3,auto").unwrap_err().to_string().contains("comes first"));
        assert!(read("").is_err() && read("0.1,").is_err());
        assert_eq!(" auto".parse::<Lambda>().unwrap(), Lambda::Auto);
        assert!("much".parse::<Lambda>().unwrap_err().to_string().contains("`much`"));
    }
}

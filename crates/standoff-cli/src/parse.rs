//! Numbers and `key=value` pairs on the command line.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use standoff::error::nearest;
use standoff::{CONSTANTS, Constants};
use standoff_train::named::Named;

/// One of the options of a kind, all of which the help lists.
pub(crate) fn one_of<T: Named>() -> impl TypedValueParser<Value = T> {
    let known = T::ALL.iter().map(|option| PossibleValue::new(option.name()).help(option.about()));
    let find = |name: String| T::ALL.iter().copied().find(|option| option.name() == name);
    PossibleValuesParser::new(known).try_map(move |name| find(name).ok_or("no such option"))
}

/// A finite number: `0.1`, `1e-3`, or a fraction like `8/255`.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    let plain = |t: &str| t.trim().parse::<f64>().map_err(|_| format!("`{t}` is not a number"));
    let v = match text.split_once('/') {
        Some((above, below)) => plain(above)? / plain(below)?,
        None => plain(text)?,
    };
    if v.is_finite() { Ok(v) } else { Err(format!("{text} is not a finite number")) }
}

/// Two numbers with a comma between them.
pub(crate) fn pair(text: &str) -> Result<(f64, f64), String> {
    let (first, second) = text.split_once(',').ok_or_else(|| format!("`{text}` is not two numbers such as 1,0"))?;
    Ok((number(first)?, number(second)?))
}

/// A number above 0.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let v = number(text)?;
    if v > 0.0 { Ok(v) } else { Err(format!("{text} is not allowed: it must be greater than 0")) }
}

/// A number above 0, or `inf`.
pub(crate) fn positive_or_infinite(text: &str) -> Result<f64, String> {
    match text.trim().to_lowercase().as_str() {
        "inf" | "infinity" => Ok(f64::INFINITY),
        _ => positive(text),
    }
}

/// A number that is 0 or more.
pub(crate) fn non_negative(text: &str) -> Result<f64, String> {
    let v = number(text)?;
    if v >= 0.0 { Ok(v) } else { Err(format!("{text} is not allowed: it must be 0 or more")) }
}

/// A whole number: `100000`, `100_000` or `1e5`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    if let Ok(n) = digits.parse() {
        return Ok(n);
    }
    let v: f64 = digits.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    // Above 2^53 not every whole number is an f64: the user could not mean this one exactly.
    if v >= 0.0 && v.fract() == 0.0 && v <= 9_007_199_254_740_992.0 {
        Ok(v as u64)
    } else {
        Err(format!("{text} is not a whole number from 0 to 2^53"))
    }
}

/// A span of time in seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let v = positive(text)?;
    Duration::try_from_secs_f64(v).map_err(|_| format!("{text} seconds is too long"))
}

/// A span of time in seconds, possibly none.
pub(crate) fn pause(text: &str) -> Result<Duration, String> {
    let v = non_negative(text)?;
    Duration::try_from_secs_f64(v).map_err(|_| format!("{text} seconds is too long"))
}

/// A span of time with its unit: `90s`, `30m`, `2h`, `1.5d`; `90` is seconds.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let units = [("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("m", 60.0), ("s", 1.0), ("", 1.0)];
    let found = units.iter().find_map(|(unit, size)| Some((text.trim().strip_suffix(unit)?.trim(), size)));
    let (amount, size) = found.unwrap_or((text, &1.0));
    let v = positive(amount).map_err(|why| format!("{why} (want a time such as 90s, 30m or 2h)"))?;
    Duration::try_from_secs_f64(v * size).map_err(|_| format!("{text} is too long"))
}

/// `key=value`, with a number as value.
pub(crate) fn assignment(text: &str) -> Result<(String, f64), String> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(format!("`{text}` is not of the form key=value"));
    };
    Ok((key.trim().to_owned(), number(value)?))
}

/// One constant of the game, `L12=1.2`.
pub(crate) fn constant(text: &str) -> Result<(&'static str, f64), String> {
    let (key, value) = assignment(text)?;
    let Some(info) = Constants::find(&key) else {
        let flags = CONSTANTS.iter().map(|c| c.flag);
        let hint = nearest(&key.replace('_', "-"), flags.clone()).map(|n| format!("; did you mean `{n}`?"));
        let all = flags.collect::<Vec<_>>().join(", ");
        return Err(format!("no constant `{key}`{} (there are: {all})", hint.unwrap_or_default()));
    };
    let fine = value >= 0.0;
    if fine { Ok((info.key, value)) } else { Err(format!("{key} = {value} is not allowed: it must be 0 or more")) }
}

/// Overwrites constants by the given ones; a later one wins.
pub(crate) fn override_constants(base: &mut Constants, given: &[(&'static str, f64)]) -> Result<(), standoff::Error> {
    given.iter().try_for_each(|(name, value)| base.set(name, *value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_fractions_but_must_be_finite() {
        assert_eq!(number("1e-3"), Ok(1e-3));
        assert_eq!(number("8/255"), Ok(8.0 / 255.0));
        for bad in ["", "x", "nan", "inf", "1/0", "0/0", "1e999", "1/2/3"] {
            assert!(number(bad).is_err(), "{bad}");
        }
        assert!(positive("0").is_err() && positive("-1").is_err() && positive("-0").is_err());
        assert_eq!(non_negative("0"), Ok(0.0));
        assert_eq!(positive_or_infinite("inf"), Ok(f64::INFINITY));
        assert!(positive_or_infinite("-inf").is_err() && positive_or_infinite("nan").is_err());
    }

    #[test]
    fn counts_may_have_an_exponent() {
        assert_eq!(count("1e5"), Ok(100_000));
        assert_eq!(count("100_000"), Ok(100_000));
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        for bad in ["-1", "1.5", "1e30", "nan", "", "ten"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_time_that_does_not_fit_is_refused() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(seconds("1e300").is_err());
    }

    #[test]
    fn constants_are_known_in_every_spelling() {
        let mut constants = Constants::default();
        override_constants(&mut constants, &[constant("RADIUS_Y=2.5").unwrap(), constant("g-max=3").unwrap()]).unwrap();
        assert_eq!((constants.radius_y, constants.g_max), (Some(2.5), Some(3.0)));
        assert!(constant("L13=1").unwrap_err().contains("did you mean `l1"));
        assert!(constant("mu=-1").is_err());
        assert!(constant("mu").is_err());
    }
}

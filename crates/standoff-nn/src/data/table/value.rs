//! What a cell says: nothing, a number, or a word.

use std::collections::BTreeSet;

/// What people write for "not known", in lower case.
const MISSING: [&str; 6] = ["", "?", "na", "n/a", "nan", "null"];

/// Whether a cell holds nothing.
pub(super) fn is_missing(text: &str) -> bool {
    MISSING.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The finite number that a cell holds. With `comma`, `2,5` is one too: so files look where the comma does not part columns.
pub(super) fn number(text: &str, comma: bool) -> Option<f64> {
    let value = match text.split_once(',') {
        Some((whole, rest)) if comma && !rest.contains([',', '.']) && !whole.contains('.') => {
            format!("{whole}.{rest}").parse().ok()
        }
        _ => text.parse::<f64>().ok(),
    };
    value.filter(|v| v.is_finite())
}

/// The different values, each once: by size if all are numbers, else in the order of their characters.
pub(super) fn levels<'a>(values: impl Iterator<Item = &'a str>, comma: bool) -> Vec<String> {
    let distinct: BTreeSet<&str> = values.collect();
    let numbers: Option<Vec<(f64, &str)>> = distinct.iter().map(|v| Some((number(v, comma)?, *v))).collect();
    match numbers {
        Some(mut numbers) => {
            numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
            numbers.into_iter().map(|(_, v)| v.to_owned()).collect()
        }
        None => distinct.into_iter().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_as_people_mean_them() {
        for text in ["", "?", "NA", "n/a", "NaN", "null", "NULL"] {
            assert!(is_missing(text), "{text}");
        }
        for text in ["0", "None", "-", "unknown", "nana"] {
            assert!(!is_missing(text), "{text}");
        }
        assert_eq!(
            (number("2.5", false), number("-1e3", true), number("+.5", false)),
            (Some(2.5), Some(-1e3), Some(0.5))
        );
        assert_eq!((number("2,5", true), number("2,5", false)), (Some(2.5), None));
        for text in ["1,234,567", "1,234.5", "inf", "nan", "1 2", "0x10", "", ","] {
            assert_eq!(number(text, true), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_ordered_by_size_and_words_by_character() {
        assert_eq!(levels(["10", "9", "-1", "9"].into_iter(), false), ["-1", "9", "10"]);
        assert_eq!(levels(["b", "10", "9"].into_iter(), false), ["10", "9", "b"]);
    }
}

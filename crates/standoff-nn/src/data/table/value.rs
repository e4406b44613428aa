//! The value of a cell: missing, a number, or a word.

use std::collections::BTreeSet;

/// Texts that mean "missing", in lower case.
const MISSING: [&str; 9] = ["", "?", "na", "n/a", "nan", "null", "<na>", "#n/a", "nat"];

/// True if a cell is missing.
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

/// True if a cell is a number written as an amount: `$1,045.00`, `45 %`, `12 345`.
pub(super) fn is_dressed(text: &str) -> bool {
    let bare: String =
        text.chars().filter(|c| !c.is_whitespace() && !"$\u{20ac}\u{a3}\u{a5}%,'_".contains(*c)).collect();
    bare != text && number(&bare, false).is_some()
}

/// True if a cell is a date, with or without a time: `2013-08-14`, `14.08.2013`, `8/14/2013 06:03`.
pub(super) fn is_date(text: &str) -> bool {
    let day = text.split([' ', 'T']).next().unwrap_or("");
    ['-', '/', '.'].iter().any(|mark| {
        let parts: Vec<&str> = day.split(*mark).collect();
        let digits = |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let years = parts.iter().filter(|part| part.len() > 2).count();
        parts.len() == 3
            && parts.iter().all(|part| digits(part))
            && years == 1
            && [parts[0], parts[2]].iter().any(|part| part.len() == 4)
    })
}

/// Two values that look like spellings of one value, if there are such: `1` and `1.0`, `High` and `high`.
pub(super) fn alike(column: &str, values: &[String], comma: bool) -> Option<String> {
    let same = |a: &str, b: &str| match (number(a, comma), number(b, comma)) {
        (Some(a), Some(b)) => a == b,
        _ => a.to_lowercase() == b.to_lowercase(),
    };
    let pair = values.iter().enumerate().find_map(|(i, a)| Some((a, values[..i].iter().find(|b| same(a, b))?)));
    pair.map(|(a, b)| format!("column `{column}`: `{b}` and `{a}` are taken for two different values"))
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
    fn dates_are_recognised() {
        for text in
            ["2013-08-14", "2013-08-13 06:03:42", "2013-08-13T06:03", "14.08.2013", "8/14/2013", "2013/8/4 6:03"]
        {
            assert!(is_date(text), "{text}");
        }
        for text in
            ["2013", "1.5", "13011352CF10A", "1-2-3", "555-12-1234", "2013-08", "", "F", "1.2.3.4", "2013-2014-1"]
        {
            assert!(!is_date(text), "{text}");
        }
    }

    #[test]
    fn amounts_and_values_that_look_alike_are_recognised() {
        for text in ["$1,045.00", "45%", "12 345", "1'000", "3 \u{20ac}"] {
            assert!(is_dressed(text), "{text}");
        }
        for text in ["45", "1.5", "a%", "%", "", "2020-01-05", "$"] {
            assert!(!is_dressed(text), "{text}");
        }
        let said = |values: &[&str]| alike("c", &values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>(), false);
        assert_eq!(
            said(&["0", "1", "1.0"]).as_deref(),
            Some("column `c`: `1` and `1.0` are taken for two different values")
        );
        assert!(said(&["High", "low", "high"]).is_some() && said(&["a", "b", "1"]).is_none());
    }

    #[test]
    fn numbers_are_ordered_by_size_and_words_by_character() {
        assert_eq!(levels(["10", "9", "-1", "9"].into_iter(), false), ["-1", "9", "10"]);
        assert_eq!(levels(["b", "10", "9"].into_iter(), false), ["10", "9", "b"]);
    }
}

//! The dialect of a CSV file: its delimiter, its comments, and whether the first row names the columns.

use std::borrow::Cow;

use csv::{Reader, ReaderBuilder, StringRecord};

use super::value::{is_missing, number};

/// Possible delimiters, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Number of rows that are examined.
const SAMPLE: usize = 200;

/// The share of rows that must have the same number of words for blanks to be a delimiter.
const NEARLY_ALL: f64 = 0.9;

/// A reader of rows of any length; the first row is like the others.
pub(super) fn reader(text: &str, delimiter: u8) -> Reader<&[u8]> {
    ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text.as_bytes())
}

/// True if `2,5` is a number in this dialect.
pub(super) fn decimal_comma(delimiter: u8) -> bool {
    delimiter == b';'
}

/// The delimiter that gives most rows the same number of cells, with cells that look like cells; and that number.
pub(super) fn delimiter(text: &str) -> (u8, usize) {
    let mut best = (0.0, DELIMITERS[0], 1);
    for candidate in DELIMITERS {
        let (quality, columns) = judge(&sample(text, candidate), candidate);
        if columns > 1 && quality > best.0 {
            best = (quality, candidate, columns);
        }
    }
    (best.1, best.2)
}

/// The first line that does not have the usual number of words, where blanks seem to part cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RaggedLine {
    /// The line, from 1.
    pub(super) line: usize,
    /// Its number of words.
    pub(super) words: usize,
    /// The usual number.
    pub(super) usual: usize,
}

/// The text with tabs between its cells if they are parted by blanks: no other delimiter makes two columns, and nearly all rows examined
/// have the same number of words, at least two. Lines stay where they are. An error if most rows have several words, but not the same
/// number of them.
pub(super) fn blanks_to_tabs(text: &str) -> Result<Cow<'_, str>, RaggedLine> {
    if delimiter(text).1 > 1 {
        return Ok(Cow::Borrowed(text));
    }
    let rows = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !starts_comment(line));
    let widths: Vec<(usize, usize)> = rows.take(SAMPLE).map(|(i, line)| (i + 1, words(line).count())).collect();
    let count = |width: usize| widths.iter().filter(|(_, w)| *w == width).count();
    let usual = widths.iter().map(|(_, w)| *w).max_by_key(|width| (count(*width), *width)).unwrap_or(0);
    if usual < 2 || (count(usual) as f64) < NEARLY_ALL * widths.len() as f64 {
        let odd = widths.iter().find(|(_, w)| *w != usual);
        let parted = 2 * widths.iter().filter(|(_, w)| *w > 1).count() > widths.len();
        // A name of one word is the heading of one column, whose cells may hold blanks.
        let one_column = widths.first().is_some_and(|(_, width)| *width == 1);
        let ragged = odd.filter(|_| parted && !one_column).map(|&(line, words)| RaggedLine { line, words, usual });
        return ragged.map_or(Ok(Cow::Borrowed(text)), Err);
    }
    let mut tabbed = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut parted = words(line);
        tabbed.extend(parted.next());
        parted.for_each(|word| {
            tabbed.push('\t');
            tabbed.push_str(word);
        });
        tabbed.extend(line.ends_with('\n').then_some('\n'));
    }
    Ok(Cow::Owned(tabbed))
}

/// The words of a line; blanks between quotes do not part them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.trim_start();
    std::iter::from_fn(move || {
        let mut quoted = false;
        let end = rest.find(|c: char| {
            quoted ^= c == '"';
            !quoted && c.is_whitespace()
        });
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after.trim_start();
        (!word.is_empty()).then_some(word)
    })
}

/// True if a row begins as comments do and does not have the usual number of cells.
pub(super) fn is_comment(row: &StringRecord, usual: usize) -> bool {
    row.len() != usual && row.get(0).is_some_and(starts_comment)
}

fn starts_comment(text: &str) -> bool {
    text.trim_start().starts_with(['#', '|', '%'])
}

/// The largest number of columns that the first line can have, with any delimiter.
pub(super) fn widest(text: &str) -> usize {
    let line = text.trim_start().bytes().take_while(|b| !matches!(b, b'\n' | b'\r'));
    1 + line.filter(|b| DELIMITERS.contains(b)).count()
}

/// The first rows that are not blank.
pub(super) fn sample(text: &str, delimiter: u8) -> Vec<StringRecord> {
    // Unreadable rows are reported when the whole file is read.
    let rows = reader(text, delimiter).into_records().map_while(Result::ok);
    rows.filter(|row| !is_blank(row)).take(SAMPLE).collect()
}

/// A line with nothing on it.
pub(super) fn is_blank(row: &StringRecord) -> bool {
    row.iter().all(|cell| cell.trim().is_empty()) && row.len() <= 1
}

/// True if a row ends inside quotes. Quotes count only at the start of a cell, and two of them inside mean one.
pub(super) fn ends_in_quotes(row: &str, delimiter: u8) -> bool {
    let (mut quoted, mut fresh) = (false, true);
    for b in row.bytes() {
        match (quoted, b) {
            // The second of two quotes opens what the first one closed.
            (false, b'"') if fresh => (quoted, fresh) = (true, false),
            (true, b'"') => (quoted, fresh) = (false, true),
            (false, _) => fresh = b == delimiter || b == b'\n' || b == b'\r',
            (true, _) => {}
        }
    }
    quoted
}

/// The share of rows with the usual number of cells, times the share of cells without a delimiter inside; and that number.
fn judge(rows: &[StringRecord], delimiter: u8) -> (f64, usize) {
    let widths: Vec<usize> = rows.iter().map(StringRecord::len).collect();
    let count = |width: usize| widths.iter().filter(|w| **w == width).count();
    let Some(usual) = widths.iter().copied().max_by_key(|width| (count(*width), *width)) else { return (0.0, 0) };
    let comma = decimal_comma(delimiter);
    let plain = |cell: &str| {
        number(cell.trim(), comma).is_some() || !cell.bytes().any(|b| b != delimiter && DELIMITERS.contains(&b))
    };
    let cells: usize = widths.iter().sum();
    let clean = rows.iter().flat_map(StringRecord::iter).filter(|cell| plain(cell)).count();
    (count(usual) as f64 / rows.len() as f64 * clean as f64 / cells.max(1) as f64, usual)
}

/// True if the first row names the columns: there is a column with a word on top and numbers below, or no number on top at all.
pub(super) fn has_header(rows: &[StringRecord], comma: bool) -> bool {
    let Some((first, rest)) = rows.split_first() else { return false };
    let is_number = |cell: &str| number(cell.trim(), comma).is_some();
    let names_numbers = first.iter().enumerate().any(|(i, top)| {
        let mut below = rest.iter().filter_map(|row| row.get(i)).filter(|cell| !is_missing(cell.trim())).peekable();
        !is_missing(top.trim()) && !is_number(top) && below.peek().is_some() && below.all(is_number)
    });
    names_numbers || !first.iter().any(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_found() {
        let cases = [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2,5\n3,5;4,5\n", b';'),
            ("1,5;2,5\n3,5;4,5\n", b';'),
            ("a\tb\n1,000\t\"x;y\"\n", b'\t'),
            ("a|b|c\n1|2|3\n", b'|'),
            ("name,remark\nx,\"a; b; c\"\ny,\"d; e; f\"\n", b','),
            ("name;remark\nx;one, two\ny;three\n", b';'),
            ("single\n1\n2\n", b','),
            ("", b','),
        ];
        for (text, want) in cases {
            assert_eq!(delimiter(text).0 as char, want as char, "{text}");
        }
    }

    #[test]
    fn blanks_part_cells_where_nothing_else_does() {
        let read = |text| blanks_to_tabs(text).expect("a dialect");
        assert_eq!(read("A11 6  x\n  A12 48 y\n\n"), "A11\t6\tx\nA12\t48\ty\n\n");
        assert_eq!(read("\"a b\" 1\r\nc 2\r\n"), "\"a b\"\t1\nc\t2\n");
        for text in ["a,b\n1 2,3 4\n", "single\n1\n", "one two\nthree\n", "", "a\tb c\n1\t2 3\n"] {
            assert_eq!(read(text), text);
        }
        // One column whose name has blanks, and one of quoted words.
        for text in [
            "hours per week\n40\n38\n",
            "city\nNew York\nRio de Janeiro\nSan Jose\n",
            "\"New York\"\n\"San Jose\"\n\"Rio de Janeiro\"\n",
        ] {
            assert_eq!(read(text), text);
        }
    }

    #[test]
    fn blanks_that_part_lines_into_different_numbers_of_cells_are_refused() {
        let refused = |text: &str| blanks_to_tabs(text).expect_err(text);
        assert_eq!(refused("1 2 3\n\n4 5 6\n7 8\n9 8 7\n"), RaggedLine { line: 4, words: 2, usual: 3 });
        assert_eq!(refused("# a note\n1 2\n3\n4 5 6\n7 8\n"), RaggedLine { line: 3, words: 1, usual: 2 });
        assert_eq!(refused("a b c d\n1 2 3\ne f\n"), RaggedLine { line: 2, words: 3, usual: 4 });
    }

    #[test]
    fn an_open_quote_is_seen() {
        for (row, open) in [
            ("a,\"b", true),
            ("a,\"b\"", false),
            ("\"a\"\"", true),
            ("\"a\"\"\",b", false),
            ("5\" pipe,b", false),
            ("\"a,b\nc", true),
            ("\"a\"x,\"", true),
            ("", false),
        ] {
            assert_eq!(ends_in_quotes(row, b','), open, "{row}");
        }
    }

    #[test]
    fn a_header_is_told_from_data() {
        let header = |text: &str| has_header(&sample(text, b','), false);
        assert!(header("age,sex\n39,M\n"));
        assert!(header("age,2019,2020\n39,1,2\n"));
        assert!(header("colour,size\nred,small\n"));
        assert!(header("age,sex\n?,M\n"));
        assert!(!header("39,State-gov\n50,Private\n"));
        assert!(!header("1,2\n3,4\n"));
    }
}

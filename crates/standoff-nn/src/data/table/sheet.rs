//! The content of a CSV file: named columns of text, and the line of each row.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use csv::StringRecord;
use standoff::error::nearest;

use super::super::content::{self, Content};
use super::dialect::{
    RaggedLine, blanks_to_tabs, decimal_comma, delimiter, ends_in_quotes, has_header, is_blank, is_comment, reader,
    sample, widest,
};
use super::value;
use crate::Error;

/// The largest file, decompressed.
const LIMIT: u64 = 4 << 30;
/// Number of bytes that are read before the dialect is determined.
const CHUNK: u64 = 1 << 20;
/// The largest number of columns.
const MOST_COLUMNS: usize = 1 << 20;
/// The most cells.
const MOST_CELLS: usize = 1 << 28;
/// The most columns that a message lists.
const LISTED: usize = 30;

/// Options for reading a CSV file. `None` or `Some(true)` may be given for it where only the header matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SheetOptions {
    /// True if the first row names the columns; detected if not given.
    pub header: Option<bool>,
    /// Number of lines before the table: titles, notes.
    pub skip_lines: usize,
}

impl From<Option<bool>> for SheetOptions {
    fn from(header: Option<bool>) -> Self {
        Self { header, skip_lines: 0 }
    }
}

/// The cells of a CSV file as text, by row and column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sheet {
    file: String,
    columns: Vec<String>,
    /// The place of each column by its name.
    places: BTreeMap<String, usize>,
    comma: bool,
    /// All cells behind one another.
    text: String,
    /// Where each cell ends in `text`, row by row.
    ends: Vec<usize>,
    /// The line of each row in the file, from 1.
    lines: Vec<usize>,
    /// Remarks for the user: comments that were skipped, columns that were renamed.
    notes: Vec<String>,
}

impl Sheet {
    /// Reads a CSV file, plain or gzip.
    pub fn open(path: &Path, options: impl Into<SheetOptions>) -> Result<Self, Error> {
        Self::read(&path.display().to_string(), content::open(path)?, options)
    }

    /// Reads CSV from a source; `file` is its name in errors.
    pub fn read(file: &str, source: impl Read, options: impl Into<SheetOptions>) -> Result<Self, Error> {
        let options = options.into();
        let whole = text_of(file, source)?;
        let text = after_lines(whole.strip_prefix('\u{feff}').unwrap_or(&whole), options.skip_lines);
        let mut sheet = Self { file: file.to_owned(), ..Self::default() };
        if widest(text) > MOST_COLUMNS {
            return Err(sheet.bad(format!("has more than {MOST_COLUMNS} columns in line {}", 1 + options.skip_lines)));
        }
        let text = &*blanks_to_tabs(text).map_err(|ragged| sheet.ragged(ragged, options.skip_lines))?;
        let (delimiter, usual) = delimiter(text);
        sheet.comma = decimal_comma(delimiter);
        sheet.text.reserve(text.len());
        let header = options.header.unwrap_or_else(|| {
            let mut rows = sample(text, delimiter);
            rows.retain(|row| !is_comment(row, usual));
            has_header(&rows, sheet.comma)
        });
        sheet.take_rows(text, (delimiter, usual), SheetOptions { header: Some(header), ..options })?;
        if sheet.lines.is_empty() {
            return Err(sheet.bad("has no rows of values"));
        }
        Ok(sheet)
    }

    /// Takes the rows of a text whose dialect is known: the delimiter and the usual number of cells.
    fn take_rows(&mut self, text: &str, (delimiter, usual): (u8, usize), options: SheetOptions) -> Result<(), Error> {
        let mut lines = Lines { text: text.as_bytes(), at: 0, line: 1 + options.skip_lines };
        let mut row = StringRecord::new();
        let mut last = (0, lines.line);
        let mut comments: Option<(usize, usize)> = None;
        let mut reader = reader(text, delimiter);
        while reader.read_record(&mut row).map_err(|error| self.bad(format!("is not CSV: {error}")))? {
            let line = lines.of(row.position().map_or(0, csv::Position::byte) as usize);
            last = (lines.at, line);
            if is_blank(&row) && self.columns.len() != 1 {
                continue;
            }
            if is_comment(&row, usual) {
                comments = Some(comments.map_or((1, line), |(n, first)| (n + 1, first)));
                continue;
            }
            if self.columns.is_empty() {
                let header = options.header.unwrap_or(false);
                self.name_columns(&row, header);
                if header {
                    continue;
                }
            }
            self.push(&row, line)?;
        }
        // Otherwise an open quote would silently extend the cell to the end of the file.
        if ends_in_quotes(&text[last.0..], delimiter) {
            let line = last.1;
            return Err(self.bad(format!("in the row that starts in line {line} a quote is opened and never closed")));
        }
        self.notes.extend(comments.map(|(n, line)| match n {
            1 => format!("1 line is a comment and is skipped: line {line}"),
            _ => format!("{n} lines are comments and are skipped, the first is line {line}"),
        }));
        Ok(())
    }

    /// Names the columns. The second of two columns named `a` is `a.1`, as in pandas.
    fn name_columns(&mut self, row: &StringRecord, header: bool) {
        for (i, cell) in row.iter().enumerate() {
            let cell = if header { cell.trim() } else { "" };
            let given = if cell.is_empty() { format!("c{}", i + 1) } else { cell.to_owned() };
            let free = |name: &String| !self.places.contains_key(name);
            let name = if free(&given) {
                given
            } else {
                let new = (1..).map(|n| format!("{given}.{n}")).find(free).unwrap_or_default();
                self.notes
                    .push(format!("column {} is named `{given}` like one before it and is called `{new}`", i + 1));
                new
            };
            self.places.insert(name.clone(), i);
            self.columns.push(name);
        }
    }

    /// Remarks on the file: comments that were skipped, columns that were renamed.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn push(&mut self, row: &StringRecord, line: usize) -> Result<(), Error> {
        let want = self.columns.len();
        if row.len() < want || row.iter().skip(want).any(|cell| !cell.trim().is_empty()) {
            let open = row.iter().any(|cell| cell.contains('\n'));
            let hint = match () {
                () if open => "; is a quote left open there?",
                () if want == 1 && self.lines.is_empty() => "; skip lines before the table with --skip-lines N",
                () => "",
            };
            return Err(self.bad(format!("line {line} has {} cells, the first row has {want}{hint}", row.len())));
        }
        if self.ends.len() + want > MOST_CELLS {
            return Err(self.bad(format!("has more than {MOST_CELLS} cells")));
        }
        for cell in row.iter().take(want) {
            self.text.push_str(cell.trim());
            self.ends.push(self.text.len());
        }
        self.lines.push(line);
        Ok(())
    }

    /// Number of rows of values.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True if there are no rows, which no file that was read has.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The names of the columns: those of the header, or `c1`, `c2`, ...
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The text of a cell, without blanks around it.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        let i = row * self.columns.len() + column;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.text[start..self.ends[i]]
    }

    /// The line of the file that a row starts on, as editors count.
    pub fn line(&self, row: usize) -> usize {
        self.lines[row]
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Result<usize, Error> {
        self.position(name).ok_or_else(|| {
            let known = self.columns.iter().map(String::as_str);
            let hint = nearest(name, known).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            self.bad(format!("has no column `{name}`{hint} (it has: {})", self.listed()))
        })
    }

    /// The place of a column, if there is such a one.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// The names of the columns for a message; the first of them where there are many.
    pub fn listed(&self) -> String {
        let shown = self.columns.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        match self.columns.len().saturating_sub(LISTED) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }

    /// True if `2,5` is a number in this file.
    pub(super) fn comma(&self) -> bool {
        self.comma
    }

    /// The number in a cell.
    pub(super) fn number(&self, row: usize, column: usize) -> Option<f64> {
        value::number(self.cell(row, column), self.comma)
    }

    /// True if a cell is empty or means "missing".
    pub(super) fn is_missing(&self, row: usize, column: usize) -> bool {
        value::is_missing(self.cell(row, column))
    }

    /// The error for blanks that part lines into different numbers of cells.
    fn ragged(&self, ragged: RaggedLine, skipped: usize) -> Error {
        let RaggedLine { line, words, usual } = ragged;
        let why = format!("line {} has {words} cells parted by blanks, others have {usual}", line + skipped);
        self.bad(format!("{why}; give each line as many, or put cells that hold blanks into quotes"))
    }

    /// An error about the file.
    pub(super) fn bad(&self, why: impl Into<String>) -> Error {
        Error::Data { file: self.file.clone(), why: why.into() }
    }

    /// An error about a cell, by line and column.
    pub(super) fn bad_cell(&self, row: usize, column: usize, why: &str) -> Error {
        let (line, name, cell) = (self.line(row), &self.columns[column], self.cell(row, column));
        let shown: String = cell.chars().take(40).collect();
        let dots = if shown.len() < cell.len() { "..." } else { "" };
        self.bad(format!("line {line}, column `{name}`: `{shown}{dots}` {why}"))
    }
}

/// The text after a number of lines.
fn after_lines(text: &str, lines: usize) -> &str {
    let mut rest = text;
    for _ in 0..lines {
        rest = rest.split_once('\n').map_or("", |(_, after)| after);
    }
    rest
}

/// The whole text of a file.
fn text_of(file: &str, source: impl Read) -> Result<String, Error> {
    let mut content = Content::open(file, source)?;
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        content.read(CHUNK, &mut bytes)?;
        if bytes.len() == before {
            break;
        }
        if bytes.len() as u64 > LIMIT {
            return Err(content.bad(format!("is larger than {} GB", LIMIT >> 30)));
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(content.bad("is text in UTF-16; save it as UTF-8"));
        }
        if bytes.starts_with(b"PAR1") {
            let advice = "write it as CSV, or read it in Python with standoff.read_table";
            return Err(content.bad(format!("is a Parquet file, not CSV: {advice}")));
        }
        if bytes.starts_with(b"PK\x03\x04") {
            return Err(content.bad("is a zip file or a spreadsheet, not CSV: unpack it, or save it as CSV"));
        }
        // What is no text is not read to its end.
        if bytes[before..].contains(&0) {
            return Err(content.bad("is not text: it has a zero byte"));
        }
    }
    String::from_utf8(bytes).map_err(|error| {
        let upto = error.utf8_error().valid_up_to();
        let line = Lines { text: error.as_bytes(), at: 0, line: 1 }.of(upto);
        content.bad(format!("line {line} is not text in UTF-8; save the file as UTF-8"))
    })
}

/// Counts lines as editors do, from one place to a later one.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of the first byte at or after `byte` that does not end a line.
    fn of(&mut self, byte: usize) -> usize {
        while let Some(b) = self.text.get(self.at) {
            let ends = *b == b'\n' || (*b == b'\r' && self.text.get(self.at + 1) != Some(&b'\n'));
            if self.at >= byte && !matches!(b, b'\n' | b'\r') {
                break;
            }
            self.line += usize::from(ends);
            self.at += 1;
        }
        self.line
    }
}

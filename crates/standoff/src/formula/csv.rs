//! Tables of numbers as text: fields separated by commas, semicolons, tabs or blanks, with an optional line of
//! headings.

use std::io::{BufRead, BufReader, Read};

use super::data::{Array, bounded, unreadable};
use super::lexer::is_not_zero;
use super::shape::Shape;

/// Reads a whole file line by line. As in NumPy's `loadtxt`, one row or one column is a vector and one number is a
/// scalar.
pub(super) fn read(file: &mut dyn Read) -> Result<Array, String> {
    let mut lines = Lines { file: BufReader::new(file), line: Vec::new(), begin: 0, number: 0 };
    let (mut table, mut delimiter, mut first) = (CsvTable::default(), None, true);
    while let Some((number, line)) = lines.next()? {
        if std::mem::take(&mut first) {
            delimiter = [';', ',', '\t'].into_iter().find(|d| line.contains(*d));
            if fields(line, delimiter).all(|f| f.parse::<f64>().is_err()) {
                continue;
            }
        }
        table.push(number, fields(line, delimiter))?;
    }
    bounded(table.rows, table.width)?;
    let shape = match (table.rows, table.width) {
        (1, 1) => Shape::Scalar,
        (1, n) | (n, 1) => Shape::Vector(n),
        (rows, cols) => Shape::Matrix(rows, cols),
    };
    Ok(Array::new(shape, table.values))
}

/// Rows of numbers with equal lengths.
#[derive(Default)]
struct CsvTable {
    values: Vec<f64>,
    rows: usize,
    width: usize,
}

impl CsvTable {
    /// Adds a row: line `number` of the file.
    fn push<'f>(&mut self, number: usize, fields: impl Iterator<Item = &'f str>) -> Result<(), String> {
        let before = self.values.len();
        for (i, field) in fields.enumerate() {
            let value = field.parse().map_err(|_| problem(number, i + 1, field))?;
            if value == 0.0 && is_not_zero(field) {
                return Err(format!("field {} of line {number} is too small: it would become 0", i + 1));
            }
            self.values.push(value);
        }
        let (got, width) = (self.values.len() - before, self.width);
        if self.rows > 0 && got != width {
            return Err(format!("line {number} has {got} fields, the lines before have {width}"));
        }
        self.width = got;
        self.rows += 1;
        bounded(self.rows, self.width).map(|_| ())
    }
}

/// Reads the lines that contain data, one at a time.
struct Lines<'f> {
    file: BufReader<&'f mut dyn Read>,
    line: Vec<u8>,
    /// Number of bytes before the line.
    begin: usize,
    number: usize,
}

impl Lines<'_> {
    /// The next line that is neither empty nor a comment, with its number.
    fn next(&mut self) -> Result<Option<(usize, &str)>, String> {
        loop {
            self.begin += self.line.len();
            self.line.clear();
            if self.file.read_until(b'\n', &mut self.line).map_err(|e| unreadable(&e))? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if let Err(e) = std::str::from_utf8(&self.line) {
                return Err(format!("it is not text (byte {})", self.begin + e.valid_up_to()));
            }
            if !stripped(&self.line, self.number).is_empty() {
                return Ok(Some((self.number, stripped(&self.line, self.number))));
            }
        }
    }
}

/// A line of text without surrounding blanks; `None` for a comment.
fn stripped(line: &[u8], number: usize) -> &str {
    let line = std::str::from_utf8(line).unwrap_or_default();
    let line = if number == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
    let line = line.trim();
    if line.starts_with('#') { "" } else { line }
}

/// The fields of a line, without surrounding blanks and quotes; without a delimiter, blanks separate.
fn fields(line: &str, delimiter: Option<char>) -> impl Iterator<Item = &str> {
    line.split(move |c: char| delimiter.map_or(c.is_whitespace(), |d| c == d))
        .map(|field| field.trim().trim_matches('"'))
        .filter(move |field| delimiter.is_some() || !field.is_empty())
}

fn problem(line: usize, field: usize, text: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    let fix = match text {
        "" => "give a number for every field",
        _ if text.contains(',') => "write decimals with a point",
        _ => "give a number",
    };
    format!("field {field} of line {line} is {shown:?}, not a number; {fix}")
}

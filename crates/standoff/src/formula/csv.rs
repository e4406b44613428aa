//! Tables of numbers as text: a comma, a semicolon, a tab or blanks between the fields, perhaps one line of headings.

use super::data::{Array, bounded};
use super::lexer::is_not_zero;
use super::shape::Shape;

/// Reads a whole file. As in NumPy's `loadtxt`, one row or one column is a vector and one number is a scalar.
pub(super) fn read(bytes: &[u8]) -> Result<Array, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| format!("it is not text (byte {})", e.valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .peekable();
    let delimiter = lines.peek().and_then(|(_, line)| [';', ',', '\t'].into_iter().find(|d| line.contains(*d)));
    if lines.peek().is_some_and(|(_, line)| fields(line, delimiter).all(|f| f.parse::<f64>().is_err())) {
        lines.next();
    }
    let (mut values, mut width, mut rows) = (Vec::new(), 0, 0);
    for (number, line) in lines {
        let before = values.len();
        for (i, field) in fields(line, delimiter).enumerate() {
            let value = field.parse().map_err(|_| problem(number, i + 1, field))?;
            if value == 0.0 && is_not_zero(field) {
                return Err(format!("field {} of line {number} is too small: it would become 0", i + 1));
            }
            values.push(value);
        }
        let got = values.len() - before;
        if rows > 0 && got != width {
            return Err(format!("line {number} has {got} fields, the lines before have {width}"));
        }
        width = got;
        rows += 1;
        bounded(rows, width)?;
    }
    bounded(rows, width)?;
    let shape = match (rows, width) {
        (1, 1) => Shape::Scalar,
        (1, n) | (n, 1) => Shape::Vector(n),
        (rows, cols) => Shape::Matrix(rows, cols),
    };
    Ok(Array { shape, values })
}

/// The fields of a line, without blanks and quotes around them; without a delimiter, blanks separate.
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

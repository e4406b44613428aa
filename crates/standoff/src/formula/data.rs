//! Numbers from the game file or from the files it names: scalars, vectors, matrices.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read};
use std::sync::Arc;

use toml::de::DeValue;

use super::graph::MOST_NUMBERS;
use super::place::short;
use super::reader::{Field, as_number};
use super::shape::Shape;
use super::{OpenedFile, csv, npy};
use crate::Error;
use crate::error::nearest;

/// An array of numbers, stored row by row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Array {
    pub(super) shape: Shape,
    pub(super) values: Arc<Vec<f64>>,
}

impl Array {
    pub(super) fn new(shape: Shape, values: Vec<f64>) -> Self {
        Self { shape, values: Arc::new(values) }
    }

    /// The numbers; copied only if an entry of `[data]` also uses them.
    pub(super) fn into_values(self) -> Vec<f64> {
        Arc::unwrap_or_clone(self.values)
    }

    /// The first entry of a kind, and its position.
    pub(super) fn first(&self, odd: impl Fn(f64) -> bool) -> Option<(String, f64)> {
        let at = self.values.iter().position(|v| odd(*v))?;
        let place = match self.shape {
            Shape::Scalar => "its only entry".into(),
            Shape::Vector(_) => format!("index {at}"),
            Shape::Matrix(_, cols) => format!("index [{}, {}]", at / cols, at % cols),
        };
        Some((place, self.values[at]))
    }
}

/// Opens a file named in the game.
pub(super) type Open<'l> = dyn FnMut(&str) -> OpenedFile + 'l;

/// Source of numbers: written in place, in a file, or an entry of `[data]`.
pub(super) struct Source<'l> {
    open: &'l mut Open<'l>,
    entries: BTreeMap<String, Array>,
    /// Entries used by a set or a start.
    used: BTreeSet<String>,
}

impl<'l> Source<'l> {
    pub(super) fn new(open: &'l mut Open<'l>) -> Self {
        Self { open, entries: BTreeMap::new(), used: BTreeSet::new() }
    }

    /// Reads an entry of `[data]`.
    pub(super) fn add(&mut self, name: &str, field: &Field<'_>) -> Result<(), Error> {
        let array = match field.value {
            DeValue::String(path) => self.file(field, path)?,
            _ => self.array(field)?,
        };
        self.entries.insert(name.to_owned(), array);
        Ok(())
    }

    /// The entries of `[data]`; for each, true if it was used so far.
    pub(super) fn into_entries(self) -> impl Iterator<Item = (String, Array, bool)> {
        let used = self.used;
        self.entries.into_iter().map(move |(name, array)| {
            let was_used = used.contains(&name);
            (name, array, was_used)
        })
    }

    /// Numbers written in place, `{ file = "..." }`, or a string that names an entry of `[data]` or a file.
    pub(super) fn array(&mut self, field: &Field<'_>) -> Result<Array, Error> {
        let array = match field.value {
            DeValue::String(name) => match self.entries.get(name.as_ref()) {
                Some(array) => {
                    self.used.insert(name.to_string());
                    array.clone()
                }
                None => self.file(field, name)?,
            },
            DeValue::Table(_) => {
                let table = field.table("numbers")?;
                table.only(&["file"])?;
                let file = table.require("file", "file = \"A.npy\"")?;
                self.file(&file, file.string()?)?
            }
            DeValue::Array(_) => list(field)?,
            value => match as_number(value) {
                Some(v) => Array::new(Shape::Scalar, vec![v]),
                None => return Err(field.mismatch("a number, a list, a list of rows or a file")),
            },
        };
        match array.first(f64::is_nan) {
            Some((place, _)) => Err(field.fault(format!("has NaN at {place}; give a number"))),
            None => Ok(array),
        }
    }

    fn file(&mut self, field: &Field<'_>, path: &str) -> Result<Array, Error> {
        let kind = path.rsplit_once('.').map_or(String::new(), |(_, end)| end.to_ascii_lowercase());
        let read: fn(&mut dyn Read) -> Result<Array, String> = match kind.as_str() {
            "npy" => npy::read,
            "csv" => csv::read,
            _ => {
                let hint = match nearest(path, self.entries.keys().map(String::as_str)) {
                    Some(close) => format!("; did you mean `{close}`?"),
                    None => String::new(),
                };
                let path = short(path);
                let problem =
                    format!("is {path:?}, neither an entry of [data] nor a file ending in .npy or .csv{hint}");
                return Err(field.fault(problem));
            }
        };
        let opened = (self.open)(path);
        let path = short(path);
        let mut opened = opened.map_err(|why| field.fault(format!("cannot be read from {path}: {why}")))?;
        let array = read(opened.as_mut()).map_err(|why| field.fault(format!("cannot use {path}: {why}")))?;
        match array.first(f64::is_nan) {
            Some((place, _)) => Err(field.fault(format!("has NaN at {place} of {path}; remove or fill it"))),
            None => Ok(array),
        }
    }
}

/// A list of numbers, or of rows of equal length.
fn list(field: &Field<'_>) -> Result<Array, Error> {
    let DeValue::Array(items) = field.value else { return Err(field.mismatch("a list")) };
    if items.is_empty() {
        return Err(field.fault("is an empty list; give at least one number"));
    }
    let rows = items.iter().any(|item| item.get_ref().is_array());
    let mut values = Vec::new();
    let mut width = None;
    for (i, item) in items.iter().enumerate() {
        let entry = || field.entry(i, item);
        if !rows {
            values.push(as_number(item.get_ref()).ok_or_else(|| entry().mismatch("a number"))?);
            continue;
        }
        let row = item.get_ref().as_array().ok_or_else(|| entry().mismatch("a row, like the others"))?;
        if *width.get_or_insert(row.len()) != row.len() || row.is_empty() {
            let want = width.unwrap_or(0).max(1);
            return Err(entry().fault(format!("has {} entries, a row needs {want}; make the rows equal", row.len())));
        }
        for (j, number) in row.iter().enumerate() {
            let wrong = || entry().entry(j, number).mismatch("a number");
            values.push(as_number(number.get_ref()).ok_or_else(wrong)?);
        }
    }
    let shape = width.map_or(Shape::Vector(items.len()), |cols| Shape::Matrix(items.len(), cols));
    Ok(Array::new(shape, values))
}

/// Reads until the buffer is full or the file ends; returns the number of bytes read.
pub(super) fn fill(file: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, String> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(unreadable(&e)),
        }
    }
    Ok(got)
}

/// A read error in the middle of a file.
pub(super) fn unreadable(error: &std::io::Error) -> String {
    format!("reading it failed: {error}")
}

/// Refuses an array that is too large.
pub(super) fn bounded(rows: usize, cols: usize) -> Result<usize, String> {
    match rows.checked_mul(cols) {
        Some(0) => Err("it is empty; give at least one number".into()),
        Some(n) if n <= MOST_NUMBERS => Ok(n),
        _ => Err(format!("it has {rows} x {cols} numbers; the most is {MOST_NUMBERS}")),
    }
}

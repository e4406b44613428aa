//! Typed access to a TOML document; errors have the line and the path of keys.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::lexer::is_not_zero;
use super::place::{Fault, short};
use crate::Error;
use crate::error::nearest;

/// A parsed document, or toml's own message with its position.
pub(super) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Error> {
    DeTable::parse(text).map_err(|e| {
        let at = e.span().map_or(0, |s| s.start);
        Error::Formula(Fault::new(at, e.message().replace('\n', ", ")).show("the game file is not valid TOML", text))
    })
}

/// One value, the keys that lead to it, and its document.
#[derive(Clone)]
pub(super) struct Field<'d> {
    text: &'d str,
    pub(super) path: String,
    at: usize,
    pub(super) value: &'d DeValue<'d>,
}

/// A table and the keys that lead to it.
pub(super) struct Table<'d> {
    text: &'d str,
    path: String,
    at: usize,
    entries: &'d DeTable<'d>,
}

impl<'d> Field<'d> {
    /// An error about this value. `problem` continues the sentence that begins with its name.
    pub(super) fn fault(&self, problem: impl std::fmt::Display) -> Error {
        Error::Formula(format!("{} {problem}", self.place()))
    }

    /// Its position: ``line 4: `min.w.dim` ``.
    pub(super) fn place(&self) -> String {
        format!("line {}: `{}`", line(self.text, self.at), short(&self.path))
    }

    /// The error for a value that is not `wanted`.
    pub(super) fn mismatch(&self, wanted: &str) -> Error {
        let got = match self.value {
            DeValue::String(s) => format!("the string {:?}", short(s)),
            DeValue::Integer(i) => format!("{i}"),
            DeValue::Float(f) => format!("{f}"),
            DeValue::Boolean(b) => format!("{b}"),
            DeValue::Datetime(_) => "a date".into(),
            DeValue::Array(_) => "a list".into(),
            DeValue::Table(_) => "a table".into(),
        };
        self.fault(format!("must be {wanted}, got {got}"))
    }

    pub(super) fn table(&self, wanted: &str) -> Result<Table<'d>, Error> {
        let DeValue::Table(entries) = self.value else { return Err(self.mismatch(wanted)) };
        Ok(Table { text: self.text, path: self.path.clone(), at: self.at, entries })
    }

    pub(super) fn string(&self) -> Result<&'d str, Error> {
        self.value.as_str().ok_or_else(|| self.mismatch("a string"))
    }

    /// A whole number from 1 up to `most`.
    pub(super) fn count(&self, most: usize) -> Result<usize, Error> {
        let DeValue::Integer(i) = self.value else { return Err(self.mismatch("a whole number")) };
        match usize::from_str_radix(i.as_str(), i.radix()) {
            Ok(n) if (1..=most).contains(&n) => Ok(n),
            _ => Err(self.mismatch(&format!("a whole number from 1 to {most}"))),
        }
    }

    /// A string, or a list of strings.
    pub(super) fn strings(&self) -> Result<Vec<&'d str>, Error> {
        let DeValue::Array(items) = self.value else { return Ok(vec![self.string()?]) };
        if items.is_empty() {
            return Err(self.fault("is an empty list; give at least one name"));
        }
        items.iter().enumerate().map(|(i, item)| self.entry(i, item).string()).collect()
    }

    pub(super) fn boolean(&self) -> Result<bool, Error> {
        self.value.as_bool().ok_or_else(|| self.mismatch("true or false"))
    }

    /// A finite number that is not negative.
    pub(super) fn size(&self) -> Result<f64, Error> {
        match as_number(self.value) {
            Some(v) if v >= 0.0 && v.is_finite() => Ok(v),
            _ => Err(self.mismatch("a finite number that is not negative")),
        }
    }

    /// An entry of this list.
    pub(super) fn entry(&self, i: usize, value: &'d Spanned<DeValue<'d>>) -> Self {
        Self { text: self.text, path: format!("{}[{i}]", self.path), at: value.span().start, value: value.get_ref() }
    }
}

impl<'d> Table<'d> {
    /// The whole document.
    pub(super) fn document(text: &'d str, parsed: &'d Spanned<DeTable<'d>>) -> Self {
        Self { text, path: String::new(), at: 0, entries: parsed.get_ref() }
    }

    /// Every entry, in the order of the file.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'d str, Field<'d>)> {
        self.entries.iter().map(|(key, value)| {
            let name: &'d str = key.get_ref();
            (name, self.field_at(name, key.span().start, value))
        })
    }

    pub(super) fn field(&self, name: &str) -> Option<Field<'d>> {
        self.entries.get_key_value(name).map(|(key, value)| self.field_at(key.get_ref(), key.span().start, value))
    }

    fn field_at(&self, name: &str, at: usize, value: &'d Spanned<DeValue<'d>>) -> Field<'d> {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Field { text: self.text, path, at, value: value.get_ref() }
    }

    /// Refuses unknown keys.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Error> {
        for (name, field) in self.fields() {
            if !known.contains(&name) {
                let hint = match nearest(name, known.iter().copied()) {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => format!("known here are {}", known.join(", ")),
                };
                return Err(field.fault(format!("is an unknown key; {hint}")));
            }
        }
        Ok(())
    }

    /// The entry of a name; an error if it is absent.
    pub(super) fn require(&self, name: &str, example: &str) -> Result<Field<'d>, Error> {
        self.field(name).ok_or_else(|| {
            let place = if self.path.is_empty() {
                "the game file".into()
            } else {
                format!("line {}: `{}`", line(self.text, self.at), short(&self.path))
            };
            Error::Formula(format!("{place} has no `{name}`; add one, such as {example}"))
        })
    }
}

/// The number that a value is, if it is one, including infinity and NaN; the caller decides about these.
pub(super) fn as_number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        // A number too large for f64 is not infinity (which has its own spelling), and one too small for f64 is not
        // zero.
        DeValue::Float(f) => f.as_str().parse().ok().filter(|v: &f64| {
            (!v.is_infinite() || f.as_str().contains("inf")) && (*v != 0.0 || !is_not_zero(f.as_str()))
        }),
        DeValue::Integer(i) if i.radix() == 10 => i.as_str().parse().ok(),
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok().map(|v| v as f64),
        _ => None,
    }
}

fn line(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count() + 1
}

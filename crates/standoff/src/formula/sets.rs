//! The set of a variable, from its description in the game file.

use toml::de::DeValue;

use super::data::Source;
use super::place::short;
use super::reader::{Field, Table};
use super::shape::Shape;
use crate::error::nearest;
use crate::sets::Matrix;
use crate::{Error, Set};

const NAMES: [&str; 8] = ["free", "simplex", "box", "ball", "l1", "halfspace", "affine", "polyhedron"];

/// Builder of a variable's set: the variable's name and length (`None` for a scalar), and the source of numbers.
pub(super) struct SetBuilder<'b, 'l> {
    pub(super) name: &'b str,
    pub(super) dim: Option<usize>,
    pub(super) source: &'b mut Source<'l>,
}

impl SetBuilder<'_, '_> {
    /// The set in a variable's table: `set`, or `lower` and `upper`, or the free set if neither is given.
    pub(super) fn set(&mut self, variable: &Table<'_>) -> Result<Set<f64>, Error> {
        let bounds = variable.field("lower").or_else(|| variable.field("upper"));
        match (variable.field("set"), bounds) {
            (Some(_), Some(bound)) => Err(bound.fault("cannot be combined with `set`; give only one of the two")),
            (Some(set), None) => self.described(&set),
            (None, Some(bound)) => self.boxed(variable, &bound),
            (None, None) => Ok(Set::free(self.len())),
        }
    }

    /// A vector of the variable's length; a single number is used for every entry.
    pub(super) fn vector(&mut self, field: &Field<'_>) -> Result<Vec<f64>, Error> {
        let array = self.source.array(field)?;
        match (array.shape, self.dim) {
            (Shape::Scalar, _) => Ok(vec![array.values[0]; self.len()]),
            (Shape::Vector(n), Some(dim)) if n == dim => Ok(array.into_values()),
            (shape, None) => {
                Err(field.fault(format!("is {shape}, but `{}` is a scalar; give a number, or `dim`", self.name)))
            }
            (shape, Some(dim)) => {
                Err(field.fault(format!("is {shape}, but `{}` has {dim} entries; give {dim} numbers", self.name)))
            }
        }
    }

    fn len(&self) -> usize {
        self.dim.unwrap_or(1)
    }

    fn described(&mut self, set: &Field<'_>) -> Result<Set<f64>, Error> {
        match set.value {
            DeValue::String(name) => match name.as_ref() {
                "free" => Ok(Set::free(self.len())),
                "simplex" => self.simplex(set, 1.0),
                "box" => Err(set.fault("needs bounds: write { box = { lower = 0, upper = 1 } }")),
                "ball" | "l1" => Err(set.fault(format!("needs a radius: write {{ {name} = {{ radius = 1 }} }}"))),
                "halfspace" => Err(set.fault("needs numbers: write { halfspace = { a = [1, 1], b = 1 } }")),
                "affine" | "polyhedron" => {
                    Err(set.fault(format!("needs numbers: write {{ {name} = {{ A = [[1, 1]], b = [1] }} }}")))
                }
                other => Err(unknown(set, other)),
            },
            DeValue::Table(_) => {
                let table = set.table("a set")?;
                let mut entries = table.fields();
                match (entries.next(), entries.next()) {
                    (Some((name, of)), None) => self.parametrised(name, &of),
                    (Some(_), Some((second, _))) => {
                        Err(set.fault(format!("names two sets; remove `{second}`, or use a polyhedron")))
                    }
                    _ => Err(set.fault("is empty; write \"free\" or { ball = { radius = 1 } }")),
                }
            }
            _ => Err(set.mismatch("a set, such as \"simplex\" or { ball = { radius = 1 } }")),
        }
    }

    fn parametrised(&mut self, name: &str, of: &Field<'_>) -> Result<Set<f64>, Error> {
        let table = |keys: &[&str]| {
            let table = of.table(&format!("a table of {}", keys.join(", ")))?;
            table.only(keys)?;
            Ok::<_, Error>(table)
        };
        match name {
            "free" => table(&[]).map(|_| Set::free(self.len())),
            "simplex" => {
                let scale = table(&["scale"])?.field("scale").map(|s| self.number(&s)).transpose()?;
                self.simplex(of, scale.unwrap_or(1.0))
            }
            "box" => {
                let bounds = table(&["lower", "upper"])?;
                self.boxed(&bounds, of)
            }
            "ball" => {
                let table = table(&["center", "centre", "radius"])?;
                let radius = self.number(&table.require("radius", "radius = 1")?)?;
                let centre = match (table.field("center"), table.field("centre")) {
                    (Some(_), Some(again)) => {
                        return Err(again.fault("cannot be combined with `center`; give only one"));
                    }
                    (Some(centre), None) | (None, Some(centre)) => self.vector(&centre)?,
                    (None, None) => vec![0.0; self.len()],
                };
                placed(Set::ball(centre, radius), of)
            }
            "l1" => {
                let radius = self.number(&table(&["radius"])?.require("radius", "radius = 1")?)?;
                placed(Set::l1_ball(self.len(), radius), of)
            }
            "halfspace" => {
                let table = table(&["a", "b"])?;
                let a = self.vector(&table.require("a", "a = [1, 1]")?)?;
                let b = self.number(&table.require("b", "b = 1")?)?;
                placed(Set::halfspace(a, b), of)
            }
            "affine" | "polyhedron" => {
                let (a, b) = self.system(&table(&["A", "b"])?)?;
                placed(if name == "affine" { Set::affine(a, &b) } else { Set::polyhedron(a, &b) }, of)
            }
            other => Err(unknown(of, other)),
        }
    }

    fn simplex(&self, place: &Field<'_>, scale: f64) -> Result<Set<f64>, Error> {
        match self.dim {
            Some(dim) => placed(Set::simplex(dim, scale), place),
            None => Err(place.fault(format!(
                "is a simplex, but `{}` is a scalar; give `dim`, or use lower = 0, upper = 1",
                self.name
            ))),
        }
    }

    /// `lower` and `upper` of a table; a missing bound is infinite.
    fn boxed(&mut self, table: &Table<'_>, place: &Field<'_>) -> Result<Set<f64>, Error> {
        let mut side = |name: &str, otherwise: f64| match table.field(name) {
            Some(field) => self.vector(&field),
            None => Ok(vec![otherwise; self.len()]),
        };
        let (lower, upper) = (side("lower", f64::NEG_INFINITY)?, side("upper", f64::INFINITY)?);
        placed(Set::boxed(lower, upper), place)
    }

    fn number(&mut self, field: &Field<'_>) -> Result<f64, Error> {
        let array = self.source.array(field)?;
        match array.shape {
            Shape::Scalar => Ok(array.values[0]),
            shape => Err(field.fault(format!("must be a number, got {shape}"))),
        }
    }

    /// `A` with one column per entry of the variable, and `b` with one entry per row.
    fn system(&mut self, table: &Table<'_>) -> Result<(Matrix, Vec<f64>), Error> {
        let field = table.require("A", "A = [[1, 1]]")?;
        let array = self.source.array(&field)?;
        let (rows, cols) = match array.shape {
            Shape::Scalar => (1, 1),
            Shape::Vector(n) if self.len() == 1 => (n, 1),
            Shape::Vector(n) => (1, n),
            Shape::Matrix(rows, cols) => (rows, cols),
        };
        if cols != self.len() {
            let problem =
                format!("has {cols} columns, but `{}` has {} entries; give one column each", self.name, self.len());
            return Err(field.fault(problem));
        }
        let a = placed(Matrix::new(rows, cols, array.into_values()), &field)?;
        let field = table.require("b", "b = [1]")?;
        let b = self.source.array(&field)?;
        match b.shape {
            Shape::Scalar => Ok((a, vec![b.values[0]; rows])),
            Shape::Vector(n) if n == rows => Ok((a, b.into_values())),
            shape => Err(field.fault(format!("is {shape}, but A has {rows} rows; give one number per row"))),
        }
    }
}

fn unknown(place: &Field<'_>, name: &str) -> Error {
    let (close, name) = (nearest(name, NAMES), short(name));
    match close {
        Some(close) => place.fault(format!("names an unknown set `{name}`; did you mean `{close}`?")),
        None => place.fault(format!("names an unknown set `{name}`; known are {}", NAMES.join(", "))),
    }
}

/// A set's own error, with the variable's name.
fn placed<T>(made: Result<T, Error>, place: &Field<'_>) -> Result<T, Error> {
    made.map_err(|e| match e {
        Error::Set { set, problem } => Error::Set { set, problem: format!("{problem} ({})", place.place()) },
        other => other,
    })
}

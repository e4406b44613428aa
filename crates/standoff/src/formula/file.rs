//! A whole game file: its tables in order, to a game.

use std::collections::HashMap;
use std::sync::Arc;

use super::data::{Open, Source};
use super::enclose::{self, Program};
use super::graph::{Graph, Id, Kind, MOST_NUMBERS, Reach};
use super::lexer::starts_name;
use super::parser::{self, MOST_CHARACTERS};
use super::place::{Fault, short};
use super::reader::{self, Field, Table};
use super::scope::Scope;
use super::sets::Builder;
use super::shape::Shape;
use super::tape::{self, Tape};
use super::{FormulaGame, Player, Variable, functions};
use crate::constants::CONSTANTS;
use crate::{Constants, Error, Set};

const KEYS: [&str; 8] = ["objective", "min", "max", "data", "define", "constants", "name", "description"];

/// Reads a game file.
pub(super) fn read<'l>(text: &str, open: &'l mut Open<'l>) -> Result<FormulaGame, Error> {
    let parsed = reader::parse(text)?;
    let document = Table::document(text, &parsed);
    document.only(&KEYS)?;
    let strings = ["name", "description"].map(|key| document.field(key).map(|f| f.string().map(str::to_owned)));
    let [name, description] = strings.map(Option::transpose);
    let objective = document.require("objective", "objective = \"x*y - y^2\"")?;
    check_names(&document)?;

    let mut source = Source::new(open);
    for (entry, field) in section(&document, "data")? {
        source.add(entry, &field)?;
    }
    let (mut graph, mut scope) = (Graph::default(), Scope::default());
    let x = player(&document, Reach::X, &mut source, (&mut graph, &mut scope))?;
    let y = player(&document, Reach::Y, &mut source, (&mut graph, &mut scope))?;
    let mut optional = Vec::new();
    for (entry, array, used) in source.into_entries() {
        scope.data(&entry, array, used);
        optional.push((entry, "data"));
    }
    for (entry, field) in section(&document, "define")? {
        let id = expression(&field, &mut graph, &mut scope)?;
        scope.define(entry, id);
        optional.push((entry.to_owned(), "define"));
    }
    let root = scalar(&objective, &mut graph, &mut scope)?;
    let idle = optional.iter().filter(|(entry, _)| scope.idle(entry));
    let idle: Vec<String> = idle.map(|(entry, table)| format!("`{entry}` of [{table}] is not used")).collect();

    let needed = tape::needed(&graph, root);
    let warnings = warnings(&graph, &needed, &[&x, &y]).into_iter().chain(idle).collect();
    let affine_in_y = graph.affine_in_y(root);
    let exactly = enclose::needed(&graph, root);
    graph.release(|i| needed[i] || exactly[i]);
    let tape = Tape::compile(&mut graph, root, &needed);
    Ok(FormulaGame {
        name: name?,
        description: description?,
        objective: objective.string()?.to_owned(),
        constants: constants(&document)?,
        affine_in_y,
        program: Arc::new(Program::new(&graph, root, tape.constants())),
        tape,
        warnings,
        x,
        y,
    })
}

/// The entries of a table that may be absent.
fn section<'d>(document: &Table<'d>, name: &str) -> Result<Vec<(&'d str, Field<'d>)>, Error> {
    match document.field(name) {
        Some(field) => Ok(field.table(&format!("a table: write [{name}] above its entries"))?.fields().collect()),
        None => Ok(Vec::new()),
    }
}

/// Every name means one thing, and none is taken by the language.
fn check_names(document: &Table<'_>) -> Result<(), Error> {
    let mut taken: HashMap<&str, String> = HashMap::new();
    for table in ["min", "max", "data", "define"] {
        for (name, field) in section(document, table)? {
            let mut letters = name.chars();
            let spelled =
                letters.next().is_some_and(starts_name) && letters.all(|c| starts_name(c) || c.is_ascii_digit());
            if !spelled {
                return Err(field.fault("is not a name for expressions; use letters, digits and _, a letter first"));
            }
            if functions::find(name).is_some() || functions::constant(name).is_some() {
                return Err(field.fault("has a reserved name, which expressions already know; rename it"));
            }
            if let Some(other) = taken.insert(name, short(&field.path)) {
                return Err(field.fault(format!("has the same name as `{other}`; rename one of them")));
            }
        }
    }
    Ok(())
}

/// The variables of a player, and the product of their sets.
fn player(
    document: &Table<'_>,
    side: Reach,
    source: &mut Source<'_>,
    (graph, scope): (&mut Graph, &mut Scope),
) -> Result<Player, Error> {
    let table = if side == Reach::X { "min" } else { "max" };
    let entries = section(document, table)?;
    if entries.is_empty() {
        return Err(Error::Formula(format!("the game has no variable under [{table}]; add one, such as [{table}.z]")));
    }
    let (mut variables, mut sets, mut start) = (Vec::new(), Vec::new(), Vec::new());
    for (name, field) in entries {
        let of = field.table("a table, such as { dim = 3, set = \"simplex\" }")?;
        of.only(&["dim", "set", "lower", "upper", "start"])?;
        let dim = of.field("dim").map(|dim| dim.count(MOST_NUMBERS)).transpose()?;
        let id = graph.variable(side, dim.map_or(Shape::Scalar, Shape::Vector)).map_err(|m| field.fault(m))?;
        scope.define(name, id);
        let mut builder = Builder { name, dim, source };
        let set = builder.set(&of)?;
        let begin = start.len();
        match of.field("start") {
            Some(given) => {
                start.extend(builder.vector(&given)?);
                if let Some(v) = start[begin..].iter().find(|v| !v.is_finite()) {
                    return Err(given.fault(format!("has {v}; a start is finite")));
                }
            }
            None => start.extend(set.centre()),
        }
        variables.push(Variable { name: name.to_owned(), dim, range: begin..start.len() });
        sets.push(set);
    }
    let single = if sets.len() == 1 { sets.pop() } else { None };
    let set = match single {
        Some(set) => set,
        None => Set::product(sets)?,
    };
    Ok(Player { set: Arc::new(set), start, variables })
}

fn expression(field: &Field<'_>, graph: &mut Graph, scope: &mut Scope) -> Result<Id, Error> {
    let text = field.string()?;
    let length = text.chars().count();
    if length > MOST_CHARACTERS {
        return Err(
            field.fault(format!("has {length} characters, the most is {MOST_CHARACTERS}; move numbers to [data]"))
        );
    }
    parser::parse(text, graph, scope).map_err(|fault| Error::Formula(fault.show(&field.path, text)))
}

/// The objective itself.
fn scalar(field: &Field<'_>, graph: &mut Graph, scope: &mut Scope) -> Result<Id, Error> {
    let id = expression(field, graph, scope)?;
    match graph.shape(id) {
        Shape::Scalar => Ok(id),
        shape => {
            let fault = Fault::new(0, format!("the result is {shape}, but must be a number; write sum(...) around it"));
            Err(Error::Formula(fault.show(&field.path, field.string()?)))
        }
    }
}

/// What the user should know: kinks, and variables without effect.
fn warnings(graph: &Graph, needed: &[bool], players: &[&Player]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (node, _) in graph.nodes.iter().zip(needed).filter(|(_, needed)| **needed) {
        let Kind::Apply(op, _) = node.kind else { continue };
        if let Some((name, place)) = op.kink() {
            let message =
                format!("`{name}` has no derivative {place}; there the certificate uses its one-sided slopes");
            if !all.contains(&message) {
                all.push(message);
            }
        }
    }
    // The variables are the first nodes, in the players' order.
    let variables = players.iter().flat_map(|p| &p.variables);
    all.extend(
        variables
            .zip(needed)
            .filter(|(_, n)| !**n)
            .map(|(v, _)| format!("the objective does not depend on `{}`", v.name)),
    );
    all
}

fn constants(document: &Table<'_>) -> Result<Option<Constants>, Error> {
    let Some(field) = document.field("constants") else { return Ok(None) };
    let table = field.table("a table of L11, L12, L22, ...")?;
    table.only(&CONSTANTS.iter().map(|c| c.name).collect::<Vec<_>>())?;
    let mut constants = Constants::default();
    for info in CONSTANTS {
        if info.required {
            table.require(info.name, &format!("{} = 1.0", info.name))?;
        }
        if let Some(value) = table.field(info.name) {
            constants.set(info.name, value.size()?)?;
        }
    }
    Ok(Some(constants))
}

//! Reads a whole game file, table by table, and builds the game.

use std::collections::HashMap;
use std::sync::Arc;

use super::batch::{self, Batch, BatchRule};
use super::data::{Array, Open, Source};
use super::enclose::{self, Program};
use super::graph::{Graph, Id, Kind, MOST_NUMBERS, Reach};
use super::lexer::starts_name;
use super::parser::{self, MOST_CHARACTERS};
use super::place::{Fault, short};
use super::reader::{self, Field, Table};
use super::scope::Scope;
use super::sets::SetBuilder;
use super::shape::Shape;
use super::tape::{self, Tape};
use super::{FormulaGame, Player, Variable, functions};
use crate::constants::CONSTANTS;
use crate::{Constants, Error, Set};

const KEYS: [&str; 9] = ["objective", "min", "max", "data", "define", "constants", "batch", "name", "description"];

/// Reads a game file.
pub(super) fn read<'l>(text: &str, open: &'l mut Open<'l>) -> Result<FormulaGame, Error> {
    let parsed = reader::parse(text)?;
    let document = Table::document(text, &parsed);
    document.only(&KEYS)?;
    let words = |key| document.field(key).map(|f| f.string().map(str::to_owned)).transpose();
    let objective = document.require("objective", "objective = \"x*y - y^2\"")?;
    check_names(&document)?;

    let mut source = Source::new(open);
    for (entry, field) in section(&document, "data")? {
        source.add(entry, &field)?;
    }
    let (mut graph, mut scope) = (Graph::default(), Scope::default());
    let x = player(&document, Reach::X, &mut source, (&mut graph, &mut scope))?;
    let y = player(&document, Reach::Y, &mut source, (&mut graph, &mut scope))?;
    let entries: Vec<_> = source.into_entries().collect();
    let mut optional: Vec<_> = entries.iter().map(|(entry, ..)| (entry.clone(), "data")).collect();
    let kept = entries.iter().filter(|_| document.field("batch").is_some());
    let batched: Vec<_> = kept.map(|(entry, array, _)| (entry.clone(), array.clone())).collect();
    entries.into_iter().for_each(|(entry, array, used)| scope.data(&entry, array, used));
    for (entry, field) in section(&document, "define")? {
        let id = expression(&field, &mut graph, &mut scope)?;
        scope.define(entry, id);
        optional.push((entry.to_owned(), "define"));
    }
    let root = scalar(&objective, &mut graph, &mut scope)?;
    let needed = tape::needed(&graph, root);
    let idle = optional.iter().filter(|(entry, _)| scope.idle(entry));
    let idle = idle.map(|(entry, table)| format!("`{entry}` of [{table}] is not used"));
    let warnings = warnings(&graph, &needed, &[&x, &y]).into_iter().chain(idle).collect();
    let (affine_in_x, affine_in_y) = (graph.affine_in_x(root), graph.affine_in_y(root));
    let exactly = enclose::needed(&graph, root);
    graph.release(|i| needed[i] || exactly[i]);
    let tape = Tape::compile(&mut graph, root, &needed);
    Ok(FormulaGame {
        batch: batch(&document, &batched, [&x, &y])?,
        name: words("name")?,
        description: words("description")?,
        objective: objective.string()?.to_owned(),
        constants: constants(&document)?,
        affine_in_x,
        affine_in_y,
        program: Arc::new(Program::new(&graph, root, tape.constants())),
        tape,
        warnings,
        x,
        y,
    })
}

/// The entries of an optional table.
fn section<'d>(document: &Table<'d>, name: &str) -> Result<Vec<(&'d str, Field<'d>)>, Error> {
    match document.field(name) {
        Some(field) => Ok(field.table(&format!("a table: write [{name}] above its entries"))?.fields().collect()),
        None => Ok(Vec::new()),
    }
}

/// Checks that every name is unique and not reserved by the language.
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
        let mut builder = SetBuilder { name, dim, source };
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

/// The objective, which must be a scalar.
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

/// The table `[batch]`: the arrays whose rows are drawn, the batch size and the seed.
fn batch(document: &Table<'_>, arrays: &[(String, Array)], players: [&Player; 2]) -> Result<Option<Batch>, Error> {
    let Some(field) = document.field("batch") else { return Ok(None) };
    let table = field.table("a table, such as { over = [\"A\", \"b\"], size = 64 }")?;
    table.only(&["over", "size", "seed", "both"])?;
    let over = table.require("over", "over = [\"A\", \"b\"]")?;
    let names = over.strings()?;
    let mut rows = None;
    for name in &names {
        let Some((_, array)) = arrays.iter().find(|(known, _)| known == name) else {
            return Err(over.fault(format!("names `{}`, which is not an entry of [data]", short(name))));
        };
        let count = batch::rows_of(array.shape);
        if count == 0 || *rows.get_or_insert(count) != count {
            let want = rows.map_or(String::new(), |rows| format!(", `{}` has {rows}", names[0]));
            return Err(
                over.fault(format!("names `{name}`, which has {count} rows{want}; give arrays with the same rows"))
            );
        }
    }
    let rows = rows.unwrap_or(1);
    let size = table.require("size", "size = 64")?.count(rows)?;
    let seed = match table.field("seed") {
        None => 0,
        Some(seed) => match seed.size()? {
            v if v.fract() == 0.0 && v <= 9_007_199_254_740_992.0 => v as u64,
            _ => return Err(seed.mismatch("a whole number from 0 to 2^53")),
        },
    };
    let both = table.field("both").map(|both| both.boolean()).transpose()?.unwrap_or(false);
    let (graph, root, data) = objective_on_rows(document, arrays, players, (&names, rows))?;
    batch::check(&graph, root, &data).map_err(|why| field.fault(why))?;
    let (mut graph, root, _) = objective_on_rows(document, arrays, players, (&names, size))
        .map_err(|error| field.fault(format!("does not fit an objective on {size} rows: {error}")))?;
    let needed = tape::needed(&graph, root);
    let tape = Tape::compile(&mut graph, root, &needed);
    let find = |name: &&str| arrays.iter().find(|(known, _)| known == *name).map(|(_, array)| array.clone());
    let drawn: Vec<Array> = names.iter().filter_map(find).collect();
    let rule = BatchRule { size, seed, both };
    Ok(Some(Batch::new(rule, tape, players[0].start.len(), drawn)))
}

/// Compiles the objective again, with some rows of the arrays `names` as additional entries of x; also returns their
/// positions.
fn objective_on_rows(
    document: &Table<'_>,
    arrays: &[(String, Array)],
    [x, y]: [&Player; 2],
    (names, rows): (&[&str], usize),
) -> Result<(Graph, Id, Vec<Id>), Error> {
    let (mut graph, mut scope, mut data) = (Graph::default(), Scope::default(), Vec::new());
    let too_large = |why: String| Error::Formula(format!("[batch]: {why}"));
    let shape = |v: &Variable| v.dim.map_or(Shape::Scalar, Shape::Vector);
    for v in &x.variables {
        let id = graph.variable(Reach::X, shape(v)).map_err(too_large)?;
        scope.define(&v.name, id);
    }
    for name in names {
        let found = arrays.iter().find(|(known, _)| known == name);
        let Some(shape) = found.and_then(|(_, array)| batch::with_rows(array.shape, rows)) else { continue };
        let id = graph.variable(Reach::X, shape).map_err(too_large)?;
        scope.define(name, id);
        data.push(id);
    }
    for v in &y.variables {
        let id = graph.variable(Reach::Y, shape(v)).map_err(too_large)?;
        scope.define(&v.name, id);
    }
    for (name, array) in arrays.iter().filter(|(name, _)| !names.contains(&name.as_str())) {
        scope.data(name, array.clone(), false);
    }
    for (entry, field) in section(document, "define")? {
        let id = expression(&field, &mut graph, &mut scope)?;
        scope.define(entry, id);
    }
    let root = scalar(&document.require("objective", "objective = \"x*y - y^2\"")?, &mut graph, &mut scope)?;
    Ok((graph, root, data))
}

/// Notes for the user: kinks, and variables without effect.
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

//! Checks the imports of the sources against the order of modules in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Known exceptions: imports against the order, as (from, to).
const EXCEPTIONS: [(&str, &str); 0] = [];

/// Known exceptions: imports between files of a folder that are part of a cycle, as (folder, from, to).
const FOLDER_EXCEPTIONS: [(&str, &str, &str); 5] = [
    ("formula", "csv", "data"),
    ("formula", "npy", "data"),
    ("formula", "op", "forward"),
    ("formula", "product", "forward"),
    ("methods", "continuation", "paper"),
];

/// A source file: its module path (`["gap", "path"]` for `gap/path.rs`) and its code without comments and unit tests.
struct Source {
    module: Vec<String>,
    code: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All sources except `lib.rs`.
fn sources(folder: &Path, module: &[String], out: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut inside = module.to_vec();
        if name != "mod" {
            inside.push(name.clone());
        }
        if path.is_dir() {
            sources(&path, &inside, out);
        } else if path.extension().is_some_and(|e| e == "rs") && name != "lib" {
            out.push(Source { module: inside, code: code(&read(&path)) });
        }
    }
}

/// The text without comments and without the unit tests at the end of the file.
fn code(text: &str) -> String {
    let own = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    own.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// All paths of a use tree, or of an expression, that begins here: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn tree(text: &str) -> (Vec<Vec<String>>, &str) {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut all = Vec::new();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if let Some(after) = rest.strip_prefix('}') {
                return (all, after);
            }
            let (some, after) = tree(rest);
            if after.len() == rest.len() {
                return (all, after);
            }
            all.extend(some);
            rest = after;
        }
    }
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    if end == 0 {
        return (vec![vec![]], text);
    }
    let (name, after) = (text[..end].to_owned(), &text[end..]);
    let Some(after) = after.strip_prefix("::") else { return (vec![vec![name]], after) };
    let (paths, after) = tree(after);
    (paths.into_iter().map(|path| std::iter::once(name.clone()).chain(path).collect()).collect(), after)
}

/// The paths that a source imports by `crate::` or `super::`, from the root of the crate.
fn imports(source: &Source) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in source.code.match_indices(start) {
            let before = &source.code[..at];
            if before.ends_with("super::") || before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            for mut path in tree(&source.code[at..]).0 {
                let ups = path.iter().take_while(|name| *name == "super").count();
                let from = if ups == 0 { &[] } else { &source.module[..source.module.len().saturating_sub(ups)] };
                path.drain(..ups.max(1));
                all.push(from.iter().cloned().chain(path).collect());
            }
        }
    }
    all
}

/// The modules of `lib.rs`, and the names it re-exports at the root with their modules.
fn roots() -> (BTreeSet<String>, BTreeMap<String, String>) {
    let lib = code(&read(&root().join("lib.rs")));
    let (mut modules, mut offered) = (BTreeSet::new(), BTreeMap::new());
    for line in lib.split(['\n', ';']).map(str::trim) {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        if let Some(name) = line.strip_prefix("mod ") {
            modules.insert(name.to_owned());
        } else if let Some(paths) = line.strip_prefix("use ") {
            for path in tree(paths).0 {
                offered.insert(path.last().expect("a name").clone(), path[0].clone());
            }
        }
    }
    (modules, offered)
}

/// The list of ARCHITECTURE.md, in order.
fn order() -> Vec<String> {
    let page = read(&root().join("../../../ARCHITECTURE.md"));
    let list = page.split("```layers\n").nth(1).expect("ARCHITECTURE.md has a block `layers`");
    list.split("```").next().expect("the block ends").split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_list_names_every_module_once() {
    let listed = order();
    let unique: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(unique.len(), listed.len(), "a module is listed twice");
    assert_eq!(unique, roots().0);
}

#[test]
fn modules_import_only_from_the_left() {
    let (modules, offered) = roots();
    let place: BTreeMap<String, usize> = order().into_iter().enumerate().map(|(i, name)| (name, i)).collect();
    let mut all = Vec::new();
    sources(&root(), &[], &mut all);
    let (mut wrong, mut unused) = (Vec::new(), EXCEPTIONS.to_vec());
    for source in &all {
        let from = &source.module[0];
        for path in imports(source) {
            let Some(name) = path.first() else { continue };
            let to = if modules.contains(name) { name } else { offered.get(name).unwrap_or(from) };
            if to == from || place[to] < place[from] {
                continue;
            }
            if EXCEPTIONS.contains(&(from, to)) {
                unused.retain(|pair| *pair != (from.as_str(), to.as_str()));
            } else {
                wrong.push(format!("{} imports {}", source.module.join("::"), path.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "against the order of ARCHITECTURE.md:\n{}", wrong.join("\n"));
    assert!(unused.is_empty(), "exceptions that are no longer needed: {unused:?}");
}

#[test]
fn files_of_a_folder_do_not_import_each_other_in_a_cycle() {
    let mut all = Vec::new();
    sources(&root(), &[], &mut all);
    // For each folder: which file (or subfolder) imports which.
    let mut folders: BTreeMap<Vec<String>, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for source in &all {
        for depth in 1..source.module.len() {
            let (folder, from) = (&source.module[..depth], &source.module[depth]);
            let arrows = folders.entry(folder.to_vec()).or_default().entry(from.clone()).or_default();
            for path in imports(source) {
                if path.len() > depth && path[..depth] == *folder && path[depth] != *from {
                    arrows.insert(path[depth].clone());
                }
            }
        }
    }
    for (folder, mut arrows) in folders {
        let files: BTreeSet<String> = arrows.keys().cloned().collect();
        let name = folder.join("/");
        for (from, to) in &mut arrows {
            to.retain(|to| {
                files.contains(to) && !FOLDER_EXCEPTIONS.contains(&(name.as_str(), from.as_str(), to.as_str()))
            });
        }
        // Remove files that import no remaining file until none is left.
        while let Some(free) = arrows.iter().find(|(_, to)| to.is_empty()).map(|(name, _)| name.clone()) {
            arrows.remove(&free);
            arrows.values_mut().for_each(|to| to.retain(|name| *name != free));
        }
        assert!(arrows.is_empty(), "an import cycle in {name}: {arrows:?}");
    }
}

#[test]
fn a_use_tree_is_read_to_its_leaves() {
    let module = vec!["gap".to_owned(), "path".to_owned()];
    let code =
        "use super::{sums::{self, Sums}, part::Part};\nuse crate::{Real, ops};\nfn f() { crate::plan::go(1) }".into();
    let mut found: Vec<String> = imports(&Source { module, code }).into_iter().map(|p| p.join("::")).collect();
    found.sort();
    assert_eq!(found, ["Real", "gap::part::Part", "gap::sums::Sums", "gap::sums::self", "ops", "plan::go"]);
}

//! Who runs: methods by name, games from the zoo or from files, families by seeds.

use std::path::Path;
use std::sync::Mutex;

use anyhow::{Result, anyhow, bail};
use standoff::Choice;
use standoff::error::nearest;
use standoff::methods::{METHODS, MethodInfo};
use standoff::race::Course;
use standoff::zoo::{self, Instance};

use crate::source;

/// Stands for everything there is.
const ALL: &str = "all";

/// The methods of these names, in the order of the table of methods.
pub(crate) fn methods(names: &[String]) -> Result<Vec<&'static MethodInfo>> {
    for name in names.iter().filter(|n| *n != ALL) {
        Choice::named(name).info()?;
    }
    let asked = |m: &&MethodInfo| names.iter().any(|n| n == ALL || n == m.name);
    Ok(METHODS.iter().filter(asked).collect())
}

/// Games of the zoo by name, and game files by path.
pub(crate) fn games(names: &[String]) -> Result<Vec<Course>> {
    let mut courses: Vec<Course> = Vec::new();
    for name in names {
        let found = match name.strip_prefix("zoo:").unwrap_or(name) {
            ALL => zoo::all().iter().map(Course::from).collect(),
            plain => vec![match zoo::find(plain) {
                Some(entry) => Course::from(entry),
                None if Path::new(name).extension().is_some() => file(name)?,
                None => return Err(unknown("game", plain, zoo::all().iter().map(|e| e.name), "standoff zoo")),
            }],
        };
        for course in found {
            if courses.iter().all(|c| c.name != course.name) {
                courses.push(course);
            }
        }
    }
    Ok(courses)
}

/// A game file, read once.
fn file(name: &str) -> Result<Course> {
    let game = Mutex::new(source::formula(Path::new(name))?);
    Ok(Course::new(name, name, move || {
        // A poisoned lock still holds a whole game: nothing writes to it.
        let game = game.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let (start, constants) = (game.start(), game.constants());
        Ok(Instance { game: Box::new(game), start, constants, answers: Vec::new() })
    }))
}

/// Families by `NAME:SEEDS`, where the seeds are `7` or `1-5`; `all:1-3` takes every family.
pub(crate) fn families(specs: &[String]) -> Result<Vec<Course>> {
    let mut courses = Vec::new();
    for spec in specs {
        let (name, seeds) = spec.split_once(':').unwrap_or((spec, "1-3"));
        let (first, last) = range(seeds).ok_or_else(|| {
            anyhow!("`{seeds}` in `{spec}` is not a range of seeds: write {name}:7, or {name}:1-5 (at most 1000)")
        })?;
        let asked: Vec<_> = zoo::families().iter().filter(|f| name == ALL || f.name == name).collect();
        if asked.is_empty() {
            let names = zoo::families().iter().map(|f| f.name);
            return Err(unknown("family", name, names, "standoff race --list"));
        }
        for family in asked {
            courses.extend(
                (first..=last).map(|seed| {
                    Course::new(format!("{}:{seed}", family.name), family.name, move || (family.make)(seed))
                }),
            );
        }
    }
    Ok(courses)
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last - first < 1000).then_some((first, last))
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>, list: &str) -> anyhow::Error {
    let hint = nearest(name, known).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    anyhow!("no {what} `{name}`{hint} (`{list}` lists them)")
}

/// Accuracies, largest first and each once.
pub(crate) fn accuracies(given: &[f64]) -> Result<Vec<f64>> {
    let mut eps = given.to_vec();
    eps.sort_by(|a, b| b.total_cmp(a));
    eps.dedup();
    if eps.is_empty() {
        bail!("no accuracy given: write --eps 1e-1,1e-2");
    }
    Ok(eps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_number_or_a_range() {
        assert_eq!(range("7"), Some((7, 7)));
        assert_eq!(range("1-5"), Some((1, 5)));
        for bad in ["", "5-1", "a", "1-", "-3", "0-1000"] {
            assert_eq!(range(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_are_found_once_and_in_order() {
        let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let found: Vec<String> =
            games(&names(&["trap", "zoo:kink", "trap"])).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(found, ["trap", "kink"]);
        assert_eq!(games(&names(&["all"])).unwrap().len(), zoo::all().len());
        assert!(games(&names(&["knik"])).unwrap_err().to_string().contains("did you mean `kink`"));
        let found: Vec<&str> = methods(&names(&["multistep", "auto"])).unwrap().iter().map(|m| m.name).collect();
        assert_eq!(found, ["auto", "multistep"]);
        assert!(methods(&names(&["autp"])).is_err());
        assert_eq!(families(&names(&["flat:2-4"])).unwrap().len(), 3);
        assert!(families(&names(&["flt:1"])).unwrap_err().to_string().contains("did you mean `flat`"));
    }

    #[test]
    fn accuracies_run_from_coarse_to_fine() {
        assert_eq!(accuracies(&[1e-3, 1e-1, 1e-3]).unwrap(), [1e-1, 1e-3]);
        assert!(accuracies(&[]).is_err());
    }
}

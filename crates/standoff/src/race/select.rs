//! Selection of methods by name, games by name or file, and families by seeds.

use super::{BenchmarkGame, Entrant};
use crate::error::nearest;
use crate::methods::{METHODS, MethodInfo};
use crate::{Error, zoo};

/// The name that selects everything.
const ALL: &str = "all";

/// The methods with these names, in the order of the table of methods.
pub fn methods(names: &[String]) -> Result<Vec<Entrant>, Error> {
    for name in names.iter().filter(|n| *n != ALL) {
        MethodInfo::find(name)?;
    }
    let asked = |m: &&MethodInfo| names.iter().any(|n| n == ALL || n == m.name);
    Ok(METHODS.iter().filter(asked).map(Entrant::from).collect())
}

/// Games of the zoo by name, without duplicates; `other` resolves names that are not in the zoo, such as files.
pub fn games<E: From<Error>>(
    names: &[String],
    other: impl Fn(&str) -> Result<Option<BenchmarkGame>, E>,
) -> Result<Vec<BenchmarkGame>, E> {
    let mut benchmarks: Vec<BenchmarkGame> = Vec::new();
    for name in names {
        let found = match name.strip_prefix("zoo:").unwrap_or(name) {
            ALL => zoo::all().iter().map(BenchmarkGame::from).collect(),
            plain => vec![match zoo::find(plain) {
                Some(entry) => BenchmarkGame::from(entry),
                None => other(name)?.ok_or_else(|| unknown("game", plain, zoo::all().iter().map(|e| e.name)))?,
            }],
        };
        for benchmark in found {
            if benchmarks.iter().all(|c| c.name != benchmark.name) {
                benchmarks.push(benchmark);
            }
        }
    }
    Ok(benchmarks)
}

/// Families by `NAME:SEEDS`, where the seeds are `7` or `1-5`; `all:1-3` selects every family.
pub fn families(specs: &[String]) -> Result<Vec<BenchmarkGame>, Error> {
    let mut benchmarks = Vec::new();
    for spec in specs {
        let (name, seeds) = spec.split_once(':').unwrap_or((spec, "1-3"));
        let (first, last) = range(seeds).ok_or_else(|| {
            let want = format!("write {name}:7, or {name}:1-5 (at most 1000)");
            Error::Race(format!("`{seeds}` in `{spec}` is not a range of seeds: {want}"))
        })?;
        let asked: Vec<_> = zoo::families().iter().filter(|f| name == ALL || f.name == name).collect();
        if asked.is_empty() {
            let names = zoo::families().iter().map(|f| f.name);
            return Err(unknown("family", name, names));
        }
        for family in asked {
            benchmarks.extend((first..=last).map(|seed| {
                BenchmarkGame::new(format!("{}:{seed}", family.name), family.name, move || (family.make)(seed))
            }));
        }
    }
    Ok(benchmarks)
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last - first < 1000).then_some((first, last))
}

pub(super) fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str> + Clone) -> Error {
    let list = known.clone().collect::<Vec<_>>().join(", ");
    let hint = nearest(name, known).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    Error::Race(format!("no {what} `{name}`{hint} (there are {list})"))
}

/// Sorts accuracies in decreasing order and removes duplicates.
pub fn accuracies(given: &[f64]) -> Result<Vec<f64>, Error> {
    let mut eps = given.to_vec();
    eps.sort_by(|a, b| b.total_cmp(a));
    eps.dedup();
    if eps.is_empty() {
        return Err(Error::Race("no accuracy is given; give at least one, such as 1e-2".into()));
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
        let games = |list: &[&str]| games(&names(list), |_| Ok::<_, Error>(None));
        let found: Vec<String> = games(&["trap", "zoo:kink", "trap"]).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(found, ["trap", "kink"]);
        assert_eq!(games(&["all"]).unwrap().len(), zoo::all().len());
        assert!(games(&["knik"]).unwrap_err().to_string().contains("did you mean `kink`"));
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

//! The tables and figures of the paper, and the experiments behind each.

use anyhow::{Result, bail};
use standoff::error::nearest;

use standoff_nn::fair::FairMethod;
use standoff_present::paper::{MADRY_035, PAPER_040, PaperNetwork, TRADES_035, TRADES_040};
use standoff_train::experiments::{self, ExperimentFile};

/// A table or a figure.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) recipe: Recipe,
}

/// The experiments behind a table or figure.
#[derive(Debug)]
pub(crate) enum Recipe {
    /// Runs of `standoff fair`.
    Fair {
        /// The experiment, which is also the folder.
        experiment: ExperimentFile,
        /// These methods from the first seed alone, as a figure; none for the table of all.
        figure: &'static [FairMethod],
    },
    /// Trainings of `standoff robust`, then attacks.
    Robust {
        /// A network of the table each.
        rows: &'static [Row],
    },
}

/// A row of Table 3.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) source: ExperimentFile,
    /// Its row in the table.
    pub(crate) paper: PaperNetwork,
}

const fn table(name: &'static str, about: &'static str, experiment: ExperimentFile) -> Item {
    Item { name, about, recipe: Recipe::Fair { experiment, figure: &[] } }
}

/// Everything, in the order of the paper.
pub(crate) const ITEMS: [Item; 7] = [
    table("table1", "fair classification by gradient descent", experiments::FAIR_GD),
    table("table2", "fair classification by Adam", experiments::FAIR_ADAM),
    Item { name: "table3", about: "robust networks under FGSM and PGD", recipe: Recipe::Robust { rows: &ROWS } },
    table("table4", "fair classification by SGD, batches of 3,000", experiments::FAIR_SGD_3000),
    table("table5", "fair classification by SGD, batches of 600", experiments::FAIR_SGD_600),
    table("table6", "fair logistic regression", experiments::FAIR_LOGISTIC),
    Item {
        name: "figure1",
        about: "the training loss with and without the regulariser",
        recipe: Recipe::Fair { experiment: experiments::FAIR_GD, figure: &[FairMethod::Minmax, FairMethod::MinmaxReg] },
    },
];

/// Table 3, row by row.
const ROWS: [Row; 4] = [
    Row { source: experiments::ROBUST_MADRY_035, paper: MADRY_035 },
    Row { source: experiments::ROBUST_TRADES_035, paper: TRADES_035 },
    Row { source: experiments::ROBUST_TRADES_040, paper: TRADES_040 },
    Row { source: experiments::ROBUST_PAPER, paper: PAPER_040 },
];

/// The items of these names, each once; everything without a name or for `all`.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Item>> {
    if names.is_empty() || names.iter().any(|name| name == "all") {
        return Ok(ITEMS.iter().collect());
    }
    let mut found: Vec<&'static Item> = Vec::new();
    for name in names {
        // `Table 2` as well as `table2`.
        let plain = name.to_lowercase().replace([' ', '-', '_'], "");
        let Some(item) = ITEMS.iter().find(|item| item.name == plain) else {
            let all = ITEMS.iter().map(|item| item.name).chain(["all"]);
            let hint = nearest(&plain, all.clone()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            bail!("there is no `{name}` to reproduce{hint} (there are: {})", all.collect::<Vec<_>>().join(", "));
        };
        if !found.iter().any(|other| other.name == item.name) {
            found.push(item);
        }
    }
    Ok(found)
}

/// The folder of an attack on a row's network.
pub(crate) fn attacked(network: &str, protocol: &str) -> String {
    format!("{network}-attacked-{protocol}")
}

/// Every folder that a command may leave, in the order of the paper.
pub(crate) fn folders() -> impl Iterator<Item = String> {
    let of = |item: &'static Item| match &item.recipe {
        Recipe::Fair { figure, .. } if !figure.is_empty() => Vec::new(),
        Recipe::Fair { experiment, .. } => vec![experiment.name.to_owned()],
        Recipe::Robust { rows } => rows
            .iter()
            .map(|row| row.source.name)
            .flat_map(|name| [name.to_owned(), attacked(name, "paper"), attacked(name, "standard")])
            .collect(),
    };
    ITEMS.iter().flat_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use standoff_train::training::Description as _;
    use standoff_train::{fair, robust};

    #[test]
    fn every_item_is_an_experiment_that_can_be_run_and_says_which_table_it_is() {
        for item in &ITEMS {
            match &item.recipe {
                Recipe::Fair { experiment, figure } => {
                    let config =
                        fair::config::FairConfig::parse(experiment.text, experiment.name).expect("an experiment");
                    config.check().expect("it can be run");
                    assert!(figure.iter().all(|method| config.methods.contains(method)));
                    let table = item.name.replace("table", "Table ");
                    assert!(!figure.is_empty() || config.title.starts_with(&format!("{table} of the paper")));
                }
                Recipe::Robust { rows } => {
                    for row in *rows {
                        let config =
                            robust::config::RobustConfig::parse(row.source.text, row.source.name).expect("one");
                        config.check().expect("it can be run");
                        assert!(config.title.starts_with("Table 3 of the paper"), "{}", config.title);
                        assert!(row.paper.label.ends_with(&format!("eps {:.2}", config.eps)), "{}", row.paper.label);
                    }
                }
            }
        }
        assert_eq!(folders().count(), 5 + 3 * 4);
    }

    #[test]
    fn names_are_found_however_they_are_written_and_unknown_ones_have_a_neighbour() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let of = |list: &[&str]| chosen(&names(list)).map(|items| items.iter().map(|i| i.name).collect::<Vec<_>>());
        assert_eq!(of(&["Table 2", "table2", "figure-1"]).expect("known"), ["table2", "figure1"]);
        assert_eq!((of(&[]).expect("all").len(), of(&["all"]).expect("all").len()), (7, 7));
        let error = of(&["tabel2"]).expect_err("unknown").to_string();
        assert!(error.contains("did you mean `table2`?") && error.contains("figure1, all"), "{error}");
    }
}

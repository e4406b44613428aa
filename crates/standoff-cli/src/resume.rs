//! Flags beside `--resume`: a resumed run keeps its settings, so a flag that changes one is refused by name.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// The groups of flags that describe an experiment.
const GROUPS: [&str; 2] = ["training", "experiment"];

/// The refusal of the first flag that describes an experiment beside `--resume`.
pub(crate) fn refusal(definition: &Command, matches: &ArgMatches) -> Option<String> {
    let (name, given) = matches.subcommand()?;
    let command = definition.find_subcommand(name)?;
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let has_resume = command.get_arguments().any(|arg| arg.get_id() == "resume");
    if !has_resume || !is_given("resume") {
        return None;
    }
    let groups = command.get_groups().filter(|group| GROUPS.contains(&group.get_id().as_str()));
    let ids = groups.flat_map(clap::ArgGroup::get_args).find(|id| is_given(id.as_str()))?;
    let flag = command.get_arguments().find(|arg| arg.get_id() == ids)?;
    let flag = flag.get_long().unwrap_or(ids.as_str());
    Some(format!(
        "'--resume <DIR>' cannot be used with '--{flag}': a resumed run keeps the settings that it was begun with; \
         leave out '--{flag}', or begin a new run without '--resume'"
    ))
}

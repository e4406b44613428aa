//! Renamed flags: the old name works for one version, with a warning that gives the new one.
//!
//! To rename a flag, rename it in its command and add a line to [`RENAMED`]. Help and completions show the new name only. Fields of
//! JSON documents are renamed with `standoff_train::document::keep_old_name`, keys of experiment files with `#[serde(alias)]`.

use std::ffi::OsString;

/// The version that no longer knows the old names.
const REMOVED_IN: &str = "0.3";

/// A flag of one command that has a new name. Both names are written without the two dashes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenamedFlag {
    pub(crate) command: &'static str,
    pub(crate) old: &'static str,
    pub(crate) new: &'static str,
}

/// Flags renamed in version 0.2.
pub(crate) const RENAMED: &[RenamedFlag] = &[];

/// Arguments with new names in place of old ones, and a warning for each old name.
#[derive(Debug, PartialEq)]
pub(crate) struct RenamedArguments {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) warnings: Vec<String>,
}

/// Replaces the old names of flags (`--old`, `--old=VALUE`), up to the argument `--`.
pub(crate) fn rename(arguments: &[OsString], table: &[RenamedFlag]) -> RenamedArguments {
    let mut renamed = RenamedArguments { arguments: arguments.to_vec(), warnings: Vec::new() };
    let is_flag = |argument: &OsString| argument.to_string_lossy().starts_with('-');
    let Some(command) = arguments.iter().skip(1).find(|argument| !is_flag(argument)) else { return renamed };
    let of_command: Vec<&RenamedFlag> = table.iter().filter(|flag| command == flag.command).collect();
    for argument in renamed.arguments.iter_mut().skip(1).take_while(|argument| *argument != "--") {
        let Some(text) = argument.to_str().and_then(|text| text.strip_prefix("--")) else { continue };
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let Some(flag) = of_command.iter().find(|flag| flag.old == name) else { continue };
        let warning = format!("`--{}` is now `--{}`; the old name goes in version {REMOVED_IN}", flag.old, flag.new);
        if !renamed.warnings.contains(&warning) {
            renamed.warnings.push(warning);
        }
        *argument = value.map_or_else(|| format!("--{}", flag.new), |value| format!("--{}={value}", flag.new)).into();
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[RenamedFlag] = &[RenamedFlag { command: "solve", old: "tolerance", new: "eps" }];

    fn renamed(line: &str) -> (String, usize) {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let all = rename(&arguments, TABLE);
        let text: Vec<String> = all.arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect();
        (text.join(" "), all.warnings.len())
    }

    #[test]
    fn an_old_name_becomes_the_new_one_with_one_warning() {
        assert_eq!(renamed("standoff solve g --tolerance 1"), ("standoff solve g --eps 1".to_owned(), 1));
        assert_eq!(renamed("standoff -q solve --tolerance=1 g"), ("standoff -q solve --eps=1 g".to_owned(), 1));
        assert_eq!(renamed("standoff solve --tolerance 1 --tolerance 2").1, 1);
        let all = rename(&["standoff", "solve", "--tolerance"].map(OsString::from), TABLE);
        assert_eq!(all.warnings, ["`--tolerance` is now `--eps`; the old name goes in version 0.3"]);
    }

    #[test]
    fn other_arguments_are_unchanged() {
        for line in [
            "standoff",
            "standoff --tolerance",
            "standoff verify g --tolerance 1",
            "standoff solve g --tolerances 1 tolerance",
            "standoff solve -- --tolerance",
        ] {
            assert_eq!(renamed(line), (line.to_owned(), 0));
        }
    }

    #[test]
    fn every_new_name_is_a_flag_of_its_command_and_no_old_one_is() {
        let definition = crate::Cli::definition();
        for flag in RENAMED {
            let command = definition.find_subcommand(flag.command).expect("a command");
            let known = |name: &str| {
                let nested = command.get_subcommands().flat_map(|c| c.get_arguments());
                command.get_arguments().chain(nested).any(|argument| argument.get_long() == Some(name))
            };
            assert!(known(flag.new) && !known(flag.old), "{flag:?}");
        }
    }
}

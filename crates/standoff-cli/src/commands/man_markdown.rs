//! `standoff man --markdown`: every command with its flags and defaults, the page docs/reference/commands.md.

use std::fmt::Write as _;

use clap::{Arg, Command};

const OPENING: &str = "\
# Commands and flags

Look up every command of `standoff`, its flags and their defaults. `standoff COMMAND --help` prints the same text.

<!-- Made by `standoff man --markdown`; .ci/site compares it with the command. -->
";

/// The page of all commands.
pub(super) fn page(whole: &Command) -> String {
    let mut text = OPENING.to_owned();
    for command in visible(whole) {
        describe(&mut text, command, "standoff");
    }
    text
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set())
}

fn describe(text: &mut String, command: &Command, path: &str) {
    let path = format!("{path} {}", command.get_name());
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    let _ = write!(text, "\n## `{path}`\n\n{}\n", plain(&about));
    let (positional, flags): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(|arg| shown(arg)).partition(|arg| arg.is_positional());
    if !positional.is_empty() || !flags.is_empty() {
        text.push_str("\n| argument | default | meaning |\n|---|---|---|\n");
    }
    for arg in positional.into_iter().chain(flags) {
        let _ = writeln!(text, "| {} | {} | {} |", name(arg), default(arg), meaning(arg));
    }
    if let Some(more) = command.get_after_help() {
        let _ = write!(text, "\n```text\n{}\n```\n", more.to_string().trim_end());
    }
    for inner in visible(command) {
        describe(text, inner, &path);
    }
}

/// Hidden arguments, `--help` and `--version` are left out.
fn shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

fn name(arg: &Arg) -> String {
    let values = arg.get_num_args().is_none_or(|n| n.takes_values()).then(|| arg.get_value_names()).flatten();
    let values = values.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    let flag = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, None) => return cell(&values.unwrap_or_else(|| arg.get_id().to_string())),
    };
    let takes = arg.get_action().takes_values();
    cell(&values.filter(|_| takes).map_or(flag.clone(), |values| format!("{flag} {values}")))
}

fn default(arg: &Arg) -> String {
    let given: Vec<String> = arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    if given.is_empty() || !arg.get_action().takes_values() { String::new() } else { cell(&given.join(" ")) }
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_help().or_else(|| arg.get_long_help()).map(ToString::to_string).unwrap_or_default();
    let choices = arg.get_possible_values();
    let names: Vec<String> = choices.iter().filter(|v| !v.is_hide_set()).map(|v| cell(v.get_name())).collect();
    let help = plain(&help.replace('\n', " ")).replace('|', "\\|");
    if names.is_empty() || !arg.get_action().takes_values() { help } else { format!("{help} ({})", names.join(", ")) }
}

/// Code in a cell of a table.
fn cell(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// Text of the help, which is not Markdown: angle brackets would be tags, stars emphasis.
fn plain(text: &str) -> String {
    text.replace('<', "&lt;").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_has_its_value_default_and_choices() {
        let flag =
            Arg::new("kind").long("kind").value_name("A|B").value_parser(["a", "b"]).default_value("a").help("x < y");
        let page = page(&Command::new("s").subcommand(Command::new("run").about("Runs").arg(flag)));
        assert!(page.contains("\n## `standoff run`\n\nRuns\n"), "{page}");
        assert!(page.contains("| `--kind A\\|B` | `a` | x &lt; y (`a`, `b`) |"), "{page}");
    }
}

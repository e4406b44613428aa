//! The defaults of `fair` and `robust` in their help, read from the experiments that run without flags.

use clap::Command;
use standoff_train::fair::config::FairConfig;
use standoff_train::robust::config::RobustConfig;
use standoff_train::training::Description as _;

/// The command line with a default behind every flag that has one.
pub(crate) fn shown_in(command: Command) -> Command {
    let fair = FairConfig::quick().and_then(|config| config.to_toml());
    let table = FairConfig::table().to_toml();
    let robust = RobustConfig::quick().and_then(|config| config.to_toml());
    let parsed = |text: Option<String>| text.and_then(|text| text.parse::<toml::Table>().ok()).unwrap_or_default();
    let (fair, table, robust) = (parsed(fair.ok()), parsed(table.ok()), parsed(robust.ok()));
    command.mut_subcommands(|command| match command.get_name() {
        "fair" => with_negative_numbers(described(command, &fair, Some(&table))),
        "robust" => with_negative_numbers(described(command, &robust, None)),
        _ => with_negative_numbers(command),
    })
}

/// `--eps -1` is a number out of range, and not an unknown flag.
fn with_negative_numbers(command: Command) -> Command {
    command
        .mut_args(|arg| if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(with_negative_numbers)
}

/// Tables have defaults of their own where they differ.
fn described(command: Command, defaults: &toml::Table, table: Option<&toml::Table>) -> Command {
    command.mut_args(|arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let name = arg.get_id().as_str();
        let default = value(name, defaults);
        let of_table = table.and_then(|table| value(name, table)).filter(|own| default.as_ref() != Some(own));
        let also = of_table.map(|own| format!("; for a table {own}")).unwrap_or_default();
        match default.filter(|_| !help.contains("[default") && arg.get_default_values().is_empty()) {
            Some(text) => arg.help(format!("{help} [default: {text}{also}]")),
            None => arg,
        }
    })
}

/// The default of a flag as one would type it.
fn value(flag: &str, defaults: &toml::Table) -> Option<String> {
    // A schedule is a list of stages: steps (`fair`) or epochs (`robust`), and the learning rate.
    let stages = || defaults.get("schedule").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let length = || {
        let of = |stage: &toml::Value| stage.get(0).and_then(|n| n.as_float().or(n.as_integer().map(|n| n as f64)));
        stages().iter().filter_map(of).sum::<f64>().to_string()
    };
    match flag {
        "lr" => Some(stages().iter().filter_map(|stage| stage.get(1)).map(plain).collect::<Vec<_>>().join(",")),
        "iterations" => Some(length()),
        "epochs" => (!defaults.contains_key("seeds")).then(length),
        "measure_every" | "outputs" => None,
        "method" => defaults.get("methods").or_else(|| defaults.get("method")).map(plain),
        key => defaults.get(key).map(plain).filter(|text| !text.is_empty()),
    }
}

/// Without quotes and brackets.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::Cli;

    #[test]
    fn the_help_of_trainings_shows_the_defaults_of_their_experiments() {
        let mut command = Cli::definition();
        let help = |command: &mut clap::Command, name: &str| {
            command
                .find_subcommand_mut(name)
                .expect("a command")
                .render_help()
                .to_string()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let fair = help(&mut command, "fair");
        for text in [
            "[default: fair-cnn; for a table logistic]",
            "[default: normal,minmax,minmax-reg; for a table normal,reweight,minmax,minmax-reg]",
            "[default: 0.001,0.0002; for a table 0.03,0.003]",
            "[default: 1600; for a table 800]",
            "[default: 3]",
            "[default: 600; for a table 0]",
        ] {
            assert!(fair.contains(text), "no {text} in {fair}");
        }
        let robust = help(&mut command, "robust");
        for text in ["[default: paper]", "[default: 0.4]", "[default: lenet]", "[default: 3]"] {
            assert!(robust.contains(text), "no {text} in {robust}");
        }
    }
}

//! The README's commands run, and the examples are solved and verified.
#![cfg_attr(not(unix), allow(dead_code, unused_imports))] // the tests that use it need a Unix shell

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[cfg(unix)]
use crate::docs::shortened;
use crate::scratch::{Run, STANDOFF, Scratch};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_example_is_solved_and_verified() {
    let mut games: Vec<PathBuf> = fs::read_dir(root().join("examples"))
        .expect("the examples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    games.sort();
    assert!(games.len() >= 5, "{games:?}");
    let scratch = Scratch::new();
    for game in games {
        let game = game.to_str().expect("a path in UTF-8");
        let result = scratch.run(&["solve", game, "--eps", "1e-5", "--json"]).exits(0);
        assert!(result.stderr.is_empty(), "{result:#?}");
        scratch.feed(&["verify", game, "--point", "-", "--eps", "1e-5"], &result.stdout).exits(0);
    }
}

#[test]
fn the_readme_is_short() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    assert!(readme.lines().count() <= 150, "{} lines", readme.lines().count());
}

#[cfg(unix)]
#[test]
fn the_commands_of_the_readme_run() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let scratch = Scratch::new();
    for folder in ["examples", "models"] {
        std::os::unix::fs::symlink(root().join(folder), scratch.path(folder)).expect("a link");
    }
    let folder = Path::new(STANDOFF).parent().expect("a folder").display().to_string();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let lines: Vec<String> = readme.lines().filter_map(command_of).collect();
    assert!(lines.len() >= 4, "{lines:?}");
    for line in lines.iter().map(|line| shortened(line)) {
        let mut shell = Command::new("sh");
        shell.current_dir(scratch.path("")).env("PATH", &path).env("STANDOFF_DATA", root().join("data"));
        shell.args(["-c", &line]);
        Run::of(shell.output().expect("a shell")).exits(0);
    }
}

/// The command on a line, if it has one: `$ standoff ...`, `standoff ...`, or `cargo run --release -- ...`.
fn command_of(line: &str) -> Option<String> {
    if let Some(arguments) = line.strip_prefix("cargo run --release -- ") {
        return Some(format!("standoff {arguments}"));
    }
    let line = line.strip_prefix("$ ").unwrap_or(line);
    line.starts_with("standoff ").then(|| line.to_owned())
}

#[test]
fn the_links_of_the_readme_lead_somewhere() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let links: Vec<&str> = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() > 5, "{links:?}");
    for link in links.into_iter().filter(|link| !link.starts_with("https://")) {
        let (page, heading) = link.split_once('#').unwrap_or((link, ""));
        assert!(root().join(page).exists(), "{link}");
        if !heading.is_empty() {
            let text = fs::read_to_string(root().join(page)).expect("a page").to_lowercase().replace(' ', "-");
            assert!(text.lines().any(|line| line.trim_start_matches('#') == format!("-{heading}")), "{link}");
        }
    }
}

#[test]
fn the_test_command_of_the_readme_is_the_one_that_the_check_script_runs() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let script = fs::read_to_string(root().join(".ci/run")).expect("the check script");
    let command =
        script.lines().find_map(|line| line.strip_prefix("test_command='")?.strip_suffix('\'')).expect("a line");
    assert!(readme.lines().any(|line| line == command), "`{command}` is not a line of the README");
}

/// The processor time of a command, whatever else the machine does. `times` prints that of the children in its second line.
#[cfg(unix)]
fn processor_seconds(scratch: &Scratch, arguments: &[&str]) -> f64 {
    let mut shell = Command::new("sh");
    shell.current_dir(scratch.path("")).args(["-c", "\"$@\" > /dev/null && times", "sh", STANDOFF]).args(arguments);
    let printed = Run::of(shell.output().expect("a shell")).exits(0).stdout;
    let seconds = |time: &str| -> Option<f64> {
        let (minutes, rest) = time.split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + rest.trim_end_matches('s').replace(',', ".").parse::<f64>().ok()?)
    };
    let times = printed.lines().nth(1).expect("the times of the children").split_whitespace();
    times.map(|time| seconds(time).expect("a time")).sum()
}

/// The README's table: its command, its lines, and what it claims.
#[test]
fn training_for_the_worst_group_of_adult_gains_fifteen_points_at_least() {
    let scratch = Scratch::new();
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let (_, shown) = readme.split_once("$ standoff fair --data adult").expect("the example");
    let (command, shown) = shown.split_once('\n').expect("its output");
    let (shown, _) = shown.split_once("```").expect("the end of the example");
    let adult = root().join("data/adult/adult.csv.gz");
    let fair = ["fair", "--data", adult.to_str().expect("a path in UTF-8")].into_iter();
    let fair: Vec<&str> = fair.chain(command.split_whitespace()).collect();
    let printed = scratch.run(&fair).exits(0).stdout;
    #[cfg(unix)]
    assert!(processor_seconds(&scratch, &fair) < 20.0);
    // The bits do not depend on the machine, so neither do the lines.
    assert_eq!(printed.trim_end(), shown.trim_end());
    // The balanced model is beside the others, one column for each.
    let heads = ["normal", "reweight", "minmax", "minmax-reg"];
    assert!(printed.lines().any(|line| line.split_whitespace().eq(heads)), "{printed}");
    let row = |name: &str| -> Vec<f64> {
        let line = printed.lines().find(|line| line.starts_with(name)).expect("a row");
        line.split_whitespace().skip(1).filter_map(|number| number.parse().ok()).collect()
    };
    let (worst, average) = (row("worst "), row("average "));
    assert!(worst[2] > worst[0] + 15.0 && average[2] > average[0] - 6.0, "{printed}");
    // The sentence claims nothing within the 95 percent interval.
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("raises the worst group from") && words.contains("one seed, 95 percent interval"),
        "{printed}"
    );
    let (_, gain) = words.split_once("(+").expect("the gain");
    let (gain, half) = gain.split_once(')').and_then(|(gain, _)| gain.split_once(" \u{b1} ")).expect("its interval");
    let number = |text: &str| -> f64 { text.parse().expect("a number") };
    assert!(number(gain) - number(half) > 15.0, "{printed}");
}

//! Progress: bars on a terminal, none elsewhere.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::scratch::{STANDOFF, Scratch};

const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");

/// The output of a line of the shell on a terminal. Its input stays open: at the end of its own input `script` sends a character.
fn on_terminal(scratch: &Scratch, line: &str) -> std::io::Result<Output> {
    let mut command = Command::new("script");
    command.args(["-qec", line, "/dev/null"]).current_dir(scratch.path("."));
    command.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("COLUMNS");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let input = child.stdin.take();
    let output = child.wait_with_output();
    drop(input);
    output
}

/// The output of the command on a terminal; `None` if this machine has no `script`, or no terminal for it.
fn seen(scratch: &Scratch, args: &str) -> Option<String> {
    let works = on_terminal(scratch, "test -t 1 && test -t 2 && stty cols 100");
    if !works.is_ok_and(|output| output.status.success()) {
        let _ = std::io::stderr().write_all(b"notice: no `script` or no terminals here, so bars were not looked at\n");
        return None;
    }
    let output = on_terminal(scratch, &format!("stty cols 100; '{STANDOFF}' {args}")).expect("`script` was found");
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn on_a_terminal_there_are_bars_for_all_runs_and_for_each_with_its_figures() {
    let scratch = Scratch::new();
    let args = format!(
        "fair --data {PEOPLE} --label pay --group sex --seeds 1 --iterations 30000 --measure-every 250 --threads 2 --out run"
    );
    let Some(text) = seen(&scratch, &args) else { return };
    for part in ["\u{2500}", "/4 runs", "steps/s", " left", "-seed-1  epoch ", "loss 0.", "worst group "] {
        assert!(text.contains(part), "no {part:?} in {text:.4000}");
    }
    // At the end they are erased line by line, and the table is there.
    let (bars, end) = text.rsplit_once("steps/s").expect("bars");
    let (erased, end) = end.split_once("raises the worst group").or(end.split_once("no method")).expect("the answer");
    assert!(bars.contains("\x1b[2K") && erased.contains("\x1b[2K"), "{bars:.1000?} then {erased:?}");
    assert!(!end.contains('\u{2500}') && end.contains("minmax-reg"), "{end}");
    // Quiet is quiet, and JSON is alone on standard output.
    let quiet = seen(&scratch, &format!("{} -q --json", args.replace("--out run", "--out quiet"))).expect("as before");
    assert!(quiet.starts_with('{') && !quiet.contains("steps/s") && !quiet.contains("note:"), "{quiet:.300}");
}

#[test]
fn elsewhere_there_are_no_bars() {
    let scratch = Scratch::new();
    let args = ["fair", "--data", PEOPLE, "--label", "pay", "--group", "sex", "--seeds", "1", "--iterations", "9000"];
    let run = scratch.run(&args).exits(0);
    assert!(!run.stderr.contains('\x1b') && !run.stderr.contains('\r') && !run.stderr.contains('\u{2500}'), "{run:#?}");
}

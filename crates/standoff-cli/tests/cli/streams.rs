//! Stdout and stderr, colours, closed pipes, full disks; completions and manual pages.

use std::io::Read;
use std::process::Stdio;

use crate::scratch::{KINK, LONG, Run, Scratch};

#[test]
fn help_goes_to_stdout_and_a_missing_command_to_stderr() {
    let scratch = Scratch::new();
    let help = scratch.run(&["--help"]).exits(0);
    assert!(help.stdout.contains("Exit codes") && help.stderr.is_empty(), "{help:#?}");
    let nothing = scratch.run(&[]).exits(2);
    assert!(nothing.stdout.is_empty() && nothing.stderr.contains("Usage"), "{nothing:#?}");
    assert!(scratch.run(&["--version"]).exits(0).stdout.starts_with("standoff "));
}

#[test]
fn a_negative_value_is_a_number_out_of_range_and_no_unknown_flag() {
    let scratch = Scratch::new();
    scratch.run(&["solve", "zoo:kink", "--eps", "-1"]).refuses(&["-1", "--eps", "greater than 0"]);
    scratch.run(&["solve", "zoo:kink", "--max-grads", "-5"]).refuses(&["-5", "--max-grads", "whole number"]);
}

#[test]
fn a_missing_file_of_the_tutorials_is_answered_with_the_command_that_writes_it() {
    let scratch = Scratch::new();
    scratch.run(&["solve", "examples/kink.toml"]).refuses(&["no file", "`standoff examples`"]);
    scratch.run(&["fair", "--data", "examples/people.csv", "--label", "pay"]).refuses(&["`standoff examples`"]);
    scratch.write("people.csv", b"a,b\n1,2\n");
    scratch.run(&["fair", "--data", "peple.csv", "--label", "a"]).refuses(&["did you mean `people.csv`?"]);
}

#[test]
fn a_mistyped_command_or_option_gets_a_suggestion() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    scratch.run(&["slove", "game.toml"]).refuses(&["solve"]);
    scratch.run(&["solve", "game.toml", "--metod", "auto"]).refuses(&["--method"]);
    scratch.run(&["man", "sove"]).refuses(&["did you mean `solve`?"]);
}

#[test]
fn every_command_has_a_help_with_examples_and_a_manual_page() {
    let scratch = Scratch::new();
    for command in ["solve", "attack", "verify", "check", "plan", "methods", "zoo", "predict", "completions", "man"] {
        let help = scratch.run(&[command, "--help"]).exits(0).stdout;
        assert!(help.contains("Examples:") && help.contains(&format!("standoff {command}")), "{help}");
        let page = scratch.run(&["man", command]).exits(0).stdout;
        assert!(page.contains(&format!("standoff\\-{command}")) && page.contains(".SH EXAMPLES"), "{page}");
    }
    assert!(scratch.run(&["man"]).exits(0).stdout.contains(".SH EXIT CODES"));
}

#[test]
fn completions_know_the_commands_in_every_shell() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = scratch.run(&["completions", shell]).exits(0).stdout;
        assert!(script.contains("solve") && script.contains("max-grads"), "{shell}");
    }
    scratch.run(&["completions", "csh"]).refuses(&["csh"]);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let scratch = Scratch::with(&[("game.toml", LONG)]);
    let mut child = scratch
        .command(&["solve", "game.toml", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut first = [0; 8];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("eight bytes");
    // The reader is gone here, as with `| head -1`.
    let run = Run::of(child.wait_with_output().expect("the command ends"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:#?}");
    assert_eq!(&first, b"{\"format");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let scratch = Scratch::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let run = Run::of(scratch.command(&["zoo"]).stdout(full).output().expect("the command runs"));
    run.refuses(&["cannot write to standard output"]);
}

#[test]
fn colours_appear_only_where_they_are_wanted() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let coloured = |name: &str, value: &str| {
        let output = scratch.command(&["solve", "game.toml"]).env(name, value).output().expect("the command runs");
        Run::of(output).exits(0).stdout.contains('\x1b')
    };
    assert!(!coloured("LANG", "C"), "a pipe is not a terminal");
    assert!(coloured("CLICOLOR_FORCE", "1"));
    assert!(!coloured("NO_COLOR", "1"));
}

#[test]
fn a_pipe_gets_no_live_line() {
    let run =
        Scratch::new().run(&["solve", "zoo:abs", "--method", "regularised", "--eps", "1e-9", "--time-limit", "0.5"]);
    let run = run.exits(1);
    assert!(run.stdout.starts_with("time-limit: ") || run.stdout.starts_with("oracle-limit: "), "{run:#?}");
    assert!(run.stderr.is_empty(), "{run:#?}");
}

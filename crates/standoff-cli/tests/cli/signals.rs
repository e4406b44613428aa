//! Ctrl-C: once for the best point so far, twice for the end.
#![cfg(unix)]

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::scratch::{LONG, Run, Scratch};

/// Hours of work: the regularised method on |x| needs some 1/eps steps.
const ENDLESS: [&str; 8] = ["solve", "zoo:abs", "--method", "regularised", "--eps", "1e-9", "--max-grads", "1e15"];

/// The command, once it listens for Ctrl-C: it does so before it opens its trace.
fn start(scratch: &Scratch, args: &[&str]) -> Child {
    let mut command = scratch.command(&[args, &["--trace", "t.csv", "--json"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    wait_for(|| scratch.path("t.csv").exists().then_some(()));
    child
}

fn wait_for<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

fn ended(child: &mut Child) -> Option<ExitStatus> {
    child.try_wait().expect("a child")
}

#[test]
fn ctrl_c_prints_the_best_point_so_far_and_exits_130() {
    let scratch = Scratch::new();
    let child = start(&scratch, &ENDLESS);
    interrupt(&child);
    let run = Run::of(child.wait_with_output().expect("it ends")).exits(130);
    let result = run.json();
    assert_eq!(result["status"], "interrupted");
    assert!(result["min"]["x"].is_f64() && result["gap"]["x"]["upper"].is_f64(), "{result}");
    assert!(scratch.read("t.csv").lines().count() > 1);
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    // The long result is not read, so the command hangs in writing it.
    let scratch = Scratch::with(&[("game.toml", LONG)]);
    let mut child = start(&scratch, &["solve", "game.toml"]);
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(ended(&mut child), None, "once asks politely");
    interrupt(&child);
    assert_eq!(wait_for(|| ended(&mut child)).code(), Some(130));
}

//! Ctrl-C: once for the best point so far, twice for the end.
#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::scratch::{LONG, Run, Scratch};

/// Hours of work: the regularised method on |x| needs some 1/eps steps.
const ENDLESS: [&str; 8] = ["solve", "zoo:abs", "--method", "regularised", "--eps", "1e-9", "--max-grads", "1e15"];

fn start(scratch: &Scratch, more: &[&str]) -> Child {
    let mut child = scratch
        .command(&[&ENDLESS[..], more].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // The trace exists once the game is loaded; the handler is in place a moment later.
    let begun = Instant::now();
    while !scratch.path("t.csv").exists() && begun.elapsed() < Duration::from_secs(10) {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    child
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

#[test]
fn ctrl_c_prints_the_best_point_so_far_and_exits_130() {
    let scratch = Scratch::new();
    let child = start(&scratch, &["--trace", "t.csv", "--json"]);
    interrupt(&child);
    let run = Run::of(child.wait_with_output().expect("it ends")).exits(130);
    let result = run.json();
    assert_eq!(result["status"], "interrupted");
    assert!(result["min"]["x"].is_f64() && result["gap"]["x"]["upper"].is_f64(), "{result}");
    assert!(scratch.read("t.csv").lines().count() > 1);
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    // Nobody reads the long result: the command hangs in writing it.
    let scratch = Scratch::with(&[("game.toml", LONG)]);
    let mut child = scratch
        .command(&["solve", "game.toml", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    std::thread::sleep(Duration::from_millis(1000));
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("a child").is_none(), "once is not enough when the run is over already");
    interrupt(&child);
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "it did not end");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(130));
}

//! SIGTERM and SIGHUP, as schedulers send them: a training saves, says so by its exit code, and goes on to the same bytes.
#![cfg(unix)]

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::killed::{Dice, contents, differences};
use crate::scratch::{Run, Scratch};

const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");
/// Times that a training is terminated and saves.
const SIGNALS: usize = 50;

fn send(signal: &str, child: &Child) {
    // A child that has just ended cannot be signalled; its exit code is checked.
    let _ = Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
}

fn start(scratch: &Scratch, args: &[&str]) -> Child {
    scratch.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn training<'a>(out: &'a str, steps: &'a str) -> Vec<&'a str> {
    let table = ["fair", "--data", PEOPLE, "--label", "pay", "--group", "sex", "--method", "minmax-reg"];
    [&table[..], &["--seeds", "1", "--iterations", steps, "--measure-every", "40", "--threads", "1", "--out", out]]
        .concat()
}

#[test]
fn a_training_terminated_at_fifty_moments_ends_with_the_same_bytes() {
    let scratch = Scratch::new();
    let begun = Instant::now();
    scratch.run(&training("whole", "1500")).exits(0);
    let spread = begun.elapsed();
    let (begin, resume) = (training("ended", "1500"), ["fair", "--resume", "ended", "--threads", "1"]);
    let (mut dice, mut saved, mut early, mut late) = (Dice(7), 0, 0, 0);
    while saved < SIGNALS {
        assert!(early + late < 4 * SIGNALS, "{saved} saved, {early} came too early, {late} too late");
        let is_begun = scratch.path("ended/config.toml").exists();
        let mut child = start(&scratch, if is_begun { &resume } else { &begin });
        std::thread::sleep(spread.mul_f64(dice.below(1000) as f64 / 1500.0));
        send("-TERM", &child);
        let status = child.wait().expect("it ends");
        match (status.code(), status.signal()) {
            (Some(143), None) => saved += 1,
            // Before it listens there is nothing to save.
            (None, Some(15)) => early += 1,
            // It was quicker than the signal; what is terminated next is a new one.
            (Some(0), None) => {
                late += 1;
                std::fs::remove_dir_all(scratch.path("ended")).expect("removed");
            }
            other => panic!("{other:?}"),
        }
    }
    if !scratch.path("ended/config.toml").exists() {
        scratch.run(&begin).exits(0);
    }
    scratch.run(&resume).exits(0);
    let (a, b) = (contents(&scratch.path("whole")), contents(&scratch.path("ended")));
    assert_eq!(differences(&a, &b), Vec::<PathBuf>::new());
    let said =
        format!("SIGTERM: {saved} trainings saved and exited with 143, {early} did not listen yet, {late} had ended\n");
    let _ = std::io::stderr().write_all(said.as_bytes());
}

#[test]
fn each_signal_saves_and_has_its_exit_code() {
    let scratch = Scratch::new();
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        if signal == "-HUP" && (!cfg!(target_os = "linux") || hangups_are_ignored()) {
            continue;
        }
        let out = format!("run{signal}");
        // Measured at step 0, which is after it listens.
        let child = start(&scratch, &training(&out, "10000000"));
        let measured = scratch.path(&out).join("minmax-reg-0.1-seed-1/metrics.jsonl");
        let begun = Instant::now();
        while std::fs::metadata(&measured).map_or(0, |m| m.len()) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(120), "no measurement was written");
            std::thread::sleep(Duration::from_millis(5));
        }
        send(signal, &child);
        let run = Run::of(child.wait_with_output().expect("it ends")).exits(code);
        assert!(run.stderr.contains("interrupted and saved; go on with"), "{run:#?}");
        assert!(measured.with_file_name("checkpoint.safetensors").exists(), "{signal}");
    }
}

/// True if this process, and so its children, ignore SIGHUP.
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1)
}

#[test]
fn nohup_keeps_a_training_alive() {
    let scratch = Scratch::new();
    if !cfg!(target_os = "linux") {
        return;
    }
    let mut command = Command::new("nohup");
    command.arg(crate::scratch::STANDOFF).args(training("run", "10000000")).current_dir(scratch.path("."));
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let measured = scratch.path("run/minmax-reg-0.1-seed-1/metrics.jsonl");
    let begun = Instant::now();
    while std::fs::metadata(&measured).map_or(0, |m| m.len()) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no measurement was written");
        std::thread::sleep(Duration::from_millis(5));
    }
    send("-HUP", &child);
    std::thread::sleep(Duration::from_millis(300));
    send("-TERM", &child);
    Run::of(child.wait_with_output().expect("it ends")).exits(143);
}

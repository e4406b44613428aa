//! One process per run folder: a second one is refused, with the name of the first, and the death of the first frees the folder.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::killed::{contents, differences};
use crate::scratch::{Run, Scratch, copy_folder};

const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");

/// A training with a checkpoint after every step.
fn training<'a>(out: &'a str, steps: &'a str) -> Vec<&'a str> {
    let table = ["fair", "--data", PEOPLE, "--label", "pay", "--group", "sex", "--method", "minmax-reg"];
    let pace = ["--seeds", "1", "--iterations", steps, "--measure-every", "5", "--save-every", "0", "--threads", "1"];
    [&table[..], &pace, &["--out", out]].concat()
}

fn start(scratch: &Scratch, args: &[&str]) -> Child {
    scratch.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// A training of many steps, once it has saved a step.
fn endless(scratch: &Scratch, out: &str) -> Child {
    let child = start(scratch, &training(out, "10000000"));
    let saved = scratch.path(out).join("minmax-reg-0.1-seed-1/checkpoint.safetensors");
    let begun = Instant::now();
    while !saved.exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no checkpoint was written");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn a_second_process_is_refused_until_the_first_one_dies() {
    let scratch = Scratch::new();
    let mut first = endless(&scratch, "run");
    let holder = format!("process {} on ", first.id());
    let words = ["`run` is in use by", "since 20", " UTC; wait until it ends, or stop it"];
    for args in
        [&["fair", "--resume", "run"][..], &training("run", "10"), &[&training("run", "10")[..], &["--force"]].concat()]
    {
        let run = scratch.run(args);
        assert!(!cfg!(unix) || run.stderr.contains(&holder), "{run:#?}");
        run.refuses(&words[..if cfg!(unix) { 3 } else { 1 }]);
    }
    assert!(first.try_wait().expect("a child").is_none(), "the first one goes on");
    first.kill().expect("killed");
    first.wait().expect("it ends");
    // The file may be there still; the lock is not.
    scratch.run(&[&training("run", "10")[..], &["--force"]].concat()).exits(0);
    assert!(!scratch.path("run/.standoff.lock").exists() || cfg!(not(unix)));
}

#[test]
fn of_two_processes_that_resume_a_run_at_once_one_goes_on_and_nothing_is_mixed() {
    let scratch = Scratch::new();
    scratch.run(&training("whole", "300")).exits(0);
    let whole = contents(&scratch.path("whole"));
    let mut child = start(&scratch, &training("half", "300"));
    let saved = scratch.path("half/minmax-reg-0.1-seed-1/checkpoint.previous.safetensors");
    while !saved.exists() && child.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
    for trial in 0..5 {
        let out = format!("both-{trial}");
        copy_folder(&scratch.path("half"), &scratch.path(&out));
        let resume = ["fair", "--resume", &out, "--save-every", "0", "--threads", "1"];
        let both = [start(&scratch, &resume), start(&scratch, &resume)];
        let ends = both.map(|child| Run::of(child.wait_with_output().expect("it ends")));
        // The second may come so late that the first has ended; then it finds everything done.
        assert!(ends.iter().any(|run| run.code == Some(0)), "{ends:#?}");
        for run in &ends {
            assert!(run.code == Some(0) || (run.code == Some(2) && run.stderr.contains("is in use by")), "{run:#?}");
        }
        assert_eq!(differences(&whole, &contents(&scratch.path(&out))), Vec::<PathBuf>::new(), "trial {trial}");
    }
}

//! `standoff robust`: every method, interruptions, and what it refuses.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::scratch::Scratch;

/// A few steps on a few images.
const QUICK: [&str; 10] = ["robust", "--limit", "200", "--batch", "40", "--model", "mlp", "--ramp", "0", "--warmup=0"];

/// A network that has a linear relaxation, in the file `chain.toml`.
const CHAIN: (&str, &str) =
    ("chain.toml", "input = [1, 28, 28]\nlayers = ['conv(4, 3, stride=3)', 'ramp', 'flatten', 'dense(10)']");

/// The same as `QUICK`, with a model that the method can train.
fn quick(method: &str) -> [&str; 10] {
    QUICK.map(|flag| if flag == "mlp" && method == "crown-ibp" { CHAIN.0 } else { flag })
}

#[test]
fn every_method_trains_and_says_what_it_reached() {
    let scratch = Scratch::with(&[CHAIN]);
    for method in ["paper", "madry", "trades", "ibp", "crown-ibp", "natural"] {
        let args = [
            &quick(method)[..],
            &["--method", method, "--eps", "0.1", "--steps", "3", "--epochs", "1", "--out", method, "--json"],
        ]
        .concat();
        let result = scratch.run(&args).exits(0).json();
        assert_eq!((&result["method"], &result["steps"]), (&method.into(), &5.into()));
        let share = |name: &str| result[name]["correct"].as_u64().expect("a count");
        assert!(share("certified") <= share("pgd"), "an attack broke what was proven: {result}");
        assert!(result["x_gap"][1].as_f64().expect("a bound") >= 0.0);
        for file in ["config.toml", "metrics.jsonl", "epochs.csv", "results.json", "model.safetensors"] {
            assert!(scratch.path(method).join(file).exists(), "{method} has no {file}");
        }
    }
    // Without --out they are numbered, and the table names the attack.
    let run = scratch.run(&[&QUICK[..], &["--eps", "8/255", "--steps", "2", "--epochs", "1"]].concat()).exits(0);
    // Flags that make it another experiment give it another title.
    assert!(run.stdout.contains("\n\nmnist, "), "{}", run.stdout);
    assert!(run.stdout.contains(" at eps 0.0313725, mlp\n"), "{}", run.stdout);
    assert!(run.stdout.contains("PGD-40") && scratch.path("runs/robust-1/results.json").exists(), "{}", run.stdout);
}

#[test]
fn held_out_images_are_measured_and_test_images_are_not() {
    let scratch = Scratch::new();
    let args = ["--method", "natural", "--epochs", "1", "--validation", "300", "--out", "held", "--json"];
    let result = scratch.run(&[&QUICK[..], &args].concat()).exits(0).json();
    assert_eq!(result["natural"]["total"], 300);
    assert_eq!(result["pgd"]["total"], 300);
    let refused = scratch.run(&[&QUICK[..], &["--validation", "60000"]].concat()).exits(2);
    assert!(refused.stderr.contains("want fewer than the 60000 training images"), "{}", refused.stderr);
    // Initial weights for intervals by the name of their biases.
    scratch.write("x.toml", b"model = 'mlp'\nbiases = 'interval'\nmethod = 'ibp'\nslope = 0.01\n");
    scratch.run(&["robust", "--config", "x.toml", "--limit", "200", "--batch", "40", "--epochs", "1"]).exits(0);
}

#[test]
fn screening_lambda_and_kinds_of_steps_are_told_apart() {
    let scratch = Scratch::new();
    let value = |name: &str, more: &[&str]| {
        let args = [
            &QUICK[..],
            &["--method", "paper", "--eps", "0.2", "--steps", "4", "--epochs", "1", "--out", name, "--json"],
            more,
        ]
        .concat();
        scratch.run(&args).exits(0).json()["value"].as_f64().expect("a value")
    };
    let all = value("all", &["--targets", "all"]);
    assert_eq!(all.to_bits(), value("proven", &["--targets", "proven", "--screen-after", "3"]).to_bits());
    for (name, more) in [
        ("two", &["--targets", "2"][..]),
        ("late", &["--targets", "2", "--probe", "0", "--screen-after", "1"]),
        ("lambda", &["--targets", "all", "--lambda", "0.5"]),
        ("scaled", &["--targets", "all", "--step-kind", "scaled"]),
        ("as-is", &["--targets", "all", "--order", "as-is"]),
    ] {
        assert_ne!(all.to_bits(), value(name, more).to_bits(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_robust_run_that_was_killed_ends_as_one_that_was_not_on_any_threads() {
    for method in ["paper", "crown-ibp"] {
        killed(method);
    }
}

/// Kills a run of a method and continues it. Eps grows in the middle of the training.
#[cfg(unix)]
fn killed(method: &str) {
    let scratch = Scratch::with(&[CHAIN]);
    let flags = quick(method).map(|flag| if flag == "0" { "40" } else { flag });
    let args = ["--method", method, "--steps", "3", "--epochs", "60", "--measure-every", "5"];
    let args = [&flags[..], &args].concat();
    scratch.run(&[&args[..], &["--out", "whole", "--threads", "1"]].concat()).exits(0);
    let model = |out: &str| fs::read(scratch.path(out).join("model.safetensors")).expect("a model");
    let whole = model("whole");
    for (signal, out) in [("-INT", "asked"), ("-KILL", "killed")] {
        let mut command = scratch.command(&[&args[..], &["--out", out, "--threads", "2"]].concat());
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (metrics, begun) = (scratch.path(out).join("metrics.jsonl"), Instant::now());
        while !metrics.exists() && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        let ended = child.wait_with_output().expect("it ends");
        if sent.success() && signal == "-INT" && ended.status.code() != Some(0) {
            assert_eq!(ended.status.code(), Some(130));
            assert!(String::from_utf8_lossy(&ended.stderr).contains("--resume"), "{ended:?}");
        }
        scratch.run(&["robust", "--resume", out]).exits(0);
        assert!(model(out) == whole, "{signal}");
    }
}

#[test]
fn what_cannot_be_trained_is_refused_before_it_is() {
    let scratch = Scratch::with(&[("unknown.toml", "epsilon = 0.3\n"), ("people.csv", "a,b\n1,2\n")]);
    let refused = |args: &[&str], words: &[&str]| {
        let run = scratch.run(&[&["robust"], args].concat()).exits(2);
        for word in words {
            assert!(run.stderr.contains(word), "no `{word}` for {args:?} in {}", run.stderr);
        }
    };
    refused(&["--config", "unknown.toml"], &["unknown.toml", "epsilon"]);
    refused(&["--eps", "-0.1"], &["eps is -0.1"]);
    refused(&["--eps", "8"], &["eps is 8", "8/255"]);
    refused(&["--steps", "0"], &["natural"]);
    refused(&["--targets", "many"], &["many", "all"]);
    refused(&["--targets", "10"], &["10"]);
    refused(&["--method", "pgd"], &["madry"]);
    refused(&["--method", "madry", "--lambda", "0.1"], &["lambda", "madry"]);
    refused(&["--method", "trades", "--beta", "-1"], &["beta is -1"]);
    refused(&["--method", "ibp", "--kappa", "2"], &["kappa is 2"]);
    refused(&["--method", "crown-ibp", "--model", "lenet"], &["layer 3 (maxpool(2)) has no linear relaxation", "relu"]);
    refused(&["--method", "crown-ibp", "--model", "logistic", "--crown", "1,2"], &["a share of crown is 2"]);
    refused(&["--method", "crown-ibp", "--crown", "1"], &["`1` is not two numbers such as 1,0"]);
    refused(&["--epochs", "0"], &["--epochs"]);
    refused(&["--batch", "0"], &["batch"]);
    refused(&["--batch", "70000"], &["70000"]);
    refused(&["--data", "people.csv"], &["table"]);
    refused(&["--data", "nowhere"], &["nowhere"]);
    refused(&["--model", "resnet"], &["resnet"]);
    refused(&["--resume", "nothing"], &["nothing"]);
    assert!(!scratch.path("runs").exists(), "a refused run leaves no folder");
}

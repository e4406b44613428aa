//! `standoff fair`: tables, images, interruptions, and what it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::scratch::{Run, Scratch};

/// A table that trains in a moment.
const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");
/// The bundled images, whatever else this machine has.
const TOPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/fashion-tops");
const TABLE: [&str; 7] = ["fair", "--data", PEOPLE, "--label", "pay", "--group", "sex"];

fn fair(scratch: &Scratch, more: &[&str]) -> Run {
    scratch.run(&[&TABLE[..], more].concat())
}

/// Every file of a run that must not depend on threads, time or interruptions.
fn models(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a run") {
        let path = entry.expect("an entry").path().join("model.safetensors");
        if let Ok(bytes) = fs::read(&path) {
            found
                .push((path.parent().and_then(Path::file_name).expect("a name").to_string_lossy().into_owned(), bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn a_table_trains_and_leaves_results_and_models() {
    let scratch = Scratch::new();
    let run = fair(&scratch, &["--seeds", "2", "--iterations", "150", "--verbose"]).exits(0);
    for word in ["normal", "minmax-reg", "worst", "certificate"] {
        assert!(run.stdout.contains(word), "no `{word}` in {}", run.stdout);
    }
    let folder = scratch.path("runs/fair-1");
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("results.json")).expect("results")).expect("JSON");
    let runs = results["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 8);
    for run in runs {
        assert!(run["fairness"]["demographic_parity"].is_f64(), "{run}");
        assert!(run["x_gap"][1].as_f64().expect("a bound") >= 0.0);
        assert_eq!(run["steps"], 150);
    }
    assert!(fs::read_to_string(folder.join("results.csv")).expect("results").lines().count() > 6);
    assert_eq!(models(&folder).len(), 8);
    // The next run has the next number.
    fair(&scratch, &["--seeds", "1", "--iterations", "5"]).exits(0);
    assert!(scratch.path("runs/fair-2/config.toml").exists());
}

#[test]
fn labels_and_groups_can_be_those_of_the_published_code() {
    let scratch = Scratch::new();
    let run = |more: &str| {
        let text = format!(
            "data = '{TOPS}'\nclasses = [0, 4, 6]\noutputs = 10\nmodel = 'logistic'\nmethods = ['normal']\nbatch = 600\n\
             order = 'as-is'\nschedule = [[3, 1e-4]]\nseeds = 1\n{more}"
        );
        scratch.write("x.toml", text.as_bytes());
        scratch.run(&["fair", "--config", "x.toml", "--json"])
    };
    let labels = |results: &serde_json::Value| -> Vec<u64> {
        let groups = results["runs"][0]["confusion"].as_array().expect("groups");
        groups.iter().map(|group| group[0][0].as_u64().expect("a label")).collect()
    };
    let (plain, kept) = (run("").exits(0).json(), run("keep_labels = true").exits(0).json());
    assert_eq!((labels(&plain), labels(&kept)), (vec![0, 1, 2], vec![0, 4, 6]));
    assert_eq!((plain["class_names"][1].as_str(), kept["class_names"][4].as_str()), (Some("Coat"), Some("Coat")));
    // Batches of 200 of each category are not mixed.
    let losses = |results: &serde_json::Value| results["runs"][0]["train_losses"].clone();
    assert_eq!(losses(&run("mixed = true").exits(0).json()), losses(&plain));
}

/// The number of test rows of each run, and its split.
fn splits(results: &serde_json::Value) -> Vec<(u64, u64, u64)> {
    let number = |run: &serde_json::Value, key: &str| run["split"][key].as_u64().expect("a number");
    let runs = results["runs"].as_array().expect("runs");
    runs.iter().map(|run| (number(run, "seed"), number(run, "fold"), number(run, "test"))).collect()
}

#[test]
fn seeds_have_splits_of_their_own_and_no_interval_is_zero() {
    let scratch = Scratch::new();
    let short = ["--method", "normal,minmax", "--iterations", "40", "--verbose"];
    let shown = |more: &[&str]| fair(&scratch, &[&short[..], more].concat()).exits(0).stdout;
    let json = |more: &[&str]| fair(&scratch, &[&short[..4], more, &["--json"]].concat()).exits(0).json();
    let own = shown(&["--seeds", "3"]);
    assert!(own.contains("each with its own split") && own.contains("split by split (3 pairs)"), "{own}");
    let seeds: Vec<u64> = splits(&json(&["--seeds", "3"])).iter().map(|s| s.0).collect();
    assert_eq!(seeds, [1, 1, 2, 2, 3, 3]);
    // One split: the seeds of a logistic model repeat it, and the interval is over its rows.
    for more in [&["--seeds", "1"][..], &["--seeds", "3", "--split-seed", "5"]] {
        let text = shown(more);
        assert!(text.contains("over test samples") && text.contains("row by row"), "{text}");
        assert!(!text.contains("\u{b1} 0.00") && !text.contains("/ 0.00"), "{text}");
    }
    let one = json(&["--seeds", "2", "--split-seed", "5"]);
    assert!(splits(&one).iter().all(|s| s.0 == 5), "{one}");
    let average = &one["summary"][0]["average"];
    assert!(average["upper"].as_f64() > average["mean"].as_f64() && average["upper"].as_f64() <= Some(1.0), "{one}");
    // Folds: every row is tested once.
    let folds = json(&["--folds", "4"]);
    let (runs, rows) = (splits(&folds), splits(&folds).iter().step_by(2).map(|s| s.2).sum::<u64>());
    assert_eq!((runs.len(), rows), (8, 800), "{folds}");
    assert!(runs.iter().all(|s| s.0 == 1) && runs[6].1 == 3, "{folds}");
    fair(&scratch, &["--folds", "1"]).refuses(&["--folds 1", "at least 2"]);
    fair(&scratch, &["--folds", "3", "--seeds", "4"]).refuses(&["--seeds 4", "--folds 3"]);
    // More folds than rows, before anything is trained.
    let rows: Vec<String> = (0..40).map(|i| format!("{},{},{}", i * 7 % 40, i % 2, i % 3 % 2)).collect();
    scratch.write("few.csv", format!("x,y,g\n{}\n", rows.join("\n")).as_bytes());
    let few = ["fair", "--data", "few.csv", "--label", "y", "--group", "g", "--folds", "45", "--out", "few"];
    scratch.run(&few).refuses(&["few.csv", "fold ", " of 45 has none of its 40 rows", "fewer --folds"]);
    assert!(!scratch.path("few").exists());
}

#[test]
fn groups_are_crossed_with_the_label_kept_side_by_side_and_banded() {
    let scratch = Scratch::new();
    let json = |groups: &[&str]| {
        let head = ["fair", "--data", PEOPLE, "--label", "pay", "--iterations", "60", "--seeds", "1", "--json"];
        scratch.run(&[&head[..], groups].concat()).exits(0).json()
    };
    let names = |results: &serde_json::Value| results["group_names"].as_array().map(Vec::len);
    let by_label = json(&["--group", "sex", "--by-label"]);
    assert_eq!(by_label["group_names"][0], "sex=F, pay=high");
    assert_eq!(names(&by_label), Some(4));
    assert!(by_label["runs"][0]["fairness"].is_null(), "groups by label have no parity");
    let side = json(&["--group", "sex,age:3", "--overlap"]);
    // Two values of sex, three bands of age, and the rows without an age.
    assert_eq!(names(&side), Some(6));
    let run = &side["runs"][0];
    let total = |score: &serde_json::Value| score["total"].as_u64().expect("a count");
    let groups: u64 = run["test"].as_array().expect("scores").iter().map(total).sum();
    assert_eq!(groups, 2 * total(&run["all"]), "every row is in two groups and counts once in all");
    let (mean, all) = (&side["summary"][0]["average"]["mean"], &run["all"]);
    assert_eq!(mean.as_f64(), Some(all["correct"].as_f64().expect("a count") / total(all) as f64));
    // The mean over rows does not depend on the groups: the plain model is the same.
    let plain = json(&["--group", "sex"]);
    let average = |results: &serde_json::Value| results["runs"][0]["value"].as_f64().expect("a value");
    assert!((average(&plain) - average(&side)).abs() < 0.02, "{} {}", average(&plain), average(&side));
    let cut = json(&["--group", "age:30..50"]);
    assert_eq!(cut["group_names"], serde_json::json!(["age<30", "30<=age<50", "age>=50", "age=missing"]));
    scratch.run(&[&TABLE[..], &["--overlap"]].concat()).refuses(&["at least two columns"]);
}

#[test]
fn what_is_made_equal_is_a_choice() {
    let scratch = Scratch::new();
    let args = ["--method", "normal,minmax-reg", "--seeds", "1", "--iterations", "150", "--json", "--equalise"];
    let run = |what: &str| fair(&scratch, &[&args[..], &[what]].concat()).exits(0).json();
    let number = |run: &serde_json::Value, key: &str, g: usize| run[key][g].as_f64().expect("a number");
    let loss = run("loss");
    for what in ["excess", "error", "fpr", "fnr"] {
        let results = run(what);
        let (normal, minmax) = (&results["runs"][0], &results["runs"][1]);
        assert_eq!(normal["train_losses"], loss["runs"][0]["train_losses"], "the plain model does not change: {what}");
        assert_ne!(minmax["train_losses"], loss["runs"][1]["train_losses"], "{what}");
        for g in 0..2 {
            let own = number(minmax, "train_losses", g);
            match what {
                "excess" => assert!(own < number(&loss["runs"][1], "train_losses", g), "{minmax}"),
                "error" => assert!((0.0..1.0).contains(&own), "{minmax}"),
                _ => assert!(number(minmax, "weights", g) < 1.0, "{minmax}"),
            }
        }
    }
    fair(&scratch, &["--equalise", "fairness"]).refuses(&["--equalise", "excess"]);
}

#[test]
fn a_group_with_few_test_rows_is_marked_and_decides_nothing() {
    let scratch = Scratch::new();
    let args = ["--seeds", "1", "--iterations", "40", "--min-group", "79"];
    let results = fair(&scratch, &[&args[..], &["--json"]].concat()).exits(0).json();
    let run = &results["runs"][0];
    let few = run["unjudged"][0].as_u64().expect("one of the two groups") as usize;
    let other = &run["test"][1 - few];
    let share = other["correct"].as_f64().expect("a count") / other["total"].as_f64().expect("a count");
    assert_eq!(results["summary"][0]["worst"]["mean"].as_f64(), Some(share), "{results}");
    assert!(run["fairness"]["demographic_parity"].is_null(), "one group has no parity: {run}");
    let shown = fair(&scratch, &args).exits(0).stdout;
    assert!(shown.contains(" *") && shown.contains("too few test rows"), "{shown}");
    let all = fair(&scratch, &["--seeds", "1", "--iterations", "5", "--min-group", "500"]).exits(0);
    assert!(all.stderr.contains("no group has 500 test rows"), "{}", all.stderr);
}

#[test]
fn weight_decay_raises_the_training_loss_and_is_kept_in_the_configuration() {
    let scratch = Scratch::new();
    let loss = |decay: &str, out: &str| {
        let flags =
            ["--weight-decay", decay, "--out", out, "--method", "normal", "--seeds", "1", "--iterations", "200"];
        fair(&scratch, &flags).exits(0);
        let text = fs::read_to_string(scratch.path(out).join("results.json")).expect("results");
        let results: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        results["runs"][0]["value"].as_f64().expect("a loss")
    };
    let (none, some, much) = (loss("0", "none"), loss("0.01", "some"), loss("10", "much"));
    assert!(none < some && some < much && much < std::f64::consts::LN_2 + 0.01, "{none} {some} {much}");
    let config = |out: &str| fs::read_to_string(scratch.path(out).join("config.toml")).expect("a configuration");
    assert!(config("some").contains("weight_decay = 0.01") && !config("none").contains("weight_decay"));
    let refused = fair(&scratch, &["--weight-decay", "-1"]).exits(2);
    assert!(refused.stderr.contains("--weight-decay is -1"), "{}", refused.stderr);
    let refused = fair(&scratch, &["--weight-decay", "0.1", "--optimizer", "gd"]).exits(2);
    assert!(refused.stderr.contains("--optimizer gd has no --weight-decay"), "{}", refused.stderr);
}

/// The runs of `results.json`, by method.
fn by_method(results: &serde_json::Value) -> impl Fn(&str) -> serde_json::Value + use<> {
    let runs = results["runs"].as_array().expect("runs").clone();
    move |method| runs.iter().find(|run| run["method"] == method).expect("a run of the method").clone()
}

#[test]
fn a_logistic_model_of_a_table_is_solved_to_a_certificate() {
    let scratch = Scratch::new();
    let text = |out: &str| fs::read_to_string(scratch.path(out).join("config.toml")).expect("a configuration");
    let run = fair(&scratch, &["--seeds", "1", "--out", "solved"]).exits(0);
    assert!(run.stderr.contains("4 runs solved to a certificate") && !run.stderr.contains("not solved"), "{run:#?}");
    assert!(text("solved").contains("solver = \"certificate\""), "{}", text("solved"));
    let read = |out: &str| fs::read_to_string(scratch.path(out).join("results.json")).expect("results");
    let all = by_method(&serde_json::from_str(&read("solved")).expect("JSON"));
    for (method, y) in [("normal", f64::INFINITY), ("reweight", f64::INFINITY), ("minmax", 1e-5), ("minmax-reg", 0.1)] {
        let run = all(method);
        assert!(run["x_gap"][1].as_f64() < Some(1e-5) && run["y_gap"][1].as_f64() < Some(y), "{run}");
        assert!(run["steps"] == 1 && run["optimality_gap"].is_null(), "{run}");
    }
    // A finished run is found again. Steps do not come as near.
    let before = read("solved");
    scratch.run(&["fair", "--resume", "solved"]).exits(0);
    assert_eq!(before, read("solved"));
    fair(&scratch, &["--seeds", "1", "--iterations", "800", "--out", "steps"]).exits(0);
    assert!(!text("steps").contains("solver"), "{}", text("steps"));
    let stepped = by_method(&serde_json::from_str(&read("steps")).expect("JSON"));
    let worst = |run: &serde_json::Value| {
        let losses = run["train_losses"].as_array().expect("losses");
        losses.iter().filter_map(serde_json::Value::as_f64).fold(0.0, f64::max)
    };
    assert!(worst(&all("minmax")) <= worst(&stepped("minmax")) + 1e-6);
    assert!((all("normal")["value"].as_f64().unwrap() - stepped("normal")["value"].as_f64().unwrap()).abs() < 1e-3);
    // Methods that cannot be solved make steps beside the others; other models are trained by steps.
    let both =
        ["--solver", "certificate", "--iterations", "30", "--method", "normal,group-dro", "--seeds", "1", "--json"];
    let both = by_method(&fair(&scratch, &both).exits(0).json());
    assert_eq!((&both("normal")["steps"], &both("group-dro")["steps"]), (&1.into(), &30.into()));
    let other = ["--model", "mlp", "--iterations", "3", "--seeds", "1", "--out", "mlp"];
    fair(&scratch, &other).exits(0);
    let refused = fair(&scratch, &["--solver", "certificate", "--iterations", "9"]).exits(2);
    assert!(refused.stderr.contains("makes no steps"), "{}", refused.stderr);
    let refused = fair(&scratch, &["--solver", "certificate", "--model", "mlp"]).exits(2);
    assert!(refused.stderr.contains("--solver certificate needs a table"), "{}", refused.stderr);
}

#[test]
fn a_penalty_means_the_same_to_the_solver_and_shows_its_optimality_gap() {
    let scratch = Scratch::new();
    let args = ["--weight-decay", "0.02", "--method", "normal,minmax-reg", "--seeds", "1", "--json"];
    let solved = by_method(&fair(&scratch, &[&args[..], &["--out", "solved"]].concat()).exits(0).json());
    let stepped = by_method(&fair(&scratch, &[&args[..], &["--solver", "steps"]].concat()).exits(0).json());
    for method in ["normal", "minmax-reg"] {
        let (solved, stepped) = (solved(method), stepped(method));
        assert!(solved["optimality_gap"].as_f64() < Some(2e-6), "{solved}");
        for (a, b) in solved["train_losses"].as_array().unwrap().iter().zip(stepped["train_losses"].as_array().unwrap())
        {
            assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-4, "{solved} {stepped}");
        }
    }
    scratch.run(&["report", "solved", "--out", "page.html"]).exits(0);
    let page = fs::read_to_string(scratch.path("page.html")).expect("a page");
    assert!(page.contains("optimality gap"), "the page has no gap");
}

#[test]
fn regret_and_errors_of_one_kind_are_solved_too() {
    let scratch = Scratch::new();
    for equalise in ["excess", "fpr", "fnr", "error"] {
        let args = ["--method", "normal,minmax", "--seeds", "1", "--equalise", equalise, "--json"];
        let all = by_method(&fair(&scratch, &args).exits(0).json());
        let (normal, minmax) = (all("normal"), all("minmax"));
        assert_eq!((&normal["steps"], equalise == "error"), (&1.into(), minmax["steps"] == 800), "{minmax}");
        if equalise != "error" {
            assert!(minmax["x_gap"][1].as_f64() < Some(1e-5) && minmax["y_gap"][1].as_f64() < Some(1e-5), "{minmax}");
        }
        if equalise == "excess" {
            // What a group loses by sharing the model, which is nothing for none and the same for all that count.
            let losses: Vec<f64> =
                minmax["train_losses"].as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).collect();
            assert!(losses.iter().all(|loss| (-1e-6..0.5).contains(loss)), "{losses:?}");
        }
    }
}

#[test]
fn threads_do_not_change_a_model_and_neither_does_repeating_it() {
    let scratch = Scratch::new();
    let all = "normal,minmax,minmax-reg,group-dro,reweight,cvar,tilted";
    for solver in ["steps", "certificate"] {
        let of = |out: &str, threads: &str| {
            let folder = format!("{solver}-{out}");
            let args = ["--method", all, "--seeds", "1", "--iterations", "60", "--threads", threads, "--out", &folder];
            fair(&scratch, &[&args[..], &["--solver", solver]].concat()).exits(0);
            models(&scratch.path(&folder))
        };
        let one = of("a", "1");
        assert_eq!(one.len(), 7);
        assert!(one == of("b", "2") && one == of("c", "5"), "{solver}");
    }
}

#[test]
fn measuring_changes_no_model_and_the_experiments_on_all_images_measure_iteration_5400() {
    let scratch = Scratch::new();
    for (out, every) in [("a", "60"), ("b", "7")] {
        let args = ["--seeds", "1", "--iterations", "60", "--measure-every", every, "--threads", "1", "--out", out];
        fair(&scratch, &[&args[..], &["--optimizer", "gd"]].concat()).exits(0);
    }
    assert!(models(&scratch.path("a")) == models(&scratch.path("b")));
    // The published code reads its accuracy there.
    for name in ["fair-gd", "fair-gd-mixed", "fair-gd-printed", "fair-logistic"] {
        let path = format!("{}/../../experiments/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).expect("an experiment");
        let every = text.lines().find_map(|line| line.strip_prefix("measure_every = ")?.parse::<u64>().ok());
        assert!(every.is_some_and(|every| 5400 % every == 0), "{name}: {every:?}");
    }
}

#[test]
fn algorithm_3_agrees_with_the_exact_answer() {
    let scratch = Scratch::new();
    let losses = |inner: &str| -> Vec<f64> {
        let args = ["--method", "minmax-reg", "--seeds", "1", "--iterations", "40", "--inner", inner, "--json"];
        let results = fair(&scratch, &args).exits(0).json();
        let losses = results["runs"][0]["train_losses"].as_array().expect("losses");
        losses.iter().map(|l| l.as_f64().expect("a number")).collect()
    };
    for (exact, climbed) in losses("exact").iter().zip(losses("apga")) {
        assert!((exact - climbed).abs() < 1e-6, "{exact} against {climbed}");
    }
}

#[cfg(unix)]
#[test]
fn a_run_that_was_killed_or_interrupted_ends_as_one_that_was_not() {
    let scratch = Scratch::new();
    let args = ["--method", "minmax-reg", "--seeds", "1", "--iterations", "4000", "--optimizer", "adam"];
    fair(&scratch, &[&args[..], &["--out", "whole"]].concat()).exits(0);
    let whole = models(&scratch.path("whole"));
    for (signal, out) in [("-INT", "asked"), ("-KILL", "killed")] {
        let mut command = scratch.command(&[&TABLE[..], &args, &["--out", out]].concat());
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let metrics = scratch.path(out).join("minmax-reg-0.1-seed-1/metrics.jsonl");
        let begun = Instant::now();
        while !metrics.exists() && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        let ended = child.wait_with_output().expect("it ends");
        if sent.success() && signal == "-INT" && ended.status.code() != Some(0) {
            assert_eq!(ended.status.code(), Some(130));
            assert!(String::from_utf8_lossy(&ended.stderr).contains("--resume"), "{ended:?}");
        }
        scratch.run(&["fair", "--resume", out]).exits(0);
        assert!(models(&scratch.path(out)) == whole, "{signal}");
    }
}

#[test]
fn images_train_from_weights_of_pytorchs_layout() {
    let scratch = Scratch::new();
    let quick = ["fair", "--iterations", "3", "--seeds", "1", "--batch", "60", "--method", "minmax-reg"];
    scratch.run(&[&quick[..], &["--out", "a"]].concat()).exits(0);
    let init = scratch.path("a/minmax-reg-0.1-seed-1/model.safetensors");
    let init = init.to_str().expect("UTF-8");
    let run = scratch.run(&[&quick[..], &["--out", "b", "--init", init, "--json"]].concat()).exits(0);
    assert_eq!(run.json()["group_names"].as_array().map(Vec::len), Some(3));
}

#[test]
fn what_cannot_be_run_is_refused_before_it_is() {
    let scratch = Scratch::with(&[
        ("unknown.toml", "lamda = 3\n"),
        ("type.toml", "seeds = \"three\"\n"),
        ("few.csv", "x,pay\n1,a\n2,b\n"),
        ("bad.csv", "x,pay\n1,a\n2,b\nthree,a\n4,b\n5,a\n6,b\n7,a\n8,b\n9,a\n10,b\n11,a\n12,b\n"),
    ]);
    let refused = |args: &[&str], words: &[&str]| {
        let run = scratch.run(&[&["fair"], args].concat()).exits(2);
        for word in words {
            assert!(run.stderr.contains(word), "no `{word}` for {args:?} in {}", run.stderr);
        }
    };
    refused(&["--config", "unknown.toml"], &["unknown.toml", "lamda"]);
    refused(&["--config", "type.toml"], &["type.toml", "seeds"]);
    refused(&["--config", "none.toml"], &["none.toml"]);
    refused(&["--method", "minmx"], &["minmax"]);
    refused(&["--method", "normal,normal"], &["twice"]);
    refused(&["--seeds", "0"], &["--seeds is 0"]);
    refused(&["--lambda", "-1"], &["lambda is -1"]);
    refused(&["--lambda", "much"], &["--lambda much"]);
    refused(&["--method", "cvar", "--share", "2"], &["share", "2"]);
    refused(&["--method", "tilted", "--tilt", "0"], &["tilt"]);
    refused(&["--batch", "601"], &["multiple of 3"]);
    refused(&["--optimizer", "gd", "--batch", "600"], &["sgd"]);
    refused(&["--lr", "0"], &["rate"]);
    refused(&["--data", TOPS, "--classes", "0,7"], &["no images of class 7"]);
    refused(&["--classes", "4"], &["at least two"]);
    refused(&["--model", "fair-cn"], &["fair-cnn"]);
    refused(&["--resume", "nowhere"], &["no config.toml"]);
    refused(&["--data", "nothing"], &["nothing"]);
    refused(&["--data", PEOPLE], &["--label"]);
    refused(&["--data", PEOPLE, "--label", "salary"], &["salary"]);
    refused(&["--data", "bad.csv", "--label", "pay"], &["line 4", "`x`"]);
    refused(&["--data", "few.csv", "--label", "pay"], &["few.csv", "too few rows (2)"]);
    refused(&["--data", PEOPLE, "--label", "pay", "--test-split", "0"], &["--test-split 0", "test part"]);
    assert!(!scratch.path("runs").exists(), "a refusal leaves nothing behind");
    fs::create_dir(scratch.path("full")).expect("a folder");
    scratch.write("full/file", b"here");
    refused(&["--out", "full"], &["not empty", "--resume"]);
}

#[test]
fn what_cannot_be_trusted_is_said_before_it_is_shown() {
    let mut text = String::from("age,sex,pay\n");
    for i in 0..80 {
        let (sex, pay) = (if i % 2 == 0 { "F" } else { "M" }, if i % 5 < 2 { "high" } else { "low" });
        text += &format!("{},{sex},{pay}\n", 20 + i);
    }
    // Five of a group that is never paid well, and one alone, which is left to learn from.
    text += &"50,X,low\n".repeat(5);
    text += "50,Y,low\n";
    let scratch = Scratch::with(&[("people.csv", text.as_str())]);
    let args =
        ["fair", "--data", "people.csv", "--label", "pay", "--group", "sex", "--iterations", "20", "--seeds", "1"];
    let run = scratch.run(&args).exits(0);
    for said in ["sex=Y 1 / 0", "too few to trust", "sex=X (1)", "sex=Y (none)", "sex=X has no high"] {
        assert!(run.stderr.contains(said), "no `{said}` in {}", run.stderr);
    }
    let row = run.stdout.lines().find(|line| line.starts_with("normal")).expect("a row");
    assert!(row.split_whitespace().nth(6) == Some("-") && !run.stdout.contains("NaN"), "{}", run.stdout);
    assert!(run.stdout.contains("the worst group"), "{}", run.stdout);
}

//! `standoff race` and `standoff rates`: the same numbers on any number of threads, and files that stand alone.

use serde_json::Value;

use crate::scratch::{KINK, Scratch};

const SMALL: [&str; 7] =
    ["race", "--methods", "auto,multistep,regularised", "--games", "kink,trap", "--eps", "1e-1,1e-2"];

/// Without the seconds, which are never the same twice.
fn timeless(mut race: Value) -> Value {
    // `lanes` is the name of `trials` in version 0.1; it is written until version 0.3.
    assert_eq!(race["lanes"], race["trials"]);
    race["lanes"] = Value::Null;
    for trial in race["trials"].as_array_mut().expect("trials") {
        for entry in trial["entries"].as_array_mut().expect("entries") {
            entry["seconds"] = Value::Null;
        }
    }
    race
}

fn with<'a>(extra: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().copied().chain(extra.iter().copied()).collect()
}

#[test]
fn the_table_counts_gradients_and_says_who_won() {
    let run = Scratch::new().run(&with(&["--verbose"])).exits(0);
    for word in ["kink", "trap", "1e-2", "needs mu", "within 2x", "at most 100,000 gradients per entry"] {
        assert!(run.stdout.contains(word), "no `{word}` in {}", run.stdout);
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let race = |threads: &str| {
        timeless(Scratch::new().run(&with(&["--json", "--threads", threads, "--family", "flat:1-2"])).exits(0).json())
    };
    let one = race("1");
    assert_eq!(one, race("3"));
    assert_eq!(one["trials"].as_array().map(Vec::len), Some(12));
    assert_eq!(one["trials"][0]["game"], "kink");
    assert_eq!(one["trials"][0]["entries"][1]["ending"], "converged");
    assert!(one["trials"][0]["entries"][1]["x"].as_f64().is_some_and(|x| x <= 1e-2));
}

#[test]
fn methods_that_need_exact_gradients_sit_out_when_there_is_noise() {
    let args =
        ["race", "--methods", "auto,agda", "--games", "trap", "--eps", "1e-4", "--noise", "0.1", "--max-grads", "2e4"];
    let run = Scratch::new().run(&args).exits(0);
    assert!(run.on_one_line().contains("needs gradients without noise"), "{}", run.stdout);
    assert!(run.stdout.contains("noise 0.1 on grad_x"), "{}", run.stdout);
    Scratch::new().run(&["race", "--noise=-1"]).refuses(&["must be 0 or more"]);
}

#[test]
fn files_are_written_beside_the_table() {
    let scratch = Scratch::new();
    let run = scratch.run(&with(&["--csv", "r.csv", "--json=r.json", "--html", "r.html", "-q"])).exits(0);
    assert!(run.stdout.contains("method") && run.stderr.is_empty(), "{run:#?}");
    let csv = scratch.read("r.csv");
    assert_eq!(csv.lines().count(), 1 + 3 * 2 * 2);
    assert!(csv.lines().all(|l| l.split(',').count() == 14), "{csv}");
    let json: Value = serde_json::from_str(&scratch.read("r.json")).expect("JSON");
    assert_eq!(json["standings"][0]["method"], "auto");
    let html = scratch.read("r.html");
    assert!(html.contains("Content-Security-Policy") && html.contains("default-src 'none'"));
    assert!(!html.contains(" src=") && !html.contains("@import"), "nothing is loaded");
    let addresses = html.matches("http").count();
    let harmless = html.matches("http-equiv").count() + html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count();
    assert_eq!(addresses, harmless, "no address but the name of SVG");
    assert_eq!(html.matches("<svg").count(), 2);
    assert_eq!(html.matches("<section").count(), html.matches("</section>").count());
    // The report reads the file of the race, and refuses that of a newer version.
    scratch.run(&["report", "r.json", "-o", "page.html"]).exits(0);
    assert!(scratch.read("page.html").contains("solved 4 of 4 entries"), "{}", scratch.read("page.html"));
    scratch.write("new.json", scratch.read("r.json").replacen("\"version\":1", "\"version\":2", 1).as_bytes());
    scratch.run(&["report", "new.json"]).refuses(&["version"]);
}

#[test]
fn one_may_race_on_a_game_of_ones_own() {
    let scratch = Scratch::with(&[("own.toml", KINK)]);
    let json =
        scratch.run(&["race", "--games", "own.toml", "--methods", "auto", "--eps", "1e-3", "--json"]).exits(0).json();
    assert_eq!(json["trials"][0]["game"], "own.toml");
    assert_eq!(json["trials"][0]["entries"][0]["ending"], "converged");
}

#[test]
fn a_slip_of_the_finger_is_told_before_the_race() {
    let scratch = Scratch::new();
    scratch.run(&["race", "--games", "knik"]).refuses(&["no game `knik`", "did you mean `kink`"]);
    scratch.run(&["race", "--methods", "autoo"]).refuses(&["autoo", "did you mean `auto`"]);
    scratch.run(&["race", "--family", "flat:5-1"]).refuses(&["range of seeds"]);
    scratch.run(&["race", "--games", "none.toml"]).refuses(&["no file `none.toml`"]);
    scratch.run(&["rates", "--games", "lqr-random"]).refuses(&["states no constants"]);
    scratch.run(&["rates", "--methods", "gda"]).refuses(&["no theorem bounds `gda`"]);
    scratch
        .run(&["race", "--games", "kink", "--methods", "auto", "--html", "no/such/r.html"])
        .refuses(&["cannot write"]);
}

#[test]
fn families_are_listed_with_what_they_are() {
    let run = Scratch::new().run(&["race", "--list"]).exits(0);
    assert!(run.stdout.lines().count() >= 10 && run.stdout.contains("jamming"), "{}", run.stdout);
}

#[test]
fn measured_slopes_stand_beside_the_theorems() {
    let scratch = Scratch::new();
    let args = ["rates", "--games", "ramp,pl-ramp", "--methods", "multistep,regularised", "--eps", "0.2,0.1,0.05"];
    let json = scratch.run(&[&args[..], &["--json", "--svg", "r.svg"]].concat()).exits(0).json();
    let studies = json["studies"].as_array().expect("studies");
    let slope = |method: &str, key: &str| {
        let of = studies.iter().find(|s| s["method"] == method).expect("a study of it");
        of[key]["slope"].as_f64().expect("a slope")
    };
    // 2/eps^3 - 2/eps^2 + 2 steps, and 1/(4 eps^2) - 1/4.
    assert!((2.95..3.2).contains(&slope("regularised", "fit_x")), "{}", slope("regularised", "fit_x"));
    assert!((1.95..2.3).contains(&slope("multistep", "fit_x")), "{}", slope("multistep", "fit_x"));
    let svg = scratch.read("r.svg");
    assert!(svg.starts_with("<?xml") && svg.contains(">ramp<") && svg.contains(">pl-ramp<"));
    let table = scratch.run(&args).exits(0).stdout;
    assert!(table.contains("theorem") && table.contains("residual"), "{table}");
}

//! `standoff data`: what is found where, and whether it is genuine.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::scratch::{Run, STANDOFF, Scratch};

/// The command in a scratch folder, with a cache and a data folder of its own.
fn data(scratch: &Scratch, arguments: &[&str]) -> Run {
    let mut command = Command::new(STANDOFF);
    command.current_dir(scratch.path("")).arg("data").args(arguments);
    command.env("XDG_CACHE_HOME", scratch.path("cache")).env("STANDOFF_DATA", scratch.path("chosen"));
    Run::of(command.output().expect("the command"))
}

fn bundled(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

#[test]
fn the_bundled_datasets_are_listed_and_genuine() {
    let scratch = Scratch::new();
    // The binary lies in the repository, so its `data/` is found from any folder.
    let list = data(&scratch, &["list", "--json"]).exits(0).json();
    let names: Vec<&str> =
        list["datasets"].as_array().expect("a list").iter().filter_map(|d| d["name"].as_str()).collect();
    assert_eq!(names, ["mnist", "fashion", "cifar10"]);
    assert_eq!(list["places"][0]["why"], "STANDOFF_DATA");
    let words = data(&scratch, &["list"]).exits(0).stdout;
    for word in ["all 10 classes", "classes 0, 2, 4, 6 of 10", "fashion-tops", "places, in order", "no such folder"] {
        assert!(words.contains(word), "no `{word}` in {words}");
    }
    let verified = data(&scratch, &["verify", "mnist"]).exits(0).stdout;
    assert_eq!(verified.lines().filter(|line| line.starts_with("genuine")).count(), 4, "{verified}");
}

#[test]
fn a_changed_file_is_not_genuine() {
    let scratch = Scratch::new();
    let folder = scratch.path("chosen/fashion-tops");
    fs::create_dir_all(&folder).expect("a folder");
    for entry in fs::read_dir(bundled("fashion-tops")).expect("the bundled data") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, folder.join(path.file_name().expect("a name"))).expect("a copy");
    }
    let named = folder.to_str().expect("UTF-8");
    data(&scratch, &["verify", named]).exits(0);
    let labels = fs::read(bundled("mnist/t10k-labels-idx1-ubyte.gz")).expect("other labels");
    fs::write(folder.join("t10k-labels-idx1-ubyte.gz"), labels).expect("a file");
    let run = data(&scratch, &["verify", named]).exits(1);
    assert_eq!(run.stdout.lines().filter(|line| line.starts_with("genuine")).count(), 3, "{run:#?}");
    assert!(run.stdout.contains("differs  ") && run.stderr.contains("data fetch"), "{run:#?}");
    let images = fs::read(folder.join("t10k-images-idx3-ubyte.gz")).expect("images");
    fs::write(folder.join("t10k-images-idx3-ubyte.gz"), &images[..images.len() / 2]).expect("a file");
    let run = data(&scratch, &["verify", "fashion"]).exits(1);
    assert!(run.stdout.contains("is truncated: its gzip stream ends early"), "{run:#?}");
}

#[test]
fn what_cannot_be_verified_is_refused() {
    let scratch = Scratch::with(&[("people.csv", "a,b\n1,2\n")]);
    data(&scratch, &["verify", "people.csv"]).refuses(&["is a table"]);
    data(&scratch, &["verify", "minst"]).refuses(&["did you mean `mnist`?"]);
    data(&scratch, &["verify", "."]).refuses(&["has neither the files"]);
}

#[test]
fn a_table_is_shown_as_it_is_understood() {
    let scratch = Scratch::new();
    let people = bundled("../examples/people.csv");
    let people = people.to_str().expect("UTF-8");
    let run = data(&scratch, &["show", people]).exits(0);
    assert!(run.stdout.starts_with("800 rows\n") && run.stderr.contains("--label"), "{run:#?}");
    let line = |name: &str| run.stdout.lines().find(|l| l.starts_with(name)).expect("a line").to_owned();
    assert!(line("age").contains("numbers") && line("job").contains("words"), "{run:#?}");
    let run = data(&scratch, &["show", people, "--label", "pay", "--group", "sex,region", "--validation-split", "0.1"]);
    let run = run.exits(0);
    for word in ["classes of `pay`: high, low", "sex=F, region=island", "validation"] {
        assert!(run.stdout.contains(word), "no `{word}` in {run:#?}");
    }
    assert!(run.stderr.contains("too few to trust: sex=F, region=island"), "{run:#?}");
    data(&scratch, &["show", people, "--label", "wage"]).refuses(&["has no column `wage`", "schooling"]);
    data(&scratch, &["show", people, "--label", "pay", "--test-split", "2"]).refuses(&["the test share is 2"]);
    let slip = Scratch::with(&[("slip.csv", &format!("x;y\n{}l0;a\n", "1,5;a\n2,5;b\n".repeat(10)))]);
    data(&slip, &["show", "slip.csv", "--label", "y"])
        .refuses(&["`slip.csv`: line 22, column `x`: `l0` is not a number"]);
}

#[test]
fn images_are_shown_by_class() {
    let scratch = Scratch::new();
    let run = data(&scratch, &["show", "fashion"]).exits(0);
    assert!(run.stdout.contains("28 x 28 pixels"), "{run:#?}");
    // Either all ten classes, where they are installed, or a note that says what is missing.
    assert!(run.stdout.contains("Ankle boot") || run.stderr.contains("only 4 of the 10"), "{run:#?}");
    assert!(run.stdout.lines().any(|l| l.starts_with("6 ") && l.contains("Shirt") && l.contains("6,000")), "{run:#?}");
}

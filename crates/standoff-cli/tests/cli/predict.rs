//! `standoff predict`: tables and images, with known answers and without, and everything that does not fit.

use std::fs;

use standoff_nn::data::{Column, ColumnKind, GroupRule, Preprocessing};
use standoff_nn::model::weights::Metadata;
use standoff_nn::{Model, Shape, Weights};

use crate::scratch::Scratch;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// People above 40 are rich, and of the others more in group M.
fn people(scratch: &Scratch) {
    people_of(scratch, &["sex=F", "sex=M"]);
}

fn people_of(scratch: &Scratch, groups: &[&str]) {
    let numeric = ColumnKind::Numeric { mean: 40.0, deviation: 10.0, missing: 40.0 };
    let preprocessing = Preprocessing {
        label: "pay".to_owned(),
        classes: names(&["low", "high"]),
        rule: GroupRule { groups: names(&["sex"]), ..GroupRule::default() },
        group_names: names(groups),
        columns: vec![
            Column { name: "age".to_owned(), kind: numeric },
            Column { name: "sex".to_owned(), kind: ColumnKind::Categorical { categories: names(&["F", "M"]) } },
        ],
    };
    let text = serde_json::to_string(&preprocessing).expect("JSON");
    let metadata = Metadata::from([("standoff.preprocessing".to_owned(), text)]);
    let model = Model::builder(Shape::vector(3)).dense(2).build().expect("a model");
    // Logits: 0 for low, the standardised age + 0.5 [M] for high.
    let parameters = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.0, 0.0];
    Weights { model, parameters, metadata }.save(&scratch.path("model.safetensors")).expect("a file");
}

const NEW: &str = "sex,age,pay\nF,50,high\nF,30,low\nM,38,low\nM,60,high\nF,41,low\n";

#[test]
fn a_table_is_classified_and_judged_by_groups() {
    let scratch = Scratch::with(&[("new.csv", NEW)]);
    people(&scratch);
    let run = scratch.run(&["predict", "model.safetensors", "--data", "new.csv", "--out", "said.csv"]).exits(0);
    let csv = scratch.read("said.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["line", "label", "prediction", "p(low)", "p(high)"]);
    let said: Vec<[&str; 3]> = rows[1..].iter().map(|row| [row[0], row[1], row[2]]).collect();
    let want =
        [["2", "high", "high"], ["3", "low", "low"], ["4", "low", "high"], ["5", "high", "high"], ["6", "low", "high"]];
    assert_eq!(said, want);
    let p: f64 = rows[1][4].parse().expect("a number");
    assert!((p - 1.0 / (1.0 + (-1.0_f64).exp())).abs() < 1e-6, "{p}");
    // F: 2 of 3, M: 1 of 2.
    for words in
        ["66.67%", "20.77 to 93.85", "50.00%", "60.00%", "worst group: sex=M, 50.00%", "demographic parity 0.3333"]
    {
        assert!(run.stdout.contains(words), "no `{words}` in {run:#?}");
    }
    assert!(run.stderr.contains("5 predictions in `said.csv`") && run.stderr.contains("too few to trust"), "{run:#?}");
}

#[test]
fn small_groups_decide_neither_the_worst_group_nor_the_differences() {
    // Half of F and of M are predicted to be rich; 4 of 40 and 8 of 40 are not what is predicted. All five of X are wrong.
    let mut text = "sex,age,pay\n".to_owned();
    for i in 0..40 {
        let (age, pay) = if i % 2 == 0 { (50, "high") } else { (30, "low") };
        let other = if pay == "high" { "low" } else { "high" };
        text += &format!("F,{age},{}\nM,{age},{}\n", if i < 4 { other } else { pay }, if i < 8 { other } else { pay });
    }
    text += &"X,50,low\n".repeat(5);
    let scratch = Scratch::with(&[("new.csv", &text)]);
    people_of(&scratch, &["sex=F", "sex=M", "sex=X"]);
    let run = scratch.run(&["predict", "model.safetensors", "--data", "new.csv", "--out", "said.csv"]).exits(0);
    for words in [
        "sex=X *",
        "* fewer than 30 samples: decides neither the worst group nor the differences",
        "worst group: sex=M, 80.00%",
        "demographic parity 0.0000",
    ] {
        assert!(run.stdout.contains(words), "no `{words}` in {run:#?}");
    }
    assert!(run.stderr.contains("too few to trust: sex=X (5)"), "{run:#?}");
    let all = scratch.run(&["predict", "model.safetensors", "--data", "new.csv", "--json", "-q"]).exits(0).json();
    assert_eq!(
        (&all["accuracy"]["worst"]["name"], &all["accuracy"]["fairness"]["demographic_parity"]),
        (&"sex=M".into(), &0.0.into())
    );
    assert_eq!(all["accuracy"]["groups"].as_array().map(Vec::len), Some(3));
}

#[test]
fn without_a_file_the_predictions_are_the_result() {
    let scratch = Scratch::with(&[("new.csv", NEW), ("unknown.csv", "age;sex\n50;F\n?;X\n")]);
    people(&scratch);
    let run = scratch.run(&["predict", "model.safetensors", "-d", "new.csv"]).exits(0);
    assert_eq!(run.stdout.lines().count(), 6, "{run:#?}");
    assert!(run.stderr.contains("worst group: sex=M, 50.00%"), "{run:#?}");
    // Without the label nothing is judged; an unknown category and a missing value are no obstacle.
    let run = scratch.run(&["predict", "model.safetensors", "-d", "unknown.csv"]).exits(0);
    assert!(run.stdout.starts_with("line,prediction,p(low),p(high)\n2,high,"), "{run:#?}");
    assert!(run.stdout.ends_with("\n3,low,0.5,0.5\n"), "{run:#?}");
    assert!(!run.stderr.contains("worst") && run.stderr.contains("column `sex`: 1 cell has a category"), "{run:#?}");
}

#[test]
fn a_model_of_a_table_without_a_header_finds_its_columns_by_number() {
    let scratch = Scratch::with(&[("words.csv", "M,x\nF,y\n"), ("named.csv", "c2,c1\nx,M\ny,F\n")]);
    let preprocessing = Preprocessing {
        label: "c3".to_owned(),
        classes: names(&["low", "high"]),
        rule: GroupRule { groups: names(&["c3"]), ..GroupRule::default() },
        group_names: names(&["low", "high"]),
        columns: vec![Column {
            name: "c1".to_owned(),
            kind: ColumnKind::Categorical { categories: names(&["F", "M"]) },
        }],
    };
    let text = serde_json::to_string(&preprocessing).expect("JSON");
    let metadata = Metadata::from([("standoff.preprocessing".to_owned(), text)]);
    let model = Model::builder(Shape::vector(2)).dense(2).build().expect("a model");
    let parameters = vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    Weights { model, parameters, metadata }.save(&scratch.path("model.safetensors")).expect("a file");
    let said = |file: &str| {
        let run = scratch.run(&["predict", "model.safetensors", "-d", file]).exits(0);
        run.stdout.lines().skip(1).filter_map(|line| line.split(',').nth(1)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(said("words.csv"), ["high", "low"]);
    assert_eq!(said("named.csv"), ["high", "low"]);
}

#[test]
fn everything_is_there_as_json() {
    let scratch = Scratch::with(&[("new.csv", NEW)]);
    people(&scratch);
    let all = scratch.run(&["predict", "model.safetensors", "-d", "new.csv", "--json", "-q"]).exits(0);
    assert!(all.stderr.is_empty(), "{all:#?}");
    let all = all.json();
    assert_eq!((&all["samples"], &all["accuracy"]["worst"]["name"]), (&5.into(), &"sex=M".into()), "{all}");
    assert_eq!(all["accuracy"]["groups"][0]["correct"], 2, "{all}");
    assert_eq!((&all["predictions"][2]["line"], &all["predictions"][2]["prediction"]), (&4.into(), &"high".into()));
    assert!(all["accuracy"]["fairness"]["equalised_odds"].as_f64().is_some(), "{all}");
    let brief =
        scratch.run(&["predict", "model.safetensors", "-d", "new.csv", "--json", "-o", "said.csv"]).exits(0).json();
    assert!(brief.get("predictions").is_none() && scratch.path("said.csv").is_file(), "{brief}");
}

#[test]
fn a_table_that_does_not_fit_is_refused_with_the_place() {
    let cases = [
        ("age,pay\n30,low\n", &["has no column `sex`", "it has: age, pay"][..]),
        ("agee,pay\n30,low\n", &["has no columns `age`, `sex`"]),
        ("sex,age\nF,30\nM,old\n", &["line 3", "column `age`", "`old` is not a number"]),
        ("sex,age,pay\nF,30,middle\n", &["line 2", "column `pay`", "`middle` is not a class", "low, high"]),
        ("sex,age\nF\n", &["line 2 has 1 cells"]),
    ];
    for (text, words) in cases {
        let scratch = Scratch::with(&[("new.csv", text)]);
        people(&scratch);
        scratch.run(&["predict", "model.safetensors", "--data", "new.csv", "--out", "said.csv"]).refuses(words);
        assert!(!scratch.path("said.csv").exists());
    }
}

#[test]
fn a_model_that_cannot_predict_is_refused_with_the_reason() {
    let scratch = Scratch::with(&[("new.csv", NEW), ("text.safetensors", "not weights")]);
    people(&scratch);
    let refuses = |model: &str, data: &str, words: &[&str]| scratch.run(&["predict", model, "-d", data]).refuses(words);
    let model = Model::builder(Shape::vector(3)).dense(2).build().expect("a model");
    let parameters = vec![0.0; model.size()];
    let bare = Weights { model, parameters, metadata: Metadata::new() };
    bare.save(&scratch.path("bare.safetensors")).expect("a file");
    refuses("bare.safetensors", "new.csv", &["`bare.safetensors`", "standoff.preprocessing", "standoff fair"]);
    let foreign = standoff_nn::model::weights::encode(&[], &Metadata::new());
    scratch.write("foreign.safetensors", &foreign);
    refuses("foreign.safetensors", "new.csv", &["no `standoff.model`", "not written by standoff"]);
    refuses("text.safetensors", "new.csv", &["not a whole safetensors file"]);
    refuses("modle.safetensors", "new.csv", &["did you mean `model.safetensors`?"]);
    refuses("model.safetensors", "gone.csv", &["there is no dataset, folder or file `gone.csv`"]);
    refuses("model.safetensors", "mnist", &["the model is for tables"]);
}

/// An IDX file: the sizes, then the bytes.
pub(crate) fn idx(sizes: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0, 0, 8, sizes.len() as u8];
    sizes.iter().for_each(|size| out.extend(size.to_be_bytes()));
    out.extend(bytes);
    out
}

/// Four images of 1 x 2 pixels with the labels 0, 1, 1, 5.
pub(crate) fn images(scratch: &Scratch) {
    fs::create_dir(scratch.path("pictures")).expect("a folder");
    let pixels = [255, 0, 0, 255, 255, 0, 9, 9];
    for part in ["train", "t10k"] {
        scratch.write(&format!("pictures/{part}-images-idx3-ubyte"), &idx(&[4, 1, 2], &pixels));
        scratch.write(&format!("pictures/{part}-labels-idx1-ubyte"), &idx(&[4], &[0, 1, 1, 5]));
    }
}

/// The brighter pixel decides; the network has an output too many.
pub(crate) fn brighter(scratch: &Scratch, input: Shape, classes: &str) {
    let model = Model::builder(input).flatten().dense(3).build().expect("a model");
    let mut parameters = vec![0.0; model.size()];
    let width = input.size();
    (parameters[0], parameters[width + 1]) = (1.0, 1.0);
    let metadata = [("standoff.scale", "unit"), ("standoff.classes", classes)];
    let metadata = metadata.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
    Weights { model, parameters, metadata }.save(&scratch.path("model.safetensors")).expect("a file");
}

#[test]
fn images_are_classified_and_strange_classes_left_out() {
    let scratch = Scratch::new();
    images(&scratch);
    brighter(&scratch, Shape::new(1, 1, 2), "0,1");
    let run = scratch.run(&["predict", "model.safetensors", "--data", "pictures", "--out", "said.csv"]).exits(0);
    let csv = scratch.read("said.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "image,label,prediction,p(0),p(1),p(other)");
    let starts = ["0,0,0,", "1,1,1,", "2,1,0,"];
    assert!(lines.len() == 4 && lines[1..].iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{csv}");
    // e / (e + 2), from pixels divided by 255.
    let p: f64 = lines[1].split(',').nth(3).and_then(|p| p.parse().ok()).expect("a number");
    assert!((p - 0.576_116_88).abs() < 1e-6, "{p}");
    assert!(run.stderr.contains("1 of 4 images are of classes that the model does not know"), "{run:#?}");
    assert!(run.stdout.contains("worst group: 1, 50.00%"), "{run:#?}");
    // An IDX file means its folder.
    let file = scratch.run(&["predict", "model.safetensors", "-d", "pictures/t10k-images-idx3-ubyte"]).exits(0);
    assert_eq!(file.stdout, csv);
    brighter(&scratch, Shape::new(1, 1, 2), "cat,dog");
    let run = scratch.run(&["predict", "model.safetensors", "-d", "pictures"]).exits(0);
    assert!(run.stdout.starts_with("image,prediction,p(cat)") && run.stdout.lines().count() == 5, "{run:#?}");
    assert!(run.stderr.contains("none is judged"), "{run:#?}");
}

#[test]
fn a_model_that_was_just_trained_predicts_what_its_run_reports() {
    let scratch = Scratch::new();
    images(&scratch);
    let train = ["fair", "--data", "pictures", "--classes", "0,1", "--model", "logistic", "--method", "minmax"];
    let more = ["--seeds", "1", "--iterations", "3", "--batch", "2", "--out", "run", "-q"];
    let run = scratch.run(&[&train[..], &more].concat()).exits(0);
    let results: serde_json::Value = serde_json::from_str(&scratch.read("run/results.json")).expect("JSON");
    let folder = fs::read_dir(scratch.path("run")).expect("a folder").flatten().map(|entry| entry.path());
    let model = folder.map(|path| path.join("model.safetensors")).find(|path| path.is_file()).expect("a model");
    let said = scratch.run(&["predict", model.to_str().expect("UTF-8"), "-d", "pictures", "--json"]).exits(0).json();
    for group in 0..2 {
        let (own, reported) = (&said["accuracy"]["groups"][group], &results["runs"][0]["test"][group]);
        assert_eq!((&own["correct"], &own["total"]), (&reported["correct"], &reported["total"]), "{run:#?} {said}");
    }
}

#[test]
fn images_of_another_size_are_refused() {
    let scratch = Scratch::with(&[("new.csv", NEW)]);
    images(&scratch);
    brighter(&scratch, Shape::new(1, 3, 3), "0,1");
    let refuses =
        |data: &str, words: &[&str]| scratch.run(&["predict", "model.safetensors", "-d", data]).refuses(words);
    refuses("pictures", &["`pictures` are 1 x 2", "the model takes 1x3x3"]);
    refuses("new.csv", &["the model is for images", "`new.csv`"]);
}

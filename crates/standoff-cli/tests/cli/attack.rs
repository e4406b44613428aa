//! `standoff attack` on networks that can be attacked by hand: figures, files, refusals and Ctrl-C.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::Digest as _;
use standoff_nn::model::weights::{Metadata, Tensor, encode};
use standoff_nn::{Model, Shape, Weights};

use crate::predict::{brighter, images};
use crate::scratch::{Run, Scratch};

/// Images (1, 0) of class 0 and (0, 1) of class 1 for a network that takes the brighter pixel, and (1, 0) of class 1, which it gets
/// wrong. Every pixel has to move by half to turn the first two.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    images(&scratch);
    brighter(&scratch, Shape::new(1, 1, 2), "0,1");
    scratch
}

fn attack(scratch: &Scratch, args: &[&str]) -> Run {
    scratch.run(&[&["attack", "model.safetensors", "--data", "pictures"], args].concat())
}

/// The rows of a `.npy` file of `float32`, read without the code that wrote it.
fn rows(bytes: &[u8], width: usize) -> Vec<Vec<f32>> {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert!(start.is_multiple_of(64) && bytes[10..start].ends_with(b"\n"));
    let values: Vec<f32> =
        bytes[start..].chunks(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect();
    values.chunks(width).map(<[f32]>::to_vec).collect()
}

#[test]
fn the_bracket_closes_where_the_answer_is_known() {
    let scratch = scratch();
    let run = attack(&scratch, &["--eps", "0.3,0.6", "--json"]).exits(0);
    assert!(run.stderr.contains("1 of 4 images are of classes that the model does not know"), "{run:#?}");
    let all = run.json();
    assert_eq!(
        (&all["protocol"], &all["norm"], &all["interrupted"]),
        (&"standard".into(), &"linf".into(), &false.into())
    );
    let correct = |block: usize, what: &str| all["budgets"][block][what]["all"]["correct"].clone();
    for (block, left) in [(0, 2), (1, 0)] {
        assert_eq!(correct(block, "natural"), 2);
        assert_eq!((correct(block, "worst_case"), correct(block, "certified")), (left.into(), left.into()), "{all}");
        let attacks = all["budgets"][block]["attacks"].as_array().expect("attacks");
        assert_eq!(attacks.len(), 5);
        // Every attack alone says the same here, spends what it may, and says what it cost.
        for one in attacks {
            assert_eq!((&one["accuracy"]["all"]["correct"], &one["tried"]), (&left.into(), &2.into()), "{one}");
            let passes = |kind: &str| one["passes"][kind].as_u64().expect("a count");
            assert!(passes("forward") + passes("gradients") > 0 && one["seconds"].as_f64() >= Some(0.0), "{one}");
        }
        let worst = &all["budgets"][block]["worst_case"]["worst"];
        assert_eq!(
            (&worst["name"], &worst["total"]),
            (&if block == 0 { "1" } else { "0" }.into(), &if block == 0 { 2 } else { 1 }.into())
        );
    }
    let natural = &all["budgets"][0]["natural"]["all"];
    let ends = ["lower", "upper"].map(|end| natural[end].as_f64().expect("a number"));
    assert!((ends[0] - 0.2077).abs() < 1e-4 && (ends[1] - 0.9385).abs() < 1e-4, "{natural}");
    let table = attack(&scratch, &["--eps", "0.3", "-q"]).exits(0);
    assert!(table.stdout.contains("certified at least 66.67%, attacks leave at most 66.67% of 3 images"), "{table:#?}");
    assert!(table.stderr.is_empty(), "{table:#?}");
}

#[test]
fn saved_images_are_in_the_ball_and_misclassified_by_the_file_alone() {
    let scratch = scratch();
    let originals = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]];
    for grid in ["float", "truncate", "round", "search"] {
        attack(&scratch, &["--eps", "0.6", "--grid", grid, "--save", "a.npy"]).exits(0);
        let found = rows(&fs::read(scratch.path("a.npy")).expect("a file"), 2);
        assert_eq!(found.len(), 3);
        for (x, origin) in found.iter().zip(originals) {
            assert!(x.iter().zip(origin).all(|(a, o)| (0.0..=1.0).contains(a) && (a - o).abs() <= 0.6 + 1e-6), "{x:?}");
            if grid != "float" {
                assert!(x.iter().all(|a| *a == (255.0 * a).round() / 255.0), "{grid}: {x:?}");
            }
        }
        // The first two are broken: now the other pixel is brighter. The third was misclassified before and is unchanged.
        assert!(
            found[0][1] > found[0][0] && found[1][0] >= found[1][1] && found[2] == originals[2],
            "{grid}: {found:?}"
        );
    }
}

#[test]
fn a_folder_holds_everything() {
    let scratch = scratch();
    let args = ["--eps", "0.3,3/5", "--attacks", "pgd5:step=0.2,start=clean,square20", "--out", "a/b"];
    let run = attack(&scratch, &args).exits(0);
    assert!(run.stderr.contains("`a/b`"), "{run:#?}");
    let all: Value = serde_json::from_str(&scratch.read("a/b/results.json")).expect("JSON");
    assert_eq!(all["budgets"][1]["attacks"][0]["name"], "pgd5:step=0.2,start=clean");
    let csv = scratch.read("a/b/results.csv");
    // Natural, two attacks, worst case, certified; each for all and for two classes; twice.
    assert_eq!(csv.lines().count(), 1 + 2 * 5 * 3, "{csv}");
    assert!(csv.contains("\n0.6,worst case,all,0,3,0.0,0.0,"), "{csv}");
    let images = scratch.read("a/b/images.csv");
    assert!(
        images.contains("\n0.3,0,0,true,,0,") && images.contains("\n0.6,0,0,true,\"pgd5:step=0.2,start=clean\",1,")
    );
    assert!(images.contains("\n0.6,2,1,false,,0,"), "{images}");
    assert!(fs::read(scratch.path("a/b/pictures.png")).expect("a picture").starts_with(b"\x89PNG"));
    for name in ["adversarial-0.3.npy", "adversarial-0.6.npy"] {
        assert_eq!(rows(&fs::read(scratch.path("a/b").join(name)).expect("a file"), 2).len(), 3);
    }
    // Where nothing falls there is nothing to draw.
    let run = attack(&scratch, &["--eps", "0.1", "--pictures", "none.png"]).exits(0);
    assert!(run.stderr.contains("no image is misclassified") && !scratch.path("none.png").exists(), "{run:#?}");
}

#[test]
fn the_manifest_of_an_attack_has_digests_of_the_model_the_images_and_the_settings() {
    let scratch = scratch();
    let manifest = |more: &[&str]| -> Value {
        attack(&scratch, &[&["--attacks", "fgsm", "--out", "a", "--force"], more].concat()).exits(0);
        serde_json::from_str(&scratch.read("a/manifest.json")).expect("JSON")
    };
    let first = manifest(&["--eps", "0.3"]);
    assert_eq!(
        (&first["format"], &first["version"], &first["kind"]),
        (&json!("standoff-run"), &json!(1), &json!("attack"))
    );
    assert!(first["commit"].is_string() || first["commit"].is_null(), "{first}");
    assert_eq!(first["configuration"]["values"]["eps"], json!([0.3]));
    let parts =
        |manifest: &Value| ["model", "images", "labels"].map(|part| manifest["data"]["parts"][part].to_string());
    assert!(parts(&first).iter().all(|digest| digest.len() == 64 + 2), "{first}");
    assert_eq!(manifest(&["--eps", "0.3", "--threads", "1"]), first, "threads change no result");
    let other = manifest(&["--eps", "0.4"]);
    assert_eq!(other["data"], first["data"]);
    assert_ne!(other["configuration"]["sha256"], first["configuration"]["sha256"]);
    let [fewer, all] = [parts(&manifest(&["--eps", "0.3", "--limit", "2"])), parts(&first)];
    assert!(fewer[0] == all[0] && fewer[1] != all[1] && fewer[2] != all[2], "{fewer:?}");
    let model = fs::read(scratch.path("model.safetensors")).expect("the model");
    let digest = sha2::Sha256::digest(&model).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(first["data"]["parts"]["model"], digest);
}

#[test]
fn threads_and_repetitions_change_nothing_and_the_seed_something() {
    let scratch = scratch();
    let saved = |seed: &str, threads: &str| {
        let args = ["--eps", "0.45", "--attacks", "random3", "--save", "a.npy", "--seed", seed, "--threads", threads];
        attack(&scratch, &args).exits(0);
        fs::read(scratch.path("a.npy")).expect("a file")
    };
    let one = saved("1", "1");
    assert!(one == saved("1", "2") && one == saved("1", "1"));
    assert!(one != saved("2", "1"));
}

#[test]
fn chained_attacks_leave_the_fallen_alone() {
    let scratch = scratch();
    let all = attack(&scratch, &["--eps", "0.6", "--attacks", "fgsm,pgd5", "--chain", "--json"]).exits(0).json();
    let attacks = &all["budgets"][0]["attacks"];
    assert_eq!((&attacks[0]["tried"], &attacks[0]["broken"]), (&2.into(), &2.into()), "{all}");
    assert_eq!((&attacks[1]["tried"], &attacks[1]["accuracy"]["all"]["correct"]), (&0.into(), &0.into()), "{all}");
    assert_eq!(all["chained"], true);
    // What is proven to stand need not be tried.
    let all = attack(&scratch, &["--eps", "0.3", "--attacks", "fgsm,pgd5", "--chain", "--json"]).exits(0).json();
    let block = &all["budgets"][0];
    assert_eq!(
        (&block["attacks"][0]["tried"], &block["worst_case"]["all"]["correct"]),
        (&0.into(), &2.into()),
        "{all}"
    );
    assert_eq!(
        (&block["certified"]["all"]["correct"], &block["warnings"]),
        (&2.into(), &Value::Array(vec![])),
        "{all}"
    );
}

#[test]
fn classes_limits_and_parts_choose_the_images() {
    let scratch = scratch();
    let total = |args: &[&str]| {
        let all = attack(&scratch, &[args, &["--attacks", "fgsm", "--json"]].concat()).exits(0).json();
        all["budgets"][0]["natural"]["all"]["total"].clone()
    };
    assert_eq!(total(&["--limit", "1"]), 1);
    assert_eq!(total(&["--limit", "1e9"]), 3);
    assert_eq!(total(&["--classes", "1"]), 2);
    assert_eq!(total(&["--split", "train", "--norm", "l2", "--eps", "1.2"]), 3);
    assert_eq!(total(&["--protocol", "paper"]), 3);
}

/// A file as PyTorch's tools write it: tensors, and nothing about them.
fn foreign(scratch: &Scratch, name: &str, weights: &[f32; 6]) {
    let tensors = [
        Tensor { name: "fc1.weight", shape: &[2, 2], values: &weights[..4] },
        Tensor { name: "fc1.bias", shape: &[2], values: &weights[4..] },
    ];
    scratch.write(name, &encode(&tensors, &Metadata::new()));
}

#[test]
fn weights_of_other_tools_are_recognised() {
    let scratch = scratch();
    foreign(&scratch, "torch.safetensors", &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    let args =
        ["attack", "--model", "torch.safetensors", "-d", "pictures", "--classes", "0,1", "--eps", "0.6", "--json"];
    let run = scratch.run(&args).exits(0);
    assert!(run.stderr.contains("does not record the scale of pixels"), "{run:#?}");
    assert_eq!(run.json()["budgets"][0]["worst_case"]["all"]["correct"], 0);
    let named = scratch.run(&[&args[..], &["--network", "logistic"]].concat()).exits(0);
    assert_eq!(named.json()["budgets"][0]["worst_case"], run.json()["budgets"][0]["worst_case"]);
    // The image of class 5 has no output.
    let refused = ["attack", "torch.safetensors", "-d", "pictures"];
    scratch.run(&refused).refuses(&["image 3 is of class 5", "2 outputs (0 to 1)", "--classes"]);
    scratch.run(&[&refused[..], &["--network", "lenet"]].concat()).refuses(&["layer 1", "larger than its input"]);
    scratch.run(&[&refused[..], &["--network", "lent"]].concat()).refuses(&["did you mean `lenet`?"]);
    foreign(&scratch, "nan.safetensors", &[1.0, 0.0, f32::NAN, 1.0, 0.0, 0.0]);
    scratch.run(&["attack", "nan.safetensors", "-d", "pictures"]).refuses(&["fc1.weight has NaN at index [1, 0]"]);
}

#[test]
fn what_cannot_be_attacked_is_refused_before_it_is() {
    let scratch = scratch();
    scratch.write("text.safetensors", b"not weights");
    let refuses = |args: &[&str], words: &[&str]| attack(&scratch, args).refuses(words);
    refuses(&["--attacks", "pdg40"], &["unknown attack `pdg40`", "did you mean `pgd`", "fgsm", "apgd-t", "square"]);
    refuses(&["--attacks", ""], &["unknown attack"]);
    refuses(&["--attacks", "fgsm,fgsm"], &["given twice"]);
    refuses(&["--eps", "-0.1"], &["eps is -0.1", "from 0 to 1"]);
    refuses(&["--eps", "8"], &["eps is 8", "8/255"]);
    refuses(&["--eps", "nan"], &["--eps", "not a finite number"]);
    refuses(&["--eps", ""], &["--eps", "not a number"]);
    refuses(&["--eps", "0.3,0.3"], &["given twice"]);
    refuses(&["--limit", "0"], &["--limit is 0"]);
    refuses(&["--classes", "7"], &["no images of class 7", "0, 1, 5"]);
    refuses(&["--classes", "5"], &["no image", "the model knows (0, 1)"]);
    refuses(&["--protocol", "paper", "--norm", "l2"], &["protocol paper", "norm l2"]);
    refuses(&["--protocol", "papper"], &["paper"]);
    refuses(&["--save", "no/where/a.npy"], &["there is no folder `no/where`"]);
    refuses(&["--save", "pictures"], &["`pictures`", "it is a folder"]);
    refuses(&["--limit", "-3"], &["-3 is not a whole number"]);
    refuses(&["--out", "model.safetensors"], &["cannot make the folder"]);
    refuses(&["--model", "model.safetensors"], &["cannot be used with"]);
    scratch.run(&["attack", "gone.safetensors"]).refuses(&["no file `gone.safetensors`"]);
    scratch.run(&["attack", "text.safetensors", "-d", "pictures"]).refuses(&["not a whole safetensors file"]);
    scratch.run(&["attack", "model.safetensors", "-d", "nothing"]).refuses(&["no dataset, folder or file `nothing`"]);
    // MNIST has other images.
    scratch.run(&["attack", "model.safetensors"]).refuses(&["takes inputs of 1x1x2, the images are 28 x 28"]);
    let model = Model::builder(Shape::new(1, 1, 2)).flatten().dense(2).build().expect("a model");
    let parameters = vec![0.0; model.size()];
    let metadata = Metadata::from([("standoff.preprocessing".to_owned(), "{}".to_owned())]);
    Weights { model, parameters, metadata }.save(&scratch.path("model.safetensors")).expect("a file");
    refuses(&[], &["it is for tables"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_says_what_was_finished_and_exits_130() {
    let scratch = scratch();
    let endless = "fgsm,square1000000,pgd1000000,random1000000";
    let args =
        ["attack", "model.safetensors", "-d", "pictures", "--eps", "0.3,0.4", "--attacks", endless, "--out", "a"];
    let child = scratch.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let begun = Instant::now();
    while !scratch.path("a").exists() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(50));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let run = Run::of(child.wait_with_output().expect("it ends")).exits(130);
    assert!(run.stderr.contains("interrupted: 0 of 2 eps finished"), "{run:#?}");
    assert!(
        run.stdout.contains("interrupted at eps") && run.stdout.contains("the attacks so far leave at most"),
        "{run:#?}"
    );
    let kept: Value = serde_json::from_str(&scratch.read("a/results.json")).expect("JSON");
    assert_eq!(kept["interrupted"], true);
}

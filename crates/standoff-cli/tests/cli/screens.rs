//! The screens of 80 and 200 columns and the pages of 390 and 1200 pixels: nothing overflows, and the answer comes first.

use std::fmt::Write as _;

use serde_json::json;
use standoff_nn::{Model, Shape, Weights};

use crate::browser::{Page, installed};
use crate::predict::idx;
use crate::scratch::{Run, Scratch};

/// Lines of a small terminal.
const FOLD: usize = 24;
/// Numbers of groups.
const GROUPS: [usize; 3] = [2, 10, 30];

/// The text of a command on a terminal of that many columns. Fails if a line is wider.
fn screen(scratch: &Scratch, columns: usize, args: &[&str]) -> String {
    let mut command = scratch.command(args);
    command.env("COLUMNS", columns.to_string());
    let run = Run::of(command.output().expect("the command runs"));
    assert!(matches!(run.code, Some(0 | 1)), "{run:#?}");
    let wide = run.stdout.lines().find(|line| line.chars().count() > columns);
    assert_eq!(wide, None, "{columns} columns:\n{}", run.stdout);
    run.stdout
}

/// Both widths, with and without `--verbose`; the words must be above the fold.
fn screens(scratch: &Scratch, args: &[&str], above: &[&str]) {
    for columns in [80, 200] {
        let text = screen(scratch, columns, args);
        let fold = text.lines().take(FOLD).collect::<Vec<_>>().join(" ");
        let fold = fold.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in above {
            assert!(fold.contains(words), "no `{words}` above the fold:\n{text}");
        }
        let all = screen(scratch, columns, &[args, &["--verbose"]].concat());
        assert!(all.lines().count() >= text.lines().count(), "{all}");
    }
}

/// A table of people in so many groups.
fn people(groups: usize) -> String {
    let mut text = "age,region,pay\n".to_owned();
    for i in 0..groups * 24 {
        let (group, age) = (i % groups, 20 + (7 * i) % 45);
        let pay = if (i / groups + group).is_multiple_of(3) { "high" } else { "low" };
        let _ = writeln!(text, "{age},north-west {group:02},{pay}");
    }
    text
}

/// A run of `fair` for each number of groups, in folders of that name.
fn trained() -> Scratch {
    let scratch = Scratch::new();
    for groups in GROUPS {
        let file = format!("{groups}.csv");
        scratch.write(&file, people(groups).as_bytes());
        let out = format!("fair-{groups}");
        let args =
            ["fair", "--data", &file, "--label", "pay", "--group", "region", "--seeds", "2", "--iterations", "20"];
        scratch.run(&[&args[..], &["--measure-every", "10", "--out", &out, "-q"]].concat()).exits(0);
    }
    scratch
}

#[test]
fn the_screens_of_fair_fit_and_show_the_worst_group_and_the_average_first() {
    let scratch = trained();
    for groups in GROUPS {
        let folder = format!("fair-{groups}");
        screens(&scratch, &["fair", "--resume", &folder, "-q"], &["worst group", "worst", "average", "minmax-reg"]);
    }
}

/// For each number of classes: a folder of images, a model whose brightest pixel decides, and a robust training and an attack
/// with their outputs.
fn attacked() -> Scratch {
    let scratch = Scratch::new();
    for classes in GROUPS {
        let data = format!("pictures-{classes}");
        std::fs::create_dir(scratch.path(&data)).expect("a folder");
        let labels: Vec<u8> = (0..3 * classes).map(|i| (i % classes) as u8).collect();
        let bright = |(i, label): (usize, &u8)| {
            let value = [40, 90, 200][i / classes];
            let label = usize::from(*label);
            (0..classes).map(move |pixel| if pixel == label { value } else { 5 })
        };
        let pixels: Vec<u8> = labels.iter().enumerate().flat_map(bright).collect();
        let count = labels.len() as u32;
        for part in ["train", "t10k"] {
            scratch.write(&format!("{data}/{part}-images-idx3-ubyte"), &idx(&[count, 1, classes as u32], &pixels));
            scratch.write(&format!("{data}/{part}-labels-idx1-ubyte"), &idx(&[count], &labels));
        }
        let names: Vec<String> = (0..classes).map(|class| class.to_string()).collect();
        let model = Model::builder(Shape::new(1, 1, classes)).flatten().dense(classes).build().expect("a model");
        let mut parameters = vec![0.0; model.size()];
        (0..classes).for_each(|class| parameters[class * (classes + 1)] = 1.0);
        let metadata =
            [("standoff.scale".to_owned(), "unit".to_owned()), ("standoff.classes".to_owned(), names.join(","))];
        let file = format!("model-{classes}.safetensors");
        Weights { model, parameters, metadata: metadata.into() }.save(&scratch.path(&file)).expect("a file");
        let robust =
            ["robust", "--data", &data, "--model", "logistic", "--batch", "6", "--epochs", "2", "--eps", "0.1"];
        let out = format!("robust-{classes}");
        scratch.run(&[&robust[..], &["--method", "madry", "--steps", "2", "--out", &out, "-q"]].concat()).exits(0);
        let out = format!("attack-{classes}");
        scratch.run(&[&attack(&file, &data)[..], &["--out", &out]].concat()).exits(0);
    }
    scratch
}

fn attack<'a>(file: &'a str, data: &'a str) -> [&'a str; 9] {
    ["attack", file, "-d", data, "--eps", "0.1,0.2,0.3,0.6", "--attacks", "fgsm,pgd5", "-q"]
}

#[test]
fn the_screens_of_robust_and_attack_fit_and_begin_with_the_bounds() {
    let scratch = attacked();
    for classes in GROUPS {
        let [out, file, data] =
            [format!("robust-{classes}"), format!("model-{classes}.safetensors"), format!("pictures-{classes}")];
        screens(&scratch, &["robust", "--resume", &out, "-q"], &["proven safe", "PGD-40", "natural"]);
        let above = ["certified at least", "attacks leave at most", "worst case", "natural"];
        screens(&scratch, &attack(&file, &data), &above);
    }
}

#[test]
fn the_screens_of_race_and_solve_fit_and_begin_with_the_answer() {
    let scratch = Scratch::new();
    let race = ["race", "--games", "kink,trap", "--eps", "1e-1,1e-2,1e-3", "--max-grads", "300", "-q"];
    screens(&scratch, &race, &["solved", "no method solved more", "within 2x"]);
    let one = ["race", "--games", "kink", "--eps", "1e-1,1e-2", "--max-grads", "300", "-q"];
    screens(&scratch, &one, &["solved", "kink: gradients to each eps"]);
    for entries in GROUPS {
        let game = format!(
            "objective = \"dot(p, w) + sum(w^2)\"\n[min.w]\ndim = {entries}\nlower = -1\nupper = 1\n[max.p]\ndim = {entries}\n\
             set = \"simplex\"\n"
        );
        scratch.write("game.toml", game.as_bytes());
        screens(
            &scratch,
            &["solve", "game.toml", "-q"],
            &["converged", "value", "min w", "max p", "X at most", "Y at most"],
        );
    }
}

#[test]
fn lists_and_small_tables_fit() {
    let scratch = Scratch::with(&[("people.csv", &people(30))]);
    for columns in [80, 200] {
        for args in [
            &["zoo"][..],
            &["methods"],
            &["race", "--list"],
            &["plan", "zoo:trap", "--noise", "0.1"],
            &["check", "zoo:trap"],
            &["lqr"],
            &["data", "show", "people.csv", "--label", "pay", "--group", "region"],
        ] {
            screen(&scratch, columns, args);
        }
    }
}

/// Tables that are wider than their place, and parts of the page beyond its edge.
const WIDE: &str = "(() => {
  const faults = [];
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) faults.push(`the page is ${page.scrollWidth} wide`);
  for (const box of document.querySelectorAll('.wide')) {
    if (box.scrollWidth > box.clientWidth + 1) faults.push(box.firstElementChild.getAttribute('aria-label') + ': ' + box.scrollWidth);
  }
  return faults;
})()";

/// The answer and the first row of the first table that are below the first screen.
const BELOW: &str = "(() => {
  const seen = [document.querySelector('.answer'), document.querySelector('.answer ~ .wide tbody tr > *')];
  return seen.filter(e => !e || e.getBoundingClientRect().bottom > innerHeight).length;
})()";

#[cfg(unix)]
#[test]
fn pages_of_390_and_1200_pixels_fit_and_begin_with_the_answer() {
    let Some(browser) = installed() else { return };
    let scratch = trained();
    scratch.run(&["race", "--games", "kink,trap", "--max-grads", "300", "--json=race.json", "-q"]).exits(0);
    let networks = attacked();
    let mut page = Page::open(&scratch, browser, "about:blank");
    let of = |kind: &'static str| GROUPS.map(|groups| format!("{kind}-{groups}"));
    let solve = ["solve", "zoo:kink", "--eps", "1e-3", "--max-grads", "3000", "--trace", "trace.csv", "-q"];
    scratch.run(&solve);
    let others = ["race.json", "trace.csv"].map(str::to_owned);
    for run in [of("fair"), of("robust"), of("attack")].concat().into_iter().chain(others) {
        let place = if run.starts_with("robust") || run.starts_with("attack") { &networks } else { &scratch };
        place.run(&["report", &run, "-o", &format!("{run}.html"), "-q"]).exits(0);
        let address = format!("file://{}", place.path(&format!("{run}.html")).display());
        page.ask("Page.navigate", &json!({ "url": address }));
        page.wait("location.protocol === 'file:' && document.documentElement?.dataset.ready === 'yes'");
        for (width, height) in [(1200, 900), (390, 844)] {
            let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
            page.ask("Emulation.setDeviceMetricsOverride", &size);
            assert_eq!(page.value(WIDE), json!([]), "{run} at {width}");
            assert_eq!(page.value(BELOW), 0, "{run} at {width}: the answer is below the fold");
            if let Some(folder) = std::env::var_os("STANDOFF_SCREENSHOTS") {
                let shot = page.ask("Page.captureScreenshot", &json!({ "format": "png" }));
                let file = std::path::Path::new(&folder).join(format!("{run}-{width}.png.base64"));
                std::fs::write(file, shot["data"].as_str().expect("a picture")).expect("written");
            }
        }
        page.value("document.documentElement.dataset.ready = 'no'");
    }
}

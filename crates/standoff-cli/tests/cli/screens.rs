//! The screens of 80 and 200 columns and the pages of 390 and 1200 pixels: nothing overflows, and the answer comes first.

use std::fmt::Write as _;

use serde_json::json;
use standoff_nn::Shape;

use crate::browser::{Page, installed};
use crate::predict::{brighter, images};
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

#[test]
fn the_screens_of_robust_and_attack_fit_and_begin_with_the_bounds() {
    let scratch = Scratch::new();
    images(&scratch);
    brighter(&scratch, Shape::new(1, 1, 2), "0,1");
    let robust =
        ["robust", "--data", "pictures", "--model", "logistic", "--batch", "2", "--epochs", "2", "--eps", "0.1"];
    scratch.run(&[&robust[..], &["--method", "madry", "--steps", "2", "--out", "robust", "-q"]].concat()).exits(0);
    screens(&scratch, &["robust", "--resume", "robust", "-q"], &["proven safe", "PGD-40", "natural"]);
    let attack =
        ["attack", "model.safetensors", "-d", "pictures", "--eps", "0.1,0.2,0.3,0.6", "--attacks", "fgsm,pgd5", "-q"];
    screens(&scratch, &attack, &["certified at least", "attacks leave at most", "worst case", "natural"]);
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
    images(&scratch);
    brighter(&scratch, Shape::new(1, 1, 2), "0,1");
    let attack =
        ["attack", "model.safetensors", "-d", "pictures", "--eps", "0.1,0.2,0.3,0.6", "--attacks", "fgsm,pgd5"];
    scratch.run(&[&attack[..], &["--out", "attack", "-q"]].concat()).exits(0);
    scratch.run(&["race", "--games", "kink,trap", "--max-grads", "300", "--json=race.json", "-q"]).exits(0);
    let mut page = Page::open(&scratch, browser, "about:blank");
    for run in ["fair-2", "fair-10", "fair-30", "attack", "race.json"] {
        scratch.run(&["report", run, "-o", &format!("{run}.html"), "-q"]).exits(0);
        let address = format!("file://{}", scratch.path(&format!("{run}.html")).display());
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

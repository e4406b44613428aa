//! The report in a real browser: figures that are drawn and saved, values under the pointer, tables that sort, pages that fit.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use standoff_nn::Shape;

use crate::browser::{Page, installed};
use crate::predict::{brighter, images};
use crate::scratch::Scratch;

const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");

/// A run of every kind, and the page of all of them.
fn everything() -> Scratch {
    let scratch = Scratch::new();
    let table = ["fair", "--data", PEOPLE, "--label", "pay", "--group", "sex", "--seeds", "2", "--iterations", "60"];
    scratch.run(&[&table[..], &["--measure-every", "10", "--out", "fair"]].concat()).exits(0);
    let sweep = ["--measure-every", "20", "--lambda", "0.01,0.1,1", "--out", "sweep"];
    scratch.run(&[&table[..], &sweep].concat()).exits(0);
    images(&scratch);
    brighter(&scratch, Shape::new(1, 1, 2), "0,1");
    let attack = [
        "attack",
        "model.safetensors",
        "-d",
        "pictures",
        "--eps",
        "0.3,0.6",
        "--attacks",
        "fgsm,pgd5",
        "--out",
        "attack",
    ];
    scratch.run(&attack).exits(0);
    let robust =
        ["robust", "--data", "pictures", "--model", "logistic", "--batch", "2", "--epochs", "20", "--eps", "0.1"];
    for (method, out) in [("madry", "robust-a"), ("ibp", "robust-b")] {
        let more = ["--method", method, "--steps", "2", "--measure-every", "4", "--ramp", "2", "--out", out];
        scratch.run(&[&robust[..], &more].concat()).exits(0);
    }
    scratch.run(&["solve", "zoo:kink", "--trace", "trace.csv", "-q"]);
    let all = ["report", "fair", "sweep", "attack", "robust-a", "robust-b", "trace.csv", "-o", "page.html"];
    scratch.run(&all).exits(0);
    scratch
}

/// Texts of a figure that lie over one another, and figures in which nothing is drawn.
const FAULTS: &str = "(() => {
  const faults = [];
  for (const svg of document.querySelectorAll('figure svg')) {
    const title = svg.getAttribute('aria-label');
    const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
      const [a, b] = [texts[i][1], texts[j][1]];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 2) faults.push(`${title}: ${texts[i][0]} over ${texts[j][0]}`);
    }
    const box = svg.getBoundingClientRect();
    for (const [text, r] of texts) if (r.left < box.left - 1 || r.right > box.right + 1) faults.push(`${title}: ${text} is cut`);
    const drawn = [...svg.querySelectorAll('.series .line')].some(p => p.getTotalLength() > 30) || svg.querySelector('.mark');
    if (!drawn) faults.push(`${title}: nothing is drawn`);
  }
  for (const img of document.images) if (!img.naturalWidth) faults.push('a picture is broken');
  return faults;
})()";

#[test]
fn figures_are_drawn_saved_and_tell_their_values_and_tables_sort() {
    let Some(browser) = installed() else { return };
    let scratch = everything();
    let address = format!("file://{}", scratch.path("page.html").display());
    let mut page = Page::open(&scratch, browser, &address);
    page.wait("document.documentElement?.dataset.ready === 'yes'");
    let titles = page.value("[...document.querySelectorAll('figure svg')].map(s => s.getAttribute('aria-label'))");
    let titles: Vec<&str> = titles.as_array().expect("titles").iter().filter_map(|t| t.as_str()).collect();
    for title in [
        "training loss of the worst group",
        "X against gradients",
        "the worst group against the average",
        "minmax: weight of each group",
        "accuracy against eps",
        "natural accuracy",
        "trace.csv: X and Y against gradients",
    ] {
        assert!(titles.contains(&title), "no {title} in {titles:?}");
    }
    assert_eq!(page.value("document.querySelectorAll('figure svg .band').length > 3"), true);
    for (width, mobile) in [(1200, false), (390, true), (320, true)] {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile });
        page.ask("Emulation.setDeviceMetricsOverride", &size);
        assert_eq!(page.value(FAULTS), json!([]), "at {width}");
        let beyond = page.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(beyond, 0, "the page is wider than {width}");
    }
    saved(&mut page, &scratch, titles.len());
    hovered(&mut page);
    sorted(&mut page);
}

/// Every button is clicked, and every file is a picture of its own.
fn saved(page: &mut Page, scratch: &Scratch, figures: usize) {
    let buttons = page.value("document.querySelectorAll('figure button').length");
    assert_eq!(buttons, figures);
    fs::create_dir_all(scratch.path("saved")).expect("a folder");
    page.value("document.querySelector('figure button').click()");
    let found = || -> Option<PathBuf> {
        let mut files =
            fs::read_dir(scratch.path("saved")).expect("a folder").map(|entry| entry.expect("a file").path());
        files.find(|path| path.extension().is_some_and(|kind| kind == "svg"))
    };
    let begun = Instant::now();
    let file = loop {
        match found() {
            Some(file) => break file,
            None => assert!(begun.elapsed() < Duration::from_secs(30), "nothing was saved"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = fs::read_to_string(&file).expect("text");
    assert!(
        text.starts_with("<?xml") && text.contains("<style") && text.contains("xmlns=\"http://www.w3.org/2000/svg\"")
    );
    // The browser's own parser of XML has the last word.
    let quoted = serde_json::to_string(&text).expect("JSON");
    let parsed = format!(
        "(() => {{ const d = new DOMParser().parseFromString({quoted}, 'image/svg+xml');
           return d.documentElement.tagName + ' ' + d.querySelectorAll('parsererror').length + ' ' + (d.querySelectorAll('.line').length > 0); }})()"
    );
    assert_eq!(page.value(&parsed), "svg 0 true");
}

/// The pointer on a curve shows the nearest value.
fn hovered(page: &mut Page) {
    let place = page.value(
        "(() => { const svg = document.querySelector('figure[data-lines] svg'); svg.scrollIntoView({ block: 'center' });
          const path = svg.querySelector('.series .line'); const p = path.getPointAtLength(path.getTotalLength());
          const q = new DOMPoint(p.x, p.y).matrixTransform(svg.getScreenCTM()); return [q.x, q.y]; })()",
    );
    page.ask("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": place[0], "y": place[1] }));
    page.wait("!document.querySelector('.tip').hidden");
    let tip = page.value("document.querySelector('.tip').textContent");
    let tip = tip.as_str().expect("text");
    assert!(tip.lines().count() == 3 && tip.contains(": "), "{tip}");
}

/// A click on a head sorts by it, a second one the other way around.
fn sorted(page: &mut Page) {
    let column = |page: &mut Page| {
        let cells =
            "[...document.querySelector('table.sorts').tBodies[0].rows].map(r => parseFloat(r.cells[1].textContent))";
        let numbers = page.value(cells);
        numbers.as_array().expect("numbers").iter().map(|v| v.as_f64().expect("a number")).collect::<Vec<f64>>()
    };
    let click = "document.querySelector('table.sorts').tHead.rows[0].cells[1].click()";
    page.value(click);
    let up = column(page);
    assert!(up.len() > 2 && up.is_sorted(), "{up:?}");
    page.value(click);
    assert!(column(page).is_sorted_by(|a, b| a >= b));
}

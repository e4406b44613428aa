//! `standoff play`: the address it prints, its end by Ctrl-C, and its page in a real browser.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::browser::{Page, installed};
use crate::scratch::Scratch;

/// The running command.
struct Play {
    child: Child,
    address: String,
}

impl Play {
    fn start(scratch: &Scratch, more: &[&str]) -> Self {
        let mut command = scratch.command(&[&["--quiet", "play", "--no-open"], more].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("an address");
        Self { child, address: line.trim_end().to_owned() }
    }

    /// Ends it by a signal; its exit code.
    fn end(mut self, signal: &str) -> Option<i32> {
        let sent = std::process::Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn play_prints_an_address_with_a_token_serves_it_and_ends_by_a_signal() {
    let scratch = Scratch::new();
    for signal in ["-INT", "-TERM"] {
        let play = Play::start(&scratch, &[]);
        let (host, token) = play.address.trim_start_matches("http://").split_once('/').expect("an address");
        assert!(host.starts_with("127.0.0.1:") && token.len() == 33, "{}", play.address);
        let mut stream = TcpStream::connect(host).expect("it listens");
        write!(stream, "GET /{token} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("Standoff play"), "{reply}");
        assert_eq!(play.end(signal), Some(0), "{signal}");
    }
}

#[test]
fn a_port_that_is_taken_is_refused() {
    let scratch = Scratch::new();
    let play = Play::start(&scratch, &[]);
    let port = play.address.split([':', '/']).nth(4).expect("a port").to_owned();
    scratch.run(&["play", "--no-open", "--port", &port]).refuses(&[&port, "--port"]);
}

/// The page in a browser.
fn open(play: &Play, scratch: &Scratch, browser: &str, part: &str) -> Page {
    let mut page = Page::open(scratch, browser, &format!("{}#{part}", play.address));
    page.wait("document.documentElement?.dataset.ready === 'yes'");
    page
}

fn wait_for(page: &mut Page, what: &str, state: &str) {
    page.wait(&format!("document.documentElement.dataset.{what} === '{state}'"));
}

/// Replaces the text of a field as a user does, by the keyboard.
fn type_into(page: &mut Page, id: &str, text: &str) {
    page.value(&format!("document.getElementById('{id}').focus(), document.getElementById('{id}').select()"));
    page.ask("Input.insertText", &json!({ "text": text }));
}

/// No part is wider than the window, in light and dark; pictures go to STANDOFF_SCREENSHOTS, if it is set.
fn fits(page: &mut Page, name: &str) {
    for (width, height, mobile) in [(1200, 900, false), (390, 844, true)] {
        for scheme in ["light", "dark"] {
            let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
            page.ask("Emulation.setDeviceMetricsOverride", &size);
            let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
            page.ask("Emulation.setEmulatedMedia", &media);
            // Two frames: one for the new size, one for what is drawn again.
            page.value(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 300))))",
            );
            let beyond = page.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(beyond, 0, "{name} is wider than {width}");
            picture(page, &format!("play-{name}-{width}-{scheme}.png"));
        }
    }
    page.ask(
        "Emulation.setDeviceMetricsOverride",
        &json!({ "width": 1200, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
    );
}

fn picture(page: &mut Page, name: &str) {
    let Ok(folder) = std::env::var("STANDOFF_SCREENSHOTS") else { return };
    let image = page.ask("Page.captureScreenshot", &json!({ "format": "png", "captureBeyondViewport": true }));
    let bytes = base64::engine::general_purpose::STANDARD.decode(image["data"].as_str().expect("a picture"));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(Path::new(&folder).join(name), bytes.expect("base64")).expect("a file");
}

#[test]
fn a_formula_is_typed_and_its_paths_curves_and_certificates_appear() {
    let Some(browser) = installed() else { return };
    let scratch = Scratch::new();
    let play = Play::start(&scratch, &[]);
    let mut page = open(&play, &scratch, browser, "game");
    wait_for(&mut page, "game", "done");
    let shown = |page: &mut Page| page.value("[...document.querySelectorAll('.card')].map(c => c.textContent)");
    let cards = shown(&mut page);
    assert!(
        cards[0].as_str().is_some_and(|text| text.starts_with("autoconverged") && text.contains("rigorous")),
        "{cards}"
    );
    for (what, least) in [("#paths .path", 3), ("#curve-X .path", 3), ("#curve-Y .path", 3)] {
        assert!(page.value(&format!("document.querySelectorAll('{what}').length")).as_u64() >= Some(least), "{what}");
    }
    // The level sets have more than a few colours.
    let colours = "(() => { const c = document.getElementById('levels'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const all = new Set(); for (let i = 0; i < d.length; i += 4) all.add(d[i] * 65536 + d[i + 1] * 256 + d[i + 2]); return all.size; })()";
    assert!(page.value(colours).as_u64() >= Some(10));
    fits(&mut page, "game");
    // Another formula, typed: the saddle at the origin.
    let rounds = page.value("Number(document.documentElement.dataset.rounds)");
    type_into(&mut page, "objective", "x^2 - y^2 + x*y");
    page.wait(&format!("document.documentElement.dataset.rounds > {rounds}"));
    wait_for(&mut page, "game", "done");
    let cards = shown(&mut page);
    assert!(cards[2].as_str().is_some_and(|text| text.starts_with("extragradientconverged")), "{cards}");
    broken_formulas(&mut page);
    // A click on the level sets begins there.
    page.value("document.querySelector('#examples button').click()");
    wait_for(&mut page, "game", "done");
    let place = page.value("(() => { const b = document.getElementById('paths').getBoundingClientRect(); return [b.left + b.width * 0.3, b.top + b.height * 0.3]; })()");
    for kind in ["mousePressed", "mouseReleased"] {
        page.ask(
            "Input.dispatchMouseEvent",
            &json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 }),
        );
    }
    page.wait("document.getElementById('x-start').valueAsNumber < 0");
    wait_for(&mut page, "game", "done");
}

/// Errors of formulas have a caret under their place; errors of bounds have none.
fn broken_formulas(page: &mut Page) {
    type_into(page, "objective", "x^2 + sinn(y)");
    wait_for(page, "game", "error");
    let error = page.value("document.getElementById('game-error').textContent");
    let lines: Vec<&str> = error.as_str().expect("a text").lines().collect();
    assert_eq!(lines.len(), 3, "{error}");
    assert!(
        lines[0].contains("column 7") && lines[2].trim() == "^" && lines[1].as_bytes()[lines[2].len() - 1] == b's',
        "{error}"
    );
    picture(page, "play-caret.png");
    type_into(page, "objective", "x^2 - y^2");
    wait_for(page, "game", "done");
    assert_eq!(page.value("document.getElementById('game-error').hidden"), true);
    type_into(page, "x-to", "-5");
    wait_for(page, "game", "error");
    let error = page.value("document.getElementById('game-error').textContent");
    assert!(error.as_str().is_some_and(|text| text.contains("the first must be smaller")), "{error}");
    type_into(page, "x-to", "2");
    wait_for(page, "game", "done");
}

#[test]
fn a_digit_is_drawn_and_eps_slides_through_its_bracket() {
    let Some(browser) = installed() else { return };
    let scratch = Scratch::new();
    let play = Play::start(&scratch, &[]);
    let mut page = open(&play, &scratch, browser, "digit");
    // It begins with the first test image, a 7.
    wait_for(&mut page, "digit", "done");
    assert_eq!(page.value("document.getElementById('reading').textContent"), "7");
    fits(&mut page, "digit");
    // A one: a stroke from top to bottom.
    page.value("document.getElementById('clear').click(), scrollTo(0, 0)");
    let canvas = page.value("(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()");
    let at = |u: f64, v: f64| {
        let side = |i: usize| canvas[i].as_f64().expect("a number");
        (side(0) + u * side(2), side(1) + v * side(3))
    };
    let mut mouse = |kind: &str, (x, y): (f64, f64)| {
        page.ask(
            "Input.dispatchMouseEvent",
            &json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1 }),
        );
    };
    mouse("mousePressed", at(0.5, 0.15));
    for step in 1..=20 {
        mouse("mouseMoved", at(0.5, 0.15 + 0.035 * f64::from(step)));
    }
    mouse("mouseReleased", at(0.5, 0.85));
    page.wait("document.getElementById('reading').textContent === '1'");
    wait_for(&mut page, "digit", "done");
    slide(&mut page);
}

/// Slides eps by the keyboard from 0 to the end: proven comes first, and never returns.
fn slide(page: &mut Page) {
    let slider = "document.getElementById('eps-slider')";
    let mut states = Vec::new();
    for eps in ["0", "0.1", "0.2", "0.3", "0.4", "0.5"] {
        page.value(&format!("{slider}.value = {eps}, {slider}.dispatchEvent(new Event('input', {{ bubbles: true }}))"));
        let said = page.value("document.getElementById('verdict').textContent");
        let state = said
            .as_str()
            .and_then(|text| text.split(": ").nth(1))
            .and_then(|text| text.split('.').next())
            .expect("a state")
            .to_owned();
        states.push(["proven", "undecided", "broken"].iter().position(|known| *known == state).expect("a known state"));
    }
    assert!(states[0] == 0 && states.is_sorted(), "{states:?}");
    // The arrow keys move the slider, and the attack at its place follows.
    page.value(&format!("{slider}.focus()"));
    for kind in ["keyDown", "keyUp"] {
        page.ask(
            "Input.dispatchKeyEvent",
            &json!({ "type": kind, "key": "ArrowLeft", "code": "ArrowLeft", "windowsVirtualKeyCode": 37 }),
        );
    }
    page.wait(&format!("{slider}.value === '0.495'"));
    page.wait("document.documentElement.dataset.attacked === '0.495'");
    assert_eq!(page.value("document.querySelectorAll('#margins .dot').length"), 9);
}

/// A line of `metrics.jsonl`.
fn measured(step: u64) -> Value {
    let loss = 1.0 / (1.0 + step as f64);
    json!({ "step": step, "losses": [loss, 2.0 * loss, 0.5], "weights": [0, 1, 0], "value": 2.0 * loss, "x_gap": [0.1, 0.2], "y_gap": [0, 0.01], "gradients": step, "seconds": 0.5 })
}

#[test]
fn runs_are_listed_and_their_curves_grow_while_one_watches() {
    let Some(browser) = installed() else { return };
    let scratch = Scratch::new();
    let fair = [
        "--quiet",
        "fair",
        "--method",
        "minmax",
        "--seeds",
        "1",
        "--iterations",
        "6",
        "--batch",
        "60",
        "--out",
        "runs/fair-1",
    ];
    scratch.run(&fair).exits(0);
    let play = Play::start(&scratch, &[]);
    let mut page = open(&play, &scratch, browser, "runs");
    page.wait("document.documentElement.dataset.report?.startsWith('fair-1 ')");
    let points = "[...document.querySelector('#report iframe').contentDocument.querySelectorAll('figure[data-lines]')].reduce((n, f) => n + f.dataset.lines.length, 0)";
    let before = page.value(points).as_u64().expect("a number");
    fits(&mut page, "runs");
    // The experiment goes on: its file of measurements grows.
    let path = find_metrics(&scratch.path("runs/fair-1")).expect("measurements");
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("a file");
    for step in 7..40 {
        writeln!(file, "{}", measured(step)).expect("written");
    }
    drop(file);
    page.wait(&format!(
        "document.querySelector('#report iframe').contentDocument?.readyState === 'complete' && {points} > {before}"
    ));
    assert_eq!(page.value("document.querySelectorAll('#run-list .live').length"), 1);
    assert_eq!(play.end("-INT"), Some(0));
    // Without the server the page says so.
    page.wait("!document.getElementById('lost').hidden");
}

fn find_metrics(folder: &Path) -> Option<std::path::PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()) {
        let found = if entry.is_dir() {
            find_metrics(&entry)
        } else {
            Some(entry).filter(|path| path.ends_with("metrics.jsonl"))
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

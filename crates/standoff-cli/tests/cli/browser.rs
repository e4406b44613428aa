//! A real browser without a window, driven through a pair of pipes: its own protocol, a JSON text and a zero byte at a time.
#![cfg_attr(not(unix), allow(dead_code, unused_imports))] // the tests that use it need a Unix shell

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// The browser, if this machine has one; a notice if not. With `STANDOFF_BROWSER=required` a machine without one fails the test.
pub(crate) fn installed() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs);
    found_or_skipped(found, std::env::var("STANDOFF_BROWSER").is_ok_and(|value| value == "required"))
}

fn found_or_skipped(found: Option<&'static str>, required: bool) -> Option<&'static str> {
    assert!(found.is_some() || !required, "STANDOFF_BROWSER=required, but there is no chromium here");
    if found.is_none() {
        let _ = std::io::stderr().write_all(b"notice: no chromium here, so this page was not opened in a browser\n");
    }
    found
}

#[test]
#[should_panic = "no chromium here"]
fn a_required_browser_that_is_missing_fails_the_test() {
    assert_eq!(found_or_skipped(None, false), None);
    found_or_skipped(None, true);
}

/// The tests of this program that ask for a browser, as `module::name`.
fn tests_in_a_browser() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let mut names = Vec::new();
    for file in fs::read_dir(folder).expect("the tests").map(|entry| entry.expect("an entry").path()) {
        let module = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).expect("UTF-8");
        let mut test = "";
        for line in text.lines().filter(|_| module != "browser") {
            if let Some(rest) = line.strip_prefix("fn ") {
                test = rest.split('(').next().unwrap_or_default();
            } else if line.contains("installed()") {
                names.push(format!("{module}::{test}"));
            }
        }
    }
    names
}

#[test]
fn the_scripts_run_every_test_that_asks_for_a_browser_and_require_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = |name: &str| fs::read_to_string(root.join(name)).expect("a script");
    let full = script(".ci/full");
    let line = full.lines().find(|line| line.contains("--test cli -- ") && line.contains("STANDOFF_BROWSER=required"));
    let filters = line.and_then(|line| line.split_once("--test cli -- ")).expect("the tests in a browser").1;
    let tests = tests_in_a_browser();
    assert!(tests.len() >= 7, "{tests:?}");
    for test in tests {
        assert!(filters.split(' ').any(|filter| test.contains(filter)), "`{filters}` leaves out {test}");
    }
    assert!(script(".ci/site").contains("STANDOFF_BROWSER=required"));
}

/// A page in a browser.
pub(crate) struct Page {
    browser: Child,
    input: File,
    output: BufReader<File>,
    session: Option<String>,
    last: u64,
}

impl Page {
    /// Opens an address; what is saved from the page goes into the folder `saved`.
    #[cfg(unix)]
    pub(crate) fn open(scratch: &Scratch, browser: &str, address: &str) -> Self {
        let pipe = |name: &str| {
            let path = scratch.path(name);
            assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo runs").success());
            path
        };
        let (input, output) = (pipe("to-browser"), pipe("from-browser"));
        let line = format!(
            "exec {browser} --headless --no-sandbox --disable-gpu --user-data-dir=profile --remote-debugging-pipe \
             3<to-browser 4>from-browser"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(scratch.path(".")).stdout(Stdio::null()).stderr(Stdio::null());
        let browser = command.spawn().expect("it starts");
        // In the order of the shell: opening a pipe waits for its other end.
        let input = OpenOptions::new().write(true).open(input).expect("a pipe");
        let output = BufReader::new(File::open(output).expect("a pipe"));
        let mut page = Self { browser, input, output, session: None, last: 0 };
        let target = page.ask("Target.createTarget", &json!({ "url": address }))["targetId"].clone();
        let session = page.ask("Target.attachToTarget", &json!({ "targetId": target, "flatten": true }));
        page.session = session["sessionId"].as_str().map(str::to_owned);
        let saved = scratch.path("saved");
        page.ask("Browser.setDownloadBehavior", &json!({ "behavior": "allow", "downloadPath": saved }));
        page
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.try_to_ask(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn try_to_ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let (Some(session), false) = (&self.session, method.starts_with("Browser.")) {
            message["sessionId"] = session.as_str().into();
        }
        self.input.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).expect("the browser answers");
            assert!(!bytes.is_empty(), "the browser has ended");
            let answer: Value = serde_json::from_slice(&bytes[..bytes.len() - 1]).expect("JSON");
            if answer["id"] == self.last {
                return answer;
            }
        }
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "userGesture": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", &params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, expression: &str) {
        let begun = Instant::now();
        let params = json!({ "expression": expression, "returnByValue": true });
        // While a page is replaced by the next one, the browser has none to ask: an error, like a page that is not ready.
        while self.try_to_ask("Runtime.evaluate", &params)["result"]["result"]["value"] != true {
            assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain for {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

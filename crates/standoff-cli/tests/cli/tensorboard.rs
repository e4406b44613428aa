//! Event files opened by TensorBoard itself, where it is installed.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::scratch::Scratch;

const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");

const READ: &str = "\
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()['scalars']}))
";

/// A Python that has TensorBoard: the one named by the environment, or the usual one.
fn python() -> Option<String> {
    let named = std::env::var("STANDOFF_TEST_PYTHON").ok();
    let has = |python: &String| {
        let asked = Command::new(python).args(["-c", "import tensorboard"]).output();
        asked.is_ok_and(|out| out.status.success())
    };
    named.into_iter().chain(["python3".to_owned()]).find(has)
}

#[test]
fn tensorboard_reads_what_metrics_jsonl_says() {
    let Some(python) = python() else {
        let _ = std::io::stderr().write_all(b"notice: no TensorBoard here, so it did not read the event files\n");
        return;
    };
    let scratch = Scratch::new();
    let args = ["fair", "--data", PEOPLE, "--label", "pay", "--group", "sex", "--seeds", "1", "--method", "minmax-reg"];
    scratch.run(&[&args[..], &["--iterations", "60", "--measure-every", "20", "--out", "run"]].concat()).exits(0);
    let folder = scratch.path("run/minmax-reg-0.1-seed-1");
    let read = Command::new(python).args(["-c", READ]).arg(&folder).output().expect("Python runs");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let seen: Value = serde_json::from_slice(&read.stdout).expect("JSON");
    let lines = fs::read_to_string(folder.join("metrics.jsonl")).expect("metrics");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 4);
    let single = |value: &Value| value.as_f64().expect("a number") as f32;
    for (tag, of) in
        [("value", "/value"), ("losses/0", "/losses/0"), ("weights/1", "/weights/1"), ("x_gap/1", "/x_gap/1")]
    {
        let points = seen[tag].as_array().unwrap_or_else(|| panic!("no {tag} in {seen}"));
        assert_eq!(points.len(), lines.len(), "{tag}");
        for (point, line) in points.iter().zip(&lines) {
            assert_eq!(point[0], line["step"]);
            assert_eq!(single(&point[1]), single(line.pointer(of).expect("there")), "{tag}");
        }
    }
}

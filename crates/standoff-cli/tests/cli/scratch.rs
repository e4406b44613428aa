//! A folder of one's own, and the command run inside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub(crate) const STANDOFF: &str = env!("CARGO_BIN_EXE_standoff");

/// A game that solves in a moment; its equilibrium is x = 1/2, y = 0.75 sin(1.5).
pub(crate) const KINK: &str = "\
objective = \"cos(3*x)/4 + y*(x - 0.5)\"
[min.x]
lower = -2
upper = 2
start = 1.7
[max.y]
lower = -1
upper = 1
start = -1
";

/// A game with vectors, several variables and data.
pub(crate) const GROUPS: &str = "\
objective = \"sum(p * sigmoid(-b * (A @ w + c))) + 0.01*sum(w^2 / (1 + w^2))\"
[min.w]
dim = 2
set = { ball = { radius = 5.0 } }
start = [0.1, -0.2]
[min.c]
lower = -3
upper = 3
[max.p]
dim = 3
set = \"simplex\"
[data]
A = [[1.0, 2.0], [0.5, -1.0], [-1.5, 0.3]]
b = [1, -1, 1]
";

/// A game whose result is longer than a pipe holds.
pub(crate) const LONG: &str = "\
objective = \"sum((x - 0.1234567)^2) - y^2\"
[min.x]
dim = 30000
set = \"free\"
[max.y]
set = \"free\"
";

/// A folder that vanishes at the end of the test.
pub(crate) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a scratch folder") }
    }

    /// With some files in it.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let scratch = Self::new();
        for (name, text) in files {
            scratch.write(name, text.as_bytes());
        }
        scratch
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("a file in the scratch folder");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file that the command wrote")
    }

    /// The command, in this folder, in an environment without colours forced or forbidden.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(STANDOFF);
        command.current_dir(self.folder.path()).args(args);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command(args).output().expect("the command runs"))
    }

    /// With something on standard input.
    pub(crate) fn feed(&self, args: &[&str], input: &str) -> Run {
        let output = assert_cmd::Command::from_std(self.command(args)).write_stdin(input).output();
        Run::of(output.expect("the command runs"))
    }
}

/// The exit code and the output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command writes UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Fails unless the exit code is this one.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// An error with nothing on stdout, exit code 2, no panic, and these words in the message.
    pub(crate) fn refuses(self, words: &[&str]) {
        let run = self.exits(2);
        assert!(run.stdout.is_empty(), "{run:#?}");
        assert!(run.stderr.starts_with("error: "), "{run:#?}");
        assert!(!run.stderr.contains("bug in standoff"), "{run:#?}");
        for word in words {
            assert!(run.stderr.contains(word), "no `{word}` in {run:#?}");
        }
    }

    /// Standard output with every line break and every indentation as one blank.
    pub(crate) fn on_one_line(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Copies a folder with its folders.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

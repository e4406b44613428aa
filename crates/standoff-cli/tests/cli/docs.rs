//! The commands of all pages in docs/ run. A block marked `not-run` is left out; in a block marked `exact` the output is compared.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::{Run, STANDOFF, Scratch};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One command of a page, and the output printed below it.
struct Shown {
    command: String,
    output: Vec<String>,
    exact: bool,
}

/// The pages, without those that a program makes.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["docs", "docs/start", "docs/coming-from"] {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of pages");
        found.extend(entries.map(|e| e.expect("an entry").path()).filter(|p| p.extension().is_some_and(|e| e == "md")));
    }
    found.sort();
    found
}

/// The commands in the blocks `sh` and `console` of a page.
fn commands(page: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut block: Option<Vec<&str>> = None;
    for line in page.lines() {
        match (&block, line.strip_prefix("```")) {
            (None, Some(info)) => block = Some(info.split(',').collect()),
            (Some(_), Some("")) => block = None,
            (Some(info), _) if ["sh", "console"].contains(&info[0]) && !info.contains(&"not-run") => {
                let command = if info[0] == "sh" { Some(line) } else { line.strip_prefix("$ ") };
                match command {
                    Some(command) if command.trim().is_empty() => {}
                    Some(command) => shown.push(Shown {
                        command: command.to_owned(),
                        output: Vec::new(),
                        exact: info.contains(&"exact"),
                    }),
                    None => shown.last_mut().expect("a command above its output").output.push(line.to_owned()),
                }
            }
            _ => {}
        }
    }
    shown
}

/// The command with minutes of work cut to a moment: limits are added unless the line has them.
pub(crate) fn shortened(line: &str) -> String {
    let line = line.split("  #").next().unwrap_or(line).trim_end();
    let word = line.split(' ').nth(1).unwrap_or_default();
    let limits: &[(&str, &str)] = match word {
        "fair" => &[("--seeds", "1"), ("--iterations", "6"), ("--batch", "60")],
        "robust" => &[("--limit", "256"), ("--epochs", "1")],
        "attack" => &[("--attacks", "fgsm"), ("--limit", "50")],
        _ => &[],
    };
    let mut short = line.to_owned();
    for (flag, value) in limits.iter().filter(|(flag, _)| !line.contains(flag)) {
        short += &format!(" {flag} {value}");
    }
    short
}

/// True if the printed lines appear in this order; `...` matches any lines.
fn matches(printed: &str, expected: &[String]) -> bool {
    let mut lines = printed.lines().map(str::trim_end);
    let mut skipping = false;
    for want in expected.iter().map(|line| line.trim_end()) {
        if want == "..." {
            skipping = true;
        } else if skipping {
            if !lines.any(|line| line == want) {
                return false;
            }
            skipping = false;
        } else if lines.next() != Some(want) {
            return false;
        }
    }
    skipping || lines.next().is_none()
}

#[test]
fn the_commands_of_the_documentation_run_and_print_what_the_pages_show() {
    let folder = Path::new(STANDOFF).parent().expect("a folder").display().to_string();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let mut count = 0;
    for page in pages() {
        let scratch = Scratch::new();
        // The tutorials run as outside a clone: `standoff examples` writes their files, and the data is inside the program.
        let outside = page.parent().is_some_and(|folder| folder.ends_with("docs/start"));
        for folder in ["examples", "models", "tools", "experiments"].into_iter().filter(|_| !outside) {
            std::os::unix::fs::symlink(root().join(folder), scratch.path(folder)).expect("a link");
        }
        for shown in commands(&fs::read_to_string(&page).expect("a page")) {
            let line = if shown.exact { shown.command.clone() } else { shortened(&shown.command) };
            let mut shell = Command::new("sh");
            shell.current_dir(scratch.path("")).env("PATH", &path).args(["-c", &line]);
            if outside {
                shell.env_remove("STANDOFF_DATA").env("XDG_CACHE_HOME", scratch.path("cache"));
            } else {
                shell.env("STANDOFF_DATA", root().join("data"));
            }
            let run = Run::of(shell.output().expect("a shell"));
            assert_eq!(run.code, Some(0), "{}: `{line}` fails: {}", page.display(), run.stderr);
            let same = !shown.exact || matches(&run.stdout, &shown.output);
            assert!(same, "{}: `{line}` prints\n{}", page.display(), run.stdout);
            count += 1;
        }
    }
    assert!(count >= 25, "only {count} commands were found");
}

/// True of an import or of a call of the package.
fn is_python(line: &str) -> bool {
    let import = line.starts_with("import ") || (line.starts_with("from ") && line.contains(" import "));
    import || line.contains("= standoff.")
}

/// Pages whose Rust code is a test of its crate.
const RUST_PAGES: [&str; 4] = ["robust-game.md", "engine.md", "models.md", "rust.md"];

#[test]
fn every_block_of_code_runs_in_a_test_or_says_that_it_does_not() {
    for page in pages().into_iter().chain([root().join("README.md")]) {
        let text = fs::read_to_string(&page).expect("a page");
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let Some(info) = line.strip_prefix("```") else { continue };
            let body: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            let words: Vec<&str> = info.split(',').collect();
            let runs = match words[0] {
                // The test above, or that of the README, runs commands.
                "sh" | "console" => true,
                // `.ci/python` runs them.
                "python" => body.iter().any(|line| line.starts_with(">>> ")),
                "rust" => RUST_PAGES.iter().any(|name| page.ends_with(name)),
                // Output and formats. Python is marked as such.
                "text" => !body.iter().any(|line| is_python(line)),
                "toml" | "json" => true,
                _ => false,
            };
            assert!(runs || words.contains(&"not-run"), "{}:{}: ```{info}", page.display(), number + 1);
        }
    }
}

#[test]
fn every_page_is_in_the_summary_and_opens_with_a_title_and_a_sentence() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("the summary");
    for page in pages().into_iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        let name = page.strip_prefix(root().join("docs")).expect("a page in docs").display().to_string();
        assert!(summary.contains(&format!("]({name})")), "{name} is not in docs/SUMMARY.md");
        let text = fs::read_to_string(&page).expect("a page");
        let lines: Vec<&str> = text.lines().take(3).collect();
        assert!(lines[0].starts_with("# ") && lines[1].is_empty() && lines[2].len() > 20, "{name}: {lines:?}");
    }
}

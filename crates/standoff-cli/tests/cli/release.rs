//! The version of a release: the same in every file that states it.

use std::fs;
use std::path::Path;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn text(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name))
        .expect("a file of the repository")
}

#[test]
fn every_file_states_the_same_version() {
    let citation = text("CITATION.cff");
    assert!(citation.lines().any(|line| line == format!("version: {VERSION}")), "{citation}");
    let changelog = text("CHANGELOG.md");
    let released: Vec<&str> = changelog.lines().filter(|line| line.starts_with("## [")).collect();
    assert_eq!(released[0], "## [Unreleased]");
    assert!(released[1].starts_with(&format!("## [{VERSION}] - 20")), "{released:?}");
    for lock in ["Cargo.lock", "fuzz/Cargo.lock", "search/Cargo.lock"] {
        assert!(text(lock).contains(&format!("name = \"standoff\"\nversion = \"{VERSION}\"\n")), "{lock}");
    }
}

#[test]
fn every_page_of_the_docs_opens_with_a_title_and_a_line_of_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for entry in fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "md") || path.ends_with("python.md") || path.ends_with("SUMMARY.md") {
            continue;
        }
        let page = fs::read_to_string(&path).expect("a page");
        let lines: Vec<&str> = page.lines().take(3).collect();
        let is_text = lines.get(2).is_some_and(|line| line.starts_with(char::is_alphabetic));
        assert!(lines[0].starts_with("# ") && lines[1].is_empty() && is_text, "{}: {lines:?}", path.display());
    }
}

#[test]
fn every_fuzz_target_is_in_its_manifest_and_on_its_page_and_has_seeds() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let (manifest, page) = (text("fuzz/Cargo.toml"), text("docs/fuzzing.md"));
    let mut count = 0;
    for target in
        fs::read_dir(fuzz.join("fuzz_targets")).expect("the targets").map(|entry| entry.expect("an entry").path())
    {
        let name = target.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
        // The fuzzer refuses a folder that is not there, and `.ci/full` names one for each target.
        assert!(fs::read_dir(fuzz.join("seeds").join(&name)).is_ok_and(|seeds| seeds.count() > 0), "{name}");
        count += 1;
    }
    assert!(count >= 9, "{count}");
}

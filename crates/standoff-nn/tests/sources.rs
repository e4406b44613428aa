//! Rules that the sources of this crate keep.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// The code of a line, without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

#[test]
fn only_the_kernels_have_unsafe_code_or_name_instruction_sets() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = sources(&src);
    assert!(files.len() > 50, "{} files", files.len());
    for path in files.iter().filter(|path| !path.starts_with(src.join("kernels"))) {
        let text = fs::read_to_string(path).expect("text");
        // `lib.rs` has the lint, and its only exception: the module of the kernels.
        let expected = usize::from(path.ends_with("lib.rs"));
        let count = |word: &str| text.lines().filter(|line| code(line).contains(word)).count();
        assert_eq!(count("allow(unsafe_code)"), expected, "{}", path.display());
        assert_eq!(count("deny(unsafe_code)"), expected, "{}", path.display());
        for word in ["unsafe {", "unsafe fn", "unsafe impl", "target_feature", "std::arch"] {
            assert_eq!(count(word), 0, "`{word}` in {}", path.display());
        }
    }
}

//! Records the commit of a release build, and finds the files of the repository that go into the program.
//!
//! In the repository the folder `bundled` has files that name folders at its root; in a published package it has those folders. A clone
//! and a source distribution have the folders two levels up.

#![allow(clippy::print_stdout, reason = "build scripts speak to cargo on stdout")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The folders with files for the program. The registry takes packages of at most 10 MB, so `data/fashion-tops` is not in the published
/// package: a folder that is absent is left out.
const BUNDLED: [&str; 8] =
    ["data/fashion-tops", "data/adult", "data/mnist", "examples", "experiments", "models", "tools", "tools/proofcheck"];

/// True for the files of these folders that go into the program, which must stay below 40 MB: all of a dataset, but only the test images
/// of MNIST, what the tutorials read, and the descriptions of experiments and networks.
fn is_bundled(folder: &str, name: &str) -> bool {
    match folder {
        "data/mnist" => name == "LICENSE" || name.starts_with("t10k-"),
        "models" => name == "ibp-lenet.safetensors" || name.ends_with(".toml"),
        "tools" => name == "check_proof.py",
        _ => true,
    }
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let experiments = find("experiments").unwrap_or_else(|| panic!("the folder `experiments` is missing"));
    println!("cargo::rustc-env=STANDOFF_EXPERIMENTS={}", experiments.display());
    let data = find("data").unwrap_or_else(|| panic!("the folder `data` is missing"));
    println!("cargo::rustc-env=STANDOFF_SUMS={}", data.join("SHA256SUMS").display());
    write_bundled_list();
    record_commit();
}

/// A folder of this package, or else of the repository that it is in.
fn find(name: &str) -> Option<PathBuf> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    [here.join("bundled").join(name), here.join("../..").join(name)].into_iter().find(|folder| folder.is_dir())
}

/// Writes `bundled_files.rs`: folder, name and bytes of every file.
fn write_bundled_list() {
    let mut list = String::from("&[\n");
    for folder in BUNDLED.iter().filter(|_| env::var_os("CARGO_FEATURE_BUNDLED").is_some()) {
        let Some(path) = find(folder) else { continue };
        println!("cargo::rerun-if-changed={}", path.display());
        for name in names(&path).iter().filter(|name| is_bundled(folder, name)) {
            let bytes = path.join(name).display().to_string();
            writeln!(list, "    ({folder:?}, {name:?}, include_bytes!({bytes:?})),").expect("a string");
        }
    }
    list.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("bundled_files.rs"), list).expect("the build folder can be written");
}

/// The names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut names: Vec<String> =
        entries.filter(|path| path.is_file()).filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

fn record_commit() {
    println!("cargo::rerun-if-env-changed=STANDOFF_COMMIT");
    // Development builds are not worth a new compilation after every commit.
    if env::var_os("STANDOFF_COMMIT").is_some() || env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    // Sources without a repository have no commit.
    if let (Some(commit), Some(log)) = (git(&["rev-parse", "HEAD"]), git(&["rev-parse", "--git-path", "logs/HEAD"])) {
        println!("cargo::rerun-if-changed={log}");
        println!("cargo::rustc-env=STANDOFF_COMMIT={commit}");
    }
}

//! Records the commit of a release build, for the manifests of runs.

#![allow(clippy::print_stdout, reason = "build scripts speak to cargo on stdout")]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=STANDOFF_COMMIT");
    // Development builds are not worth a new compilation after every commit.
    if std::env::var_os("STANDOFF_COMMIT").is_some() || std::env::var("PROFILE").as_deref() != Ok("release") {
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

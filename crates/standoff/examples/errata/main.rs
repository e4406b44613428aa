//! Demonstrates each erratum of docs/errata.md: `cargo run --release --example errata`, or some of them: `-- E7 E9`.
//!
//! Every demonstration checks what it prints. Exit code 0: all claims hold, 1: one failed, 2: an unknown name.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod demonstrations;

use std::process::ExitCode;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let selected = match demonstrations::select(&wanted) {
        Ok(selected) => selected,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    let mut failed = false;
    for demonstration in selected {
        println!("{}  {}", demonstration.name, demonstration.title);
        let (lines, outcome) = demonstration.run();
        lines.iter().for_each(|line| println!("    {line}"));
        if let Err(problem) = outcome {
            eprintln!("error: {}: {}", demonstration.name, problem.0);
            failed = true;
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

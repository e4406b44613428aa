//! Searches for false certificates: `sets` uses exact arithmetic here, `stream` serves `formulas.py`, which makes and
//! checks formulas.

mod feasible;
mod generate;
mod number;
mod path;
mod random;
mod rows;
mod sets;
mod stream;
mod time;

use generate::Hardness;
use std::process::ExitCode;

/// The value of `--name value`.
fn option(arguments: &[String], name: &str) -> Option<u64> {
    let at = arguments.iter().position(|a| a == name)?;
    arguments.get(at + 1)?.parse().ok()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("sets") => run_sets(&arguments),
        Some("stream") => match stream::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        },
        Some("time") => {
            let files: Vec<String> = arguments[1..].iter().filter(|a| a.ends_with(".toml")).cloned().collect();
            match time::run(&files, option(&arguments, "--rows").unwrap_or(0) as usize) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("error: {error}");
                    ExitCode::FAILURE
                }
            }
        }
        _ => {
            eprintln!(
                "usage: standoff-search sets --count N --seed S [--first K] [--mild | --wild] [--shave DIGITS]\n       standoff-search stream\n       standoff-search time FILE.toml... [--rows N]"
            );
            ExitCode::from(2)
        }
    }
}

/// Prints the results; fails if a claim is false or too many cases could not be checked.
fn run_sets(arguments: &[String]) -> ExitCode {
    let (count, seed) = (option(arguments, "--count").unwrap_or(2000), option(arguments, "--seed").unwrap_or(1));
    let first = option(arguments, "--first").unwrap_or(0);
    let has = |name: &str| arguments.iter().any(|a| a == name);
    let hardness = if has("--mild") {
        Hardness::Mild
    } else if has("--wild") {
        Hardness::Wild
    } else {
        Hardness::Hard
    };
    let shave = option(arguments, "--shave").map_or(0.0, |digits| 10f64.powi(-(digits as i32)));
    let started = std::time::Instant::now();
    // Two sets per case.
    let mut tally = sets::range(seed, first..first + count.div_ceil(2), hardness, shave);
    for text in &tally.wrong {
        println!("FALSE {text}");
    }
    let without: u64 = tally.without.values().sum();
    println!("sets {} refused cases {} silent {} empty {}", tally.sets, tally.refused, tally.silent, tally.empty);
    println!("by kind {:?}", tally.kinds);
    println!("no exactly feasible step near the optimum found {without}: {:?}", tally.without);
    println!("bound / optimum - 1: {}", quantiles(&mut tally.ratios, 1.0));
    println!("(bound - optimum) / (radius ||g||): {}", quantiles(&mut tally.losses, 0.0));
    println!("false claims {}, seconds {:.1}", tally.wrong.len(), started.elapsed().as_secs_f64());
    let fine = tally.wrong.is_empty() && without * 100 <= tally.sets;
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Some quantiles, each minus a number.
fn quantiles(values: &mut [f64], less: f64) -> String {
    values.sort_by(f64::total_cmp);
    let at = |q: f64| values.get(((values.len() as f64 - 1.0) * q) as usize).copied().unwrap_or(f64::NAN) - less;
    format!(
        "median {:.1e}, 90 % {:.1e}, 99 % {:.1e}, 99.9 % {:.1e}, largest {:.1e}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    )
}

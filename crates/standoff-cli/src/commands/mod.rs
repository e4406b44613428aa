//! One file per command: its arguments, its help and what it does.

pub(crate) mod attack;
mod check;
mod completions;
mod data;
mod fair;
mod lqr;
mod man;
mod methods;
mod noise_rows;
mod plan;
mod predict;
mod race;
mod rates;
mod report;
mod reproduce;
mod robust;
mod solve;
mod training;
mod verify;
mod zoo;

use anyhow::Result;
use clap::Subcommand;

use crate::Exit;
use crate::present::screen::Screen;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train classifiers for the worst group instead of the average
    Fair(Box<fair::FairArgs>),
    /// Train a network that is robust to small changes of its input
    Robust(Box<robust::RobustArgs>),
    /// Attack a network, and prove a lower bound on its accuracy
    Attack(Box<attack::AttackArgs>),
    /// Show runs in the browser: tables, curves, images on one page
    Report(report::ReportArgs),
    /// Reproduce the tables and the figure of the paper
    Reproduce(reproduce::ReproduceArgs),
    /// Solve a game to a certificate
    Solve(solve::SolveArgs),
    /// Check a point: recompute its certificate from scratch
    Verify(verify::VerifyArgs),
    /// Estimate the properties of a game, and recommend a method
    Check(check::CheckArgs),
    /// Compute the bounds of the theorems: steps, iterations, gradients
    Plan(plan::PlanArgs),
    /// Compare methods on the same games
    Race(race::RaceArgs),
    /// Measure the cost against eps, beside the bounds of the theorems
    Rates(rates::RatesArgs),
    /// List the methods
    Methods(methods::MethodsArgs),
    /// List the games with known answers
    Zoo(zoo::ZooArgs),
    /// Imitate the controller of a linear system
    Lqr(lqr::LqrArgs),
    /// Classify new data with a trained model
    Predict(predict::PredictArgs),
    /// List, show, verify and fetch datasets
    Data(data::DataArgs),
    /// Write tab completions for a shell
    Completions(completions::CompletionsArgs),
    /// Write a manual page
    Man(man::ManArgs),
}

impl Command {
    pub(crate) fn run(&self, screen: &mut Screen) -> Result<Exit> {
        match self {
            Self::Fair(args) => fair::run(args, screen),
            Self::Robust(args) => robust::run(args, screen),
            Self::Attack(args) => attack::run(args, screen),
            Self::Report(args) => report::run(args, screen),
            Self::Reproduce(args) => reproduce::run(args, screen),
            Self::Solve(args) => solve::run(args, screen),
            Self::Verify(args) => verify::run(args, screen),
            Self::Check(args) => check::run(args, screen),
            Self::Plan(args) => plan::run(args, screen),
            Self::Race(args) => race::run(args, screen),
            Self::Rates(args) => rates::run(args, screen),
            Self::Methods(args) => methods::run(args, screen),
            Self::Zoo(args) => zoo::run(args, screen),
            Self::Lqr(args) => lqr::run(args, screen),
            Self::Predict(args) => predict::run(args, screen),
            Self::Data(args) => data::run(args, screen),
            Self::Completions(args) => completions::run(args, screen),
            Self::Man(args) => man::run(args, screen),
        }
    }
}

//! One file per command: its arguments, its help and what it does.

pub(crate) mod attack;
mod check;
mod completions;
mod data;
mod doctor;
mod examples;
pub(crate) mod fair;
mod lqr;
mod man;
mod man_markdown;
pub(crate) mod merge;
mod methods;
mod model;
mod plan;
mod play;
mod predict;
mod race;
mod rates;
mod report;
mod reproduce;
mod robust;
mod solve;
mod training;
mod verify;
mod verify_net;
mod zoo;

use anyhow::{Result, bail};
use clap::Subcommand;
use standoff_cluster::ranks;

use crate::Exit;
use crate::screen::Screen;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train classifiers for the worst group instead of the average
    Fair(Box<fair::FairArgs>),
    /// Train a network that is robust to small changes of its input
    Robust(Box<robust::RobustArgs>),
    /// Attack a network, and prove a lower bound on its accuracy
    Attack(Box<attack::AttackArgs>),
    /// Open a page: type games, draw digits, watch runs
    Play(play::PlayArgs),
    /// Put the shards of a sweep together
    Merge(merge::MergeArgs),
    /// Show runs in the browser: tables, curves, images on one page
    Report(report::ReportArgs),
    /// Reproduce the tables and the figure of the paper
    Reproduce(reproduce::ReproduceArgs),
    /// Solve a game to a certificate
    Solve(solve::SolveArgs),
    /// Check a point: recompute its certificate from scratch
    Verify(verify::VerifyArgs),
    /// Prove a property of a network, or find a counter-example
    VerifyNet(Box<verify_net::VerifyNetArgs>),
    /// Estimate the properties of a game, and recommend a method
    Check(check::CheckArgs),
    /// Compute the bounds of the theorems: steps, iterations, gradients
    Plan(plan::PlanArgs),
    /// Compare methods on the same games
    Race(race::RaceArgs),
    /// Measure the cost against eps, beside the bounds of the theorems
    Rates(rates::RatesArgs),
    /// Show a network, or convert it to ONNX
    Model(model::ModelArgs),
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
    /// Write the files of the tutorials into a folder
    Examples(examples::ExamplesArgs),
    /// Show version, machine, folders and where data was found
    Doctor(doctor::DoctorArgs),
    /// Write tab completions for a shell
    Completions(completions::CompletionsArgs),
    /// Write a manual page
    Man(man::ManArgs),
}

impl Command {
    pub(crate) fn run(&self, screen: &mut Screen) -> Result<Exit> {
        if ranks::are_several()
            && !matches!(self, Self::Fair(_) | Self::Robust(_) | Self::Attack(_) | Self::VerifyNet(_))
        {
            bail!("this command does not run on several ranks; those that do: {}", ranks::COMMANDS.join(", "));
        }
        match self {
            Self::Fair(args) => fair::run(args, screen),
            Self::Robust(args) => robust::run(args, screen),
            Self::Attack(args) => attack::run(args, screen),
            Self::Play(args) => play::run(args, screen),
            Self::Merge(args) => merge::run(args, screen),
            Self::Report(args) => report::run(args, screen),
            Self::Reproduce(args) => reproduce::run(args, screen),
            Self::Solve(args) => solve::run(args, screen),
            Self::Verify(args) => verify::run(args, screen),
            Self::VerifyNet(args) => verify_net::run(args, screen),
            Self::Check(args) => check::run(args, screen),
            Self::Plan(args) => plan::run(args, screen),
            Self::Race(args) => race::run(args, screen),
            Self::Rates(args) => rates::run(args, screen),
            Self::Model(args) => model::run(args, screen),
            Self::Methods(args) => methods::run(args, screen),
            Self::Zoo(args) => zoo::run(args, screen),
            Self::Lqr(args) => lqr::run(args, screen),
            Self::Predict(args) => predict::run(args, screen),
            Self::Data(args) => data::run(args, screen),
            Self::Examples(args) => examples::run(args, screen),
            Self::Doctor(args) => doctor::run(args, screen),
            Self::Completions(args) => completions::run(args, screen),
            Self::Man(args) => man::run(args, screen),
        }
    }
}

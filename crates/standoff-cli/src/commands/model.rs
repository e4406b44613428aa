//! `standoff model`: shows the operations of a network, and writes it as ONNX.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand, ValueHint};
use standoff_present::network::operators;
use standoff_train::number::plural;
use standoff_train::verification;

use crate::screen::Screen;
use crate::{Exit, files};

/// The arguments of `standoff model`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff model show model.onnx
  standoff model convert model.safetensors model.onnx
  standoff model convert --fold model.safetensors model.onnx")]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    action: ModelAction,
}

#[derive(Debug, Subcommand)]
enum ModelAction {
    /// Show operations, sizes, parameters and cost
    Show {
        /// An ONNX file, or a model saved by standoff
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Write a network as ONNX
    Convert {
        /// An ONNX file, or a model saved by standoff
        #[arg(value_name = "FROM", value_hint = ValueHint::FilePath)]
        from: PathBuf,
        /// The file to write
        #[arg(value_name = "TO.onnx", value_hint = ValueHint::FilePath)]
        to: PathBuf,
        /// Fold batch normalisation into the convolution or dense layer before it, if nothing else reads that layer
        #[arg(long)]
        fold: bool,
    },
}

pub(crate) fn run(args: &ModelArgs, screen: &mut Screen) -> Result<Exit> {
    match &args.action {
        ModelAction::Show { file } => {
            let shown = operators(&verification::onnx(file)?, screen.list_width());
            screen.result(&shown.with_context(|| files::name(file))?)?;
        }
        ModelAction::Convert { from, to, fold } => {
            if to.extension().is_none_or(|e| e != "onnx") {
                bail!(
                    "cannot write {}: networks are written as ONNX, name a file that ends with .onnx",
                    files::name(to)
                );
            }
            let mut model = verification::onnx(from)?;
            model.graph()?; // refuses operators that are not supported
            if *fold {
                let [folded, kept] = model.fold_batch_normalisation();
                screen.note(&format!("{} folded, {kept} kept", plural(folded as u64, "batch normalisation")));
            }
            files::replace(to, &model.to_bytes())?;
        }
    }
    Ok(Exit::Done)
}

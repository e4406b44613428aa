//! `standoff model`: shows the operations of a network, and writes it as ONNX.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueHint};
use standoff_nn::verify::{NodeOp, OpGraph};
use standoff_train::verification;

use crate::screen::Screen;
use crate::{Exit, files};
use standoff_present::number::plural;

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
        ModelAction::Show { file } => screen.result(&table(&verification::network(file)?))?,
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

fn table(graph: &OpGraph) -> String {
    let mut text = String::from("operation            values  products  name\n");
    let mut cost = 0;
    for node in graph.nodes() {
        let (kind, products) = match &node.op {
            NodeOp::Input => ("input".to_owned(), 0),
            NodeOp::Linear { map, .. } => ("linear".to_owned(), map.parameters() - map.outputs()),
            NodeOp::Activation { kind, .. } => (format!("{kind:?}").to_lowercase(), 0),
            NodeOp::MaxPool { .. } => ("max-pool".to_owned(), 0),
            NodeOp::Add { .. } => ("add".to_owned(), 0),
        };
        cost += products;
        let _ = writeln!(text, "{kind:<19} {:>7} {products:>9}  {}", node.size, node.name);
    }
    let _ = writeln!(text, "{} inputs, {} outputs, {cost} products per input", graph.inputs(), graph.outputs());
    text
}

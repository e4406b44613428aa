//! `standoff model`: shows the operations of a network, and writes it as ONNX.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand, ValueHint};
use standoff_nn::model::onnx::OnnxModel;
use standoff_present::table::Table;
use standoff_train::number::{count, plural};
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
            let text = listing(&verification::onnx(file)?, screen.list_width()).with_context(|| files::name(file))?;
            screen.result(&text)?;
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

/// The operators of a network as text.
fn listing(model: &OnnxModel, width: usize) -> Result<String> {
    let (operators, graph) = model.operators()?;
    let mut table = Table::new("", "name", ["operator", "shape", "parameters", "products"]);
    let whole = |n: usize| count(n as u64);
    let shape = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    table.row("input", ["input", &shape(graph.input_dims()), "", ""]);
    let (mut parameters, mut products) = (0, 0);
    for row in operators {
        let counts = [row.parameters, row.products].map(|n| if n == 0 { String::new() } else { whole(n) });
        (parameters, products) = (parameters + row.parameters, products + row.products);
        let [own, cost] = counts;
        table.row(row.name, [row.kind, shape(&row.dims), own, cost]);
    }
    let (inputs, outputs) = (whole(graph.inputs()), graph.outputs());
    let (parameters, products) = (whole(parameters), whole(products));
    let total = format!("{inputs} inputs, {outputs} outputs, {parameters} parameters, {products} products per input");
    Ok(format!("{}\n{total}\n", table.terminal(width).trim_end()))
}

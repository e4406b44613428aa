//! `standoff predict`: predictions of a trained model for new data, and their accuracy where the data has the classes.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};

use crate::Exit;
use crate::files;
use crate::screen::Screen;
use standoff_present::fair::accuracy_table;
use standoff_present::number::plural;
use standoff_train::data::places::SearchFolders;
use standoff_train::fair::evaluation::Evaluation;
use standoff_train::fair::prediction_table::PredictionTable;
use standoff_train::fair::predictor::Predictor;
use standoff_train::fair::unlabelled::UnlabelledData;

/// The arguments of `standoff predict`.
#[derive(Debug, Args)]
#[command(after_help = "\
The result is CSV: a line per sample with the prediction and the probability of every class. Where
the data has the column of the label, the accuracy is printed too, for every group if it has their
columns: on stdout with --out, else on stderr. For a dataset of images the test part is used.

Examples:
  standoff predict model.safetensors --data new.csv > predictions.csv
  standoff predict model.safetensors --data new.csv --out predictions.csv
  standoff predict model.safetensors --data fashion --json")]
pub(crate) struct PredictArgs {
    /// A model that `standoff fair` wrote
    #[arg(value_name = "MODEL.safetensors", value_hint = ValueHint::FilePath)]
    model: PathBuf,

    /// A CSV file with the columns of the training data; for models of images a dataset, a folder of images, or an .npz file
    #[arg(short, long, value_name = "FILE.csv|NAME|FOLDER", value_hint = ValueHint::AnyPath)]
    data: String,

    /// Write the predictions to a CSV file
    #[arg(short, long, value_name = "FILE.csv", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,

    /// Print one JSON object: the accuracies, and without --out the predictions too
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &PredictArgs, screen: &mut Screen) -> Result<Exit> {
    let predictor = Predictor::load(&args.model)?;
    let data = UnlabelledData::find(&args.data, &predictor, &SearchFolders::real())?;
    data.notes.iter().for_each(|text| screen.warn(text));
    let classes = predictor.inputs.classes();
    let predictions = predictor.predict(data.samples(), data.places.len())?;
    let evaluation = Evaluation::of(&predictions.outputs, &data, classes);
    for text in evaluation.iter().flat_map(|evaluation| &evaluation.notes) {
        screen.warn(text);
    }
    let table = PredictionTable { data: &data, predictions: &predictions, classes };
    if let Some(path) = &args.out {
        files::replace(path, table.csv().as_bytes())?;
    }
    let rows = plural(data.places.len() as u64, "prediction");
    let accuracies = evaluation.as_ref().map(|evaluation| accuracy_table::render(evaluation, screen.width()));
    match (args.json, &args.out) {
        (true, out) => screen.result(&format!("{}\n", table.json(evaluation.as_ref(), out.is_none())))?,
        (false, Some(path)) => {
            screen.note(&format!("{rows} in {}", files::name(path)));
            screen.result(&accuracies.unwrap_or_default())?;
        }
        (false, None) => {
            screen.result(&table.csv())?;
            if let Some(accuracies) = accuracies {
                screen.note(&format!("{rows} judged\n{}", accuracies.trim_end()));
            }
        }
    }
    Ok(Exit::Done)
}

//! `standoff predict`: what a trained model says of new data, and how well where the data knows the answers.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};
use serde_json::{Value, json};

use crate::Exit;
use crate::fair::accuracy_table;
use crate::files::{self, field};
use crate::present::number::plural;
use crate::present::screen::Screen;
use standoff_train::data::places::Surroundings;
use standoff_train::document;
use standoff_train::fair::evaluation::Evaluation;
use standoff_train::fair::predictor::{Predictions, Predictor};
use standoff_train::fair::unlabelled::UnlabelledData;

/// The arguments of `standoff predict`.
#[derive(Debug, Args)]
#[command(after_help = "\
The result is CSV: a line per sample with the prediction and the probability of every class. Where
the data has the column of the label, the accuracy is told too, for every group if it has their
columns: on stdout with --out, else on stderr. Of a dataset of images the test part is taken.

Examples:
  standoff predict model.safetensors --data new.csv > predictions.csv
  standoff predict model.safetensors --data new.csv --out predictions.csv
  standoff predict model.safetensors --data fashion --json")]
pub(crate) struct PredictArgs {
    /// A model that `standoff fair` wrote
    #[arg(value_name = "MODEL.safetensors", value_hint = ValueHint::FilePath)]
    model: PathBuf,

    /// A CSV file with the columns of the training data; for models of images a dataset or a folder with IDX files
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
    let data = UnlabelledData::find(&args.data, &predictor, &Surroundings::real())?;
    data.notes.iter().for_each(|text| screen.warn(text));
    let classes = predictor.inputs.classes();
    let said = predictor.predict(data.samples(), data.places.len())?;
    let evaluation = Evaluation::of(&said.outputs, &data, classes);
    for text in evaluation.iter().flat_map(|evaluation| &evaluation.notes) {
        screen.warn(text);
    }
    let told = Told { data: &data, said: &said, classes };
    if let Some(path) = &args.out {
        files::replace(path, told.csv().as_bytes())?;
    }
    let rows = plural(data.places.len() as u64, "prediction");
    let table = evaluation.as_ref().map(|evaluation| accuracy_table::render(evaluation, screen.width()));
    match (args.json, &args.out) {
        (true, out) => screen.result(&format!("{}\n", told.json(evaluation.as_ref(), out.is_none())))?,
        (false, Some(path)) => {
            screen.note(&format!("{rows} in {}", files::name(path)));
            screen.result(&table.unwrap_or_default())?;
        }
        (false, None) => {
            screen.result(&told.csv())?;
            if let Some(table) = table {
                screen.note(&format!("{rows} judged\n{}", table.trim_end()));
            }
        }
    }
    Ok(Exit::Done)
}

/// What was said of what.
struct Told<'a> {
    data: &'a UnlabelledData,
    said: &'a Predictions,
    classes: &'a [String],
}

impl Told<'_> {
    /// What an output is called: networks may have more outputs than classes.
    fn name(&self, output: u16) -> &str {
        self.classes.get(usize::from(output)).map_or("other", String::as_str)
    }

    /// The probability of each class of a sample, and of the outputs that are no class if there are any.
    fn probabilities(&self, i: usize) -> Vec<f32> {
        let width = self.said.width;
        let (own, other) = self.said.probabilities[i * width..(i + 1) * width].split_at(self.classes.len());
        let mut shown = own.to_vec();
        if !other.is_empty() {
            shown.push(other.iter().sum());
        }
        shown
    }

    /// The names of the probabilities.
    fn heads(&self) -> Vec<String> {
        let more = (self.said.width > self.classes.len()).then(|| "other".to_owned());
        self.classes.iter().cloned().chain(more).collect()
    }

    fn csv(&self) -> String {
        let UnlabelledData { key, places, labels, .. } = self.data;
        let label = if labels.is_empty() { "" } else { "label," };
        let mut out = format!("{key},{label}prediction");
        for head in self.heads() {
            let _ = write!(out, ",{}", field(&format!("p({head})")));
        }
        out.push('\n');
        for (i, place) in places.iter().enumerate() {
            let _ = write!(out, "{place},");
            if let Some(label) = labels.get(i) {
                let _ = write!(out, "{},", field(self.name(*label)));
            }
            out.push_str(&field(self.name(self.said.outputs[i])));
            for p in self.probabilities(i) {
                let _ = write!(out, ",{p}");
            }
            out.push('\n');
        }
        out
    }

    fn json(&self, evaluation: Option<&Evaluation>, whole: bool) -> Value {
        let UnlabelledData { key, places, labels, .. } = self.data;
        let one = |i: usize| {
            json!({
                *key: places[i],
                "label": labels.get(i).map(|label| self.name(*label)),
                "prediction": self.name(self.said.outputs[i]),
                "probabilities": self.probabilities(i),
            })
        };
        let mut all = json!({
            "samples": places.len(),
            "classes": self.heads(),
            "accuracy": evaluation.map(Evaluation::json),
        });
        if whole {
            all["predictions"] = (0..places.len()).map(one).collect();
        }
        document::PREDICT.stamp(all)
    }
}

//! New data for a model, with classes and groups where the data has them.

use std::path::Path;

use standoff_nn::Samples;
use standoff_nn::data::{Groups, Preprocessing, SampleValues, Sheet};

use super::predictor::{Inputs, Predictor};
use crate::data::find::{Found, Source, find};
use crate::data::known::FASHION;
use crate::data::places::SearchFolders;
use crate::error::{Result, refuse};
use crate::files;
use crate::number::count;

/// Samples to be classified.
#[derive(Debug, Clone, PartialEq)]
pub struct UnlabelledData {
    values: SampleValues,
    /// The unit of `places`: `line` of a file, or `image`.
    pub key: &'static str,
    /// The line or the index of each sample.
    pub places: Vec<usize>,
    /// The class of each sample; empty where the data has none.
    pub labels: Vec<u16>,
    /// The groups of the samples; none where the data has none.
    pub groups: Groups,
    /// The groups by number.
    pub group_names: Vec<String>,
    /// True if the groups are not the classes, so that fairness can be measured.
    pub apart: bool,
    /// Messages for the user.
    pub notes: Vec<String>,
}

impl UnlabelledData {
    /// Finds a dataset and prepares it for a model.
    pub fn find(data: &str, predictor: &Predictor, around: &SearchFolders) -> Result<Self> {
        match (&predictor.inputs, find(Some(data), &FASHION, around)?) {
            (Inputs::Table(preprocessing), Source::Table(path)) => Self::table(preprocessing, &path),
            (Inputs::Images { scale, classes }, Source::Images(found)) => {
                Self::images(*scale, classes, &found, predictor)
            }
            (Inputs::Table(_), Source::Images(found)) => {
                refuse!(Data, "the model is for tables, {} holds images", files::name(&found.folder))
            }
            (Inputs::Images { .. }, Source::Table(path)) => {
                refuse!(Data, "the model is for images, {} is not a folder of images", files::name(&path))
            }
        }
    }

    /// Samples as the engine takes them.
    pub fn samples(&self) -> Samples<'_> {
        self.values.samples()
    }

    fn table(preprocessing: &Preprocessing, path: &Path) -> Result<Self> {
        let sheet = sheet(preprocessing, path)?;
        let missing = missing(preprocessing, &sheet);
        if missing.len() > 1 {
            let list: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
            let (file, has) = (files::name(path), sheet.listed());
            refuse!(Data, "{file} has no columns {}, which the model needs (it has: {has})", list.join(", "));
        }
        let (table, notes) = preprocessing.encode(&sheet)?;
        Ok(Self {
            key: "line",
            places: (0..sheet.len()).map(|row| sheet.line(row)).collect(),
            values: SampleValues::Floats(table.features),
            labels: table.labels,
            groups: table.groups,
            group_names: table.group_names,
            apart: !preprocessing.by_label(),
            notes,
        })
    }

    /// The test images of a dataset: those of the model's classes, or all where none has a class that it knows.
    fn images(scale: f32, classes: &[String], found: &Found, predictor: &Predictor) -> Result<Self> {
        let set = found.load(None)?.test;
        let input = predictor.model().input();
        if input.size() != set.pixels() {
            let folder = files::name(&found.folder);
            refuse!(Data, "the images of {folder} are {}, the model takes {input}", set.size());
        }
        let class = |label: &u8| classes.iter().position(|name| *name == found.class_name(*label));
        let known: Vec<Option<u16>> = set.labels.iter().map(|label| class(label).map(|c| c as u16)).collect();
        let judged = known.iter().any(Option::is_some);
        let places: Vec<usize> = (0..set.len()).filter(|i| !judged || known[*i].is_some()).collect();
        let mut notes = Vec::new();
        if !judged {
            notes.push(format!("no image is of a class that the model knows ({}): none is judged", classes.join(", ")));
        } else if places.len() < set.len() {
            let (left, all) = (count((set.len() - places.len()) as u64), count(set.len() as u64));
            notes.push(format!("{left} of {all} images are of classes that the model does not know and are left out"));
        }
        let labels: Vec<u16> = if judged { known.into_iter().flatten().collect() } else { Vec::new() };
        Ok(Self {
            values: SampleValues::Bytes { data: places.iter().flat_map(|i| set.image(*i)).copied().collect(), scale },
            key: "image",
            places,
            groups: if judged { Groups::new(&labels, classes.len())? } else { Groups::overlapping(&[], 0)? },
            labels,
            group_names: classes.to_vec(),
            apart: false,
            notes,
        })
    }
}

/// The columns that the model needs and the sheet does not have.
fn missing<'a>(preprocessing: &'a Preprocessing, sheet: &Sheet) -> Vec<&'a str> {
    let names = preprocessing.columns.iter().map(|column| column.name.as_str());
    names.filter(|name| sheet.position(name).is_none()).collect()
}

/// A model of a table with a header finds its columns by name. One without knows them as c1, c2, ...: then whether the first row
/// has names is guessed, and the guess corrected if it leaves no such columns.
fn sheet(preprocessing: &Preprocessing, path: &Path) -> Result<Sheet> {
    let numbered = |name: &str| name.strip_prefix('c').is_some_and(|n| n.parse::<usize>().is_ok());
    if preprocessing.columns.iter().any(|column| !numbered(&column.name)) {
        return Ok(Sheet::open(path, Some(true))?);
    }
    let guessed = Sheet::open(path, None)?;
    Ok(if missing(preprocessing, &guessed).is_empty() { guessed } else { Sheet::open(path, Some(false))? })
}

//! Images and labels in NumPy's files: an `.npz` archive, or `.npy` files in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::npy::Array;
use super::super::zip;
use super::{ImageSet, png_file};
use crate::{Error, Shape, input};

/// Names of the images and the labels of a part; `train` becomes `test` for test images.
const PARTS: [[&str; 2]; 3] =
    [["x_train", "y_train"], ["train_images", "train_labels"], ["images_train", "labels_train"]];
/// Names of images and labels without parts.
const WHOLE: [[&str; 2]; 6] =
    [["x", "y"], ["images", "labels"], ["data", "labels"], ["data", "target"], ["image", "label"], ["arr_0", "arr_1"]];

/// The arrays of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrays {
    /// An `.npz` file, or a folder with `.npy` files.
    pub(super) path: PathBuf,
    /// The names of images and labels for training; of all without a `test`.
    train: [String; 2],
    /// The names of images and labels for testing.
    pub(super) test: Option<[String; 2]>,
}

impl Arrays {
    /// The arrays of an archive.
    pub(super) fn of_archive(path: &Path) -> Result<Self, Error> {
        let names = zip::names(&read(path)?).map_err(|why| bad(path, why))?;
        let names: Vec<String> = names.iter().filter_map(|name| name.strip_suffix(".npy")).map(str::to_owned).collect();
        Self::named(path, &names)
    }

    /// The arrays of a folder; `None` if it has no `.npy` file.
    pub(super) fn of_folder(path: &Path) -> Result<Option<Self>, Error> {
        let files = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let arrays = files.filter(|file| file.extension().is_some_and(|kind| kind == "npy"));
        let mut names: Vec<String> = arrays.filter_map(|file| file.file_stem()?.to_str().map(str::to_owned)).collect();
        names.sort();
        if names.is_empty() { Ok(None) } else { Self::named(path, &names).map(Some) }
    }

    fn named(path: &Path, names: &[String]) -> Result<Self, Error> {
        let same = |want: &str| names.iter().find(|name| name.eq_ignore_ascii_case(want)).cloned();
        let pair = |[images, labels]: [&str; 2]| Some([same(images)?, same(labels)?]);
        let part =
            |of: &str| PARTS.into_iter().find_map(|[x, y]| pair([&x.replace("train", of), &y.replace("train", of)]));
        if let Some(train) = part("train").or_else(|| WHOLE.into_iter().find_map(pair)) {
            return Ok(Self { path: path.to_owned(), train, test: part("test") });
        }
        let (has, want) = (names.join(", "), pairs());
        Err(bad(path, format!("has no images with labels; it has the arrays {has}, want {want}")))
    }

    /// Reads the training images, or the test images.
    pub(super) fn read(&self, test: bool) -> Result<ImageSet, Error> {
        let [images, labels] = self.test.as_ref().filter(|_| test).unwrap_or(&self.train);
        let archive = if self.path.is_dir() { Vec::new() } else { read(&self.path)? };
        let file = |name: &str| match self.path.is_dir() {
            true => read(&self.path.join(format!("{name}.npy"))),
            false => zip::unpack_within(&archive, Some(&format!("{name}.npy")), input::MAX_DATA)
                .map_err(|why| bad(&self.path, why)),
        };
        let named = |name: &str, why: String| bad(&self.path, format!("has the array {name}, which {why}"));
        let (image_bytes, label_bytes) = (file(images)?, file(labels)?);
        let labels_of = |bytes: &[u8]| Array::read(bytes).and_then(|array| label_list(&array));
        let labels_found = labels_of(&label_bytes).map_err(|why| named(labels, why))?;
        let array = Array::read(&image_bytes).map_err(|why| named(images, why))?;
        let (shape, last) = layout(&array.shape).map_err(|why| named(images, why))?;
        if array.shape[0] != labels_found.len() {
            let (n, m) = (array.shape[0], labels_found.len());
            return Err(named(labels, format!("has {m} labels for the {n} images of {images}")));
        }
        let pixels = pixels(&array).map_err(|why| named(images, why))?;
        let mut planes = Vec::new();
        if last && shape.channels > 1 {
            planes.reserve_exact(pixels.len());
            png_file::add_planes(&pixels, shape, &mut planes);
        } else {
            planes = pixels;
        }
        Ok(ImageSet { images: planes, labels: labels_found, shape })
    }
}

/// The accepted names, for messages.
fn pairs() -> String {
    let [one, other, _] = PARTS.map(|[x, y]| format!("{x} and {y}"));
    format!("{one} (and x_test, y_test), {other}, x and y, or images and labels")
}

/// The shape of an image, and whether channels come last.
fn layout(sizes: &[usize]) -> Result<(Shape, bool), String> {
    let listed = || sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ");
    match *sizes {
        _ if sizes.contains(&0) => Err(format!("is {}: it holds no images", listed())),
        [_, height, width] => Ok((Shape::new(1, height, width), false)),
        [_, height, width, channels @ (1 | 3)] => Ok((Shape::new(channels, height, width), true)),
        [_, channels @ (1 | 3), height, width] => Ok((Shape::new(channels, height, width), false)),
        _ => Err(format!(
            "is {}: want images x height x width, with 1 or 3 channels as the last or the second size if there are four",
            listed()
        )),
    }
}

/// The labels: integers from 0 to 255, in one column.
fn label_list(array: &Array<'_>) -> Result<Vec<u8>, String> {
    if !matches!(array.shape[..], [_] | [_, 1]) {
        return Err(format!("has {} axes: labels are one list of numbers, not one-hot rows", array.shape.len()));
    }
    let byte = |value: f64| match value as u8 {
        byte if f64::from(byte) == value => Ok(byte),
        _ => Err(format!("has the label {value}, want integers from 0 to 255")),
    };
    array.numbers().map(byte).collect()
}

/// The pixels as bytes. Numbers from 0 to 1 are rounded to the nearest of 256 levels.
fn pixels(array: &Array<'_>) -> Result<Vec<u8>, String> {
    if let Some(bytes) = array.bytes() {
        return Ok(bytes.to_vec());
    }
    let (mut low, mut high, mut whole) = (f64::INFINITY, f64::NEG_INFINITY, true);
    for v in array.numbers() {
        if !v.is_finite() {
            return Err(format!("has the pixel {v}"));
        }
        (low, high, whole) = (low.min(v), high.max(v), whole && v.fract() == 0.0);
    }
    let scale = match (low >= 0.0, whole) {
        (true, true) if high > 1.0 && high <= 255.0 => 1.0,
        (true, _) if high <= 1.0 => 255.0,
        _ => return Err(format!("has pixels from {low} to {high}: want bytes, or numbers from 0 to 1")),
    };
    Ok(array.numbers().map(|v| (v * scale).round() as u8).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    input::read(path, input::MAX_DATA).map_err(|error| bad(path, error.to_string()))
}

fn bad(path: &Path, why: impl Into<String>) -> Error {
    Error::Data { file: path.display().to_string(), why: why.into() }
}

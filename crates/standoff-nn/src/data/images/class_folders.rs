//! Folders of PNG images by class: `FOLDER/train/CLASS/*.png` and `FOLDER/test/CLASS/*.png`, or `FOLDER/CLASS/*.png`.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::super::content;
use super::{ImageSet, png_file};
use crate::{Error, Shape};

/// Names of a folder with training images, and with test images.
const TRAIN: [&str; 2] = ["train", "training"];
const TEST: [&str; 5] = ["test", "testing", "val", "valid", "validation"];
/// Kinds of images that are not read.
const OTHERS: [&str; 7] = ["jpg", "jpeg", "bmp", "gif", "webp", "tif", "tiff"];
/// Labels are bytes.
const MOST: usize = 256;

/// Folders of images, one for each class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClassFolders {
    /// The folder with the classes of the training images; of all images without a `test`.
    train: PathBuf,
    /// The folder with the classes of the test images.
    pub(super) test: Option<PathBuf>,
    /// The classes in the order of their labels.
    classes: Vec<Class>,
}

/// A class: its label and its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Class {
    label: u8,
    name: String,
}

impl ClassFolders {
    /// Recognises the layout by a PNG in a folder of a class.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>, Error> {
        let part = |names: &[&str]| names.iter().map(|name| folder.join(name)).find(|path| path.is_dir());
        let train = part(&TRAIN).filter(|train| holds_images(train));
        let test = part(&TEST).filter(|test| train.is_some() && holds_images(test));
        let train = match train {
            Some(train) => train,
            None if holds_images(folder) => folder.to_owned(),
            None => return Ok(None),
        };
        let names = class_names(&train)?;
        if names.len() > MOST {
            return Err(bad(&train, format!("has {} classes, at most {MOST} are possible", names.len())));
        }
        if let Some(other) = test.as_deref().map(class_names).transpose()?.and_then(|all| unknown(all, &names)) {
            let list = names.join(", ");
            return Err(bad(
                folder,
                format!("has test images of class `{other}`, but no training images (of: {list})"),
            ));
        }
        // Folders that are numbers are labels.
        let numbers: Option<Vec<u8>> = names.iter().map(|name| name.parse().ok()).collect();
        let mut classes: Vec<Class> =
            names.into_iter().enumerate().map(|(i, name)| Class { label: i as u8, name }).collect();
        if let Some(numbers) = numbers {
            classes.iter_mut().zip(numbers).for_each(|(class, number)| class.label = number);
            classes.sort_by_key(|class| class.label);
        }
        Ok(Some(Self { train, test, classes }))
    }

    /// The name of a class.
    pub(super) fn name(&self, label: u8) -> Option<&str> {
        self.classes.iter().find(|class| class.label == label).map(|class| class.name.as_str())
    }

    /// Labels and names.
    pub(super) fn named(&self) -> Vec<(u8, &str)> {
        self.classes.iter().map(|class| (class.label, class.name.as_str())).collect()
    }

    /// Reads the images below `train`, or below `test`.
    pub(super) fn read(&self, test: bool) -> Result<ImageSet, Error> {
        let folder = self.test.as_ref().filter(|_| test).unwrap_or(&self.train);
        let mut set = ImageSet { images: Vec::new(), labels: Vec::new(), shape: Shape::new(0, 0, 0) };
        let mut first = None;
        for class in &self.classes {
            let inside = folder.join(&class.name);
            // The test part may lack a class.
            for path in if inside.is_dir() { files(&inside)? } else { Vec::new() } {
                add(&path, class.label, (&mut set, &mut first))?;
            }
        }
        Ok(set)
    }
}

/// Decodes an image and adds it. `first` is the path of the first one, for the error of an image of another size.
fn add(path: &Path, label: u8, (set, first): (&mut ImageSet, &mut Option<PathBuf>)) -> Result<(), Error> {
    let (shape, pixels) = png_file::decode(BufReader::new(content::open(path)?)).map_err(|why| bad(path, why))?;
    match first {
        None => {
            *first = Some(path.to_owned());
            set.shape = shape;
        }
        Some(first) if (set.shape.height, set.shape.width) != (shape.height, shape.width) => {
            let (size, first) = (set.size(), first.display());
            let why = format!("is {} x {}, but {first} is {size}; images need one size", shape.height, shape.width);
            return Err(bad(path, why));
        }
        Some(_) => {}
    }
    // Grey among colour, which programs that compress PNG files write for images without colours.
    let plane = shape.height * shape.width;
    if shape.channels > set.shape.channels {
        set.images = set.images.chunks_exact(plane).flat_map(|grey| grey.repeat(shape.channels)).collect();
        set.shape = shape;
    }
    match shape.channels < set.shape.channels {
        true => set.images.extend(pixels.repeat(set.shape.channels)),
        false => png_file::add_planes(&pixels, shape, &mut set.images),
    }
    set.labels.push(label);
    Ok(())
}

/// The first class that is not in `names`.
fn unknown(classes: Vec<String>, names: &[String]) -> Option<String> {
    classes.into_iter().find(|class| !names.contains(class))
}

/// True if a folder inside holds an image, of any kind.
fn holds_images(folder: &Path) -> bool {
    let image = |path: &Path| path.is_file() && (is_png(path) || OTHERS.iter().any(|kind| has_kind(path, kind)));
    list(folder)
        .is_ok_and(|all| all.iter().any(|class| list(class).is_ok_and(|inside| inside.iter().any(|p| image(p)))))
}

/// The names of the folders inside, which are the classes, in alphabetical order.
fn class_names(folder: &Path) -> Result<Vec<String>, Error> {
    let name = |path: &PathBuf| match path.file_name()?.to_str() {
        Some(name) if path.is_dir() && !name.starts_with('.') => Some(name.to_owned()),
        _ => None,
    };
    Ok(list(folder)?.iter().filter_map(name).collect())
}

/// The images of a class, in alphabetical order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let all = list(folder)?;
    if let Some(other) = all.iter().find(|path| OTHERS.iter().any(|kind| has_kind(path, kind))) {
        return Err(bad(other, "is no PNG; convert the images, only PNG is read"));
    }
    let images: Vec<PathBuf> = all.into_iter().filter(|path| is_png(path)).collect();
    if images.is_empty() {
        return Err(bad(folder, "has no PNG images; every folder of a class needs some"));
    }
    Ok(images)
}

/// The entries of a folder, in alphabetical order.
fn list(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let unread = |error: std::io::Error| bad(folder, format!("cannot be read: {error}"));
    let mut all: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(unread)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .map_err(unread)?;
    all.sort();
    Ok(all)
}

fn is_png(path: &Path) -> bool {
    has_kind(path, "png") && path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'))
}

fn has_kind(path: &Path, kind: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(kind))
}

fn bad(path: &Path, why: impl Into<String>) -> Error {
    Error::Data { file: path.display().to_string(), why: why.into() }
}

//! Finding datasets: by name, by folder, or by file.

use std::path::{Path, PathBuf};

use standoff::error::nearest;
use standoff_nn::data::{CIFAR_FILES, IDX_FILES, ImageData, ImageFiles, sha256};

use super::class::Class;
use super::known::{Edition, KNOWN, Known};
use super::places::SearchFolders;
use super::tables::{KnownTable, TABLES};
use crate::error::{At, Error, Result, error, refuse};
use crate::files;

/// The kind of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Images.
    Images(Found),
    /// A table: a CSV file, by its path.
    Table(PathBuf),
}

/// An image dataset that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its folder.
    pub folder: PathBuf,
    /// The files. [`find_test_images`] may return training files that do not exist.
    pub files: ImageFiles,
    /// Which dataset it is, and how much of it, if it is one that has a name.
    pub known: Option<(&'static Known, &'static Edition)>,
}

/// Finds the images that `--data` names. A table is refused.
pub fn find_images(named: Option<&str>, usual: &'static Known, around: &SearchFolders) -> Result<Found> {
    match search(named, usual, around, "or a folder with images")? {
        Source::Images(found) => Ok(found),
        Source::Table(path) => refuse!(Data, "{} is a table; attacks are on images", files::name(&path)),
    }
}

/// Finds the images that `--data` names, for an evaluation on the test images: a copy of a dataset without its training images will do
/// if there is no complete one.
pub fn find_test_images(named: Option<&str>, usual: &'static Known, around: &SearchFolders) -> Result<Found> {
    let complete = find_images(named, usual, around);
    let known = named.map_or(Some(usual), Known::named);
    match known.filter(|_| complete.is_err()).and_then(|known| test_copy(known, around)) {
        Some(found) => Ok(found),
        None => complete,
    }
}

/// The first copy with test images.
fn test_copy(known: &'static Known, around: &SearchFolders) -> Option<Found> {
    let places = around.places();
    known.editions.iter().find_map(|edition| {
        let mut folders = places.iter().flat_map(|place| edition.folders.iter().map(|name| place.folder.join(name)));
        folders.find_map(|folder| {
            let files = ImageFiles::with_test_images(&folder)?;
            Some(Found { folder, files, known: Some((known, edition)) })
        })
    })
}

/// Finds what `--data` names: a dataset, a folder or a file. A folder that holds several is asked for `usual`, as is everything
/// when nothing is named.
pub fn find(named: Option<&str>, usual: &'static Known, around: &SearchFolders) -> Result<Source> {
    search(named, usual, around, "a folder with images, or a CSV file")
}

/// `takes` lists the alternatives to names, for the message.
fn search(named: Option<&str>, usual: &'static Known, around: &SearchFolders, takes: &str) -> Result<Source> {
    let Some(text) = named else {
        return by_name(usual, around).map(Source::Images);
    };
    if let Some(known) = Known::named(text) {
        return by_name(known, around).map(Source::Images);
    }
    if let Some(table) = KnownTable::named(text) {
        let found = or_unpacked(&[table.name], around, || table_copies(table, around).into_iter().next())?;
        return found.map(Source::Table).ok_or_else(|| absent_table(table, around));
    }
    let path = Path::new(text);
    if path.is_dir() {
        return in_folder(path, usual).map(Source::Images);
    }
    if path.is_file() {
        return match ImageFiles::find(path)? {
            Some(files) => {
                let archive = path.extension().is_some_and(|kind| kind == "npz");
                let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let folder = if archive { path } else { parent }.to_owned();
                Ok(Source::Images(Found { folder, files, known: None }.recognised()))
            }
            None => Ok(Source::Table(path.to_owned())),
        };
    }
    let names: Vec<&str> = KNOWN.iter().map(|k| k.name).chain(TABLES.iter().map(|t| t.name)).collect();
    let hint = nearest(text, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    let hint = hint.or_else(|| (!path.exists()).then(|| files::suggestion(path))).unwrap_or_default();
    let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    refuse!(Data, "there is no dataset, folder or file `{text}`{hint} (--data takes {names}, {takes})")
}

/// Every copy of a dataset, the best first: more complete editions before others, then in the order of the places.
pub fn copies(known: &'static Known, around: &SearchFolders) -> Vec<Found> {
    let places = around.places();
    let mut found: Vec<Found> = Vec::new();
    for edition in known.editions {
        for place in &places {
            for name in edition.folders {
                // The place may be the dataset's own folder, and not the one that holds it.
                let own = place.folder.ends_with(name).then(|| place.folder.clone());
                for folder in own.into_iter().chain([place.folder.join(name)]) {
                    if found.iter().all(|f| !files::is_same(&f.folder, &folder))
                        && let Some(files) = whole(&folder)
                    {
                        found.push(Found { folder, files, known: Some((known, edition)) });
                    }
                }
            }
        }
    }
    found
}

/// Every copy of a table, in the order of the places.
pub fn table_copies(table: &KnownTable, around: &SearchFolders) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for place in around.places() {
        // The place may be the table's own folder, and not the one that holds it.
        let own = place.folder.ends_with(table.name).then(|| place.folder.clone());
        for folder in own.into_iter().chain([place.folder.join(table.name)]) {
            let copies = table.files().map(|name| folder.join(name));
            found.extend(copies.into_iter().find(|path| path.is_file() && !found.contains(path)));
        }
    }
    found
}

/// The error of a table that was not found.
pub fn absent_table(table: &KnownTable, around: &SearchFolders) -> Error {
    let [file, _] = table.files();
    error!(
        Data,
        "the dataset `{0}` was not found. Looked for `{0}/{file}` (plain or .gz) in:\n{1}\n\
         What to do: `standoff data fetch {0}` downloads it; or name the file with --data FILE",
        table.name,
        around.listing(),
    )
}

/// A copy that was found, else the bundled one.
fn or_unpacked<T>(folders: &[&str], around: &SearchFolders, search: impl Fn() -> Option<T>) -> Result<Option<T>> {
    let found = search();
    #[cfg(feature = "bundled")]
    if found.is_none() && crate::bundled::unpack(folders, around)?.is_some() {
        return Ok(search());
    }
    #[cfg(not(feature = "bundled"))]
    let _ = (folders, around);
    Ok(found)
}

fn by_name(known: &'static Known, around: &SearchFolders) -> Result<Found> {
    or_unpacked(&known.folders(), around, || copies(known, around).into_iter().next())?
        .ok_or_else(|| absent(known, around))
}

/// The error of a dataset that was not found: all places, and what to do.
pub fn absent(known: &Known, around: &SearchFolders) -> Error {
    error!(
        Data,
        "the dataset `{0}` was not found. Looked for a folder {1} with the files {2}, ... (plain or .gz) in:\n{3}\n\
         What to do: `standoff data fetch {0}` downloads it; {4}or name its folder with --data FOLDER",
        known.name,
        known.folders().iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(" or "),
        known.files[0],
        around.listing(),
        if known.archive.is_none() { "or run inside a clone of the repository, which has it in `data/`; " } else { "" },
    )
}

/// A folder with images, or one that holds datasets.
fn in_folder(path: &Path, usual: &'static Known) -> Result<Found> {
    if let Some(files) = ImageFiles::find(path)? {
        return Ok(Found { folder: path.to_owned(), files, known: None }.recognised());
    }
    let inside = SearchFolders { chosen: Some(path.to_owned()), ..SearchFolders::default() };
    copies(usual, &inside).into_iter().next().ok_or_else(|| {
        error!(
            Data,
            "the folder {} has neither the files {} (plain or .gz) nor a folder `{}` with them, nor {}, nor .npy arrays, nor PNG \
             images in folders by class (train/CLASS/*.png and test/CLASS/*.png, or CLASS/*.png)",
            files::name(path),
            IDX_FILES.join(", "),
            usual.name,
            CIFAR_FILES[0],
        )
    })
}

/// The files of a folder, if they are those of a published dataset.
fn whole(folder: &Path) -> Option<ImageFiles> {
    ImageFiles::find(folder).ok().flatten().filter(|files| !files.published().is_empty())
}

impl Found {
    /// The same files as a dataset with a name, if they are one.
    fn recognised(self) -> Self {
        let known = self.files.published().get(1).and_then(|path| Known::of_second(&sha256(path).ok()?));
        Self { known, ..self }
    }

    /// Reads the images; with `classes`, only those: class `classes[g]` becomes label `g`.
    pub fn load(&self, classes: Option<&[u8]>) -> Result<ImageData> {
        let all = self.files.read().at(|| format!("in {}", files::name(&self.folder)))?;
        let Some(classes) = classes else { return Ok(all) };
        all.select(classes).map_err(|error| match self.note() {
            Some(note) => error!(Data, "{error}; {note}"),
            None => error!(Data, "{error}, in the folder {}", files::name(&self.folder)),
        })
    }

    /// A note for the user if this is only a part of a dataset, or has no test images.
    pub fn note(&self) -> Option<String> {
        if !self.files.has_test_images() {
            return Some("there are no test images: every fifth image of each class is one".to_owned());
        }
        let (known, edition) = self.known?;
        (edition.labels.len() < known.classes.len()).then(|| {
            format!(
                "only {} of the {} classes of `{}` are here ({}): {}; `standoff data fetch {}` gets them all",
                edition.labels.len(),
                known.classes.len(),
                known.name,
                self.folder.display(),
                known.describe(edition.labels),
                known.name
            )
        })
    }

    /// The labels of classes in the files.
    pub fn numbers(&self, classes: &[Class]) -> Result<Vec<u8>> {
        let number = |class: &Class| match class {
            Class::Number(number) => Ok(*number),
            Class::Name(name) => self.class_named(name),
        };
        classes.iter().map(number).collect()
    }

    /// The class of a name, in upper or lower case; the part before a slash is enough (`T-shirt`).
    fn class_named(&self, name: &str) -> Result<u8> {
        let classes: Vec<(u8, &str)> = match self.known {
            Some((known, _)) => (0..).zip(known.classes).collect(),
            None => self.files.named_classes(),
        };
        let is = |class: &str| {
            class.eq_ignore_ascii_case(name) || class.split('/').next().is_some_and(|c| c.eq_ignore_ascii_case(name))
        };
        let (folder, names) = (files::name(&self.folder), classes.iter().map(|class| class.1));
        match classes.iter().find(|class| is(class.1)) {
            Some(class) => Ok(class.0),
            None if classes.is_empty() => {
                refuse!(Data, "the classes in {folder} have no names; give the number instead of `{name}`")
            }
            None => {
                let hint = nearest(name, names.clone()).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                let (of, names) =
                    (self.known.map_or(folder, |(known, _)| format!("`{}`", known.name)), names.collect::<Vec<_>>());
                refuse!(Data, "{of} has no class `{name}`{hint} (it has: {})", names.join(", "))
            }
        }
    }

    /// The name of a class; its number where there is no name.
    pub fn class_name(&self, class: u8) -> String {
        let known = self.known.and_then(|(known, _)| known.classes.get(usize::from(class)).copied());
        known.or_else(|| self.files.class_name(class)).map_or_else(|| class.to_string(), str::to_owned)
    }
}

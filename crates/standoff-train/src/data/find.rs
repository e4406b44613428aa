//! Finding datasets: by name, by folder, or by file.

use std::io::Read;
use std::path::{Path, PathBuf};

use standoff::error::nearest;
use standoff_nn::data::{ImageData, ImageSet, sha256};
use standoff_nn::input;

use super::known::{Edition, FILES, KNOWN, Known};
use super::places::SearchFolders;
use crate::error::{At, Error, Result, error, refuse};
use crate::files;

/// The kind of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Images in four IDX files.
    Images(Found),
    /// A table: a CSV file, by its path.
    Table(PathBuf),
}

/// An image dataset that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its folder.
    pub folder: PathBuf,
    /// The four files, in the order of [`FILES`].
    pub files: [PathBuf; 4],
    /// Which dataset it is, and how much of it, if it is one that has a name.
    pub known: Option<(&'static Known, &'static Edition)>,
}

/// Finds the images that `--data` names. A table is refused.
pub fn find_images(named: Option<&str>, usual: &'static Known, around: &SearchFolders) -> Result<Found> {
    match search(named, usual, around, "or a folder with IDX files")? {
        Source::Images(found) => Ok(found),
        Source::Table(path) => refuse!(Data, "{} is a table; attacks are on images", files::name(&path)),
    }
}

/// Finds what `--data` names: a dataset, a folder or a file. A folder that holds several is asked for `usual`, as is everything
/// when nothing is named.
pub fn find(named: Option<&str>, usual: &'static Known, around: &SearchFolders) -> Result<Source> {
    search(named, usual, around, "a folder with IDX files, or a CSV file")
}

/// `takes` lists the alternatives to names, for the message.
fn search(named: Option<&str>, usual: &'static Known, around: &SearchFolders, takes: &str) -> Result<Source> {
    let Some(text) = named else {
        return by_name(usual, around).map(Source::Images);
    };
    if let Some(known) = Known::named(text) {
        return by_name(known, around).map(Source::Images);
    }
    let path = Path::new(text);
    if path.is_dir() {
        return in_folder(path, usual).map(Source::Images);
    }
    if path.is_file() {
        return of_file(path, usual);
    }
    let names = KNOWN.map(|k| k.name);
    let hint = nearest(text, names).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    let names = names.map(|name| format!("`{name}`")).join(" or ");
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

fn by_name(known: &'static Known, around: &SearchFolders) -> Result<Found> {
    copies(known, around).into_iter().next().ok_or_else(|| absent(known, around))
}

/// The error of a dataset that was not found: all places, and what to do.
pub fn absent(known: &Known, around: &SearchFolders) -> Error {
    let folders: Vec<&str> = known.editions.iter().flat_map(|e| e.folders).copied().collect();
    error!(
        Data,
        "no {} was found. Looked for a folder {} with the files {}, ... (plain or .gz) in:\n{}\n\
         What to do: `standoff data fetch {}` downloads it; or run inside a clone of the repository, which has it in `data/`; \
         or name its folder with --data FOLDER",
        known.title,
        folders.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(" or "),
        FILES[0],
        around.listing(),
        known.name,
    )
}

/// A folder with the four files, or one that holds datasets.
fn in_folder(path: &Path, usual: &'static Known) -> Result<Found> {
    if let Some(files) = whole(path) {
        let known = sha256(&files[1]).ok().and_then(|sum| Known::of_labels(&sum));
        return Ok(Found { folder: path.to_owned(), files, known });
    }
    let inside = SearchFolders { chosen: Some(path.to_owned()), ..SearchFolders::default() };
    if let Some(found) = copies(usual, &inside).into_iter().next() {
        return Ok(found);
    }
    let missing: Vec<&str> = FILES.into_iter().filter(|name| file(path, name).is_none()).collect();
    if missing.len() < FILES.len() {
        refuse!(Data, "the folder {} lacks {} (plain or .gz)", files::name(path), missing.join(" and "));
    }
    refuse!(
        Data,
        "the folder {} has neither the files {} (plain or .gz) nor a folder `{}` with them",
        files::name(path),
        FILES.join(", "),
        usual.name
    )
}

/// An IDX file means its folder; every other file is a table.
fn of_file(path: &Path, usual: &'static Known) -> Result<Source> {
    let mut head = Vec::new();
    let open = input::open(path).map_err(|error| files::unread(path, &error))?;
    // Gzip need not be valid to be recognised: the reader says what is wrong with it.
    open.take(4).read_to_end(&mut head).at(|| format!("cannot read {}", files::name(path)))?;
    let idx = head.starts_with(&[0, 0]) || (head.starts_with(&[0x1f, 0x8b]) && named_as_idx(path));
    if !idx {
        return Ok(Source::Table(path.to_owned()));
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    in_folder(folder, usual).map(Source::Images)
}

/// True if a compressed file has one of the usual names of IDX files.
fn named_as_idx(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("-ubyte"))
}

/// The four files of a folder, if all are there.
fn whole(folder: &Path) -> Option<[PathBuf; 4]> {
    let [a, b, c, d] = FILES.map(|name| file(folder, name));
    Some([a?, b?, c?, d?])
}

/// One of the files, plain or compressed, with a dash or a dot before `idx` as some sites have it.
fn file(folder: &Path, name: &str) -> Option<PathBuf> {
    let dotted = name.replace("-idx", ".idx");
    [name, &dotted].iter().flat_map(|n| [folder.join(n), folder.join(format!("{n}.gz"))]).find(|path| path.is_file())
}

impl Found {
    /// Reads the images; with `classes`, only those: class `classes[g]` becomes label `g`.
    pub fn load(&self, classes: Option<&[u8]>) -> Result<ImageData> {
        let [images, labels, test_images, test_labels] = &self.files;
        let all = ImageData::new(ImageSet::open(images, labels)?, ImageSet::open(test_images, test_labels)?)
            .at(|| format!("in the folder {}", files::name(&self.folder)))?;
        let Some(classes) = classes else { return Ok(all) };
        all.select(classes).map_err(|error| match self.note() {
            Some(note) => error!(Data, "{error}; {note}"),
            None => error!(Data, "{error}, in the folder {}", files::name(&self.folder)),
        })
    }

    /// A note for the user if this is only a part of a dataset.
    pub fn note(&self) -> Option<String> {
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

    /// The class of a name, in upper or lower case; the part before a slash is enough (`T-shirt`).
    pub fn class_named(&self, name: &str) -> Result<u8> {
        let Some((known, _)) = self.known else {
            refuse!(
                Data,
                "the classes in {} have no names; give the number instead of `{name}`",
                files::name(&self.folder)
            );
        };
        let is = |class: &&str| {
            class.eq_ignore_ascii_case(name) || class.split('/').next().is_some_and(|c| c.eq_ignore_ascii_case(name))
        };
        match known.classes.iter().position(is) {
            Some(class) => Ok(class as u8),
            None => {
                let hint = nearest(name, known.classes).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                refuse!(Data, "`{}` has no class `{name}`{hint} (it has: {})", known.name, known.classes.join(", "))
            }
        }
    }

    /// The name of a class; its number where there is no name.
    pub fn class_name(&self, class: u8) -> String {
        let known = self.known.and_then(|(known, _)| known.classes.get(usize::from(class)));
        known.map_or_else(|| class.to_string(), |name| (*name).to_owned())
    }
}

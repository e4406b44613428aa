//! Where the images of a dataset lie: the formats, and how they are recognised.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::super::content;
use super::arrays::Arrays;
use super::cifar::{CIFAR_FILES, add, empty};
use super::class_folders::ClassFolders;
use super::{ImageData, ImageSet};
use crate::Error;

/// The four IDX files of a dataset: training images and labels, test images and labels.
pub const IDX_FILES: [&str; 4] =
    ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

/// The files of a dataset of images, in one of the formats that are read.
///
/// ```
/// use standoff_nn::data::ImageFiles;
/// use std::path::Path;
///
/// // A folder with none of the formats.
/// assert_eq!(ImageFiles::find(Path::new("src"))?, None);
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFiles {
    format: Format,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Format {
    /// In the order of [`IDX_FILES`].
    Idx(Vec<PathBuf>),
    /// In the order of [`CIFAR_FILES`].
    Cifar(Vec<PathBuf>),
    Folders(ClassFolders),
    Arrays(Arrays),
}

impl ImageFiles {
    /// Recognises a folder, or a file that belongs to a dataset of images: IDX files, binary batches of CIFAR-10, `.npy` arrays,
    /// folders of PNG images by class, or an `.npz` archive. `None` if it is nothing of these.
    ///
    /// # Errors
    /// The format is recognised, but something is missing.
    pub fn find(path: &Path) -> Result<Option<Self>, Error> {
        if path.is_dir() {
            return Self::in_folder(path);
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut head = Vec::new();
        let unread = |error: std::io::Error| Error::Data { file: path.display().to_string(), why: error.to_string() };
        content::open(path)?.take(6).read_to_end(&mut head).map_err(unread)?;
        if name.ends_with(".npz") {
            return Arrays::of_archive(path).map(|arrays| Some(Self { format: Format::Arrays(arrays) }));
        }
        let gzip_of_idx = head.starts_with(&[0x1f, 0x8b]) && name.contains("-ubyte");
        let batch = CIFAR_FILES.iter().any(|batch| name.starts_with(batch));
        let idx = head.starts_with(&[0, 0]) || gzip_of_idx;
        if idx || batch || head == b"\x93NUMPY" { Self::in_folder(folder) } else { Ok(None) }
    }

    fn in_folder(folder: &Path) -> Result<Option<Self>, Error> {
        for (names, format) in [(&IDX_FILES[..], Format::Idx as fn(_) -> _), (&CIFAR_FILES, Format::Cifar)] {
            let there: Vec<PathBuf> = names.iter().filter_map(|name| file(folder, name)).collect();
            if there.len() == names.len() {
                return Ok(Some(Self { format: format(there) }));
            }
            if !there.is_empty() {
                let missing: Vec<&str> = names.iter().copied().filter(|name| file(folder, name).is_none()).collect();
                let why = format!("the folder lacks {} (plain or .gz)", missing.join(" and "));
                return Err(Error::Data { file: folder.display().to_string(), why });
            }
        }
        if let Some(arrays) = Arrays::of_folder(folder)? {
            return Ok(Some(Self { format: Format::Arrays(arrays) }));
        }
        Ok(ClassFolders::find(folder)?.map(|folders| Self { format: Format::Folders(folders) }))
    }

    /// IDX files of which at least the test images are there. The others may be paths of files that do not exist.
    pub fn with_test_images(folder: &Path) -> Option<Self> {
        let paths = IDX_FILES.map(|name| file(folder, name).unwrap_or_else(|| folder.join(name)));
        paths[2..].iter().all(|path| path.is_file()).then(|| Self { format: Format::Idx(paths.to_vec()) })
    }

    /// The files whose content a published dataset fixes: those of IDX and of CIFAR-10; none for the other formats.
    pub fn published(&self) -> &[PathBuf] {
        match &self.format {
            Format::Idx(files) | Format::Cifar(files) => files,
            Format::Folders(_) | Format::Arrays(_) => &[],
        }
    }

    /// The name of a class, where the files have names: that of its folder.
    pub fn class_name(&self, label: u8) -> Option<&str> {
        match &self.format {
            Format::Folders(folders) => folders.name(label),
            Format::Idx(_) | Format::Cifar(_) | Format::Arrays(_) => None,
        }
    }

    /// The classes that have names.
    pub fn named_classes(&self) -> Vec<(u8, &str)> {
        match &self.format {
            Format::Folders(folders) => folders.named(),
            Format::Idx(_) | Format::Cifar(_) | Format::Arrays(_) => Vec::new(),
        }
    }

    /// False if there are no test images, so that every fifth image of each class becomes one.
    pub fn has_test_images(&self) -> bool {
        match &self.format {
            Format::Idx(_) | Format::Cifar(_) => true,
            Format::Folders(folders) => folders.test.is_some(),
            Format::Arrays(arrays) => arrays.test.is_some(),
        }
    }

    /// Reads training and test images.
    ///
    /// # Errors
    /// A file is damaged, or the files do not fit together.
    pub fn read(&self) -> Result<ImageData, Error> {
        if self.has_test_images() {
            return ImageData::new(self.part(false)?, self.part(true)?);
        }
        let (train, test) = self.part(false)?.fifths();
        if test.is_empty() {
            return Err(Error::Mismatch(
                "there are fewer than five images of every class: none is left for testing".into(),
            ));
        }
        ImageData::new(train, test)
    }

    /// Reads the training images alone.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_train(&self) -> Result<ImageSet, Error> {
        if self.has_test_images() { self.part(false) } else { Ok(self.read()?.train) }
    }

    /// Reads the test images alone.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_test(&self) -> Result<ImageSet, Error> {
        if self.has_test_images() { self.part(true) } else { Ok(self.read()?.test) }
    }

    fn part(&self, test: bool) -> Result<ImageSet, Error> {
        match &self.format {
            Format::Idx(files) => ImageSet::open(&files[2 * usize::from(test)], &files[2 * usize::from(test) + 1]),
            Format::Cifar(files) => {
                let mut set = empty();
                for path in if test { &files[5..] } else { &files[..5] } {
                    let source: BufReader<File> = BufReader::new(content::open(path)?);
                    add(&path.display().to_string(), source, &mut set)?;
                }
                Ok(set)
            }
            Format::Folders(folders) => folders.read(test),
            Format::Arrays(arrays) => arrays.read(test),
        }
    }
}

/// One of the files, plain or compressed, with a dash or a dot before `idx` as some sites have it.
fn file(folder: &Path, name: &str) -> Option<PathBuf> {
    let dotted = name.replace("-idx", ".idx");
    [name, &dotted].iter().flat_map(|n| [folder.join(n), folder.join(format!("{n}.gz"))]).find(|path| path.is_file())
}

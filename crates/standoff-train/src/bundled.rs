//! Files of the repository inside the program (feature `bundled`): small datasets, compressed as there, experiments, descriptions of
//! networks, and the files of the tutorials.
//!
//! A dataset is written to the folder for downloads when a search finds no copy, so that the command works outside a clone and offline.
//! [`write_examples`] writes the files of the tutorials into a folder, under the names that they have in the repository.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::places::SearchFolders;
use crate::error::{At, Result, refuse};
use crate::files;

/// A bundled file: its folder in the repository, its name and its bytes.
type BundledFile = (&'static str, &'static str, &'static [u8]);

/// Every bundled file, with the licences of the data; `build.rs` chooses them.
const BUNDLED: &[BundledFile] = include!(concat!(env!("OUT_DIR"), "/bundled_files.rs"));

/// The largest dataset, which no tutorial reads by its path.
const LARGEST: &str = "data/fashion-tops";

/// The files of a dataset.
fn dataset(name: &str) -> impl Iterator<Item = &'static BundledFile> {
    BUNDLED.iter().filter(move |file| file.0.strip_prefix("data/") == Some(name))
}

/// The datasets that are bundled as a whole.
pub fn folders() -> Vec<&'static str> {
    let mut names: Vec<&str> = BUNDLED.iter().filter_map(|file| file.0.strip_prefix("data/")).collect();
    names.dedup();
    names.retain(|name| dataset(name).any(|file| !file.1.starts_with("t10k-") && file.1 != "LICENSE"));
    names
}

/// True if the test images of a dataset are bundled.
pub fn has_test_images(name: &str) -> bool {
    dataset(name).any(|file| file.1.starts_with("t10k-"))
}

/// The part of a dataset of one of these names that is inside the program.
pub fn part(names: &[&str]) -> Option<&'static str> {
    if folders().iter().any(|name| names.contains(name)) {
        return Some("inside the program, unpacked at first use");
    }
    let some = names.iter().any(|name| has_test_images(name));
    some.then_some("test images inside the program; `standoff data fetch` downloads all")
}

/// Writes a bundled dataset of one of these names to the folder for downloads. `None` if none of them is bundled, or if there is
/// no folder for downloads.
pub fn unpack(names: &[&str], around: &SearchFolders) -> Result<Option<PathBuf>> {
    let Some(name) = names.iter().find(|name| dataset(name).next().is_some()) else { return Ok(None) };
    let Ok(target) = around.target() else { return Ok(None) };
    let folder = target.join(name);
    let what =
        || format!("cannot unpack the bundled dataset `{name}`; set STANDOFF_DATA to a folder that can be written");
    fs::create_dir_all(&folder).at(what)?;
    for (_, file, bytes) in dataset(name) {
        // Another process may write the same bytes: each file is replaced as a whole.
        files::replace(&folder.join(file), bytes).at(what)?;
    }
    Ok(Some(folder))
}

/// The text of an experiment or a network of the repository, by its path there.
pub fn description(path: &Path) -> Option<&'static str> {
    let found = BUNDLED.iter().find(|(folder, name, _)| Path::new(folder).join(name) == path)?;
    std::str::from_utf8(found.2).ok()
}

/// The files of the tutorials: their paths in the repository and their bytes.
pub fn examples() -> impl Iterator<Item = (PathBuf, &'static [u8])> {
    BUNDLED.iter().filter(|file| file.0 != LARGEST).map(|(folder, name, bytes)| (Path::new(folder).join(name), *bytes))
}

/// Writes the files of the tutorials into a folder and returns the paths of those that were not there yet. A file with another content
/// is refused before anything is written, unless `force` is set.
pub fn write_examples(folder: &Path, force: bool) -> Result<Vec<PathBuf>> {
    let mut missing = Vec::new();
    for (path, bytes) in examples() {
        let path = folder.join(path);
        match fs::read(&path) {
            Ok(there) if there == bytes => {}
            Ok(_) if !force => {
                refuse!(
                    File,
                    "{} exists with another content; nothing was written. Name another folder, or overwrite with --force",
                    files::name(&path)
                );
            }
            _ => missing.push((path, bytes)),
        }
    }
    for (path, bytes) in &missing {
        if let Some(parent) = path.parent() {
            files::make_folder(parent)?;
        }
        files::replace(path, bytes)?;
    }
    Ok(missing.into_iter().map(|(path, _)| path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::known::{FASHION, MNIST};
    use crate::data::tables::ADULT;
    use crate::data::{Source, find, find_test_images};
    use crate::training::Description;

    fn empty_cache() -> (tempfile::TempDir, SearchFolders) {
        let cache = tempfile::tempdir().expect("a folder");
        let around = SearchFolders { cache: Some(cache.path().join("new")), ..SearchFolders::default() };
        (cache, around)
    }

    #[test]
    fn builds_of_the_repository_bundle_two_datasets_and_the_tutorials_with_their_licences() {
        assert_eq!(folders(), ["fashion-tops", "adult"]);
        assert_eq!(BUNDLED.iter().filter(|file| file.1 == "LICENSE").count(), 3);
        assert!(BUNDLED.iter().map(|file| file.2.len()).sum::<usize>() < 20_000_000);
        for name in ["examples/kink.toml", "models/ibp-lenet.safetensors", "tools/check_proof.py"] {
            assert!(examples().any(|(path, _)| path == Path::new(name)), "{name}");
        }
    }

    #[test]
    fn descriptions_of_the_repository_are_read_outside_of_it() {
        let shape = standoff_nn::Shape::new(1, 28, 28);
        assert!(!Path::new("models/dm-small.toml").exists(), "tests run in the folder of the crate");
        crate::model_file::open("models/dm-small.toml", shape, 10).expect("a model");
        let config = crate::robust::config::RobustConfig::of(standoff_nn::robust::RobustMethod::CrownIbp).expect("one");
        crate::model_file::open(&config.model, shape, 10).expect("a model");
        assert!(
            description(Path::new("experiments/robust-record.toml"))
                .is_some_and(|text| text.contains("models/dm-medium-threshold.toml"))
        );
        let fashion = description(Path::new("experiments/robust-fashion.toml")).expect("a text");
        let config = crate::robust::config::RobustConfig::parse(fashion, "fashion").expect("an experiment");
        config.check().expect("settings");
        assert_eq!((config.data.as_str(), config.eps), ("fashion", 0.1));
        crate::model_file::open(&config.model, shape, 10).expect("a model");
        assert!(crate::model_file::open("models/absent.toml", shape, 10).is_err());
    }

    #[test]
    fn a_dataset_that_is_nowhere_is_unpacked_and_found() {
        let (cache, around) = empty_cache();
        let Source::Images(found) = find(None, &FASHION, &around).expect("found") else { panic!("images") };
        assert!(found.folder.starts_with(cache.path()) && found.folder.join("LICENSE").is_file(), "{found:?}");
        let Source::Table(path) = find(Some(ADULT.name), &FASHION, &around).expect("found") else { panic!("a table") };
        assert!(path.starts_with(cache.path()), "{path:?}");
    }

    #[test]
    fn the_test_images_of_mnist_are_enough_for_an_evaluation_and_not_for_training() {
        let (cache, around) = empty_cache();
        let error = find(Some("mnist"), &MNIST, &around).expect_err("no training images").full();
        assert!(error.contains("standoff data fetch mnist"), "{error}");
        let found = find_test_images(Some("mnist"), &MNIST, &around).expect("found");
        assert!(
            found.folder.starts_with(cache.path())
                && found.files.published()[2].is_file()
                && !found.files.published()[0].exists()
        );
        assert_eq!(found.class_name(3), "3");
        assert!(find_test_images(Some("compas"), &MNIST, &around).is_err(), "a table that is not there");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_that_says_what_to_do() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let around = SearchFolders { cache: Some(file.path().join("below")), ..SearchFolders::default() };
        let error = find(None, &FASHION, &around).expect_err("refused").full();
        assert!(error.contains("STANDOFF_DATA"), "{error}");
        assert!(find(None, &FASHION, &SearchFolders::default()).is_err(), "there is no folder for downloads");
        assert!(write_examples(&file.path().join("below"), false).is_err());
    }

    #[test]
    fn examples_are_written_once_and_never_over_other_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let written = write_examples(folder.path(), false).expect("written");
        assert_eq!(written.len(), examples().count());
        assert!(write_examples(folder.path(), false).expect("unchanged").is_empty());
        let changed = folder.path().join("examples/kink.toml");
        fs::write(&changed, "mine").expect("a file");
        fs::remove_file(folder.path().join("examples/people.csv")).expect("a file");
        let error = write_examples(folder.path(), false).expect_err("refused").full();
        assert!(error.contains("kink.toml") && error.contains("--force"), "{error}");
        assert!(!folder.path().join("examples/people.csv").exists(), "nothing was written");
        assert_eq!(write_examples(folder.path(), true).expect("written").len(), 2);
        assert_ne!(fs::read(changed).expect("a file"), b"mine");
    }
}

//! Paths inside experiment files: relative to the file, else to the root of its repository, else to the working folder.

use std::path::{Path, PathBuf};

use crate::data::Known;

/// Replaces data, model and initial weights by the paths that they mean in an experiment file.
pub(super) fn resolve((data, model, init): (&mut String, &mut String, &mut Option<PathBuf>), file: &Path) {
    if Known::named(data).is_none()
        && let Some(path) = found(Path::new(data), file)
    {
        *data = path.display().to_string();
    }
    // A model without an extension is a preset.
    if Path::new(model).extension().is_some()
        && let Some(path) = found(Path::new(model), file)
    {
        *model = path.display().to_string();
    }
    if let Some(path) = init
        && let Some(meant) = found(path, file)
    {
        *path = meant;
    }
}

/// The first place that has it; `None` where the path is absolute, empty, or found at neither place.
fn found(path: &Path, file: &Path) -> Option<PathBuf> {
    if path.as_os_str().is_empty() || path.is_absolute() {
        return None;
    }
    let beside = file.parent().map(Path::to_owned);
    let places = beside.into_iter().chain(repository(file));
    places.map(|place| place.join(path)).find(|path| path.exists())
}

/// The nearest folder above a file that is the root of a repository.
fn repository(file: &Path) -> Option<PathBuf> {
    let file = file.canonicalize().ok()?;
    let is_root = |folder: &&Path| folder.join(".git").exists() || folder.join("Cargo.lock").exists();
    file.ancestors().skip(1).find(is_root).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_is_beside_the_file_or_in_the_repository_or_unchanged() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at(".git")).unwrap();
        fs::create_dir_all(at("experiments")).unwrap();
        for name in ["experiments/x.toml", "experiments/own.csv", "own.csv", "net.toml", "start.safetensors"] {
            fs::write(at(name), "").unwrap();
        }
        let file = at("experiments/x.toml");
        let (mut data, mut model, mut init) =
            ("own.csv".to_owned(), "net.toml".to_owned(), Some("start.safetensors".into()));
        resolve((&mut data, &mut model, &mut init), &file);
        assert_eq!(Path::new(&data), at("experiments/own.csv"));
        let root = root.path().canonicalize().unwrap();
        assert_eq!((Path::new(&model), init), (root.join("net.toml").as_path(), Some(root.join("start.safetensors"))));
        let (mut data, mut model, mut init) = ("elsewhere.csv".to_owned(), "mlp".to_owned(), None);
        resolve((&mut data, &mut model, &mut init), &file);
        assert_eq!((data.as_str(), model.as_str()), ("elsewhere.csv", "mlp"));
    }
}

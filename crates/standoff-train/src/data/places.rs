//! The folders where named datasets are looked for, in order, and the folder that downloads go to.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Result, error};

/// Debian's packages of datasets.
const SYSTEM: &str = "/usr/share/datasets";

/// The folders that a search for datasets begins from.
#[derive(Debug, Clone, Default)]
pub struct SearchFolders {
    /// `STANDOFF_DATA`: a folder with datasets.
    pub chosen: Option<PathBuf>,
    /// The user's cache folder for this command.
    pub cache: Option<PathBuf>,
    /// The folder the command was started in.
    pub working: Option<PathBuf>,
    /// The folder of the executable.
    pub executable: Option<PathBuf>,
    /// Where the system keeps datasets.
    pub system: Option<PathBuf>,
}

/// A folder to look into, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder; it need not exist.
    pub folder: PathBuf,
    /// Why it is looked into.
    pub why: &'static str,
}

impl SearchFolders {
    /// The folders of this process.
    pub fn real() -> Self {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            chosen: folder("STANDOFF_DATA"),
            cache: cache(|name| env::var_os(name)),
            working: env::current_dir().ok(),
            executable: env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned)),
            system: cfg!(unix).then(|| PathBuf::from(SYSTEM)),
        }
    }

    /// The folders to look into, in order.
    pub fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        let mut add = |folder: PathBuf, why| {
            if places.iter().all(|p| p.folder != folder) {
                places.push(Place { folder, why });
            }
        };
        if let Some(folder) = &self.chosen {
            add(folder.clone(), "STANDOFF_DATA");
        }
        if let Some(folder) = &self.cache {
            add(folder.clone(), "your cache");
        }
        for (start, why) in [(&self.working, "above the working folder"), (&self.executable, "above the executable")] {
            for folder in above(start.as_deref()) {
                add(folder, why);
            }
        }
        if let Some(folder) = &self.system {
            add(folder.clone(), "the system's datasets");
        }
        places
    }

    /// The folder for downloads: `STANDOFF_DATA` if it is set, else the cache.
    pub fn target(&self) -> Result<PathBuf> {
        self.chosen.clone().or_else(|| self.cache.clone()).ok_or_else(|| {
            error!(
                Data,
                "there is no folder for downloads: neither STANDOFF_DATA nor HOME is set; name one with --to FOLDER"
            )
        })
    }

    /// The places of a search, one line each, for an error.
    pub fn listing(&self) -> String {
        let mut lines: Vec<String> =
            self.places().iter().map(|p| format!("  {} ({})", p.folder.display(), p.why)).collect();
        if self.chosen.is_none() {
            lines.insert(0, "  the folder that STANDOFF_DATA names (not set)".to_owned());
        }
        for (start, what) in [(&self.working, "working folder"), (&self.executable, "executable")] {
            if let Some(start) = start {
                lines.push(format!("  every folder `data` above the {what}, {}", start.display()));
            }
        }
        lines.join("\n")
    }
}

/// The folders `data` in a folder and in those above it, as far as they exist.
fn above(start: Option<&Path>) -> Vec<PathBuf> {
    let folders = start.into_iter().flat_map(Path::ancestors);
    folders.map(|folder| folder.join("data")).filter(|folder| folder.is_dir()).collect()
}

/// The user's cache folder for this command, by the rules of the platform. A relative folder is not one, says the XDG standard.
fn cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = folder("XDG_CACHE_HOME").or_else(|| {
        if cfg!(windows) {
            folder("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            folder("HOME").map(|home| home.join("Library/Caches"))
        } else {
            folder("HOME").map(|home| home.join(".cache"))
        }
    });
    base.map(|base| base.join("standoff"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn the_cache_follows_the_xdg_standard() {
        let with = |xdg: Option<&str>, home: Option<&str>| {
            cache(|name| match name {
                "XDG_CACHE_HOME" => xdg.map(OsString::from),
                "HOME" => home.map(OsString::from),
                _ => None,
            })
        };
        assert_eq!(with(Some("/fast"), Some("/home/a")), Some(PathBuf::from("/fast/standoff")));
        assert_eq!(with(None, Some("/home/a")), Some(PathBuf::from("/home/a/.cache/standoff")));
        assert_eq!(with(Some(""), Some("/home/a")), Some(PathBuf::from("/home/a/.cache/standoff")));
        assert_eq!(with(Some("relative"), None), None);
    }

    #[test]
    fn the_places_come_in_their_order_and_none_twice() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        for folder in ["data", "work/deep/data", "work/deep/er", "bin"] {
            std::fs::create_dir_all(at(folder)).expect("a folder");
        }
        let around = SearchFolders {
            chosen: Some(at("chosen")),
            cache: Some(at("cache")),
            working: Some(at("work/deep/er")),
            executable: Some(at("bin")),
            system: Some(at("system")),
        };
        let found: Vec<PathBuf> = around.places().into_iter().map(|p| p.folder).collect();
        let want = ["chosen", "cache", "work/deep/data", "data", "system"].map(at);
        // Folders above the scratch folder may have a `data` too.
        let inside: Vec<PathBuf> = found.into_iter().filter(|f| f.starts_with(root.path())).collect();
        assert_eq!(inside, want);
        assert_eq!(around.target().expect("a target"), at("chosen"));
        assert!(SearchFolders::default().target().is_err());
        assert!(SearchFolders::default().listing().contains("STANDOFF_DATA names (not set)"));
    }
}

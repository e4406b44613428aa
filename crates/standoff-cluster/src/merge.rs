//! Shards put together: exactly the pieces of one run, each once.
//!
//! Times are the shards' own: every `seconds`, the time stamps of TensorBoard's files, and `machine.toml`, which is that of the first shard.
//! Everything else has the bytes of one run.

use std::fs;
use std::path::{Path, PathBuf};

use standoff_train::error::{Error, Result};
use standoff_train::files;

use crate::shard::{Shard, ShardRecord};

/// Files of a run folder beside its runs; they are taken from the first shard that has them.
const BESIDE: [&str; 3] = ["config.toml", "manifest.json", "machine.toml"];

/// All shards of a sweep, in their order.
#[derive(Debug)]
pub struct Shards {
    /// Folder and record of each.
    pub all: Vec<(PathBuf, ShardRecord)>,
}

fn refused<T>(why: String) -> Result<T> {
    Err(Error::Folder(why))
}

impl Shards {
    /// Reads the records in these folders. A missing or repeated shard and shards of different sweeps are refused.
    pub fn read(folders: &[PathBuf]) -> Result<Self> {
        let read = |folder: &PathBuf| Ok((folder.clone(), ShardRecord::read(folder)?));
        let mut all = folders.iter().map(read).collect::<Result<Vec<_>>>()?;
        all.sort_by_key(|(_, record)| record.shard);
        let Some((first, record)) = all.first() else { return refused("no shard is given".to_owned()) };
        for (folder, other) in &all {
            let pair = || format!("{} and {}", files::name(first), files::name(folder));
            if other.command != record.command || other.shard.count != record.shard.count {
                let what = |r: &ShardRecord| format!("shard {} of `standoff {}`", r.shard, r.command);
                return refused(format!("{} are no shards of one run: {} and {}", pair(), what(record), what(other)));
            }
            let differs = |(name, sum): &(&String, &String)| record.digests.get(*name).is_some_and(|own| own != *sum);
            if let Some((name, _)) = other.digests.iter().find(differs) {
                return refused(format!("{} are no shards of one run: they differ in {name}", pair()));
            }
        }
        let version = ShardRecord::VERSION;
        if let Some(other) = record.digests.get("version").filter(|other| *other != version) {
            return refused(format!(
                "the shards are of version {other}, this is {version}; merge them with that version"
            ));
        }
        if let Some(pair) = all.windows(2).find(|pair| pair[0].1.shard == pair[1].1.shard) {
            let [a, b] = [&pair[0], &pair[1]].map(|(folder, _)| files::name(folder));
            return refused(format!("shard {} is given twice: {a} and {b}", pair[0].1.shard));
        }
        let count = record.shard.count;
        let given = |index: &usize| all.iter().any(|(_, record)| record.shard.index == *index);
        let missing: Vec<String> =
            (1..=count).filter(|i| !given(i)).map(|index| Shard { index, count }.to_string()).collect();
        if !missing.is_empty() {
            return refused(format!("shard {} is missing", missing.join(", ")));
        }
        Ok(Self { all })
    }

    /// The record of the first shard; the command and the arguments are those of all.
    pub fn record(&self) -> &ShardRecord {
        &self.all[0].1
    }

    /// Makes the folder of the whole run; it must be new or empty.
    pub fn folder(&self, out: &Path) -> Result<()> {
        fs::create_dir_all(out)?;
        if fs::read_dir(out)?.next().is_some() {
            return refused(format!("{} is not empty; name a new folder with --out", files::name(out)));
        }
        Ok(())
    }

    /// Copies the folders of all pieces of work, and the files beside them.
    pub fn unite(&self, out: &Path) -> Result<()> {
        self.folder(out)?;
        for (folder, record) in &self.all {
            for piece in &record.pieces {
                let parents: Vec<&Path> = Path::new(piece).ancestors().skip(1).collect();
                for parent in parents.into_iter().rev() {
                    fs::create_dir_all(out.join(parent))?;
                    for name in BESIDE {
                        let (from, to) = (folder.join(parent).join(name), out.join(parent).join(name));
                        if from.is_file() && !to.exists() {
                            fs::copy(&from, &to)?;
                        }
                    }
                }
                copy(&folder.join(piece), &out.join(piece))?;
            }
        }
        Ok(())
    }

    /// The items of all shards in the order of one run. `read` gives those of one folder.
    pub fn interleave<T>(&self, read: &dyn Fn(&Path) -> Result<Vec<T>>) -> Result<Vec<T>> {
        let mut all = Vec::with_capacity(self.all.len());
        for (folder, record) in &self.all {
            let items = read(folder)?;
            let (found, want) = (items.len(), record.pieces.len());
            if found != want {
                let (shard, shown) = (record.shard, files::name(folder));
                return refused(format!(
                    "shard {shard} in {shown} has {found} results, its {} wants {want}",
                    crate::shard::FILE
                ));
            }
            all.push(items.into_iter());
        }
        let mut merged = Vec::new();
        // Shards differ in length by at most one, the longer ones first.
        loop {
            let before = merged.len();
            merged.extend(all.iter_mut().filter_map(Iterator::next));
            if merged.len() == before {
                return Ok(merged);
            }
        }
    }
}

/// Copies a file, or a folder with everything in it but locks.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_file() {
        fs::copy(from, to)?;
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(".standoff") {
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders of shards of five pieces, each a file.
    fn shards(place: &Path, list: &[&str]) -> Vec<PathBuf> {
        let make = |(n, text): (usize, &&str)| {
            let (folder, shard) = (place.join(n.to_string()), text.parse::<Shard>().unwrap());
            fs::create_dir_all(&folder).unwrap();
            let mut record = ShardRecord::new(shard, "race");
            record.digest("settings", b"the same");
            record.pieces = (0..5).filter(|piece| shard.owns(*piece)).map(|piece| piece.to_string()).collect();
            record.pieces.iter().for_each(|piece| fs::write(folder.join(piece), piece).unwrap());
            record.save(&folder).unwrap();
            folder
        };
        list.iter().enumerate().map(make).collect()
    }

    #[test]
    fn missing_repeated_and_foreign_shards_are_named() {
        let place = tempfile::tempdir().unwrap();
        let refused = |list: &[&str]| Shards::read(&shards(place.path(), list)).unwrap_err().to_string();
        assert_eq!(refused(&["1/4", "4/4"]), "shard 2/4, 3/4 is missing");
        assert!(refused(&["1/3", "2/3", "2/3", "3/3"]).contains("shard 2/3 is given twice: `"));
        assert!(refused(&["1/3", "2/2"]).contains("no shards of one run: shard 1/3"));
        let two = shards(place.path(), &["1/2", "2/2"]);
        let mut other = ShardRecord::read(&two[1]).unwrap();
        other.digest("settings", b"others");
        other.save(&two[1]).unwrap();
        assert!(Shards::read(&two).unwrap_err().to_string().ends_with("they differ in settings"));
        fs::remove_file(two[1].join(crate::shard::FILE)).unwrap();
        assert!(Shards::read(&two).unwrap_err().to_string().contains("is not finished"));
    }

    #[test]
    fn pieces_are_in_the_order_of_one_run() {
        let place = tempfile::tempdir().unwrap();
        for list in [
            &["1/1"][..],
            &["2/2", "1/2"],
            &["3/4", "1/4", "4/4", "2/4"],
            &["1/7", "2/7", "3/7", "4/7", "5/7", "6/7", "7/7"],
        ] {
            let all = Shards::read(&shards(place.path(), list)).unwrap();
            let pieces = |folder: &Path| Ok(ShardRecord::read(folder)?.pieces);
            assert_eq!(all.interleave(&pieces).unwrap(), ["0", "1", "2", "3", "4"], "{list:?}");
        }
    }
}

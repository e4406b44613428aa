//! A part of a sweep: shard I of N has every N-th piece of work, beginning with the I-th.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use standoff_nn::engine::communicator;
use standoff_train::document::DocumentFormat;
use standoff_train::error::{Error, Result};
use standoff_train::files;
use standoff_train::training::folder;
use standoff_train::training::manifest::Manifest;

/// The file that marks the folder of a finished shard.
pub const FILE: &str = folder::SHARD;

/// The format of that file.
const FORMAT: DocumentFormat = DocumentFormat { name: "standoff-shard", version: 1 };

/// The file that says which shard a run folder is for, from its beginning.
const BEGUN: &str = ".standoff.shard";

/// The shard of a run folder, which is kept there. A folder that is resumed has the shard that it was begun with: it may be left out, and
/// another one is refused. Rank 0 has the folder and decides for all ranks.
pub fn of_folder(given: Option<Shard>, folder: &Path, resumed: bool) -> Result<Option<Shard>> {
    let path = folder.join(BEGUN);
    let mut shard = given;
    if communicator::world().rank() == 0 {
        let begun = match ShardRecord::read(folder) {
            _ if !resumed => None,
            Ok(record) => Some(record.shard),
            Err(_) => fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok()),
        };
        if let (true, None, Some(given)) = (resumed, begun, given) {
            let shown = files::name(folder);
            return Err(Error::Folder(format!("{shown} was begun without --shard; resume it without --shard {given}")));
        }
        if let (Some(begun), Some(other)) = (begun, given.filter(|other| begun != Some(*other))) {
            let shown = files::name(folder);
            return Err(Error::Folder(format!(
                "{shown} has shard {begun}, not {other}; resume it with --shard {begun}"
            )));
        }
        shard = begun.or(given);
        match shard {
            Some(shard) => files::replace(&path, shard.to_string().as_bytes())?,
            None if path.exists() => fs::remove_file(&path)?,
            None => {}
        }
    }
    let text = communicator::text_of_first(&shard.map_or_else(String::new, |shard| shard.to_string()))?;
    Ok(text.parse().ok())
}

/// Shard `index` of `count`, counted from 1.
///
/// ```
/// use standoff_cluster::Shard;
///
/// let shard: Shard = "2/3".parse()?;
/// assert_eq!((0..8).filter(|piece| shard.owns(*piece)).collect::<Vec<_>>(), [1, 4, 7]);
/// assert!("4/3".parse::<Shard>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// From 1.
    pub index: usize,
    /// Number of shards.
    pub count: usize,
}

impl Shard {
    /// True if a piece of work, counted from 0, belongs to the shard.
    pub fn owns(self, piece: usize) -> bool {
        piece % self.count == self.index - 1
    }
}

/// The pieces of work of a sweep, numbered in the order in which they are first named.
#[derive(Debug, Default)]
pub struct Pieces {
    shard: Shard,
    names: Vec<String>,
}

impl Pieces {
    /// Those of a shard, or all.
    pub fn of(shard: Option<Shard>) -> Self {
        Self { shard: shard.unwrap_or_default(), names: Vec::new() }
    }

    /// True if a piece belongs to the shard. Every shard names all pieces in the same order.
    pub fn owns(&mut self, name: &str) -> bool {
        let known = self.names.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.shard.owns(place)
    }

    /// The names of those that belong to the shard.
    pub fn own(&self) -> Vec<String> {
        let own = self.names.iter().enumerate().filter(|(place, _)| self.shard.owns(*place));
        own.map(|(_, name)| name.clone()).collect()
    }
}

/// The whole sweep.
impl Default for Shard {
    fn default() -> Self {
        Self { index: 1, count: 1 }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let number = |n: &str| n.trim().parse::<usize>().ok().filter(|n| (1..=1_000_000).contains(n));
        let parts = text.split_once('/').and_then(|(index, count)| Some((number(index)?, number(count)?)));
        match parts.filter(|(index, count)| index <= count) {
            Some((index, count)) => Ok(Self { index, count }),
            None => Err(format!("`{text}` is no shard: want I/N with I from 1 to N, such as 2/7")),
        }
    }
}

/// The description of a finished shard, in its folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardRecord {
    /// The shard.
    pub shard: Shard,
    /// The command: `fair`, `attack`, ...
    pub command: String,
    /// Its arguments, without those of the shard: the merge runs them again and finds the results.
    pub arguments: Vec<String>,
    /// SHA-256 digests of everything that decides the results, by name. They are equal in all shards.
    pub digests: BTreeMap<String, String>,
    /// The pieces of work of this shard, by name.
    pub pieces: Vec<String>,
}

impl ShardRecord {
    /// The version that makes the results.
    pub const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// A record without digests and pieces.
    pub fn new(shard: Shard, command: &str) -> Self {
        let digests = BTreeMap::from([("version".to_owned(), Self::VERSION.to_owned())]);
        Self { shard, command: command.to_owned(), arguments: Vec::new(), digests, pieces: Vec::new() }
    }

    /// Adds the digest of bytes.
    pub fn digest(&mut self, name: &str, bytes: &[u8]) {
        let sum = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
        self.digests.insert(name.to_owned(), sum);
    }

    /// Keeps the command line without the program, the shard, the folder and the threads.
    pub fn keep_arguments(&mut self, arguments: &[OsString]) {
        const WITH_VALUE: [&str; 4] = ["--shard", "--out", "-o", "--threads"];
        const ALONE: [&str; 4] = ["--force", "-q", "--quiet", "--json"];
        let mut all = arguments.iter().skip(1).map(|a| a.to_string_lossy().into_owned());
        while let Some(one) = all.next() {
            if WITH_VALUE.contains(&one.as_str()) {
                all.next();
            } else if !ALONE.contains(&one.as_str()) && !WITH_VALUE.iter().any(|f| one.starts_with(&format!("{f}="))) {
                self.arguments.push(one);
            }
        }
    }

    /// Adds the digests of the manifest of a run folder, if there is one.
    pub fn digest_manifest(&mut self, run: &Path) -> Result<()> {
        if let Some(manifest) = Manifest::read(run)? {
            let shown = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = |what: &str| if self.command == "fair" { what.to_owned() } else { format!("{what} of {shown}") };
            let configuration = (name("configuration"), manifest.configuration.sha256);
            let numerics = (name("numerics"), manifest.numerics.to_string());
            let data = manifest.data.parts.into_iter().map(|(part, sum)| (name(&part), sum)).collect::<Vec<_>>();
            self.digests.extend(data.into_iter().chain([configuration, numerics]));
        }
        Ok(())
    }

    /// Writes the record: the last file of a shard.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let document = FORMAT.stamp(serde_json::to_value(self)?);
        files::replace(&folder.join(FILE), format!("{document:#}\n").as_bytes())
    }

    /// Reads the record of a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let (path, shown) = (folder.join(FILE), files::name(folder));
        if !path.is_file() {
            return Err(Error::Folder(format!(
                "{shown} has no {FILE}: it is no shard, or its shard is not finished; run it again to go on"
            )));
        }
        let document: serde_json::Value = serde_json::from_str(&files::text(&path, "a shard")?)?;
        FORMAT.check(&document)?;
        Ok(serde_json::from_value(document)?)
    }
}

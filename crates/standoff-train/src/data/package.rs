//! Files that are fetched as a whole: by HTTP, or by a program that knows the package index of this machine.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::fetch::Listener;
use super::http::Client;
use super::known::Package;
use crate::files;

/// Downloads a file; `folder` has the part that has arrived.
pub(super) fn download(url: &str, (folder, secure): (&Path, bool), listener: Listener<'_>) -> Result<Vec<u8>, String> {
    let name = url.trim_end_matches('/').rsplit('/').next().unwrap_or(url);
    let path = folder.join(format!("{name}.part"));
    let failed = |error: std::io::Error| format!("cannot write {}: {}", files::name(&path), files::plain(&error));
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).map_err(failed)?;
    let mut seen = |at: u64, total: Option<u64>| listener(name, at, total);
    let result = Client::new(secure).complete(url, &mut file, &mut seen).map_err(|failure| failure.why);
    drop(file);
    let bytes = result.and_then(|()| fs::read(&path).map_err(failed));
    let _ = fs::remove_file(&path);
    bytes
}

/// Runs a program that downloads a package into a folder.
pub(super) fn by_program(program: &str, arguments: &[&str], path: &Path) -> Result<Vec<u8>, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program} cannot be run: {}", files::plain(&error)))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program}: {}", text.lines().last().unwrap_or("failed without a message")));
    }
    fs::read(path).map_err(|error| format!("{program}: {}", files::plain(&error)))
}

/// The package, if it is the published one.
pub(super) fn genuine(bytes: Vec<u8>, package: &Package) -> Result<Vec<u8>, String> {
    if sum_of(&bytes) == package.sum {
        Ok(bytes)
    } else {
        Err("its SHA-256 is not that of the published package".to_owned())
    }
}

/// The SHA-256 in hex.
pub(super) fn sum_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

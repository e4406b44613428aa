//! Checksums of the files of a dataset.

use std::path::{Path, PathBuf};

use standoff_nn::data::sha256;

use super::find::Found;

/// The comparison of a file with the published one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The same content, to the bit.
    Genuine,
    /// A readable file with another content; its SHA-256.
    Differs(String),
    /// It cannot be read; why.
    Broken(String),
}

/// Hashes the decompressed content of one file.
pub fn verify_file(path: &Path, want: &str) -> Verdict {
    match sha256(path) {
        Ok(sum) if sum == want => Verdict::Genuine,
        Ok(sum) => Verdict::Differs(sum),
        Err(error) => Verdict::Broken(error.to_string()),
    }
}

/// Every file of a copy with its verdict; empty for data without a name, which has no checksums.
pub fn verify(found: &Found) -> Vec<(PathBuf, Verdict)> {
    let Some((_, edition)) = found.known else { return Vec::new() };
    found.files.published().iter().zip(edition.sums).map(|(file, sum)| (file.clone(), verify_file(file, sum))).collect()
}

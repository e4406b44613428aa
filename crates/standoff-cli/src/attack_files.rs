//! The files that `standoff attack` writes.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use standoff_cluster::AttackPart;
use standoff_nn::certify::Certified;
use standoff_nn::data::npy;
use standoff_nn::{Region, Shape};
use standoff_train::attack::images::Images;
use standoff_train::attack::proof_file;
use standoff_train::attack::proof_file::ProofFile;
use standoff_train::attack::report::Report;
use standoff_train::training::folder;
use standoff_train::training::lock::RunLock;

use crate::files;
use standoff_present::attack::csv;
use standoff_present::attack::picture::{self, Sheet};
use standoff_present::number::short;

/// Requested output files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outputs<'a> {
    /// A folder for all of them.
    pub(crate) folder: Option<&'a Path>,
    /// Overwrite the attack in that folder.
    pub(crate) force: bool,
    pub(crate) pictures: Option<&'a Path>,
    pub(crate) images: Option<&'a Path>,
    pub(crate) proof: Option<&'a Path>,
    /// A shard writes into its folder only.
    pub(crate) part: AttackPart<'a>,
}

/// Paths of the output files.
pub(crate) struct OutputPaths<'a> {
    folder: Option<&'a Path>,
    /// Held while files are written.
    _lock: Option<RunLock>,
    pictures: Vec<PathBuf>,
    images: Vec<PathBuf>,
    /// The proof file, and the digest of the model.
    proof: Option<(&'a Path, &'a str)>,
}

impl<'a> OutputPaths<'a> {
    /// Checks that the paths can be written, before the evaluation.
    pub(crate) fn new(outputs: &Outputs<'a>, model: &'a str) -> Result<Self> {
        let Outputs { folder, force, pictures, images, proof, part } = *outputs;
        let lock = folder.map(|folder| folder::new(Some(folder), folder::ATTACK, force)).transpose()?;
        let both = |named: Option<&Path>, usual: &str| -> Vec<PathBuf> {
            named.map(Path::to_owned).into_iter().chain(folder.map(|folder| folder.join(usual))).collect()
        };
        for path in [pictures, images, proof].into_iter().flatten() {
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !parent.is_dir() {
                bail!("cannot write {}: there is no folder {}", files::name(path), files::name(parent));
            }
            if path.is_dir() {
                bail!("cannot write {}: it is a folder, name a file", files::name(path));
            }
        }
        let named = |path: Option<&'a Path>| path.filter(|_| !matches!(part, AttackPart::Shard(_)));
        Ok(Self {
            folder,
            _lock: lock.map(|(_, lock)| lock),
            pictures: both(named(pictures), "pictures.png"),
            images: both(named(images), "adversarial.npy"),
            proof: named(proof).map(|path| (path, model)),
        })
    }

    /// Writes the proof file, if requested.
    pub(crate) fn proof(&self, proof: &Certified, images: &Images, eps: f64) -> Result<Option<ProofFile>> {
        let Some((path, model)) = self.proof else { return Ok(None) };
        let proven = proof.proven_images(&images.pixels, &images.labels, &images.places);
        proof_file::write(path, model, Region::image_within(eps), &proven)?;
        let of = images.labels.len();
        Ok(Some(ProofFile { path: path.display().to_string(), images: proven.len(), of, eps }))
    }

    /// Saves attacked images; the file name contains the eps if there are several.
    pub(crate) fn images(&self, images: &[f32], rows: usize, eps: Option<f64>) -> Result<()> {
        if self.images.is_empty() {
            return Ok(());
        }
        let file = npy::matrix(images, rows);
        for path in &self.images {
            let path = match eps {
                None => path.clone(),
                Some(eps) => {
                    let (stem, kind) = (path.file_stem().unwrap_or_default(), path.extension().unwrap_or_default());
                    let (stem, kind) = (stem.to_string_lossy(), kind.to_string_lossy());
                    let dot = if kind.is_empty() { "" } else { "." };
                    path.with_file_name(format!("{stem}-{}{dot}{kind}", short(eps)))
                }
            };
            files::replace(&path, &file)?;
        }
        Ok(())
    }

    pub(crate) fn report(&self, report: &Report) -> Result<()> {
        let Some(folder) = self.folder else { return Ok(()) };
        files::replace(&folder.join("results.json"), format!("{:#}\n", report.json()).as_bytes())?;
        files::replace(&folder.join("results.csv"), csv::csv(report).as_bytes())?;
        Ok(files::replace(&folder.join("images.csv"), csv::images_csv(report).as_bytes())?)
    }

    /// Draws the pictures; false if no image is misclassified.
    pub(crate) fn pictures(&self, sheets: &[Sheet], shape: Shape) -> Result<bool> {
        if self.pictures.is_empty() {
            return Ok(true);
        }
        let Some(file) = picture::file(sheets, shape)? else { return Ok(false) };
        for path in &self.pictures {
            files::replace(path, &file)?;
        }
        Ok(true)
    }
}

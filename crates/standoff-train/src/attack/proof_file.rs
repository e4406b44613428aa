//! Proof files of networks: the certified images with their margins, in the format of `docs/proofs.md`.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};
use standoff_nn::certify::{ProvenImage, certify};
use standoff_nn::{Engine, Region};

use super::network::Network;
use crate::error::{Result, refuse};
use crate::files;
use crate::number::{count, hexadecimal, plural, short};

/// The content of the file.
#[derive(Debug, Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    kind: &'static str,
    model: ModelDigest<'a>,
    eps: f32,
    least: f32,
    most: f32,
    images: Vec<ImageClaim>,
    sha256: String,
}

#[derive(Debug, Serialize)]
struct ModelDigest<'a> {
    sha256: &'a str,
}

/// One certified image.
#[derive(Debug, Serialize)]
struct ImageClaim {
    index: usize,
    label: u16,
    pixels: String,
    margins: Vec<Option<f64>>,
    sha256: String,
}

/// A proof file that was written, for the summary.
#[derive(Debug, Clone, PartialEq)]
pub struct ProofFile {
    /// The path.
    pub path: String,
    /// Images that are proven.
    pub images: usize,
    /// Images in all.
    pub of: usize,
    /// The eps of the proof.
    pub eps: f64,
}

impl ProofFile {
    /// The line of the summary.
    pub fn line(&self) -> String {
        let (proven, of) = (count(self.images as u64), plural(self.of as u64, "image"));
        format!("proof file: {}, {proven} of {of} proven at eps {}", self.path, short(self.eps))
    }
}

/// Refuses evaluations that cannot have a proof file, before the attacks begin.
pub fn check(model: &Path, file: &Path, eps: &[f64], network: &Network, engine: &Engine) -> Result<()> {
    if eps.len() != 1 {
        refuse!(Proof, "a proof file is for one eps, --eps has {}; run the command once for each", eps.len());
    }
    if !model.is_file() {
        refuse!(Proof, "a proof file needs the model as a file, {} is none", files::name(model));
    }
    if files::is_same(model, file) {
        refuse!(Proof, "cannot write the proof to {}: it is the model", files::name(file));
    }
    if let Some(reason) = network.unprovable {
        refuse!(Proof, "no proof file for the model {}: {reason}", files::name(model));
    }
    // Refuses layers that have no proof.
    certify(engine, &[], &[], Region::image_within(eps[0]))?;
    Ok(())
}

/// Writes the proof of these images, all or nothing.
pub fn write(path: &Path, model: &str, region: Region, images: &[ProvenImage]) -> Result<()> {
    let Some((least, most)) = region.clip else { refuse!(Proof, "a proof file needs limits of the pixels") };
    let images: Vec<ImageClaim> = images.iter().map(claim).collect();
    let mut all = Sha256::new();
    all.update(model.as_bytes());
    [region.eps, least, most].iter().for_each(|v| all.update(v.to_le_bytes()));
    images.iter().for_each(|image| all.update(image.sha256.as_bytes()));
    let document = Document {
        format: "standoff-proof",
        version: 1,
        kind: "network",
        model: ModelDigest { sha256: model },
        eps: region.eps,
        least,
        most,
        images,
        sha256: hexadecimal(&all.finalize()),
    };
    let mut text = serde_json::to_vec(&document)?;
    text.push(b'\n');
    files::replace(path, &text)
}

fn claim(image: &ProvenImage) -> ImageClaim {
    let pixels: Vec<u8> = image.pixels.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut sum = Sha256::new();
    sum.update(&pixels);
    sum.update(u32::from(image.label).to_le_bytes());
    // The margin at the label is 0.
    image.margins.iter().for_each(|m| sum.update(m.to_le_bytes()));
    let own = usize::from(image.label);
    ImageClaim {
        index: image.index,
        label: image.label,
        pixels: STANDARD.encode(&pixels),
        margins: image.margins.iter().enumerate().map(|(j, m)| (j != own).then_some(*m)).collect(),
        sha256: hexadecimal(&sum.finalize()),
    }
}

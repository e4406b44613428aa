//! Labelled images, and the selection of classes.

mod arrays;
mod cifar;
mod class_folders;
mod files;
mod png_file;

use std::io::Read;
use std::path::Path;

use super::table::split::{Shares, Split};
use super::{content, idx};
use crate::{Error, Shape};

pub use cifar::{CIFAR_FILES, cifar_batches};
pub use files::{IDX_FILES, ImageFiles};

/// Labelled grey or colour images of one size, one byte per pixel and channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSet {
    /// The pixels: image by image, channel by channel, row by row.
    pub images: Vec<u8>,
    /// The class of each image.
    pub labels: Vec<u8>,
    /// The shape of an image; a grey one has one channel.
    pub shape: Shape,
}

/// Training and test images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageData {
    /// The training images.
    pub train: ImageSet,
    /// The test images.
    pub test: ImageSet,
}

impl ImageSet {
    /// Reads a pair of IDX files, plain or gzip. Errors name the file and the reason.
    pub fn open(images: &Path, labels: &Path) -> Result<Self, Error> {
        let named = |path: &Path| path.display().to_string();
        Self::read((&named(images), content::open(images)?), (&named(labels), content::open(labels)?))
    }

    /// Reads a pair of IDX sources, each with its name for errors. IDX reads in large pieces: no buffer is needed.
    pub fn read(images: (&str, impl Read), labels: (&str, impl Read)) -> Result<Self, Error> {
        let (images_file, labels_file) = (images.0, labels.0);
        let labels = idx::labels(labels_file, labels.1)?;
        let found = idx::images(images_file, images.1)?;
        if labels.len() != found.count {
            let why = format!("has {} labels for the {} images of `{images_file}`", labels.len(), found.count);
            return Err(Error::Data { file: labels_file.to_owned(), why });
        }
        Ok(Self { images: found.pixels, labels, shape: Shape::new(1, found.rows, found.cols) })
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// True if there are no images.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Number of bytes of one image.
    pub fn pixels(&self) -> usize {
        self.shape.size()
    }

    /// The size of an image for messages: `28 x 28 pixels`, `32 x 32 pixels in colour`.
    pub fn size(&self) -> String {
        let colour = if self.shape.channels > 1 { " in colour" } else { "" };
        format!("{} x {} pixels{colour}", self.shape.height, self.shape.width)
    }

    /// Image `i`, channel by channel and row by row.
    pub fn image(&self, i: usize) -> &[u8] {
        let n = self.pixels();
        &self.images[i * n..(i + 1) * n]
    }

    /// Number of images of each class, by label.
    pub fn counts(&self) -> [usize; 256] {
        let mut counts = [0; 256];
        for label in &self.labels {
            counts[usize::from(*label)] += 1;
        }
        counts
    }

    /// The classes that occur, in ascending order.
    pub fn classes(&self) -> Vec<u8> {
        let counts = self.counts();
        (0..=u8::MAX).filter(|c| counts[usize::from(*c)] > 0).collect()
    }

    /// The images of the given classes, in their order here; class `classes[g]` becomes label `g`.
    pub fn select(&self, classes: &[u8]) -> Result<Self, Error> {
        let mut group = [None; 256];
        let counts = self.counts();
        for (g, class) in classes.iter().enumerate() {
            if counts[usize::from(*class)] == 0 {
                let known: Vec<String> = self.classes().iter().map(u8::to_string).collect();
                let known = known.join(", ");
                return Err(Error::Mismatch(format!(
                    "there are no images of class {class}: the classes here are {known}"
                )));
            }
            // At most 256 classes get here, each of them once: `g` fits.
            if group[usize::from(*class)].replace(g as u8).is_some() {
                return Err(Error::Mismatch(format!("class {class} is given twice")));
            }
        }
        if classes.is_empty() {
            return Err(Error::Mismatch("no classes are given".to_owned()));
        }
        let kept = classes.iter().map(|c| counts[usize::from(*c)]).sum();
        let mut chosen = Self {
            images: Vec::with_capacity(kept * self.pixels()),
            labels: Vec::with_capacity(kept),
            shape: self.shape,
        };
        for (i, label) in self.labels.iter().enumerate() {
            if let Some(g) = group[usize::from(*label)] {
                chosen.images.extend_from_slice(self.image(i));
                chosen.labels.push(g);
            }
        }
        Ok(chosen)
    }

    /// The images before the last `count`, and the last `count`.
    pub fn hold_out(&self, count: usize) -> (Self, Self) {
        let at = self.len() - count.min(self.len());
        let (images, labels) = (self.images.split_at(at * self.pixels()), self.labels.split_at(at));
        let part =
            |images: &[u8], labels: &[u8]| Self { images: images.to_vec(), labels: labels.to_vec(), shape: self.shape };
        (part(images.0, labels.0), part(images.1, labels.1))
    }

    /// Every fifth image of each class as test images, the others as training images.
    fn fifths(&self) -> (Self, Self) {
        let empty = || Self { images: Vec::new(), labels: Vec::new(), shape: self.shape };
        let (mut train, mut test, mut seen) = (empty(), empty(), [0_usize; 256]);
        for (i, label) in self.labels.iter().enumerate() {
            let nth = &mut seen[usize::from(*label)];
            *nth += 1;
            let part = if nth.is_multiple_of(5) { &mut test } else { &mut train };
            part.images.extend_from_slice(self.image(i));
            part.labels.push(*label);
        }
        (train, test)
    }

    /// Holds out a share of every class, drawn by the seed. Returns the rest and the held-out images, both in their order here.
    pub fn divide(&self, share: f64, seed: u64) -> (Self, Self) {
        let cells: Vec<(usize, usize)> = self.labels.iter().map(|l| usize::from(*l)).enumerate().collect();
        let split = Split::stratified(&cells, Shares { test: 0.0, validation: share, seed, fold: None });
        let part = |rows: &[usize]| Self {
            images: rows.iter().flat_map(|i| self.image(*i)).copied().collect(),
            labels: rows.iter().map(|i| self.labels[*i]).collect(),
            shape: self.shape,
        };
        (part(&split.train), part(&split.validation))
    }
}

impl ImageData {
    /// Two sets with images of one size; every class of the test images occurs in the training images.
    pub fn new(train: ImageSet, test: ImageSet) -> Result<Self, Error> {
        if train.shape != test.shape {
            let (a, b) = (train.size(), test.size());
            return Err(Error::Mismatch(format!("the training images are {a}, the test images {b}")));
        }
        let known = train.counts();
        if let Some(class) = test.classes().into_iter().find(|c| known[usize::from(*c)] == 0) {
            return Err(Error::Mismatch(format!("class {class} is in the test images but not in the training images")));
        }
        Ok(Self { train, test })
    }

    /// The given classes of both sets; class `classes[g]` becomes label `g`.
    pub fn select(&self, classes: &[u8]) -> Result<Self, Error> {
        Ok(Self { train: self.train.select(classes)?, test: self.test.select(classes)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_images_are_held_out() {
        let set = ImageSet { images: (0..12).collect(), labels: vec![3, 1, 4], shape: Shape::new(1, 2, 2) };
        let (rest, held) = set.hold_out(1);
        assert_eq!((rest.labels.as_slice(), rest.images.len()), (&[3, 1][..], 8));
        assert_eq!((held.labels.as_slice(), held.image(0)), (&[4][..], &[8, 9, 10, 11][..]));
        assert_eq!((set.hold_out(0).0, set.hold_out(9).0.len()), (set, 0));
    }
}

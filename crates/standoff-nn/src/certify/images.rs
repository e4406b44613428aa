//! The certified images of a proof, for proof files (`docs/proofs.md`).

use super::Certified;

/// An image that is proven robust, with the proven upper bounds of its margins.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvenImage {
    /// Its place in the dataset.
    pub index: usize,
    /// Its output.
    pub label: u16,
    /// Its pixels, as they were certified.
    pub pixels: Vec<f32>,
    /// Upper bounds of `z_j - z_y`, one for each output j: negative, and zero at the label y.
    pub margins: Vec<f64>,
}

impl Certified {
    /// The certified images, from the rows that were given to [`certify`](super::certify) and their places in the dataset.
    ///
    /// # Panics
    ///
    /// If there are not as many rows, labels and places as results.
    pub fn proven_images(&self, images: &[f32], labels: &[u16], places: &[usize]) -> Vec<ProvenImage> {
        let n = self.certified.len();
        assert!(labels.len() == n && places.len() == n && images.len().is_multiple_of(n.max(1)), "{n} images");
        let (width, outputs) = (images.len() / n.max(1), self.margins.len() / n.max(1));
        let proven = |i: usize| ProvenImage {
            index: places[i],
            label: labels[i],
            pixels: images[i * width..(i + 1) * width].to_vec(),
            margins: self.margins[i * outputs..(i + 1) * outputs].to_vec(),
        };
        (0..n).filter(|&i| self.certified[i]).map(proven).collect()
    }
}

//! The images that one attack leaves, and their exchange among ranks: each attacks images of its own, and all receive the results.

use super::batch::Cost;
use super::verify::Verdict;
use crate::Error;
use crate::engine::communicator::{Communicator, gather_words};

/// The images that an attack is done with, in the order of their ids.
#[derive(Debug, Default, PartialEq)]
pub(super) struct AttackedImages {
    pub ids: Vec<u32>,
    pub verdicts: Vec<Verdict>,
    /// The stored images.
    pub images: Vec<f32>,
    /// Number of images that were reported as broken and not confirmed.
    pub refused: usize,
    pub cost: Cost,
    pub interrupted: bool,
}

/// Words before those of the images.
const HEAD: usize = 6;
/// Words of an image before its pixels.
const EACH: usize = 5;

fn halves(v: u64) -> [u32; 2] {
    [v as u32, (v >> 32) as u32]
}

fn whole(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

impl AttackedImages {
    /// Adds images with higher ids.
    pub(super) fn append(&mut self, more: Self) {
        self.ids.extend(more.ids);
        self.verdicts.extend(more.verdicts);
        self.images.extend(more.images);
        self.refused += more.refused;
        self.cost += more.cost;
        self.interrupted |= more.interrupted;
    }

    /// Entries of an image.
    fn width(&self) -> usize {
        self.images.len() / self.ids.len().max(1)
    }

    fn words(&self) -> Vec<u32> {
        let width = self.width();
        let mut out = Vec::with_capacity(HEAD + self.ids.len() * (EACH + width));
        out.extend([self.refused as u32, u32::from(self.interrupted)]);
        out.extend([self.cost.forward, self.cost.gradients].into_iter().flat_map(halves));
        for ((id, verdict), image) in self.ids.iter().zip(&self.verdicts).zip(self.images.chunks_exact(width.max(1))) {
            out.extend([*id, u32::from(verdict.wrong) | u32::from(verdict.inside) << 1, verdict.margin.to_bits()]);
            out.extend(halves(verdict.share.to_bits()));
            out.extend(image.iter().map(|v| v.to_bits()));
        }
        out
    }

    fn of_words(words: &[u32], width: usize) -> Self {
        let (head, rest) = words.split_at(HEAD);
        let cost = Cost { forward: whole(&head[2..4]), gradients: whole(&head[4..6]) };
        let mut own = Self { refused: head[0] as usize, interrupted: head[1] != 0, cost, ..Self::default() };
        for image in rest.chunks_exact(EACH + width) {
            own.ids.push(image[0]);
            let (wrong, inside) = (image[1] & 1 != 0, image[1] & 2 != 0);
            let (margin, share) = (f32::from_bits(image[2]), f64::from_bits(whole(&image[3..5])));
            own.verdicts.push(Verdict { wrong, inside, margin, share });
            own.images.extend(image[EACH..].iter().map(|w| f32::from_bits(*w)));
        }
        own
    }

    /// The images of all ranks, on every rank. An error of any rank is an error of all.
    pub(super) fn gather(world: &dyn Communicator, own: Result<Self, Error>, width: usize) -> Result<Self, Error> {
        let words = gather_words(world, own.map(|own| own.words()))?;
        let parts: Vec<Self> = words.iter().map(|words| Self::of_words(words, width)).collect();
        let mut places: Vec<(u32, usize, usize)> = Vec::new();
        for (rank, part) in parts.iter().enumerate() {
            places.extend(part.ids.iter().enumerate().map(|(i, id)| (*id, rank, i)));
        }
        places.sort_unstable();
        let mut all = Self::default();
        for (id, rank, i) in places {
            all.ids.push(id);
            all.verdicts.push(parts[rank].verdicts[i]);
            all.images.extend_from_slice(&parts[rank].images[i * width..(i + 1) * width]);
        }
        for part in &parts {
            all.refused += part.refused;
            all.cost += part.cost;
            all.interrupted |= part.interrupted;
        }
        Ok(all)
    }
}

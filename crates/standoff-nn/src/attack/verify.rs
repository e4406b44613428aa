//! The last word on an attacked image: its stored form, on its own, evaluated afresh.

use super::batch::culprit;
use super::{Ball, Victims};
use crate::{Ask, Batch, Engine, Error, Loss, Outcome, Samples};

/// What a stored image is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Whether the network answers otherwise than labelled.
    pub wrong: bool,
    /// Whether the image lies in the ball, in [0, 1] if clipped, and on the 8-bit grid if stored there.
    pub inside: bool,
    /// The largest other logit less the label's.
    pub margin: f32,
    /// The size of the change, as a share of eps.
    pub share: f64,
}

impl Verdict {
    /// Whether the original has fallen to it.
    pub fn fallen(&self) -> bool {
        self.wrong && self.inside
    }
}

/// Judges one stored image for each victim, from these numbers alone: nothing that an attack says of them is believed.
pub fn verify(engine: &Engine, victims: Victims<'_>, images: &[f32], ball: &Ball) -> Result<Vec<Verdict>, Error> {
    let width = engine.model().input().size();
    if images.len() != victims.images.len() {
        let (got, want) = (images.len(), victims.images.len());
        return Err(Error::Mismatch(format!("got {got} pixels of attacked images for {want} of originals")));
    }
    let (n, ids): (usize, Vec<u32>) = (victims.len(), (0..victims.len() as u32).collect());
    let mut out = Outcome::default();
    let batch =
        Batch { samples: Samples::Floats(images), labels: victims.labels, rows: Some(&ids), ends: &[n], weights: None };
    engine.pass(&batch, Loss::Cw, Ask::Values, &mut out).map_err(|e| culprit(engine, &batch, &ids, e))?;
    let judged = images.chunks_exact(width).zip(victims.images.chunks_exact(width)).enumerate();
    Ok(judged
        .map(|(i, (image, origin))| Verdict {
            wrong: out.predictions[i] != victims.labels[i],
            inside: ball.contains(image, origin),
            margin: out.losses[i],
            share: ball.share(image, origin),
        })
        .collect())
}

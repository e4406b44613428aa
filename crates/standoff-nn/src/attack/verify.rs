//! Verification of attacked images: the stored form of each, evaluated alone and from scratch.

use super::batch::with_image;
use super::{Ball, Evaluator, LabelledImages};
use crate::{Ask, Batch, Error, Loss, Outcome, Samples};

/// The result of verifying one stored image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// True if the network misclassifies it.
    pub wrong: bool,
    /// True if the image lies in the ball, in [0, 1] if clipped, and on the 8-bit grid if stored there.
    pub inside: bool,
    /// The largest other logit less the label's.
    pub margin: f32,
    /// The size of the change, as a share of eps.
    pub share: f64,
}

impl Verdict {
    /// True if the image is a valid adversarial example: misclassified and inside the ball.
    pub fn fallen(&self) -> bool {
        self.wrong && self.inside
    }
}

/// Verifies one stored image for each original, from these numbers alone; nothing that an attack reports is used.
pub fn verify(
    network: &dyn Evaluator,
    labelled: LabelledImages<'_>,
    images: &[f32],
    ball: &Ball,
) -> Result<Vec<Verdict>, Error> {
    let width = network.input().size();
    if images.len() != labelled.images.len() {
        let (got, want) = (images.len(), labelled.images.len());
        return Err(Error::Mismatch(format!("got {got} pixels of attacked images for {want} of originals")));
    }
    let (n, ids): (usize, Vec<u32>) = (labelled.len(), (0..labelled.len() as u32).collect());
    let mut out = Outcome::default();
    let batch = Batch {
        samples: Samples::Floats(images),
        labels: labelled.labels,
        rows: Some(&ids),
        ends: &[n],
        weights: None,
    };
    network.pass(&batch, Loss::Cw, Ask::Values, &mut out).map_err(|e| with_image(network, &batch, &ids, e))?;
    if network.depends_on_batch() {
        alone(network, &batch, &mut out)?;
    }
    let judged = images.chunks_exact(width).zip(labelled.images.chunks_exact(width)).enumerate();
    Ok(judged
        .map(|(i, (image, origin))| Verdict {
            wrong: out.predictions[i] != labelled.labels[i],
            inside: ball.contains(image, origin),
            margin: out.losses[i],
            share: ball.share(image, origin),
        })
        .collect())
}

/// Evaluates every misclassified sample again, as a batch of one.
fn alone(network: &dyn Evaluator, batch: &Batch<'_>, out: &mut Outcome) -> Result<(), Error> {
    let mut single = Outcome::default();
    for i in 0..batch.labels.len() {
        if out.predictions[i] != batch.labels[i] {
            let rows = [i as u32];
            network.pass(&Batch { rows: Some(&rows), ends: &[1], ..*batch }, Loss::Cw, Ask::Values, &mut single)?;
            (out.predictions[i], out.losses[i]) = (single.predictions[0], single.losses[0]);
        }
    }
    Ok(())
}

//! Random points and corners of the ball: the baseline attack.

use super::Norm;
use super::batch::AttackBatch;
use super::pgd::anywhere;
use crate::Error;

/// As many points as there are tries, inside and corners in turn.
pub(super) fn random(batch: &mut AttackBatch<'_>, tries: usize) -> Result<(), Error> {
    batch.evaluations = tries;
    for run in 0..tries {
        if !batch.again() {
            return Ok(());
        }
        for i in 0..batch.active.len() {
            let slot = batch.active[i] as usize;
            let at = batch.at(slot);
            let mut stream = batch.stream(run, slot, 0);
            let (x, origin, ball) = (&mut batch.x[at.clone()], &batch.origin[at], &batch.set.ball);
            x.copy_from_slice(origin);
            if ball.norm == Norm::Linf && run % 2 == 1 {
                let r = ball.radius();
                x.iter_mut().for_each(|x| *x += r * stream.sign());
                ball.project(x, origin);
            } else {
                anywhere(ball, x, origin, &mut stream);
            }
        }
        batch.finish()?;
    }
    Ok(())
}

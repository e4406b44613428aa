//! Points of the ball at random, and its corners: what an attack does without looking.

use super::Norm;
use super::batch::Field;
use super::pgd::anywhere;
use crate::Error;

/// As many points as there are tries, inside and corners in turn.
pub(super) fn random(field: &mut Field<'_>, tries: usize) -> Result<(), Error> {
    field.looks = tries;
    for run in 0..tries {
        if !field.again() {
            return Ok(());
        }
        for i in 0..field.active.len() {
            let slot = field.active[i] as usize;
            let at = field.at(slot);
            let mut stream = field.stream(run, slot, 0);
            let (x, origin, ball) = (&mut field.x[at.clone()], &field.origin[at], &field.set.ball);
            x.copy_from_slice(origin);
            if ball.norm == Norm::Linf && run % 2 == 1 {
                let r = ball.radius();
                x.iter_mut().for_each(|x| *x += r * stream.sign());
                ball.project(x, origin);
            } else {
                anywhere(ball, x, origin, &mut stream);
            }
        }
        field.finish()?;
    }
    Ok(())
}

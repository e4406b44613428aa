//! The main loop. It measures the pair of the theorems: x, and the y that has just responded to it.

use crate::measure::{Candidate, Clock, Meter};
use crate::method::Method;
use crate::observe::Observer;
use crate::solution::Best;
use crate::{Error, Game, Oracle, Point, Real, Settings, Solution, StopReason};

/// Solves a game from a start with the method of the settings.
pub fn solve<G: Game>(game: &mut G, start: &Point<G::Real>, settings: &Settings) -> Result<Solution<G::Real>, Error> {
    let mut method = settings.build(game)?;
    solve_with(game, start, method.as_mut(), settings, &mut ())
}

/// Same as [`solve`], with a method of your own and an observer.
pub fn solve_with<G: Game>(
    game: &mut G,
    start: &Point<G::Real>,
    method: &mut dyn Method<G>,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Solution<G::Real>, Error> {
    let settings = &settings.on(game)?;
    let mut clock = Clock::start();
    refuse_varying_y(game)?;
    let mut z = admit(game, start)?;
    let mut f = Oracle::new(game, settings.limits(clock.begun()));
    let mut meter = Meter::new(settings);
    meter.refuse_bad_start(&mut f, &z)?;
    let mut best = Best::new(&z);
    let mut iteration = 0;
    // The reason why the method cannot continue; the pair it leaves is still measured.
    let mut ended = None;
    loop {
        if ended.is_none() {
            f.resample(iteration);
            ended = method.answer(&mut f, &mut z).err();
        }
        let last_pair = ended.is_some() || iteration >= settings.max_iterations;
        if last_pair || iteration % settings.check_every == 0 {
            let record = clock.pause(|seconds| meter.measure(&mut f, &z, iteration, seconds));
            best.keep(&z, &record);
            let asked = observer.record(&record);
            if record.certificate.proves(settings.eps)
                && let Candidate::Ends(pair, reason) = clock.pause(|_| meter.judge(&mut f, &z, &record))?
            {
                return Ok(Solution::new(*pair, reason, clock.wall()));
            }
            ended = settings.failed(&record).or(ended).or_else(|| meter.lost_in_rounding(&f, &record)).or(asked);
            if last_pair {
                ended = ended.or(Some(StopReason::MaxIterations));
            }
            if let Some(reason) = ended {
                return best.certified(reason, &record, &mut (f, meter), clock.wall());
            }
        }
        iteration += 1;
        ended = f.budget().and_then(|()| method.advance(&mut f, &mut z)).err();
    }
}

/// Refuses a game whose y has more entries on all the data than on a mini-batch: the loop measures the y of the method.
fn refuse_varying_y<G: Game>(game: &mut G) -> Result<(), Error> {
    if game.draws_batches() {
        game.resample(0);
        let of_batch = game.y_set().dim();
        game.whole();
        if game.y_set().dim() != of_batch {
            let why = format!("y has {} entries on all the data and {of_batch} on a mini-batch", game.y_set().dim());
            return Err(Error::Unsuitable { method: "solve", why: format!("{why}; use `Training`, or all the data") });
        }
    }
    Ok(())
}

/// Checks the start and projects it onto the sets.
pub(crate) fn admit<G: Game>(game: &G, start: &Point<G::Real>) -> Result<Point<G::Real>, Error> {
    let mut z = start.clone();
    for (player, v, set) in [("x", &mut z.x, game.x_set()), ("y", &mut z.y, game.y_set())] {
        if v.len() != set.dim() {
            return Err(Error::StartLength { player, got: v.len(), want: set.dim() });
        }
        if let Some(index) = v.iter().position(|e| !e.to_f64().is_finite()) {
            return Err(Error::StartNotFinite { player, index, value: v[index].to_f64() });
        }
        // Clear warm starts, so that a run does not depend on earlier ones.
        set.forget();
        set.project(v);
    }
    Ok(z)
}

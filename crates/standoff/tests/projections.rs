//! A custom set with a wrong projection must not lead to a certificate; a correct projection, exact or with a stated
//! accuracy, must not be refused.

mod projections {
    pub(crate) mod right;
    pub(crate) mod set;
    pub(crate) mod wrong;
}

use projections::set::{Projected, Tilted};
use projections::{right, wrong};
use standoff::{Error, Point, Set, Settings, Solution, StopReason, solve};

/// Slopes of the objectives: the solutions are at different places on the boundary of most sets.
const TILTS: [[f64; 3]; 4] = [[1.0, -0.4, 0.3], [-0.7, 1.1, -0.2], [-1.3, -0.6, 0.9], [0.2, 0.5, -1.4]];

fn run(set: Projected, tilt: [f64; 3], as_max: bool) -> Result<Solution<f64>, Error> {
    let dim = set.dim;
    let custom = Set::Custom(Box::new(set));
    let start = vec![0.3; dim];
    let other = Set::interval(-1.0, 1.0)?;
    let (x_set, y_set) = if as_max { (other, custom) } else { (custom, other) };
    let point = if as_max { Point::new(&[0.5], &start) } else { Point::new(&start, &[0.5]) };
    let mut game = Tilted { x_set, y_set, tilt: tilt[..dim].to_vec(), as_max };
    let mut settings = Settings::eps(1e-6);
    settings.max_gradients = 20_000;
    solve(&mut game, &point, &settings)
}

#[test]
fn no_wrong_projection_ends_in_a_certificate() {
    let mut believed = Vec::new();
    let all = wrong::all();
    assert!(all.len() >= 30, "{} wrong projections", all.len());
    for make in all {
        for tilt in TILTS {
            for as_max in [false, true] {
                let set = make();
                let name = set.name;
                match run(set, tilt, as_max) {
                    Err(Error::NotAProjection { .. }) => {}
                    Err(error) => panic!("{name}: {error}"),
                    Ok(s) if s.reason != StopReason::Converged => {}
                    Ok(s) => believed.push(format!("{name}, tilt {tilt:?}, max {as_max}: {:?}", s.point)),
                }
            }
        }
    }
    assert!(believed.is_empty(), "{} certificates:\n{}", believed.len(), believed.join("\n"));
}

#[test]
fn no_right_projection_is_refused() {
    let mut refused = Vec::new();
    let all = right::all();
    assert!(all.len() >= 12, "{} right projections", all.len());
    for make in all {
        for tilt in TILTS {
            for as_max in [false, true] {
                let set = make();
                let name = set.name;
                match run(set, tilt, as_max) {
                    Ok(s) if s.reason == StopReason::Converged => {}
                    Ok(s) => {
                        refused
                            .push(format!("{name}, tilt {tilt:?}, max {as_max}: {:?} {:?}", s.reason, s.certificate));
                    }
                    Err(error) => refused.push(format!("{name}, tilt {tilt:?}, max {as_max}: {error}")),
                }
            }
        }
    }
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
}

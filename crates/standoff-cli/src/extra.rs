//! Measures beside X and Y: residuals, the duality gap, the Moreau envelope, curvature.

use standoff::curvature::{CurvatureSettings, look};
use standoff::measures::{Assumptions, measure};
use standoff::{Certificate, Game, Point, radius};
use standoff_present::game::PointMeasures;

/// All measures of a point; its curvature with these settings.
pub(crate) fn measured(
    game: &mut dyn Game<Real = f64>,
    point: &Point<f64>,
    certificate: &Certificate,
    (assumed, settings): (&Assumptions, Option<CurvatureSettings>),
) -> PointMeasures {
    let measures = measure(game, point, certificate, assumed);
    let curvature = settings.map(|settings| look(game, point, &settings));
    let covers = [game.x_set(), game.y_set()].map(|set| radius::covers(set, certificate.radius));
    PointMeasures { measures, curvature, covers }
}

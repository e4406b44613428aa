//! Broken images are verified independently of the attack: by the plain reference in `f64`, from stored bytes.

use crate::{Case, attacks, small};
use standoff_nn::attack::{Attack, Ball, Ensemble, Grid, Judge, Norm, Protocol, Run, attack, ensemble, verify};
use standoff_nn::reference;

/// `max over j != y of z_j - z_y`, by the reference.
fn margin(case: &Case, image: &[f32], label: u16) -> f64 {
    let params: Vec<f64> = case.params.iter().map(|&v| f64::from(v)).collect();
    let x: Vec<f64> = image.iter().map(|&v| f64::from(v)).collect();
    let values = reference::forward(case.engine.model(), &params, &x);
    let z = values.last().expect("logits");
    let others = (0..z.len()).filter(|&j| j != usize::from(label)).map(|j| z[j]);
    others.fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a }) - z[usize::from(label)]
}

/// Checks every image of a result from its bytes or floats alone; returns the number of broken ones.
fn judge(case: &Case, found: &Ensemble, ball: &Ball) -> usize {
    let width = case.engine.model().input().size();
    for i in 0..case.labels.len() {
        let (image, origin) = (&found.images[i * width..(i + 1) * width], &case.images[i * width..(i + 1) * width]);
        let stored: Vec<f32> = match ball.grid {
            Grid::Float => image.to_vec(),
            // Through bytes, as a file would have it.
            _ => image.iter().map(|&v| f32::from((255.0 * v).round() as u8) / 255.0).collect(),
        };
        assert_eq!(stored, image, "image {i} is not what is stored");
        let apart = || stored.iter().zip(origin).map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs());
        let size = match ball.norm {
            Norm::Linf => apart().fold(0.0, f64::max),
            Norm::L2 => apart().map(|d| d * d).sum::<f64>().sqrt(),
            Norm::L1 => apart().sum(),
        };
        assert!(size <= ball.eps + 1e-6, "image {i} moved by {size}");
        assert!(stored.iter().all(|v| (0.0..=1.0).contains(v)));
        let margin = margin(case, &stored, case.labels[i]);
        assert!((margin - f64::from(found.margins[i])).abs() < 1e-4);
        assert!(if found.stands(i) { margin < 1e-4 } else { margin > -1e-4 }, "image {i}: margin {margin}");
    }
    case.labels.len() - found.left()
}

#[test]
fn a_broken_image_is_misclassified_and_inside_the_ball_in_its_stored_form() {
    let case = Case::new(&small(4), 30, 1);
    for ball in [Ball::linf(0.1), Ball::l2(0.5), Ball::l1(3.0)] {
        for grid in [Grid::Float, Grid::Truncate, Grid::Round, Grid::Search] {
            let ball = ball.stored(grid);
            for attack in attacks() {
                let found =
                    standoff_nn::attack::attack(&case.engine, case.labelled(), &attack, &ball, &Run::new(1)).unwrap();
                let broken = judge(&case, &found, &ball);
                assert!(broken > 0 || attack.black_box(), "{} in {ball:?} did nothing", attack.name());
                assert_eq!(found.attacks[0].refused, 0, "{} in {ball:?}", attack.name());
            }
        }
    }
}

#[test]
fn a_search_on_the_grid_breaks_images_that_rounding_afterwards_does_not() {
    let case = Case::new(&small(4), 60, 1);
    let left = |grid| {
        let attack = Attack::named("apgd-margin40").unwrap();
        // Two levels: rounding moves a point by a good part of the ball.
        let ball = Ball::linf(2.4 / 255.0).stored(grid);
        standoff_nn::attack::attack(&case.engine, case.labelled(), &attack, &ball, &Run::new(1)).unwrap().left()
    };
    let (float, search, truncate) = (left(Grid::Float), left(Grid::Search), left(Grid::Truncate));
    assert!(float <= search && search <= truncate && float < 60, "{float} {search} {truncate}");
}

#[test]
fn tampered_images_are_refused() {
    let case = Case::new(&small(4), 30, 1);
    let ball = Ball::linf(0.1).stored(Grid::Search);
    let found =
        attack(&case.engine, case.labelled(), &Attack::named("apgd-margin20").unwrap(), &ball, &Run::new(1)).unwrap();
    let broken_one = (0..30).find(|&i| !found.stands(i)).expect("one is broken");
    let verdict = |images: &[f32]| verify(&case.engine, case.labelled(), images, &ball).unwrap()[broken_one];
    assert!(verdict(&found.images).fallen());
    let with = |v: f32| {
        let mut images = found.images.clone();
        images[broken_one * 64] = v;
        verdict(&images)
    };
    let origin = case.images[broken_one * 64];
    let beyond = if origin < 0.5 { origin + 27.0 / 255.0 } else { origin - 27.0 / 255.0 };
    assert!(!with((255.0 * beyond).round() / 255.0).inside, "one level outside the ball");
    assert!(!with(found.images[broken_one * 64] + 1e-4).inside, "between two levels");
    assert!(!verdict(&case.images).wrong && verdict(&case.images).inside, "the original");
    let mut broken = found.images.clone();
    broken[broken_one * 64] = f32::NAN;
    let error = verify(&case.engine, case.labelled(), &broken, &ball).unwrap_err().to_string();
    assert!(error.contains(&format!("image {broken_one}")), "{error}");
}

#[test]
fn the_standard_ensemble_leaves_no_more_than_pgd_with_restarts() {
    for outputs in [2, 3, 10] {
        let case = Case::new(&small(outputs), 60, 1);
        for eps in [0.01, 0.03] {
            let mut protocol = Protocol::standard(eps);
            // The same budgets divided by ten: a second instead of ten.
            protocol.attacks = ["apgd-margin20", "smooth30", "apgd-t10x9", "pgd10x10", "square200"]
                .map(|n| Attack::named(n).unwrap())
                .to_vec();
            let standard = ensemble(&case.engine, case.labelled(), &protocol, &Run::new(1)).unwrap();
            let pgd = Attack::named("pgd10x10").unwrap();
            let pgd = attack(&case.engine, case.labelled(), &pgd, &Ball::linf(eps), &Run::new(1)).unwrap();
            assert!(standard.left() <= pgd.left(), "{} against {}", standard.left(), pgd.left());
            assert!(pgd.left() < 60 && judge(&case, &standard, &protocol.ball) > 0);
        }
    }
}

#[test]
fn figures_of_an_ensemble_belong_together() {
    let case = Case::new(&small(3), 50, 1);
    let mut labels = case.labels.clone();
    labels[7] = (labels[7] + 1) % 3; // wrong before any attack
    let labelled = standoff_nn::attack::LabelledImages { labels: &labels, ..case.labelled() };
    let attacks = ["fgsm", "pgd9", "square30"].map(|n| Attack::named(n).unwrap()).to_vec();
    for judge in [Judge::Worst, Judge::Every] {
        let protocol = Protocol { attacks: attacks.clone(), ball: Ball::linf(0.03), judge };
        let found = ensemble(&case.engine, labelled, &protocol, &Run::new(1)).unwrap();
        assert_eq!((found.correct(), found.natural[7], found.fallen_to[7]), (49, false, None));
        assert_eq!(found.images[7 * 64..8 * 64], case.images[7 * 64..8 * 64]);
        let mut left = 49;
        for (index, attack) in found.attacks.iter().enumerate() {
            left -= found.fallen_to.iter().filter(|to| **to == Some(index)).count();
            assert_eq!(attack.left, left);
            assert!(attack.fallen.iter().zip(&attack.tried).all(|(fallen, tried)| *tried || !fallen));
            let alone = 49 - attack.fallen.iter().filter(|f| **f).count();
            assert_eq!(attack.left_alone, (judge == Judge::Every).then_some(alone));
            assert!(attack.cost.gradients + attack.cost.forward > 0);
        }
        assert_eq!(found.left(), left);
    }
}

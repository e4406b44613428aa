//! On a linear model the worst point of a ball is known.

use crate::Case;
use standoff_nn::attack::{Attack, Ball, LabelledImages, Norm, Run, attack, smallest_changes};
use standoff_nn::{Model, Shape};

/// Two classes on 5 x 5 pixels.
fn case() -> Case {
    let model = Model::preset("logistic", Shape::new(1, 5, 5), 2).expect("fits");
    Case::new(&model, 40, 1)
}

/// The largest `z_other - z_label` in the ball, in `f64`.
fn worst_margins(case: &Case, ball: &Ball) -> Vec<f64> {
    let slope: Vec<f64> = (0..25).map(|i| f64::from(case.params[25 + i]) - f64::from(case.params[i])).collect();
    let bias = f64::from(case.params[51]) - f64::from(case.params[50]);
    let each = case.images.chunks_exact(25).zip(&case.labels);
    each.map(|(image, &label)| {
        let sign = if label == 0 { 1.0 } else { -1.0 };
        let mut margin = sign * bias;
        let mut square = 0.0;
        let mut gains = Vec::new();
        for (&x, s) in image.iter().zip(&slope) {
            let (x, s) = (f64::from(x), sign * s);
            let room = if s > 0.0 { 1.0 - x } else { x };
            let by = if ball.clip.is_some() { ball.eps.min(room) } else { ball.eps };
            margin += s * x + if ball.norm == Norm::Linf { s.abs() * by } else { 0.0 };
            square += s * s;
            gains.push((s.abs(), if ball.clip.is_some() { room } else { f64::INFINITY }));
        }
        if ball.norm == Norm::L1 {
            // The steepest pixels first, each as far as its limit.
            gains.sort_by(|a, b| b.0.total_cmp(&a.0));
            let mut left = ball.eps;
            for (slope, room) in gains {
                let by = left.min(room);
                margin += slope * by;
                left -= by;
            }
        }
        margin + if ball.norm == Norm::L2 { ball.eps * square.sqrt() } else { 0.0 }
    })
    .collect()
}

/// The share of the possible gain that an attack makes, at worst over the images that no point of the ball turns; and every
/// image that some point breaks must be reported as broken.
fn worst_gain(case: &Case, name: &str, ball: &Ball) -> f64 {
    let found =
        attack(&case.engine, case.labelled(), &Attack::named(name).expect(name), ball, &Run::new(3)).expect(name);
    let clean = worst_margins(case, &Ball { eps: 0.0, ..*ball });
    let mut least = f64::INFINITY;
    let mut standing = 0;
    for (i, &worst) in worst_margins(case, ball).iter().enumerate() {
        if worst > 1e-3 {
            continue;
        }
        standing += 1;
        assert!(f64::from(found.margins[i]) <= worst + 1e-5, "{name}: image {i} is beyond the optimum");
        assert!(worst > -1e-6 || found.stands(i), "{name}: image {i} cannot fall");
        let gain = (f64::from(found.margins[i]) - clean[i]) / (worst - clean[i]);
        least = if gain >= least { least } else { gain };
    }
    assert!(standing >= 5, "the test needs images that stand, has {standing}");
    least
}

#[test]
fn every_attack_reaches_the_worst_point_of_a_linear_model() {
    let case = case();
    let sharp = ["fgsm", "pgd20", "pgd9x3:loss=margin", "pgd9:loss=dlr,start=clean", "targeted10", "apgd-ce20"];
    let sharp = [&sharp[..], &["apgd-margin20", "apgd-dlr20x2", "apgd-t20x9", "smooth40"]].concat();
    for name in &sharp {
        let share = worst_gain(&case, name, &Ball::linf(0.03));
        assert!(share > 0.9999, "{name}, clipped cube: {share}");
    }
    assert!(worst_gain(&case, "square600", &Ball::linf(0.03)) > 0.9999);
    let free = Ball { clip: None, ..Ball::l2(0.1) };
    for name in &sharp {
        let share = worst_gain(&case, name, &free);
        // Steps of one length circle around the best direction before they meet it.
        assert!(share > if name.starts_with("apgd") { 0.99 } else { 0.95 }, "{name}, Euclidean ball: {share}");
    }
    for ball in [Ball::l1(0.3), Ball { clip: None, ..Ball::l1(0.3) }] {
        for name in ["apgd-ce60", "apgd-margin60", "apgd-t60x9"] {
            let share = worst_gain(&case, name, &ball);
            assert!(share > 0.98, "{name} in {ball:?}: {share}");
        }
        let share = worst_gain(&case, "pgd40:loss=margin", &ball);
        assert!(share > 0.9, "pgd40 in {ball:?}: {share}");
    }
    // Its bumps are at least three pixels wide: too coarse for a slope that changes from pixel to pixel.
    let share = worst_gain(&case, "square600", &free);
    assert!(share > 0.4, "square600, Euclidean ball: {share}");
}

#[test]
fn fab_breaks_exactly_what_can_be_broken_in_every_norm() {
    let case = case();
    for ball in [Ball::linf(0.08), Ball::l2(0.3), Ball::l1(0.8), Ball { clip: None, ..Ball::l1(0.6) }] {
        // The closed form of the Euclidean ball is without limits.
        let ball = if ball.norm == Norm::L2 { Ball { clip: None, ..ball } } else { ball };
        let worst = worst_margins(&case, &ball);
        let fab = Attack::named("fab20").unwrap();
        let found = attack(&case.engine, case.labelled(), &fab, &ball, &Run::new(3)).unwrap();
        let (can, cannot) = (worst.iter().filter(|m| **m > 1e-3).count(), worst.iter().filter(|m| **m < -1e-3).count());
        assert!(can >= 5 && cannot >= 5, "{ball:?}: {can} can fall, {cannot} cannot");
        for (i, &worst) in worst.iter().enumerate() {
            assert!(worst < 1e-3 || !found.stands(i), "image {i} should be broken in {ball:?}, margin {worst}");
            assert!(worst > -1e-3 || found.stands(i), "image {i} cannot fall in {ball:?}, margin {worst}");
        }
        assert_eq!(found.attacks[0].refused, 0);
    }
}

#[test]
fn the_smallest_change_of_a_linear_model_is_the_distance_of_its_boundary() {
    let case = case();
    let slope: Vec<f64> = (0..25).map(|i| f64::from(case.params[25 + i]) - f64::from(case.params[i])).collect();
    let mut labels = case.labels.clone();
    labels[7] = 1 - labels[7];
    let labelled = LabelledImages { labels: &labels, ..case.labelled() };
    for norm in [Norm::Linf, Norm::L2, Norm::L1] {
        let free = Ball { clip: None, ..Ball::of_norm(norm, 0.0) };
        let margins = worst_margins(&case, &free);
        let dual = match norm {
            Norm::Linf => slope.iter().map(|s| s.abs()).sum::<f64>(),
            Norm::L2 => slope.iter().map(|s| s * s).sum::<f64>().sqrt(),
            Norm::L1 => slope.iter().fold(0.0, |most, s| f64::max(most, s.abs())),
        };
        let refine = [Attack::named("apgd-margin20").unwrap()];
        for (refine, limit) in [(&refine[..0], 1.03), (&refine[..], 1.02)] {
            let found = smallest_changes(&case.engine, labelled, &free, refine, &Run::new(1)).unwrap();
            assert_eq!((found.natural[7], found.distances[7]), (false, 0.0));
            for i in (0..40).filter(|&i| i != 7) {
                let (got, want) = (found.distances[i], -margins[i] / dual);
                assert!(got >= want - 1e-5 && got <= limit * want + 1e-5, "{norm:?}, image {i}: {got} against {want}");
                let image = &found.images[i * 25..(i + 1) * 25];
                assert!((free.size(image, &case.images[i * 25..(i + 1) * 25]) - got).abs() < 1e-12);
            }
            let middle = found.distances[3];
            assert!(found.accuracy(middle - 1e-9) > found.accuracy(middle) && found.accuracy(0.0) == 39.0 / 40.0);
        }
    }
}

#[test]
fn an_image_falls_exactly_when_a_point_of_the_ball_turns_it() {
    let case = case();
    let ball = Ball::linf(0.08);
    let worst = worst_margins(&case, &ball);
    let (can, cannot) = (worst.iter().filter(|m| **m > 1e-3).count(), worst.iter().filter(|m| **m < -1e-3).count());
    assert!(can >= 5 && cannot >= 5, "{can} can fall, {cannot} cannot");
    for name in ["fgsm", "pgd20", "apgd-ce20", "apgd-t20x9", "smooth40", "square400"] {
        let found = attack(&case.engine, case.labelled(), &Attack::named(name).unwrap(), &ball, &Run::new(3)).unwrap();
        for (i, &worst) in worst.iter().enumerate() {
            assert!(worst < 1e-3 || !found.stands(i), "{name}: image {i} should be broken, margin {worst}");
            assert!(worst > -1e-3 || found.stands(i), "{name}: image {i} cannot fall, margin {worst}");
        }
    }
}

#[test]
fn the_published_arithmetic_truncates_and_does_not_clip_fgsm() {
    use standoff_nn::attack::{Judge, Protocol, ensemble};
    let case = case();
    let protocol = Protocol { attacks: vec![Attack::Fgsm], ..Protocol::paper(0.3) };
    assert_eq!(protocol.judge, Judge::Last);
    let found = ensemble(&case.engine, case.labelled(), &protocol, &Run::new(0)).unwrap();
    let mut outside = 0;
    for i in (0..40).filter(|&i| found.fallen_to[i].is_some()) {
        for k in 0..25 {
            let slope = case.params[25 + k] - case.params[k];
            let up = if case.labels[i] == 0 { slope > 0.0 } else { slope < 0.0 };
            let x = case.images[i * 25 + k] + if up { 0.3f32 } else { -0.3 };
            let stored = (255.0 * x).trunc() / 255.0;
            assert_eq!(found.images[i * 25 + k], stored);
            outside += usize::from(!(0.0..=1.0).contains(&stored));
        }
    }
    assert!(outside > 0);
}

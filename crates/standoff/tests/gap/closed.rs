//! Gaps known from formulas and from the theory of the path.

use super::dice::Dice;
use super::measured;
use standoff::gap::{Ask, Gauge, Side};
use standoff::sets::Matrix;
use standoff::{Certificate, Gap, Set, ops};

fn is_close(gap: Gap, want: f64, scale: f64) -> bool {
    (gap.lower - want).abs() <= 1e-12 * scale && (gap.upper - want).abs() <= 1e-12 * scale
}

#[test]
fn free_space_gives_the_length_of_the_gradient() {
    let gap = measured(&Set::free(2), &[5.0, -1.0], &[3.0, -4.0], 2.0);
    assert!(is_close(gap, 10.0, 1.0), "{gap:?}");
}

#[test]
fn an_affine_set_gives_the_length_along_it() {
    let plane = Set::affine(Matrix::from_rows(&[vec![1.0, 1.0, 1.0]]).unwrap(), &[3.0]).unwrap();
    let gap = measured(&plane, &[1.0, 1.0, 1.0], &[4.0, 1.0, 1.0], 0.5);
    assert!(is_close(gap, 0.5 * 6.0_f64.sqrt(), 1.0), "{gap:?}");
    let point = Set::affine(Matrix::from_rows(&[vec![1.0, 2.0], vec![3.0, 4.0]]).unwrap(), &[1.0, 2.0]).unwrap();
    assert_eq!(measured(&point, &point.centre(), &[0.3, 0.7], 1.0), Gap::ZERO);
}

#[test]
fn a_half_space_follows_its_formula() {
    let mut dice = Dice(11);
    for _ in 0..300 {
        let n = 1 + dice.below(6);
        let (a, g): (Vec<f64>, Vec<f64>) = (dice.vector(n, 1.0), dice.vector(n, 1.0));
        let mut point: Vec<f64> = dice.vector(n, 0.3);
        let set = Set::halfspace(a.clone(), dice.gauss()).unwrap();
        set.project(&mut point);
        let Set::Halfspace(h) = &set else { unreachable!() };
        let slack = (h.offset() - ops::dot(&a, &point)).max(0.0);
        let (aa, ga, gg) = (ops::dot(&a, &a), ops::dot(&g, &a), ops::dot(&g, &g));
        let side = (gg - ga * ga / aa).max(0.0).sqrt();
        let want = if -ga / gg.sqrt() <= slack {
            gg.sqrt()
        } else {
            -slack * ga / aa + (1.0 - slack * slack / aa).max(0.0).sqrt() * side
        };
        let gap = measured(&set, &point, &g, 1.0);
        // The formula takes roots of differences; the measurement does not.
        assert!((gap.upper - want).abs() <= 1e-7 * gg.sqrt(), "{gap:?}, not {want}");
    }
}

#[test]
fn a_ball_follows_its_formula() {
    let mut dice = Dice(12);
    for _ in 0..300 {
        let n = 2 + dice.below(5);
        let centre: Vec<f64> = dice.vector(n, 1.0);
        let r = 0.2 + 2.0 * dice.uniform();
        let set = Set::ball(centre.clone(), r).unwrap();
        let mut point: Vec<f64> = dice.vector(n, 1.0);
        set.project(&mut point);
        let g: Vec<f64> = dice.vector(n, 1.0);
        let q: Vec<f64> = point.iter().zip(&centre).map(|(p, c)| p - c).collect();
        let (norm, pp, gp) = (ops::norm(&g), ops::dot(&q, &q), ops::dot(&g, &q));
        let moved =
            |t: f64, u: f64| q.iter().zip(&g).map(|(qi, gi)| (t * qi - u * gi / norm).powi(2)).sum::<f64>().sqrt();
        let want = if moved(1.0, 1.0) <= r {
            norm
        } else if moved(-1.0, r) <= 1.0 {
            gp + r * norm
        } else {
            let b = 0.5 * (r * r - pp - 1.0);
            let side = (norm * norm - gp * gp / pp).max(0.0).sqrt();
            -b / pp * gp + (1.0 - b * b / pp).max(0.0).sqrt() * side
        };
        let gap = measured(&set, &point, &g, 1.0);
        assert!((gap.upper - want).abs() <= 1e-7 * norm, "{gap:?}, not {want}");
    }
}

#[test]
fn a_box_follows_its_breakpoints() {
    let mut dice = Dice(13);
    for _ in 0..300 {
        let n = 1 + dice.below(8);
        let g: Vec<f64> = (0..n).map(|_| f64::from(dice.below(5) as u32) - 2.0).collect();
        let room: Vec<f64> = (0..n).map(|_| if dice.below(4) == 0 { 0.0 } else { dice.uniform() }).collect();
        let set = Set::boxed(room.iter().map(|d| -d).collect(), room.clone()).unwrap();
        // Sorted, one breakpoint after the other.
        let mut order: Vec<usize> = (0..n).filter(|&i| g[i] != 0.0).collect();
        order.sort_by(|&i, &j| (room[i] / g[i].abs()).total_cmp(&(room[j] / g[j].abs())));
        let (mut used, mut value, mut want) = (0.0, 0.0, None);
        for (k, &i) in order.iter().enumerate() {
            let left: f64 = order[k..].iter().map(|&j| g[j] * g[j]).sum();
            if used + (room[i] / g[i]).powi(2) * left >= 1.0 {
                want = Some(value + ((1.0 - used) / left).sqrt() * left);
                break;
            }
            used += room[i] * room[i];
            value += g[i].abs() * room[i];
        }
        let gap = measured(&set, &vec![0.0; n], &g, 1.0);
        assert!(is_close(gap, want.unwrap_or(value), 1.0 + ops::norm(&g)), "{gap:?}, not {want:?} or {value}");
    }
}

#[test]
fn on_the_simplex_the_frank_wolfe_gap_is_at_most_the_diameter_too_large() {
    let mut dice = Dice(14);
    for _ in 0..200 {
        let n = 2 + dice.below(40);
        let set = Set::simplex(n, 1.0).unwrap();
        let point = dice.point(&set);
        let g: Vec<f64> = dice.vector(n, 1.0);
        let least = g.iter().copied().fold(f64::INFINITY, f64::min);
        let fw = ops::dot(&g, &point) - least;
        let gap = measured(&set, &point, &g, 1.0);
        let slip = 1e-12 * ops::norm(&g);
        assert!(fw / 2.0_f64.sqrt() <= gap.upper + slip && gap.lower <= fw + slip, "{gap:?} against {fw}");
    }
}

#[test]
fn a_product_lies_between_the_norm_and_the_sum_of_its_parts() {
    let mut dice = Dice(15);
    for _ in 0..60 {
        let set: Set<f64> = dice.product(6);
        let mut point = dice.point(&set);
        let g = dice.direction(&set, &mut point);
        let gap = measured(&set, &point, &g, 1.0);
        let Set::Product(product) = &set else { unreachable!() };
        let parts: Vec<f64> =
            product.blocks().map(|(part, range)| measured(part, &point[range.clone()], &g[range], 1.0).upper).collect();
        let slip = 1e-10 * ops::norm(&g);
        assert!(ops::norm(&parts) <= gap.upper + slip, "{gap:?} against {parts:?}");
        assert!(gap.lower <= parts.iter().sum::<f64>() + slip, "{gap:?} against {parts:?}");
    }
}

/// The three facts that the search uses; and its bound is valid and never above the simpler one.
#[test]
fn the_path_is_monotone_and_bounds_the_gap_at_every_tau() {
    let mut dice = Dice(16);
    for round in 0..30 {
        let n = 1 + round % 7;
        let mut sets: Vec<Set<f64>> = dice.closed_sets(n);
        sets.push(dice.product(n));
        sets.push(dice.polyhedron(n, n + 2));
        for set in sets {
            let mut point = dice.point(&set);
            let g = dice.direction(&set, &mut point);
            let norm = ops::norm(&g);
            let gap = measured(&set, &point, &g, 1.0);
            let mut before = (0.0, f64::INFINITY, 0.0);
            for k in -6..10 {
                let tau = 2.0_f64.powi(k) / norm.max(1e-9);
                let mut s: Vec<f64> = point.iter().zip(&g).map(|(p, gi)| p - tau * gi).collect();
                set.project(&mut s);
                s.iter_mut().zip(&point).for_each(|(si, p)| *si -= p);
                let (length, gain) = (ops::norm(&s), -ops::dot(&g, &s));
                let error = 1e-12 * (1.0 + ops::norm(&point) + tau * norm);
                assert!(length >= before.0 - error, "the step became shorter: {set:?}");
                assert!(length / tau <= before.1 + error / tau, "the step grew faster than tau: {set:?}");
                assert!(gain >= before.2 - error * norm, "the gain decreased: {set:?}");
                before = (length, length / tau, gain);
                let bound = gain + length * (1.0 - length) / tau;
                let simple = gain + (1.0 - length * length) / (2.0 * tau);
                let slip = error * (norm + 1.0 / tau);
                assert!(gap.lower <= bound + slip && bound <= simple + slip, "{gap:?} against {bound}: {set:?}");
            }
        }
    }
}

#[test]
fn all_three_equilibria_of_the_second_order_example_are_found_to_be_so() {
    // f = -x^2 + y^2 + 4 x y on [-1, 1] x [-2, 2].
    let (x_set, y_set) = (Set::interval(-1.0, 1.0).unwrap(), Set::interval(-2.0, 2.0).unwrap());
    let mut gauge = Gauge::new(1.0);
    let mut epsilon = |x: f64, y: f64| {
        let (gx, gy) = (-2.0 * x + 4.0 * y, 2.0 * y + 4.0 * x);
        let gap_x = gauge.measure(&x_set, &[x], &[gx], Side::Min, Ask::Exact);
        let gap_y = gauge.measure(&y_set, &[y], &[gy], Side::Max, Ask::Exact);
        Certificate::as_computed(gap_x, gap_y, 1.0).epsilon()
    };
    for (x, y) in [(0.0, 0.0), (-1.0, 2.0), (1.0, -2.0)] {
        assert_eq!(epsilon(x, y), 0.0);
    }
    for (x, y) in [(1.0, 2.0), (-1.0, -2.0), (0.5, 0.0), (0.0, 0.1), (-1.0, 1.9)] {
        assert!(epsilon(x, y) > 0.1);
    }
}

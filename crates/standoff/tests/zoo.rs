//! Every game of the zoo matches its description: gradients, constants, class and equilibria, checked by sampling.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use standoff::gap::{Ask, Gauge, Side};
use standoff::zoo::{self, Class, Instance};
use standoff::{Game, Need, Point, Set, ops};

/// The games of the list, and other members of the families.
fn zoo() -> Vec<(String, Class, Instance)> {
    let mut games: Vec<_> = zoo::all().iter().map(|e| (e.name.to_string(), e.class, (e.make)())).collect();
    let mut more = |name: &str, made: Result<Instance, standoff::Error>| {
        let class = zoo::find(name).expect("listed").class;
        games.push((format!("another {name}"), class, made.expect("valid parameters")));
    };
    more("ramp", zoo::ramp(0.01));
    more("printed-step", zoo::printed_step(2.0));
    more("pl-sine", zoo::pl_sine(1, 7));
    more("quadmax", zoo::quadmax(1, 3, 7));
    more("matrix", zoo::random_matrix_game(4, 2, 7));
    more("pl-least-squares", zoo::pl_least_squares(3, 2, 7));
    more("rank-deficient", zoo::rank_deficient(2, 3, 7));
    more("dro", zoo::dro(1, 2, 0.0, 7));
    more("dro-regularised", zoo::dro(7, 3, 0.2, 7));
    more("zero-chain", zoo::zero_chain(2, 2));
    games
}

/// Feasible points: half of them inside, half of them on the boundary.
struct Sampler {
    bits: ChaCha8Rng,
}

impl Sampler {
    fn new() -> Self {
        Self { bits: ChaCha8Rng::seed_from_u64(5) }
    }

    fn unit(&mut self) -> f64 {
        (self.bits.next_u64() >> 11) as f64 * 2.0_f64.powi(-53)
    }

    fn of(&mut self, set: &Set<f64>) -> Vec<f64> {
        let mut v = set.centre();
        let radius = set.radius_around(&v);
        let spread = if radius.is_finite() { 2.0 * radius / (v.len() as f64).sqrt() } else { 4.0 } * self.unit();
        for e in &mut v {
            *e += spread * (2.0 * self.unit() - 1.0);
        }
        set.project(&mut v);
        v
    }

    /// A pair in the domain of f: a pair outside is moved towards the start until it is inside.
    fn pair(&mut self, instance: &mut Instance) -> Point<f64> {
        let (game, start) = (instance.game.as_mut(), &instance.start);
        let mut z = Point { x: self.of(game.x_set()), y: self.of(game.y_set()) };
        while !value(game, &z.x, &z.y).is_finite() {
            for (v, s) in z.x.iter_mut().zip(&start.x).chain(z.y.iter_mut().zip(&start.y)) {
                *v = 0.5 * (*v + s);
            }
        }
        z
    }

    /// Another feasible point, near or far.
    fn beside(&mut self, set: &Set<f64>, v: &[f64]) -> Vec<f64> {
        let other = self.of(set);
        let t = if self.unit() < 0.5 { 1e-4 } else { 1.0 };
        v.iter().zip(&other).map(|(a, b)| a + t * (b - a)).collect()
    }
}

fn value(game: &mut dyn Game<Real = f64>, x: &[f64], y: &[f64]) -> f64 {
    game.fix(x, Need::Values);
    game.value(y)
}

/// Both gradients, and `f`.
fn gradients(game: &mut dyn Game<Real = f64>, x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
    let (mut gx, mut gy) = (vec![f64::NAN; x.len()], vec![f64::NAN; y.len()]);
    game.fix(x, Need::Gradients);
    let f = game.value(y);
    assert_eq!(f, game.grad_x(y, &mut gx), "grad_x and value() return different values");
    assert_eq!(f, game.grad_y(y, &mut gy), "grad_y and value() return different values");
    (gx, gy, f)
}

/// y's best response: a vertex if the game is linear, otherwise projected ascent with step `1/l22` from `y` to
/// convergence.
fn answer(game: &mut dyn Game<Real = f64>, l22: f64, x: &[f64], y: &[f64]) -> (Vec<f64>, f64) {
    let mut y = y.to_vec();
    let mut g = vec![0.0; y.len()];
    game.fix(x, Need::Gradients);
    if game.linear_in_y() {
        game.grad_y(&y, &mut g);
        g.iter_mut().for_each(|e| *e = -*e);
        assert!(game.y_set().minimise_linear(&g, &mut y));
    } else {
        for _ in 0..5000 {
            game.grad_y(&y, &mut g);
            ops::axpy(1.0 / l22, &g, &mut y);
            game.y_set().project(&mut y);
        }
    }
    let f = game.value(&y);
    (y, f)
}

/// Length of the move of a projected gradient step of size one: 0 exactly at an equilibrium.
fn residual(set: &Set<f64>, v: &[f64], descent: f64, g: &[f64]) -> f64 {
    let mut moved = v.to_vec();
    ops::axpy(descent, g, &mut moved);
    set.project(&mut moved);
    ops::distance(&moved, v)
}

#[test]
fn names_are_unique_and_found() {
    for e in zoo::all() {
        assert_eq!(zoo::find(e.name).map(|f| f.summary), Some(e.summary), "{}", e.name);
        assert!(e.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", e.name);
        assert!(!e.summary.contains('\n') && e.summary.len() <= 90, "{}", e.name);
    }
    assert!(zoo::find("no such game").is_none());
}

#[test]
fn starts_and_equilibria_are_feasible() {
    for (name, _, instance) in zoo() {
        let points = instance.answers.iter().map(|a| &a.point).chain([&instance.start]);
        for p in points {
            for (set, v) in [(instance.game.x_set(), &p.x), (instance.game.y_set(), &p.y)] {
                let mut moved = v.clone();
                set.project(&mut moved);
                assert!(ops::distance(v, &moved) <= 1e-12, "{name}: {v:?} is not feasible");
            }
        }
    }
}

#[test]
fn gradients_match_central_differences() {
    let mut sampler = Sampler::new();
    for (name, _, mut instance) in zoo() {
        for _ in 0..10 {
            let p = sampler.pair(&mut instance);
            let game = instance.game.as_mut();
            let (gx, gy, f) = gradients(game, &p.x, &p.y);
            for (who, g) in [("x", &gx), ("y", &gy)] {
                for i in 0..g.len() {
                    let mut slope = |h: f64| {
                        let mut side = |step: f64| {
                            let mut q = p.clone();
                            let v = if who == "x" { &mut q.x } else { &mut q.y };
                            v[i] += step;
                            value(game, &q.x, &q.y)
                        };
                        (side(h) - side(-h)) / (2.0 * h)
                    };
                    // Two central differences, combined so that the third derivative cancels.
                    let fd = (4.0 * slope(1e-5) - slope(2e-5)) / 3.0;
                    let scale = 1.0 + ops::norm(g) + 1e-4 * f.abs();
                    assert!(
                        (fd - g[i]).abs() <= 1e-6 * scale,
                        "{name}: d/d{who}[{i}] is {}, differences say {fd}",
                        g[i]
                    );
                }
            }
        }
    }
}

#[test]
fn stored_equilibria_are_equilibria_with_their_values() {
    for (name, _, mut instance) in zoo() {
        for a in &instance.answers {
            let game = instance.game.as_mut();
            let (gx, gy, f) = gradients(game, &a.point.x, &a.point.y);
            let rx = residual(game.x_set(), &a.point.x, -1.0, &gx);
            let ry = residual(game.y_set(), &a.point.y, 1.0, &gy);
            assert!(rx <= 1e-9 && ry <= 1e-9, "{name}: {:?} moves by {rx} and {ry}", a.point);
            let mut gauge = Gauge::new(1.0);
            let x = gauge.measure(game.x_set(), &a.point.x, &gx, Side::Min, Ask::Exact);
            let y = gauge.measure(game.y_set(), &a.point.y, &gy, Side::Max, Ask::Exact);
            assert!(x.upper <= 1e-6 && y.upper <= 1e-6, "{name}: {:?} has X = {x:?}, Y = {y:?}", a.point);
            assert!((f - a.value).abs() <= 1e-9 * (1.0 + f.abs()), "{name}: value {f}, listed {}", a.value);
        }
    }
}

#[test]
fn the_second_order_game_has_exactly_its_three_equilibria() {
    // The residual is 7-Lipschitz for either player, so an equilibrium between grid points gives less than 0.1 nearby.
    let mut instance = zoo::second_order();
    let mut found = [false; 3];
    for i in 0..=400 {
        for j in 0..=400 {
            let (x, y) = ([-1.0 + f64::from(i) / 200.0], [-2.0 + f64::from(j) / 100.0]);
            let game = instance.game.as_mut();
            let (gx, gy, _) = gradients(game, &x, &y);
            if residual(game.x_set(), &x, -1.0, &gx) + residual(game.y_set(), &y, 1.0, &gy) <= 0.1 {
                let near = |e: &(f64, f64)| (e.0 - x[0]).abs() + (e.1 - y[0]).abs() <= 0.3;
                let which = [(0.0, 0.0), (-1.0, 2.0), (1.0, -2.0)].iter().position(near);
                found[which.unwrap_or_else(|| panic!("another one near {x:?}, {y:?}"))] = true;
            }
        }
    }
    assert_eq!(found, [true; 3]);
}

#[test]
fn constants_bound_every_sampled_difference_quotient() {
    let mut sampler = Sampler::new();
    for (name, class, mut instance) in zoo() {
        let Some(c) = instance.constants else { continue };
        for _ in 0..200 {
            let p = sampler.pair(&mut instance);
            let game = instance.game.as_mut();
            let x = sampler.beside(game.x_set(), &p.x);
            let y = sampler.beside(game.y_set(), &p.y);
            let (gx, gy, _) = gradients(game, &p.x, &p.y);
            let (gx_x, gy_x, _) = gradients(game, &x, &p.y);
            let (gx_y, gy_y, _) = gradients(game, &p.x, &y);
            let (dx, dy) = (ops::distance(&p.x, &x), ops::distance(&p.y, &y));
            let noise = 1e-12 * (1.0 + ops::norm(&gx) + ops::norm(&gy));
            for (what, constant, change, step) in [
                ("l11", c.l11, ops::distance(&gx, &gx_x), dx),
                ("l12", c.l12, ops::distance(&gx, &gx_y), dy),
                ("l12", c.l12, ops::distance(&gy, &gy_x), dx),
                ("l22", c.l22, ops::distance(&gy, &gy_y), dy),
            ] {
                assert!(
                    change <= constant * step * (1.0 + 1e-9) + noise,
                    "{name}: {what} = {constant} but {}",
                    change / step
                );
            }
            if class == Class::StronglyConcave {
                let bend = (0..y.len()).map(|i| (gy_y[i] - gy[i]) * (y[i] - p.y[i])).sum::<f64>();
                assert!(
                    bend <= -c.mu * dy * dy * (1.0 - 1e-6) + noise * dy,
                    "{name}: mu = {} but {}",
                    c.mu,
                    -bend / dy / dy
                );
            }
        }
        assert_eq!(c.mu > 0.0, matches!(class, Class::StronglyConcave | Class::Pl), "{name}: mu = {}", c.mu);
    }
}

#[test]
fn radii_are_those_of_the_sets() {
    for (name, _, instance) in zoo() {
        let Some(c) = instance.constants else { continue };
        for (set, radius) in [(instance.game.x_set(), c.radius_x), (instance.game.y_set(), c.radius_y)] {
            let exact = set.radius_around(&set.centre());
            match radius {
                Some(r) => assert!((r - exact).abs() <= 1e-9 * exact, "{name}: radius {r}, the set says {exact}"),
                None => assert_eq!(exact, f64::INFINITY, "{name}"),
            }
        }
    }
}

#[test]
fn bounds_on_the_value_function_hold_at_samples() {
    let mut sampler = Sampler::new();
    for (name, class, mut instance) in zoo() {
        let Some(c) = instance.constants else { continue };
        if class == Class::NonConcave {
            continue;
        }
        let game = instance.game.as_mut();
        let (_, first) = answer(game, c.l22, &instance.start.x, &instance.start.y);
        for _ in 0..20 {
            let p = sampler.pair(&mut instance);
            let game = instance.game.as_mut();
            let (best, top) = answer(game, c.l22, &p.x, &p.y);
            let (slope, _, _) = gradients(game, &p.x, &best);
            let f = value(game, &p.x, &p.y);
            assert!(top >= f - 1e-9 * (1.0 + f.abs()), "{name}: the best answer {top} is worse than {f}");
            if let Some(delta_g) = c.delta_g {
                assert!(
                    first - top <= delta_g + 1e-9 * (1.0 + top.abs()),
                    "{name}: delta_g = {delta_g} but {}",
                    first - top
                );
            }
            if let (Some(delta), Some(_)) = (c.delta, c.radius_y) {
                assert!(top - f <= delta * (1.0 + 1e-9), "{name}: delta = {delta} but {}", top - f);
            }
            if let Some(g_max) = c.g_max {
                assert!(ops::norm(&slope) <= g_max * (1.0 + 1e-9), "{name}: g_max = {g_max} but {}", ops::norm(&slope));
            }
        }
        let game = instance.game.as_mut();
        // If a stored equilibrium minimises the value function, delta_g is exact.
        if let (Some(delta_g), Some(a)) = (c.delta_g, instance.answers.first()) {
            let (_, least) = answer(game, c.l22, &a.point.x, &a.point.y);
            assert!(
                (first - least - delta_g).abs() <= 1e-9 * (1.0 + delta_g),
                "{name}: {} or {delta_g}",
                first - least
            );
        }
    }
}

#[test]
fn flags_and_classes_hold_on_sampled_segments() {
    let mut sampler = Sampler::new();
    for (name, class, mut instance) in zoo() {
        let (mut bent, mut bulged) = (false, false);
        for _ in 0..300 {
            let p = sampler.pair(&mut instance);
            let game = instance.game.as_mut();
            let end = sampler.of(game.y_set());
            let middle: Vec<f64> = p.y.iter().zip(&end).map(|(a, b)| 0.5 * (a + b)).collect();
            let [a, b, m] = [&p.y, &end, &middle].map(|y| value(game, &p.x, y));
            let noise = 1e-12 * (1.0 + a.abs() + b.abs() + m.abs());
            if !noise.is_finite() {
                continue; // the segment leaves the domain
            }
            bent |= (m - 0.5 * (a + b)).abs() > noise;
            bulged |= m < 0.5 * (a + b) - noise;
        }
        assert_eq!(instance.game.linear_in_y(), !bent, "{name}: the flag is wrong");
        match class {
            Class::Concave | Class::StronglyConcave => assert!(!bulged, "{name} is not concave in y"),
            Class::NonConcave => assert!(bulged, "{name} looks concave in y"),
            Class::Pl => {}
        }
    }
}

#[test]
fn pl_games_satisfy_the_inequality_with_their_constant() {
    let mut sampler = Sampler::new();
    for (name, class, mut instance) in zoo() {
        let (Class::Pl, Some(c)) = (class, instance.constants) else { continue };
        let game = instance.game.as_mut();
        for _ in 0..20 {
            let x = sampler.of(game.x_set());
            let other = sampler.of(game.y_set());
            let (_, top) = answer(game, c.l22, &x, &other);
            for _ in 0..50 {
                let y = sampler.of(game.y_set());
                let (_, gy, f) = gradients(game, &x, &y);
                let (slope, gap) = (0.5 * ops::norm(&gy).powi(2), top - f);
                assert!(slope >= c.mu * gap * (1.0 - 1e-6) - 1e-9, "{name}: mu = {} but {}", c.mu, slope / gap);
            }
            // A local maximum that is not global would satisfy the inequality by accident: check that all ascents reach
            // the same value.
            let (_, again) = answer(game, c.l22, &x, &vec![3.0; other.len()]);
            assert!((top - again).abs() <= 1e-9 * (1.0 + top.abs()), "{name}: {top} and {again}");
        }
    }
}

#[test]
fn bad_parameters_are_refused_with_a_reason() {
    assert_eq!(
        zoo::ramp(f64::NAN).unwrap_err().to_string(),
        "eps = NaN is not allowed: it must be positive and finite"
    );
    assert!(zoo::ramp(0.0).is_err());
    assert!(zoo::printed_step(2.1).is_err());
    assert!(zoo::pl_sine(0, 1).is_err());
    assert!(zoo::quadmax(3, 0, 1).is_err());
    assert!(zoo::dro(3, 3, -1.0, 1).is_err());
    assert!(zoo::dro(3, 3, f64::INFINITY, 1).is_err());
    assert!(zoo::rank_deficient(3, 1, 1).is_err());
    assert!(zoo::pl_least_squares(3, 1, 1).is_err());
    assert!(zoo::zero_chain(3, 1).is_err());
    assert!(zoo::random_matrix_game(0, 3, 1).is_err());
}

//! The equations of the regulator, the imitation game and its errors.

use standoff::zoo::lqr::{self, DMatrix, Imitation, LqrGame, Order, SpectralBox, System};
use standoff::{ConvexSet, Error, Game, Need, Point, Settings, ops, solve};

/// Deterministic numbers without a pattern, independent of the crate's own generator.
fn wave(rows: usize, columns: usize, seed: f64) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns, |i, j| (12.9898 * i as f64 + 78.233 * j as f64 + seed).sin() * 43758.5453 % 1.0)
}

fn definite(n: usize, seed: f64) -> DMatrix<f64> {
    let m = wave(n, n, seed);
    &m * m.transpose() / n as f64 + DMatrix::identity(n, n) * 0.5
}

#[test]
fn lyapunov_residuals_are_at_rounding_up_to_20_states() {
    for n in 1..=20 {
        let system = lqr::random_system(n, 1 + n / 3, n as u64).expect("stabilisable");
        let (_, k) = lqr::dare(system.a(), system.b(), &definite(n, 1.0), &definite(1 + n / 3, 2.0)).expect("solvable");
        let f = system.closed_loop(&k);
        let w = definite(n, 3.0);
        let x = lqr::lyapunov(&f, &w).expect("stable");
        let residual = (&x - &f * &x * f.transpose() - &w).norm() / x.norm();
        assert!(residual <= 1e-14 * n as f64, "n = {n}: {residual:e}");
        assert_eq!(x, x.transpose());
    }
}

#[test]
fn riccati_residuals_are_at_rounding_up_to_20_states() {
    for n in 1..=20 {
        for seed in 0..5 {
            let m = 1 + n / 3;
            let system = lqr::random_system(n, m, seed).expect("stabilisable");
            let (a, b, q, r) = (system.a(), system.b(), definite(n, 4.0), definite(m, 5.0));
            let (p, k) = lqr::dare(a, b, &q, &r).expect("solvable");
            // P = Q + A'P(A - BK), the Riccati equation with its gain inserted.
            let residual = (&p - &q - a.transpose() * &p * (a - b * &k)).norm() / p.norm();
            assert!(residual <= 1e-14 * n as f64, "n = {n}, seed {seed}: {residual:e}");
            assert!(system.check_stabilising("K", &k).is_ok());
        }
    }
}

#[test]
fn the_scalar_riccati_equation_has_its_closed_form() {
    // b^2 P^2 + (r (1 - a^2) - q b^2) P - q r = 0
    let one = |v: f64| DMatrix::from_element(1, 1, v);
    let (p, k) = lqr::dare(&one(1.1), &one(0.5), &one(1.0), &one(0.5)).expect("solvable");
    let half: f64 = 0.5 * (0.5 * (1.0 - 1.21) - 0.25);
    let exact = (-half + (half * half + 0.25 * 0.5).sqrt()) / 0.25;
    assert!((p[0] - exact).abs() <= 1e-15 * exact && (exact - 2.292434832781433).abs() < 1e-14, "{} {exact}", p[0]);
    assert!((k[0] - 1.1749407570740296).abs() < 1e-14, "{}", k[0]);
}

#[test]
fn a_cost_that_does_not_see_a_stable_mode_is_solved() {
    // The second state decays without control and has no cost.
    let a = DMatrix::from_row_slice(2, 2, &[1.2, 0.0, 0.0, 0.5]);
    let b = DMatrix::from_column_slice(2, 1, &[1.0, 0.0]);
    let q = DMatrix::from_row_slice(2, 2, &[1.0, 0.0, 0.0, 0.0]);
    let (p, k) = lqr::dare(&a, &b, &q, &DMatrix::identity(1, 1)).expect("detectable");
    assert_eq!((p[(1, 1)], k[(0, 1)]), (0.0, 0.0));
}

#[test]
fn the_cost_is_the_sum_over_a_simulated_path() {
    let system = lqr::cart_pole();
    let (q, r) = (definite(4, 1.0), definite(1, 2.0));
    let k = system.gain_for(&q, &r).expect("solvable");
    let (mut sigma, mut cost) = (system.sigma0().clone(), 0.0);
    let f = system.closed_loop(&k);
    for _ in 0..2000 {
        cost += (&q * &sigma).trace() + (&r * &k * &sigma * k.transpose()).trace();
        sigma = &f * sigma * f.transpose();
    }
    let closed = system.cost(&k, &q, &r);
    assert!((cost - closed).abs() <= 1e-10 * cost, "{cost} {closed}");
    assert_eq!(system.cost(&DMatrix::zeros(1, 4), &q, &r), f64::INFINITY);
}

#[test]
fn the_cart_and_pole_follows_the_physics() {
    // Unforced and at rest, the angle follows d(angle)'' = w^2 angle with w^2 = (M + m) g / (M l): cosh(w t) after t.
    let system = lqr::cart_pole();
    let w = (1.1 * 9.81 / 0.5_f64).sqrt();
    assert!((system.a()[(2, 2)] - (0.1 * w).cosh()).abs() < 1e-12);
    assert!((system.a()[(0, 1)] - 0.1).abs() < 1e-14);
    // A push moves the cart forward and tips the pole backward.
    assert!(system.b()[(0, 0)] > 0.0 && system.b()[(2, 0)] < 0.0);
}

/// Gradients of the game at a pair, and its value.
fn gradients(game: &mut LqrGame, z: &Point<f64>) -> (Vec<f64>, Vec<f64>, f64) {
    let (mut gx, mut gy) = (vec![0.0; z.x.len()], vec![0.0; z.y.len()]);
    game.fix(&z.x, Need::Gradients);
    let f = game.grad_x(&z.y, &mut gx);
    assert_eq!(f, game.grad_y(&z.y, &mut gy));
    (gx, gy, f)
}

fn twelve_states(order: Order, gamma: f64) -> (System, DMatrix<f64>, LqrGame) {
    let system = lqr::random_system(12, 3, 1).expect("stabilisable");
    let expert = system.gain_for(&definite(12, 1.0), &definite(3, 2.0)).expect("solvable");
    let centre = Some((definite(12, 1.0), definite(3, 2.0)));
    let game = LqrGame::new(&system, &expert, &Imitation { gamma, centre, ..Imitation::default() }, order);
    (system, expert, game.expect("valid"))
}

#[test]
fn gradients_match_central_differences_in_both_orders() {
    for order in [Order::PolicyMinimises, Order::CostMinimises] {
        let (_, _, mut game) = twelve_states(order, 0.7);
        let z = game.start();
        let (gx, gy, f) = gradients(&mut game, &z);
        assert!(f.is_finite());
        for (in_x, g) in [(true, &gx), (false, &gy)] {
            for i in (0..g.len()).step_by(5) {
                let mut side = |h: f64| {
                    let mut w = z.clone();
                    let v = if in_x { &mut w.x } else { &mut w.y };
                    v[i] += h;
                    game.fix(&w.x, Need::Values);
                    game.value(&w.y)
                };
                let fd = (side(1e-5) - side(-1e-5)) / 2e-5;
                assert!((fd - g[i]).abs() <= 1e-7 * (1.0 + ops::norm(g) + f.abs()), "{order:?} {i}: {} {fd}", g[i]);
            }
        }
    }
}

#[test]
fn the_two_orders_differ_by_the_sign() {
    let (_, _, mut first) = twelve_states(Order::PolicyMinimises, 0.7);
    let (_, _, mut second) = twelve_states(Order::CostMinimises, 0.7);
    let z = first.start();
    let (gx, gy, f) = gradients(&mut first, &z);
    let (hx, hy, h) = gradients(&mut second, &Point { x: z.y.clone(), y: z.x.clone() });
    let turned = |v: &[f64]| v.iter().map(|e| -e).collect::<Vec<f64>>();
    assert_eq!((gx, gy, f), (turned(&hy), turned(&hx), -h));
}

#[test]
fn the_expert_with_its_own_cost_is_an_equilibrium() {
    for order in [Order::PolicyMinimises, Order::CostMinimises] {
        let (_, expert, mut game) = twelve_states(order, 1.0);
        let z = game.point(&expert, &definite(12, 1.0), &definite(3, 2.0));
        assert_eq!((game.gain(&z), game.cost(&z)), (expert, (definite(12, 1.0), definite(3, 2.0))));
        let (gx, gy, f) = gradients(&mut game, &z);
        assert!(f.abs() <= 1e-10 && ops::norm(&gx) <= 1e-10 && ops::norm(&gy) <= 1e-10, "{f:e} {gx:?}");
        // The start is a different pair.
        let start = game.start();
        let (sx, sy, _) = gradients(&mut game, &start);
        assert!(ops::norm(&sx) + ops::norm(&sy) > 0.1);
    }
}

#[test]
fn the_cost_dominates_its_gradient_as_proven() {
    // C(K) - C* <= ||Sigma*|| / (4 s0^2 sigma_min(R)) ||grad||^2 (Fazel et al. 2018), s0 the least eigenvalue of Sigma0 = I.
    let system = lqr::random_system(4, 2, 3).expect("stabilisable");
    let (q, r) = (definite(4, 1.0), definite(2, 2.0));
    let best = system.gain_for(&q, &r).expect("solvable");
    let least = system.cost(&best, &q, &r);
    let sigma = lqr::lyapunov(&system.closed_loop(&best), system.sigma0()).expect("stable");
    let bound = sigma.symmetric_eigenvalues().max() / (4.0 * r.symmetric_eigenvalues().min());
    let mut game = LqrGame::new(&system, &best, &Imitation::default(), Order::PolicyMinimises).expect("valid");
    let mut tried = 0;
    for i in 0..200 {
        let k = &best + wave(2, 4, f64::from(i)) * 0.5;
        let cost = system.cost(&k, &q, &r);
        if cost.is_finite() {
            let z = game.point(&k, &q, &r);
            let (gx, _, _) = gradients(&mut game, &z);
            assert!(cost - least <= bound * ops::norm(&gx).powi(2), "{cost} {least}");
            tried += 1;
        }
    }
    assert!(tried >= 50, "only {tried} gains stabilised");
}

#[test]
fn the_expert_is_recovered_to_1e_6_on_random_systems_up_to_20_states() {
    for (states, inputs) in [(1, 1), (2, 1), (4, 2), (8, 2), (12, 3), (20, 5)] {
        for seed in 1..=2 {
            for order in [Order::PolicyMinimises, Order::CostMinimises] {
                let mut instance = lqr::random(states, inputs, seed, order).expect("stabilisable");
                let solution = solve(&mut instance.game, &instance.start, &Settings::eps(1e-7)).expect("solvable");
                let (found, expert) = (&solution.point, &instance.answers[0].point);
                let off = match order {
                    Order::PolicyMinimises => ops::distance(&found.x, &expert.x),
                    Order::CostMinimises => ops::distance(&found.y, &expert.y),
                };
                assert!(off <= 1e-6, "{states} states, seed {seed}, {order:?}: off by {off:e}, {:?}", solution.reason);
            }
        }
    }
}

#[test]
fn the_value_keeps_its_accuracy_next_to_the_expert() {
    // C(K_E + t D) - C(K_E) is t^2 times a curvature: halving t divides it by 4, even where the difference is below the
    // rounding of either cost.
    let (_, expert, mut game) = twelve_states(Order::PolicyMinimises, 0.0);
    let direction = wave(3, 12, 9.0);
    let mut at = |t: f64| {
        let z = game.point(&(&expert + &direction * t), &definite(12, 1.0), &definite(3, 2.0));
        game.fix(&z.x, Need::Values);
        game.value(&z.y)
    };
    let ratio = at(2e-9) / at(1e-9);
    assert!((ratio - 4.0).abs() < 1e-3, "{ratio}");
}

#[test]
fn a_gain_that_does_not_stabilise_counts_against_its_player() {
    for (order, worst) in [(Order::PolicyMinimises, f64::INFINITY), (Order::CostMinimises, f64::NEG_INFINITY)] {
        let (_, _, mut game) = twelve_states(order, 1.0);
        let good = game.start();
        let (q, r) = game.cost(&good);
        let bad = game.point(&DMatrix::zeros(3, 12), &q, &r);
        let (gx, gy, f) = gradients(&mut game, &bad);
        assert_eq!(f, worst);
        assert!(gx.iter().chain(&gy).all(|g| g.is_nan()));
        // A stabilising gain afterwards is evaluated correctly again.
        assert!(gradients(&mut game, &good).2.is_finite());
        let lost = game.point(&DMatrix::from_element(3, 12, f64::NAN), &q, &r);
        game.fix(&lost.x, Need::Values);
        assert!(game.value(&lost.y).is_nan());
    }
}

#[test]
fn the_scalar_equilibria_are_the_published_ones() {
    for order in [Order::PolicyMinimises, Order::CostMinimises] {
        for (centre, k, q, r) in
            [((1.0, 0.5), 1.1749407570740296, 1.0, 0.5), ((1.5, 0.5), 1.231790, 1.449818, 0.609424)]
        {
            let instance = lqr::scalar(centre.0, centre.1, order).expect("valid");
            let z = &instance.answers[0].point;
            let (gain, cost) = if order == Order::PolicyMinimises { (&z.x, &z.y) } else { (&z.y, &z.x) };
            assert!((gain[0] - k).abs() < 1e-6 && (cost[0] - q).abs() < 1e-6 && (cost[1] - r).abs() < 1e-6, "{z:?}");
        }
    }
}

#[test]
fn projections_clip_eigenvalues_and_keep_feasible_matrices() {
    let set = SpectralBox::new(5, 0.2, 3.0).expect("a set");
    for seed in 0..20 {
        let m = wave(5, 5, f64::from(seed)) * 5.0;
        let mut p = m.as_slice().to_vec();
        set.project(&mut p);
        let inside = DMatrix::from_column_slice(5, 5, &p);
        let values = inside.symmetric_eigenvalues();
        assert!(values.min() >= 0.2 - 1e-12 && values.max() <= 3.0 + 1e-12 && inside == inside.transpose());
        let mut lowest = vec![0.0; 25];
        assert!(set.minimise_linear(m.as_slice(), &mut lowest));
        for other in 0..20 {
            let mut z = (wave(5, 5, 100.0 + f64::from(other)) * 4.0).as_slice().to_vec();
            set.project(&mut z);
            let angle: f64 = (0..25).map(|i| (m[i] - p[i]) * (z[i] - p[i])).sum();
            assert!(angle <= 1e-10, "{angle:e}");
            assert!(ops::dot(m.as_slice(), &z) >= ops::dot(m.as_slice(), &lowest) - 1e-10);
            assert!(ops::distance(m.as_slice(), &z) <= set.radius_around(m.as_slice()) * (1.0 + 1e-12));
        }
        let half: Vec<f64> = p.iter().zip(DMatrix::<f64>::identity(5, 5).iter()).map(|(a, b)| 0.5 * (a + b)).collect();
        let mut again = half.clone();
        set.project(&mut again);
        assert!(ops::distance(&half, &again) == 0.0);
    }
    let mut nan = vec![f64::NAN; 25];
    set.project(&mut nan);
    assert!(nan.iter().all(|v| v.is_nan()) && !set.minimise_linear(&nan.clone(), &mut nan));
}

fn message<T: std::fmt::Debug>(made: Result<T, Error>) -> String {
    made.expect_err("an error was due").to_string()
}

#[test]
fn bad_systems_are_refused_with_the_given_values() {
    let (i2, m) = (|| DMatrix::<f64>::identity(2, 2), |r, c, v: &[f64]| DMatrix::from_row_slice(r, c, v));
    let b = || m(2, 1, &[1.0, 0.0]);
    assert_eq!(message(System::new(m(2, 1, &[1.0, 1.0]), b(), i2())), "lqr: A is 2 x 1, it must be square");
    assert_eq!(message(System::new(i2(), m(3, 1, &[1.0; 3]), i2())), "lqr: B is 3 x 1, it must be 2 x 1");
    assert_eq!(
        message(System::new(m(2, 2, &[1.0, f64::NAN, 0.0, 1.0]), b(), i2())),
        "lqr: A[0][1] is NaN; every entry must be finite"
    );
    assert_eq!(
        message(System::new(m(2, 2, &[0.5, 0.0, 0.0, 1.25]), b(), i2())),
        "lqr: (A, B) cannot be stabilised: the mode of A with eigenvalue 1.25+0i does not decay and no input controls it"
    );
    // An uncontrollable mode that decays: the system is stabilisable.
    assert!(System::new(m(2, 2, &[1.25, 0.0, 0.0, 0.5]), b(), i2()).is_ok());
    assert!(
        message(System::new(i2(), i2(), m(2, 2, &[1.0, 0.0, 0.0, 0.0]))).contains("Sigma0 is not positive definite")
    );
    assert!(message(System::new(i2(), i2(), m(2, 2, &[1.0, 0.5, 0.0, 1.0]))).contains("Sigma0 is not symmetric"));
    assert!(
        message(System::new(DMatrix::zeros(0, 0), DMatrix::zeros(0, 1), DMatrix::zeros(0, 0))).contains("at least one")
    );
    // A rotation that no input controls.
    let spin = m(3, 3, &[0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.5]);
    assert!(
        message(System::new(spin, m(3, 1, &[0.0, 0.0, 1.0]), DMatrix::identity(3, 3))).contains("cannot be stabilised")
    );
}

#[test]
fn bad_costs_and_experts_are_refused_with_the_given_values() {
    let system = lqr::cart_pole();
    let (i4, i1) = (DMatrix::<f64>::identity(4, 4), DMatrix::<f64>::identity(1, 1));
    assert!(message(system.gain_for(&-&i4, &i1)).contains("Q is not positive semidefinite"));
    assert!(message(system.gain_for(&i4, &(&i1 * 0.0))).contains("R is not positive definite"));
    assert_eq!(message(system.gain_for(&i1, &i1)), "lqr: Q is 1 x 1, it must be 4 x 4");
    assert!(message(system.gain_for(&(&i4 * 0.0), &i1)).contains("no stabilising solution"));
    assert!(message(lqr::lyapunov(&(&i4 * 1.0), &i4)).contains("unit circle"));
    let new = |k: &DMatrix<f64>, imitation: &Imitation| LqrGame::new(&system, k, imitation, Order::PolicyMinimises);
    let lazy = message(new(&DMatrix::zeros(1, 4), &Imitation::default()));
    assert!(lazy.contains("the expert's K does not stabilise") && lazy.contains("spectral radius 1.59"), "{lazy}");
    assert!(message(new(&i4, &Imitation::default())).contains("the expert's K is 4 x 4, it must be 1 x 4"));
    let k = system.gain_for(&i4, &i1).expect("solvable");
    let with = |change: fn(&mut Imitation)| {
        let mut imitation = Imitation::default();
        change(&mut imitation);
        message(new(&k, &imitation))
    };
    assert!(with(|i| i.gamma = f64::NAN).contains("gamma = NaN"));
    assert!(with(|i| i.r_bounds.0 = 0.0).contains("least eigenvalue of R may be 0"));
    assert!(with(|i| i.q_bounds = (2.0, 1.0)).contains("between 2 and 1"));
    assert!(
        with(|i| i.centre = Some((DMatrix::identity(3, 3), DMatrix::identity(1, 1))))
            .contains("the centre's Q is 3 x 3")
    );
    assert!(lqr::scalar(-1.0, 1.0, Order::PolicyMinimises).is_err());
    assert!(lqr::random_system(0, 1, 1).is_err());
    assert!(message(lqr::discretise(&i4, &i4, 0.0)).contains("dt = 0"));
}

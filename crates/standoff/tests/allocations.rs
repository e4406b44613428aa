//! Projections onto sets with a closed form, and their measurement, allocate nothing after the first use.

#[path = "common/counting.rs"]
mod counting;

use counting::{allocations, so_far};
use standoff::gap::{Ask, Gauge, Side};
use standoff::sets::Matrix;
use standoff::zoo::{self, Class};
use standoff::{Observer, Real, Record, Set, Settings, StopReason, solve_with};

fn wave<R: Real>(n: usize, frequency: f64) -> Vec<R> {
    (0..n).map(|i| R::from_f64((frequency * (i as f64 + 1.0)).sin())).collect()
}

fn closed_sets<R: Real>(n: usize) -> Vec<Set<R>> {
    let low: Vec<R> = wave::<R>(n, 1.7).iter().map(|v| R::from_f64(v.to_f64() - 2.0)).collect();
    let equations = Matrix::from_rows(&[vec![1.0; n], wave(n, 0.3)]).unwrap();
    vec![
        Set::free(n),
        Set::boxed(low, wave(n, 1.7)).unwrap(),
        Set::boxed(vec![R::from_f64(0.0); n], vec![R::from_f64(f64::INFINITY); n]).unwrap(),
        Set::ball(wave(n, 0.9), 1.3).unwrap(),
        Set::l1_ball(n, 1.1).unwrap(),
        Set::simplex(n, 1.0).unwrap(),
        Set::halfspace(wave(n, 2.3), 0.1).unwrap(),
        Set::affine(equations, &[0.5, 0.2]).unwrap(),
    ]
}

fn check<R: Real>(n: usize) {
    let mut sets: Vec<Set<R>> = closed_sets(n);
    sets.push(Set::product(closed_sets(n)).unwrap());
    sets.push(Set::product(vec![Set::product(closed_sets(3)).unwrap(), Set::simplex(n, 2.0).unwrap()]).unwrap());
    for set in &sets {
        let dim = set.dim();
        let (away, g): (Vec<R>, Vec<R>) = (wave(dim, 3.1), wave(dim, 0.7));
        let (mut point, mut gauge) = (away.clone(), Gauge::new(0.8));
        let mut turn = || {
            point.copy_from_slice(&away);
            set.project(&mut point);
            for side in [Side::Min, Side::Max] {
                for ask in [Ask::Exact, Ask::AtMost(1e-3)] {
                    let gap = gauge.measure(set, &point, &g, side, ask);
                    assert!(gap.lower <= gap.upper);
                }
            }
        };
        turn();
        assert_eq!(allocations(&mut turn), 0, "{set:?}");
    }
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1.0; 100]))), 1);
}

#[test]
fn closed_forms_allocate_nothing() {
    check::<f64>(4);
    check::<f64>(300);
    check::<f32>(50);
}

#[test]
fn polyhedra_in_general_position_allocate_nothing() {
    let (n, m) = (12, 40);
    let a = Matrix::new(m, n, (0..m * n).map(|i| ((i * i) as f64 * 0.37).sin()).collect()).unwrap();
    let set = Set::<f64>::polyhedron(a, &vec![1.0; m]).unwrap();
    let g: Vec<f64> = wave(n, 0.7);
    let mut point = vec![0.0; n];
    let mut gauge = Gauge::new(0.8);
    let mut turn = |from: usize, to: usize| {
        for k in from..to {
            point.iter_mut().enumerate().for_each(|(i, p)| *p = 3.0 * ((i + 1) as f64 * (k % 50 + 1) as f64).sin());
            set.project(&mut point);
            for ask in [Ask::Exact, Ask::AtMost(1e-3)] {
                let gap = gauge.measure(&set, &point, &g, Side::Min, ask);
                assert!(gap.lower <= gap.upper && gap.upper - gap.lower <= 1e-9 || ask != Ask::Exact);
            }
        }
    };
    turn(0, 50);
    assert_eq!(allocations(|| turn(50, 100)), 0);
    let Set::Polyhedron(p) = &set else { panic!("not a polyhedron") };
    assert_eq!((p.work().from_scratch, p.work().programs), (0, 0));
}

#[test]
fn one_gauge_alternates_between_two_sets_for_free() {
    let (x_set, y_set) = (Set::simplex(40, 1.0).unwrap(), Set::ball(vec![0.0; 7], 1.0).unwrap());
    let (x, y) = (x_set.centre(), y_set.centre());
    let (gx, gy): (Vec<f64>, Vec<f64>) = (wave(40, 0.7), wave(7, 0.4));
    let mut gauge = Gauge::new(1.0);
    let mut turn = || {
        gauge.measure(&x_set, &x, &gx, Side::Min, Ask::Exact);
        gauge.measure(&y_set, &y, &gy, Side::Max, Ask::Exact);
    };
    turn();
    assert_eq!(allocations(turn), 0);
}

/// The number of allocations at each record, stored without allocating.
struct AllocationLog {
    counts: Vec<usize>,
}

impl Observer for AllocationLog {
    fn record(&mut self, _: &Record) -> Option<StopReason> {
        assert!(self.counts.len() < self.counts.capacity());
        self.counts.push(so_far());
        None
    }
}

#[test]
fn no_iteration_of_any_method_allocates_after_the_first() {
    for e in zoo::all().iter().filter(|e| e.class != Class::NonConcave && !e.name.starts_with("lqr")) {
        for info in standoff::methods::METHODS {
            let mut i = (e.make)();
            let method = info.method(&i.constants.into()).unwrap();
            let settings = Settings { method, max_iterations: 40, max_gradients: 4_000, ..Settings::eps(1e-9) };
            let Ok(mut built) = settings.build(&i.game) else { continue };
            let mut log = AllocationLog { counts: Vec::with_capacity(64) };
            if solve_with(&mut i.game, &i.start, built.as_mut(), &settings, &mut log).is_err() {
                continue;
            }
            let later = log.counts.get(2..).unwrap_or_default();
            let grown = later.windows(2).filter(|w| w[1] != w[0]).count();
            assert_eq!(grown, 0, "{} on {}: {:?}", info.name, e.name, log.counts);
        }
    }
}

//! Sets with a closed form are projected onto and measured without touching the heap, once the scratch space is there.
#![allow(unsafe_code)] // a global allocator cannot be written without

use standoff::gap::{Ask, Gauge, Side};
use standoff::sets::Matrix;
use standoff::{Real, Set};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Allocations of this thread: tests run side by side.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is handed on to the system's allocator as it came; counting touches no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `task` asks for memory.
fn allocations(task: impl FnOnce()) -> usize {
    let before = COUNT.get();
    task();
    COUNT.get() - before
}

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

//! Nothing is allocated while a game written as text is evaluated.
#![allow(unsafe_code)] // a counting allocator cannot be written without it

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use standoff::formula::FormulaGame;
use standoff::{Game, Need};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded to the system's allocator unchanged; counting touches a thread-local number only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn evaluating_allocates_nothing() {
    let text = "objective = 'sum(p * softplus(-b * (A @ w))) + norm(w[1:]) + logsumexp(A.T @ p) - max(p) * (w @ w)^1.5'\n\
                [min.w]\ndim = 2\n[max.p]\ndim = 3\nset = 'simplex'\n[data]\nA = [[1, 2], [3, 4], [5, 6]]\nb = [1, -1, 1]\n";
    let mut game = FormulaGame::from_toml(text, &mut |_| Err(String::new())).unwrap();
    let (mut gx, mut gy) = ([0.0; 2], [0.0; 3]);
    let before = COUNT.with(Cell::get);
    assert!(before > 0, "the counter counts");
    for i in 0..100 {
        let v = f64::from(i) * 0.01;
        game.fix(&[v, 1.0], Need::Gradients);
        game.value(&[0.2, 0.3, v]);
        game.grad_x(&[0.2, v, 0.5], &mut gx);
        game.grad_y(&[v, 0.3, 0.5], &mut gy);
    }
    assert_eq!(COUNT.with(Cell::get), before);
    assert!(gx.iter().chain(&gy).all(|g| g.is_finite()));
}

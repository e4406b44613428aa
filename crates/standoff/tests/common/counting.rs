//! An allocator that counts, for tests that nothing is allocated. It is used by every test binary that includes this
//! module.
#![allow(unsafe_code, unreachable_pub)] // a global allocator needs unsafe code

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Allocations of this thread, because tests run in parallel.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator with a counter.
struct Counting;

// SAFETY: every call is forwarded unchanged to the system's allocator; counting touches no memory of its own.
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

/// Number of allocations made by `task`.
pub fn allocations(task: impl FnOnce()) -> usize {
    let before = COUNT.get();
    task();
    COUNT.get() - before
}

/// Allocations of this thread so far.
pub fn so_far() -> usize {
    COUNT.get()
}

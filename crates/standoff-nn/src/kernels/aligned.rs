//! Memory for vectors of 512 bits.

use std::ops::{Deref, DerefMut};

/// Entries of a cache line.
const LINE: usize = 16;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([f32; LINE]);

/// Numbers that begin at a cache line, so that an aligned vector is one access of the cache.
#[derive(Debug, Default, Clone)]
pub(crate) struct AlignedFloats {
    lines: Vec<CacheLine>,
    len: usize,
}

impl AlignedFloats {
    /// So many zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        Self { lines: vec![CacheLine([0.0; LINE]); len.div_ceil(LINE)], len }
    }
}

impl Deref for AlignedFloats {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        // SAFETY: a line is an array of numbers without padding, and the lines hold at least `len` of them.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for AlignedFloats {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and the lines are borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

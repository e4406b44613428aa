//! Converts images in rows to lanes, `[entry][lane]`, and back.

use super::{Kernel, LANES, Lanes};

/// `out[i][entry] := x[entry][i]` for one unit, i an image; rows of `out` lie `stride` apart.
pub(crate) struct LanesToRows<'a> {
    pub out: &'a mut [f32],
    pub stride: usize,
    pub x: &'a [f32],
}

impl Kernel for LanesToRows<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let n = self.x.len() / LANES;
        assert_eq!(n * LANES, self.x.len());
        assert!(n <= self.stride && self.out.len() >= (LANES - 1) * self.stride + n);
        let (x, out) = (self.x.as_ptr(), self.out.as_mut_ptr());
        let whole = n / LANES * LANES;
        for k in (0..whole).step_by(LANES) {
            let columns = L::transpose(std::array::from_fn(|i| L::load(x.add((k + i) * LANES))));
            for (i, column) in columns.into_iter().enumerate() {
                column.store(out.add(i * self.stride + k));
            }
        }
        for k in whole..n {
            for i in 0..LANES {
                *out.add(i * self.stride + k) = *x.add(k * LANES + i);
            }
        }
    }
}

/// `out[entry][i] := row i`, for up to 8 rows; lanes without a row become zero.
pub(crate) struct RowsToLanes<'a, 'b> {
    pub out: &'a mut [f32],
    pub rows: &'a [&'b [f32]],
}

impl Kernel for RowsToLanes<'_, '_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let n = self.out.len() / LANES;
        assert!(self.rows.len() <= LANES && self.rows.iter().all(|row| row.len() == n));
        if self.rows.len() < LANES {
            self.out.fill(0.0);
            for (i, row) in self.rows.iter().enumerate() {
                for (k, &v) in row.iter().enumerate() {
                    self.out[k * LANES + i] = v;
                }
            }
            return;
        }
        let out = self.out.as_mut_ptr();
        let whole = n / LANES * LANES;
        for k in (0..whole).step_by(LANES) {
            let columns = L::transpose(std::array::from_fn(|i| L::load(self.rows[i].as_ptr().add(k))));
            for (i, column) in columns.into_iter().enumerate() {
                column.store(out.add((k + i) * LANES));
            }
        }
        for k in whole..n {
            for i in 0..LANES {
                *out.add(k * LANES + i) = self.rows[i][k];
            }
        }
    }
}

/// The same from bytes, each divided by `scale`.
pub(crate) struct ByteRowsToLanes<'a, 'b> {
    pub out: &'a mut [f32],
    pub rows: &'a [&'b [u8]],
    pub scale: f32,
}

impl Kernel for ByteRowsToLanes<'_, '_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let n = self.out.len() / LANES;
        assert!(self.rows.len() <= LANES && self.rows.iter().all(|row| row.len() == n));
        if self.rows.len() < LANES {
            self.out.fill(0.0);
        }
        let out = self.out.as_mut_ptr();
        let whole = if self.rows.len() < LANES { 0 } else { n / LANES * LANES };
        let scale = L::splat(self.scale);
        for k in (0..whole).step_by(LANES) {
            let columns = L::transpose(std::array::from_fn(|i| L::load_u8(self.rows[i].as_ptr().add(k))));
            for (i, column) in columns.into_iter().enumerate() {
                column.div(scale).store(out.add((k + i) * LANES));
            }
        }
        for k in whole..n {
            for (i, row) in self.rows.iter().enumerate() {
                *out.add(k * LANES + i) = f32::from(row[k]) / self.scale;
            }
        }
    }
}

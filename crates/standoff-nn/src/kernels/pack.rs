//! Packs weights in the order in which the kernels read them, once per pass.

use super::{ConvShape, tiles};

/// `[cout][cin][k][k]` to tiles of T output channels, `[tile][cin][k][k][T]`.
pub(crate) fn conv(out: &mut [f32], weights: &[f32], s: ConvShape) {
    let taps = s.taps();
    let mut channel = 0;
    for t in tiles(s.cout) {
        let tile = &mut out[channel * taps..(channel + t) * taps];
        for tap in 0..taps {
            for i in 0..t {
                tile[tap * t + i] = weights[(channel + i) * taps + tap];
            }
        }
        channel += t;
    }
}

/// The same for the transposed convolution: tiles of T input channels, `[tile][cout][k][k][T]`, the kernel turned by 180 degrees.
pub(crate) fn conv_transposed(out: &mut [f32], weights: &[f32], s: ConvShape) {
    let area = s.k * s.k;
    let mut channel = 0;
    let mut to = 0;
    for t in tiles(s.cin) {
        for o in 0..s.cout {
            for tap in (0..area).rev() {
                for i in 0..t {
                    out[to] = weights[(o * s.cin + channel + i) * area + tap];
                    to += 1;
                }
            }
        }
        channel += t;
    }
}

/// `[n][k]` to panels of `width` columns, `[panel][n][width]`; the last panel has the remaining columns.
pub(crate) fn dense_transposed(out: &mut [f32], weights: &[f32], k: usize, width: usize) {
    let n = weights.len() / k;
    for first in (0..k).step_by(width) {
        let wide = width.min(k - first);
        let panel = &mut out[first * n..(first + wide) * n];
        for (row, to) in weights.chunks_exact(k).zip(panel.chunks_exact_mut(wide)) {
            to.copy_from_slice(&row[first..first + wide]);
        }
    }
}

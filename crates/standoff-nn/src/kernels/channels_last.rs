//! Converts one unit from lanes to eight images with channels last, `[image][row][column][channel]`, and back. With channels last,
//! the gradient of a pooled convolution reads and writes contiguous memory.

use super::{Kernel, LANES, Lanes};
use std::array::from_fn;

/// The distance between images: two vectors more than an image needs, because whole vectors are read and written at its end.
pub(crate) const fn stride(pixels: usize, channels: usize) -> usize {
    pixels * channels + 2 * LANES
}

/// `out[image][pixel][channel] := x[channel][pixel][image]`.
pub(crate) struct LanesToChannelsLast<'a> {
    pub out: &'a mut [f32],
    pub x: &'a [f32],
    pub channels: usize,
    /// Channels of a pixel of `out`, at least as many; the rest of them is zero.
    pub padded: usize,
}

impl Kernel for LanesToChannelsLast<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let c = self.channels;
        let pixels = self.x.len() / (c * LANES);
        let stride = stride(pixels, self.padded);
        assert!(self.padded >= c);
        assert_eq!(self.x.len(), pixels * c * LANES);
        assert_eq!(self.out.len(), LANES * stride);
        let (x, out) = (self.x.as_ptr(), self.out.as_mut_ptr());
        for p in 0..pixels {
            for first in (0..self.padded).step_by(LANES) {
                let wide = c.saturating_sub(first).min(LANES);
                let channel =
                    |i: usize| if i < wide { L::load(x.add(((first + i) * pixels + p) * LANES)) } else { L::zero() };
                let images = L::transpose(from_fn(channel));
                for i in 0..LANES {
                    // Entries beyond the last channel are overwritten by the next pixel, or lie in the padding of the stride.
                    images[i].store(out.add(i * stride + p * self.padded + first));
                }
            }
        }
    }
}

/// `out[channel][pixel][image] := x[image][pixel][channel]`.
pub(crate) struct ChannelsLastToLanes<'a> {
    pub out: &'a mut [f32],
    pub x: &'a [f32],
    pub channels: usize,
    /// Channels of a pixel of `x`, at least as many.
    pub padded: usize,
}

impl Kernel for ChannelsLastToLanes<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let c = self.channels;
        let pixels = self.out.len() / (c * LANES);
        let stride = stride(pixels, self.padded);
        assert!(self.padded >= c);
        assert_eq!(self.out.len(), pixels * c * LANES);
        assert_eq!(self.x.len(), LANES * stride);
        let (x, out) = (self.x.as_ptr(), self.out.as_mut_ptr());
        for p in 0..pixels {
            for first in (0..c).step_by(LANES) {
                let channels = L::transpose(from_fn(|i| L::load(x.add(i * stride + p * self.padded + first))));
                for i in 0..(c - first).min(LANES) {
                    channels[i].store(out.add(((first + i) * pixels + p) * LANES));
                }
            }
        }
    }
}

//! Batch normalisation on the statistics of a batch: moments of the channels of one unit, and the gradient through the statistics.

use super::{Kernel, LANES, Lanes};

/// Adds `[sum of x, sum of x^2]` over the samples of one unit for each channel. Each lane is summed about its own mean, so that little
/// cancels when the sums become a variance.
pub(crate) struct ChannelMoments<'a> {
    /// Two numbers for each channel.
    pub sums: &'a mut [f64],
    /// `[channel][plane]`.
    pub x: &'a [f32],
    /// Lanes with a sample.
    pub count: usize,
    /// Entries of a channel.
    pub plane: usize,
}

/// The sum of the vectors of a channel, or of the squares of their distances from a mean, in four sums.
#[inline(always)]
unsafe fn sum<L: Lanes, const SQUARES: bool>(x: &[f32], mean: L) -> L {
    let mut sums = [L::zero(); 4];
    let chunks = x.chunks_exact(4 * LANES);
    for v in chunks.remainder().chunks_exact(LANES) {
        sums[0] = plus::<L, SQUARES>(v.as_ptr(), mean, sums[0]);
    }
    for four in chunks {
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = plus::<L, SQUARES>(four.as_ptr().add(i * LANES), mean, *sum);
        }
    }
    sums[0].add(sums[1]).add(sums[2].add(sums[3]))
}

#[inline(always)]
unsafe fn plus<L: Lanes, const SQUARES: bool>(x: *const f32, mean: L, sum: L) -> L {
    let x = L::load(x);
    if !SQUARES {
        return sum.add(x);
    }
    let d = x.sub(mean);
    d.fma(d, sum)
}

impl Kernel for ChannelMoments<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { sums, x, count, plane } = self;
        assert!(plane.is_multiple_of(LANES) && count <= LANES && x.len() == sums.len() / 2 * plane);
        let n = (plane / LANES) as f64;
        for (sums, x) in sums.chunks_exact_mut(2).zip(x.chunks_exact(plane)) {
            let mean = sum::<L, false>(x, L::zero()).mul(L::splat((1.0 / n) as f32));
            let spread = sum::<L, true>(x, mean);
            let (mut means, mut spreads) = ([0.0f32; LANES], [0.0f32; LANES]);
            mean.store(means.as_mut_ptr());
            spread.store(spreads.as_mut_ptr());
            for (mean, spread) in means.into_iter().zip(spreads).take(count) {
                let mean = f64::from(mean);
                sums[0] += n * mean;
                sums[1] += f64::from(spread) + n * mean * mean;
            }
        }
    }
}

/// `g := scale (g - ones - (x - mean) products)` for each channel of one unit, 0 in lanes without a sample.
pub(crate) struct BatchNormBackward<'a> {
    pub g: &'a mut [f32],
    pub x: &'a [f32],
    pub scale: &'a [f32],
    pub mean: &'a [f32],
    pub ones: &'a [f32],
    pub products: &'a [f32],
    pub count: usize,
    pub plane: usize,
}

impl Kernel for BatchNormBackward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { g, x, scale, mean, ones, products, count, plane } = self;
        assert!(g.len() == x.len() && plane.is_multiple_of(LANES));
        assert!([mean, ones, products].iter().all(|v| v.len() == scale.len()) && g.len() == scale.len() * plane);
        let keep: [f32; LANES] = std::array::from_fn(|i| f32::from_bits(if i < count { u32::MAX } else { 0 }));
        let keep = L::load(keep.as_ptr());
        for (c, (g, x)) in g.chunks_exact_mut(plane).zip(x.chunks_exact(plane)).enumerate() {
            let (scale, mean) = (L::splat(scale[c]), L::splat(mean[c]));
            let (one, product) = (L::splat(ones[c]), L::splat(products[c]));
            for (g, x) in g.chunks_exact_mut(LANES).zip(x.chunks_exact(LANES)) {
                let part = L::load(x.as_ptr()).sub(mean).fma(product, one);
                L::load(g.as_ptr()).sub(part).mul(scale).and(keep).store(g.as_mut_ptr());
            }
        }
    }
}

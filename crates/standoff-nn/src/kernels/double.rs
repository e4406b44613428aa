//! A linear map in `f64` over eight images, for proofs. A list of positions and a list of taps describe convolutions and dense
//! layers alike. The loops are plain; the compiler vectorises them for each instruction set.

use super::{Kernel, LANES, Lanes};

/// One number of each of eight images.
pub(crate) type Wide = [f64; LANES];

/// Output channels per tile.
pub(crate) const TILE: usize = 4;

/// `out[channel][position] := bias[channel] + sum over taps of w[channel][tap] x[position + tap]`.
pub(crate) struct LinearF64<'a> {
    pub out: &'a mut [Wide],
    pub x: &'a [Wide],
    /// `[channels / TILE, rounded up][tap]`, from [`pack`].
    pub weights: &'a [[f64; TILE]],
    /// One for each channel.
    pub bias: &'a [f64],
    /// The index in x of the first tap of each position, and the offset of every tap from it.
    pub positions: &'a [usize],
    pub taps: &'a [usize],
}

impl Kernel for LinearF64<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (channels, n) = (self.bias.len(), self.positions.len());
        assert_eq!(self.out.len(), channels * n);
        assert_eq!(self.weights.len(), channels.div_ceil(TILE) * self.taps.len());
        for (first, weights) in (0..channels).step_by(TILE).zip(self.weights.chunks_exact(self.taps.len())) {
            let bias: [f64; TILE] = std::array::from_fn(|t| self.bias.get(first + t).copied().unwrap_or(0.0));
            for (p, &position) in self.positions.iter().enumerate() {
                let sums = tile(&self.x[position..], weights, self.taps, bias);
                for (t, sum) in sums.iter().enumerate().take(channels - first) {
                    self.out[(first + t) * n + p] = *sum;
                }
            }
        }
    }
}

#[inline(always)]
fn tile(x: &[Wide], weights: &[[f64; TILE]], taps: &[usize], bias: [f64; TILE]) -> [Wide; TILE] {
    let mut sums = bias.map(|b| [b; LANES]);
    for (w, &tap) in weights.iter().zip(taps) {
        let x = x[tap];
        for t in 0..TILE {
            for i in 0..LANES {
                sums[t][i] += w[t] * x[i];
            }
        }
    }
    sums
}

/// Applies `f` to the weights, `[channel][tap]`, and packs them for [`LinearF64`]; the last tile is padded with zeros.
pub(crate) fn pack(weights: &[f32], taps: usize, f: impl Fn(f64) -> f64) -> Vec<[f64; TILE]> {
    let tile = |rows: &[f32], tap: usize| -> [f64; TILE] {
        std::array::from_fn(|t| rows.get(t * taps + tap).map_or(0.0, |&w| f(f64::from(w))))
    };
    weights
        .chunks(TILE * taps)
        .flat_map(|rows| (0..taps).map(move |tap| (rows, tap)))
        .map(|(r, t)| tile(r, t))
        .collect()
}

//! Random numbers as pure functions of the seed, the attack, the restart, the image and the step.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// The random numbers of one attack.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttackRandom {
    seed: u64,
    attack: u64,
}

/// The random numbers of one image at one step.
pub(super) struct Stream(ChaCha8Rng);

impl AttackRandom {
    pub(super) fn new(seed: u64, attack: &str) -> Self {
        // FNV-1a: attacks with different names have different streams.
        let hash = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self { seed, attack: attack.bytes().fold(0xcbf2_9ce4_8422_2325, hash) }
    }

    pub(super) fn stream(self, run: usize, image: u32, step: usize) -> Stream {
        let mut key = [0; 32];
        for (part, word) in key.chunks_exact_mut(8).zip([self.seed, self.attack, run as u64, step as u64]) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        let mut bits = ChaCha8Rng::from_seed(key);
        bits.set_stream(u64::from(image));
        Stream(bits)
    }
}

impl Stream {
    /// Uniform on [-1, 1), on a grid of 2^-23.
    pub(super) fn signed(&mut self) -> f32 {
        (self.0.next_u32() >> 8) as f32 / (1 << 23) as f32 - 1.0
    }

    /// 1 or -1.
    pub(super) fn sign(&mut self) -> f32 {
        if self.0.next_u32() >> 31 == 0 { 1.0 } else { -1.0 }
    }

    /// From 0 to n - 1.
    pub(super) fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.0.next_u32()) * n as u64) >> 32) as usize
    }

    /// Normal: a direction on a sphere when there is one for every pixel (Box and Muller).
    pub(super) fn normal(&mut self) -> f32 {
        let unit = |bits: u32| (f64::from(bits) + 0.5) / 4_294_967_296.0;
        let (u, v) = (unit(self.0.next_u32()), unit(self.0.next_u32()));
        (libm::sqrt(-2.0 * libm::log(u)) * libm::cos(std::f64::consts::TAU * v)) as f32
    }
}

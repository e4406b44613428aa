//! Initial parameters: a pure function of the model and a seed, with the same bits on every platform.
//!
//! Every tensor has its own random stream, so the initial numbers of a layer do not depend on the layers after it.

use super::{Layer, Model, View};
use crate::Error;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use standoff::error::nearest;
use std::f64::consts::TAU;

/// The high half of the stream numbers used here ("init"); other purposes have their own.
const PURPOSE: u64 = 0x696e_6974 << 32;

/// The initial biases, and with `Interval` the weights. Otherwise weights are Xavier-normal, as in `torch.nn.init.xavier_normal_`: normal with variance
/// `2/(fan_in + fan_out)`, where the fans of a convolution include the area of its kernel.
///
/// ```
/// use standoff_nn::{Biases, Model, Shape};
///
/// let model = Model::builder(Shape::vector(3)).dense(2).build()?;
/// let start = model.initialise(Biases::named("robust")?, 7);
/// assert_eq!(start[6..], [0.5, 0.5]);
/// assert_eq!(start, model.initialise(Biases::Robust, 7));
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Biases {
    /// All zero.
    #[default]
    Zero,
    /// Normal, as in the published code of the fair classifier: standard deviation 1/8 in the first convolution, 1/16 in the
    /// second, 1/100 in the hidden layer of 100, 1/10 in the last layer. In other networks: half as much with every
    /// convolution, `1/n` in a hidden layer of n, 1/10 in the last layer.
    Fair,
    /// Every bias is `1/n`, n the number of outputs (for a convolution, of channels) of its layer, as in the published code of the
    /// robust network.
    Robust,
    /// For training with interval bounds: weights normal with standard deviation `sqrt(2 pi) / fan_in`, at which the width of an
    /// interval neither grows nor shrinks from layer to layer, and biases zero (Z. Shi et al., "Fast certified robust training with
    /// short warmup", 2021). A 1x1 convolution of a single input channel with `ramp` behind it begins as thresholds at 0.5: its
    /// channels have the slopes 4, -4, 8, -8, again and again, and give 0.5 there.
    Interval,
}

impl Biases {
    /// The initialisation of that name: `zero`, `fair`, `robust` or `interval`.
    pub fn named(name: &str) -> Result<Self, Error> {
        const ALL: [(&str, Biases); 4] = [
            ("zero", Biases::Zero),
            ("fair", Biases::Fair),
            ("robust", Biases::Robust),
            ("interval", Biases::Interval),
        ];
        ALL.iter().find(|known| known.0 == name).map(|known| known.1).ok_or_else(|| {
            let hint = nearest(name, ALL.map(|known| known.0)).map(|n| format!("; did you mean `{n}`?"));
            let hint = hint.unwrap_or_default();
            Error::Model(format!("unknown initialisation `{name}`{hint} (there are zero, fair, robust, interval)"))
        })
    }
}

impl Model {
    /// Initial parameters for a seed.
    pub fn initialise(&self, biases: Biases, seed: u64) -> Vec<f32> {
        let mut out = vec![0.0; self.size()];
        for (i, view) in self.views().iter().enumerate() {
            let part = &mut out[view.range.clone()];
            if let Some(value) = self.constant(view) {
                part.fill(value);
                continue;
            }
            if biases == Biases::Interval && self.is_threshold(view.layer) {
                part.iter_mut().enumerate().for_each(|(c, p)| *p = threshold(c, view.shape.len() == 1));
                continue;
            }
            let deviation = match (&view.shape[..], biases) {
                ([_], Biases::Zero | Biases::Interval) => continue,
                ([n], Biases::Robust) => {
                    part.fill(1.0 / *n as f32);
                    continue;
                }
                ([_], Biases::Fair) => self.bias_deviation(view),
                (weight, Biases::Interval) => TAU.sqrt() / weight[1..].iter().product::<usize>() as f64,
                (weight, _) => xavier_deviation(weight),
            };
            let mut normal = Normal::new(seed, PURPOSE | i as u64);
            part.iter_mut().for_each(|p| *p = (deviation * normal.next()) as f32);
        }
        out
    }

    /// True for a 1x1 convolution of one input channel with `ramp` behind it.
    fn is_threshold(&self, layer: usize) -> bool {
        let conv = self.layers()[layer].conv2d().filter(|conv| conv.kernel == [1, 1]);
        layer == 0 && conv.is_some() && self.input().channels == 1 && self.layers().get(1) == Some(&Layer::Ramp)
    }

    /// The initial value of parameters that are not random: batch normalisation begins as the identity, `ramp` with caps 1 and slope 0.
    fn constant(&self, view: &View) -> Option<f32> {
        let one = |part: &str| view.name.ends_with(part);
        match self.layers()[view.layer] {
            Layer::BatchNorm => Some(if one(".weight") || one(".running_var") { 1.0 } else { 0.0 }),
            Layer::Ramp => Some(if one(".cap") { 1.0 } else { 0.0 }),
            _ => None,
        }
    }

    /// The standard deviation of [`Biases::Fair`].
    fn bias_deviation(&self, view: &View) -> f64 {
        match self.layers()[view.layer] {
            Layer::Dense(_) if view.layer + 1 == self.layers().len() => 0.1,
            Layer::Dense(n) => 1.0 / n as f64,
            _ => {
                let before = &self.layers()[..view.layer];
                let convs = before.iter().filter(|layer| layer.conv2d().is_some()).count();
                // Halving is exact; for more than a thousand convolutions it ends at zero.
                (0..convs).fold(0.125, |deviation, _| 0.5 * deviation)
            }
        }
    }
}

/// The weight or the bias of channel c of a threshold: `slope (x - 0.5) + 0.5`.
fn threshold(c: usize, bias: bool) -> f32 {
    let slope = [4.0, -4.0, 8.0, -8.0][c % 4];
    if bias { 0.5 - 0.5 * slope } else { slope }
}

/// `sqrt(2/(fan_in + fan_out))` of a weight `[out, in, ...]`.
fn xavier_deviation(shape: &[usize]) -> f64 {
    let area: usize = shape[2..].iter().product();
    (2.0 / ((shape[0] + shape[1]) as f64 * area as f64)).sqrt()
}

/// Standard normal numbers by the method of Box and Muller. It uses `libm`, because the functions of platforms differ in their last
/// bits. The second number of each pair is not used, so that every number consumes the same number of random bits.
struct Normal {
    bits: ChaCha8Rng,
}

impl Normal {
    /// Stream number `stream` of a seed. The seed is the key itself, so the result does not depend on how a library expands seeds.
    fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut bits = ChaCha8Rng::from_seed(key);
        bits.set_stream(stream);
        Self { bits }
    }

    /// Uniform in the open interval (0, 1): 53 random bits plus half a step, so that 0 cannot occur.
    fn unit(&mut self) -> f64 {
        ((self.bits.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        let (u, v) = (self.unit(), self.unit());
        (-2.0 * libm::log(u)).sqrt() * libm::cos(TAU * v)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::super::presets::IMAGES;
    use super::*;
    use sha2::{Digest, Sha256};

    fn fingerprint(parameters: &[f32]) -> String {
        let bytes: Vec<u8> = parameters.iter().flat_map(|p| p.to_le_bytes()).collect();
        Sha256::digest(&bytes)[..8].iter().map(|b| format!("{b:02x}")).collect()
    }

    fn part<'p>(model: &Model, parameters: &'p [f32], name: &str) -> &'p [f32] {
        let view = model.views().iter().find(|view| view.name == name).unwrap();
        &parameters[view.range.clone()]
    }

    /// Mean and standard deviation.
    fn moments(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn the_bits_of_a_seed_never_change() {
        let fair = Model::preset("fair-cnn", IMAGES, 10).unwrap();
        let lenet = Model::preset("lenet", IMAGES, 10).unwrap();
        let prints = [
            fingerprint(&fair.initialise(Biases::Fair, 0)),
            fingerprint(&fair.initialise(Biases::Zero, 1)),
            fingerprint(&lenet.initialise(Biases::Robust, u64::MAX)),
        ];
        assert_eq!(prints, ["ee1d32e1fc67f99c", "7900d109e5d31179", "13bd96f5f28c0a33"]);
    }

    #[test]
    fn weights_have_the_deviation_of_xavier() {
        let model = Model::preset("lenet", IMAGES, 10).unwrap();
        let start = model.initialise(Biases::Zero, 7);
        // Fans count the kernel's area: (20 + 50) * 25; a dense layer's are its sides.
        for (name, fans) in [("conv2.weight", 70 * 25), ("fc1.weight", 1300), ("fc2.weight", 510)] {
            let want = (2.0 / fans as f64).sqrt();
            let weights = part(&model, &start, name);
            let (mean, deviation) = moments(weights.iter().map(|w| f64::from(*w)));
            let error = 4.0 / (weights.len() as f64).sqrt();
            assert!(mean.abs() < want * error && (deviation / want - 1.0).abs() < error, "{name} {mean} {deviation}");
        }
        assert!(part(&model, &start, "fc1.bias").iter().all(|b| b.to_bits() == 0));
    }

    #[test]
    fn fair_biases_have_the_deviations_of_the_published_code() {
        let model = Model::preset("fair-cnn", IMAGES, 3).unwrap();
        let wants = [("conv1.bias", 0.125), ("conv2.bias", 0.0625), ("fc1.bias", 0.01), ("fc2.bias", 0.1)];
        let starts: Vec<Vec<f32>> = (0..400).map(|seed| model.initialise(Biases::Fair, seed)).collect();
        for (name, want) in wants {
            let biases = starts.iter().flat_map(|start| part(&model, start, name).iter().map(|b| f64::from(*b)));
            let (mean, deviation) = moments(biases);
            assert!(mean.abs() < 0.1 * want && (deviation / want - 1.0).abs() < 0.1, "{name} {mean} {deviation}");
        }
    }

    #[test]
    fn robust_biases_are_one_over_the_outputs() {
        let model = Model::preset("lenet", IMAGES, 10).unwrap();
        let start = model.initialise(Biases::Robust, 3);
        for (name, n) in [("conv1.bias", 20.0_f32), ("conv2.bias", 50.0), ("fc1.bias", 500.0), ("fc2.bias", 10.0)] {
            assert!(part(&model, &start, name).iter().all(|b| *b == 1.0 / n), "{name}");
        }
    }

    #[test]
    fn interval_weights_keep_the_width_of_intervals_and_pixels_begin_as_thresholds() {
        let layers =
            Model::builder(IMAGES).conv(1, 4).layer(Layer::Ramp).conv(5, 8).layer(Layer::Ramp).flatten().dense(10);
        let model = layers.build().unwrap();
        let start = model.initialise(Biases::Interval, 3);
        assert_eq!(part(&model, &start, "conv1.weight"), [4.0, -4.0, 8.0, -8.0]);
        assert_eq!(part(&model, &start, "conv1.bias"), [-1.5, 2.5, -3.5, 4.5]);
        for (name, fan_in) in [("conv2.weight", 100.0), ("fc1.weight", 8.0 * 24.0 * 24.0)] {
            let weights = part(&model, &start, name);
            let (mean, deviation) = moments(weights.iter().map(|w| f64::from(*w)));
            let (want, error) = (TAU.sqrt() / fan_in, 4.0 / (weights.len() as f64).sqrt());
            assert!(mean.abs() < want * error && (deviation / want - 1.0).abs() < error, "{name} {mean} {deviation}");
        }
        assert!(part(&model, &start, "fc1.bias").iter().all(|b| b.to_bits() == 0));
        // Without `ramp` behind it, a 1x1 convolution is like any other.
        let plain = Model::builder(IMAGES).conv(1, 4).relu().flatten().dense(10).build().unwrap();
        assert_ne!(part(&plain, &plain.initialise(Biases::Interval, 3), "conv1.weight")[0], 4.0);
    }

    #[test]
    fn streams_are_normal_and_independent() {
        let mut normal = Normal::new(5, 1);
        let (mut other, mut next_seed) = (Normal::new(5, 2), Normal::new(6, 1));
        let draws: Vec<[f64; 3]> = (0..40_000).map(|_| [normal.next(), other.next(), next_seed.next()]).collect();
        let n = draws.len() as f64;
        let mean = |f: &dyn Fn(&[f64; 3]) -> f64| draws.iter().map(f).sum::<f64>() / n;
        let bound = 5.0 / n.sqrt();
        assert!(mean(&|d| d[0]).abs() < bound);
        assert!((mean(&|d| d[0] * d[0]) - 1.0).abs() < 1.5 * bound);
        assert!((mean(&|d| d[0].powi(4)) - 3.0).abs() < 10.0 * bound);
        assert!(mean(&|d| d[0] * d[1]).abs() < bound && mean(&|d| d[0] * d[2]).abs() < bound);
        // P(|z| < 1), of the normal distribution.
        assert!((mean(&|d| f64::from(d[0].abs() < 1.0)) - 0.682_689).abs() < bound);
    }

    #[test]
    fn initial_numbers_do_not_depend_on_later_layers() {
        let short = Model::builder(Shape::vector(9)).dense(4).build().unwrap();
        let long = Model::builder(Shape::vector(9)).dense(4).tanh().dense(2).build().unwrap();
        let (a, b) = (short.initialise(Biases::Fair, 1), long.initialise(Biases::Fair, 1));
        assert_eq!(part(&short, &a, "fc1.weight"), part(&long, &b, "fc1.weight"));
        assert_ne!(a, short.initialise(Biases::Fair, 2));
    }

    #[test]
    fn an_unknown_initialisation_gets_the_list() {
        assert_eq!(Biases::named("robust"), Ok(Biases::Robust));
        let error = Biases::named("fairr").unwrap_err().to_string();
        assert_eq!(
            error,
            "model: unknown initialisation `fairr`; did you mean `fair`? (there are zero, fair, robust, interval)"
        );
    }
}

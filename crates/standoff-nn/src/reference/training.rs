//! A training step of the reference network: batch normalisation on the statistics of the batch, and dropout.

use super::linear::BATCH_NORM_EPS;
use super::{add, layer_backward, layer_forward, parameters, parameters_mut};
use crate::engine::Draw;
use crate::{Layer, Loss, Model};

/// The samples of a step.
#[derive(Debug, Clone, Copy)]
pub struct TrainingStep<'a> {
    /// The samples.
    pub rows: &'a [Vec<f64>],
    /// Their labels.
    pub labels: &'a [u16],
    /// The weight of the loss of each sample.
    pub weights: &'a [f64],
    /// The loss.
    pub loss: Loss<'a>,
    /// The random numbers of dropout.
    pub draw: Draw,
}

/// The results of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingResults {
    /// The loss of each sample.
    pub losses: Vec<f64>,
    /// The weighted sum of the losses.
    pub value: f64,
    /// Its gradient.
    pub gradient: Vec<f64>,
}

/// Mean and `1 / sqrt(variance + eps)` of every channel.
struct PlainStatistics(Vec<[f64; 2]>);

impl PlainStatistics {
    /// Of the inputs of layer i, which has as many parameters of a kind as channels.
    fn new(x: &[Vec<f64>], channels: usize) -> Self {
        let plane = x[0].len() / channels;
        let of_channel = |c: usize| {
            let all = || x.iter().flat_map(move |x| &x[c * plane..(c + 1) * plane]);
            let n = (x.len() * plane) as f64;
            let mean = all().sum::<f64>() / n;
            let variance = all().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
            [mean, 1.0 / (variance + BATCH_NORM_EPS).sqrt()]
        };
        Self((0..channels).map(of_channel).collect())
    }

    /// The normalised value of an entry.
    fn normalise(&self, channel: usize, x: f64) -> f64 {
        let [mean, inverse] = self.0[channel];
        (x - mean) * inverse
    }
}

impl TrainingStep<'_> {
    /// Computes the step.
    pub fn run(&self, model: &Model, params: &[f64]) -> TrainingResults {
        let values = self.forward(model, params);
        let (mut losses, mut value, mut slopes) = (Vec::new(), 0.0, Vec::new());
        for (sample, z) in values[model.layers().len()].iter().enumerate() {
            let mut dz = vec![0.0; z.len()];
            losses.push(self.loss.sample(&mut dz, z, usize::from(self.labels[sample]), sample));
            value += self.weights[sample] * losses[sample];
            slopes.push(dz.iter().map(|d| self.weights[sample] * d).collect());
        }
        TrainingResults { losses, value, gradient: self.backward(model, params, &values, slopes) }
    }

    /// `[layer][sample][entry]`; 0 is the input.
    fn forward(&self, model: &Model, params: &[f64]) -> Vec<Vec<Vec<f64>>> {
        let mut values = vec![self.rows.to_vec()];
        for (i, layer) in model.layers().iter().enumerate() {
            let (from, other) = model.reads(i);
            let x = &values[from];
            let out = match layer {
                Layer::BatchNorm => {
                    let (weight, bias) = parameters(model, params, i);
                    let statistics = PlainStatistics::new(x, weight.len());
                    let plane = x[0].len() / weight.len();
                    let entry = |(at, &v): (usize, &f64)| {
                        let c = at / plane;
                        weight[c] * statistics.normalise(c, v) + bias[c]
                    };
                    x.iter().map(|x| x.iter().enumerate().map(entry).collect()).collect()
                }
                Layer::Dropout(share) => {
                    let kept = |(sample, x): (usize, &Vec<f64>)| {
                        x.iter().enumerate().map(|(at, v)| v * self.factor(i, *share, sample, at)).collect()
                    };
                    x.iter().enumerate().map(kept).collect()
                }
                _ => {
                    let other = |sample: usize| other.map(|v| &values[v][sample][..]);
                    let samples = x.iter().enumerate();
                    samples.map(|(sample, x)| layer_forward(model, params, i, (x, other(sample)))).collect()
                }
            };
            values.push(out);
        }
        values
    }

    /// The factor of an entry under dropout.
    fn factor(&self, layer: usize, share: f32, sample: usize, entry: usize) -> f64 {
        let keeps = share == 0.0 || self.draw.keeps((layer, share), sample, entry);
        if keeps { 1.0 / (1.0 - f64::from(share)) } else { 0.0 }
    }

    fn backward(&self, model: &Model, params: &[f64], values: &[Vec<Vec<f64>>], slopes: Vec<Vec<f64>>) -> Vec<f64> {
        let mut gradient = vec![0.0; model.size()];
        let zeros = |v: &Vec<Vec<f64>>| v.iter().map(|x| vec![0.0; x.len()]).collect();
        let mut slopes_of: Vec<Vec<Vec<f64>>> = values.iter().map(zeros).collect();
        slopes_of[model.layers().len()] = slopes;
        for (i, layer) in model.layers().iter().enumerate().rev() {
            let (from, other) = model.reads(i);
            let g = std::mem::take(&mut slopes_of[i + 1]);
            let x = &values[from];
            let dx: Vec<Vec<f64>> = match layer {
                Layer::BatchNorm => batch_norm_backward(model, (params, &mut gradient), i, &g, x),
                Layer::Dropout(share) => {
                    let back = |(sample, g): (usize, &Vec<f64>)| {
                        g.iter().enumerate().map(|(at, g)| g * self.factor(i, *share, sample, at)).collect()
                    };
                    g.iter().enumerate().map(back).collect()
                }
                _ => {
                    let pairs = g.iter().zip(x);
                    pairs.map(|(g, x)| layer_backward(model, params, i, (g, x, &mut gradient))).collect()
                }
            };
            slopes_of[from].iter_mut().zip(&dx).for_each(|(to, dx)| add(to, dx));
            if let Some(other) = other {
                slopes_of[other].iter_mut().zip(&g).for_each(|(to, g)| add(to, g));
            }
        }
        gradient
    }
}

/// `dx = weight s (g - mean of g - x' mean of (g x'))`, and the gradients of weight and bias.
fn batch_norm_backward(
    model: &Model,
    (params, gradient): (&[f64], &mut [f64]),
    i: usize,
    g: &[Vec<f64>],
    x: &[Vec<f64>],
) -> Vec<Vec<f64>> {
    let (weight, _) = parameters(model, params, i);
    let (d_weight, d_bias) = parameters_mut(model, gradient, i);
    let (statistics, plane) = (PlainStatistics::new(x, weight.len()), x[0].len() / weight.len());
    let n = (x.len() * plane) as f64;
    for (g, x) in g.iter().zip(x) {
        for (at, (g, &x)) in g.iter().zip(x).enumerate() {
            d_bias[at / plane] += g;
            d_weight[at / plane] += g * statistics.normalise(at / plane, x);
        }
    }
    let entry = |(at, (g, &x)): (usize, (&f64, &f64))| {
        let c = at / plane;
        let through = d_bias[c] / n + statistics.normalise(c, x) * d_weight[c] / n;
        weight[c] * statistics.0[c][1] * (g - through)
    };
    g.iter().zip(x).map(|(g, x)| g.iter().zip(x).enumerate().map(entry).collect()).collect()
}

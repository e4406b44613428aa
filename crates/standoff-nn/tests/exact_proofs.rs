//! Claimed margins against the documented recursion in exact fractions: never below, and hardly above.

mod common;
mod exact;

use common::{Stream, conv, model};
use exact::{Case, Fraction, Rounding, exact, margins};
use num_traits::{Signed, ToPrimitive};
use standoff_nn::Layer::{Dense, Flatten, MaxPool, Relu, Tanh};
use standoff_nn::certify::certify;
use standoff_nn::{Engine, Model, Region};

/// Small networks of every layer, in odd shapes.
fn networks() -> Vec<Model> {
    vec![
        model((1, 1, 1), &[Dense(2)]),
        model((17, 1, 1), &[Dense(3)]),
        model((5, 1, 1), &[Dense(7), Relu, Dense(4)]),
        model((3, 1, 1), &[Dense(9), Tanh, Dense(2), Relu, Dense(3)]),
        model((1, 5, 7), &[conv(3, 2), Relu, MaxPool(2), Flatten, Dense(3)]),
        model((2, 4, 3), &[conv(2, 3), Tanh, Flatten, Dense(5), Relu, Dense(2)]),
        model((1, 6, 5), &[MaxPool(2), conv(1, 7), Tanh, Relu, Flatten, Dense(3)]),
        model((3, 3, 3), &[conv(1, 2), Relu, conv(2, 4), MaxPool(2), Tanh, Flatten, Dense(2)]),
    ]
}

/// The distribution of the weights of a network.
#[derive(Debug, Clone, Copy)]
enum Weights {
    /// Of a size that keeps activations near 1.
    Usual,
    /// A scale from 1e-30 to 1e30 for each layer, so that activations stay within 1e-34 and 1e20.
    Scaled,
    /// Each weight with its own scale, over 2^60.
    Mixed,
    /// Pairs of opposite weights, and rows of the last layer that differ in the last bits.
    Cancelling,
}

const KINDS: [Weights; 4] = [Weights::Usual, Weights::Scaled, Weights::Mixed, Weights::Cancelling];

fn parameters(model: &Model, kind: Weights, stream: &mut Stream) -> Vec<f32> {
    let mut params = common::weights(model, stream);
    let mut product = 0.0_f32;
    for pair in model.views().chunks(2) {
        let (weight, bias) = (pair[0].range.clone(), pair[1].range.clone());
        match kind {
            Weights::Usual => {}
            Weights::Scaled => {
                let power = (40.0 * stream.signed()).clamp(-34.0 - product, 20.0 - product).clamp(-30.0, 30.0);
                product += power;
                if model.layers()[pair[0].layer + 1..].contains(&Tanh) {
                    // The engine takes tanh as 1, however small its input.
                    product = product.max(0.0);
                }
                params[weight].iter_mut().for_each(|w| *w *= 10.0_f32.powf(power));
                params[bias].iter_mut().for_each(|b| *b *= 10.0_f32.powf(product));
            }
            Weights::Mixed => {
                params[weight.start..bias.end]
                    .iter_mut()
                    .for_each(|w| *w *= 2.0_f32.powf(30.0 * stream.signed() - 15.0));
            }
            Weights::Cancelling => {
                let k = weight.len() / bias.len();
                if bias.end == model.size() {
                    for i in k..weight.len() {
                        let above = params[weight.start + i - k];
                        params[weight.start + i] = f32::from_bits(above.to_bits() ^ (stream.below(4) as u32));
                    }
                } else {
                    params[weight].chunks_exact_mut(2).for_each(|two| two[1] = -two[0] * (1.0 + f32::EPSILON));
                }
                params[bias].fill(0.0);
            }
        }
    }
    params
}

fn regions() -> Vec<Region> {
    [0.0, 1e-3, 0.1, 0.3].map(Region::image).into_iter().chain([Region::free(0.02)]).collect()
}

/// A margin: claimed minus exact, the exact one, and what it allows for the rounding of `f32`.
struct Claim {
    above: f64,
    margin: f64,
    single: f64,
}

/// The claims of one image; panics if one is below the exact margin.
fn claims(case: &Case<'_>) -> Vec<Claim> {
    let mut engine = Engine::new(case.model, 1).expect("engine");
    engine.set_weights(case.params).expect("finite");
    let proof = certify(&engine, case.image, &[case.label as u16], case.region).expect("bounds");
    let (want, ideal) = (margins(case, Rounding::Single), margins(case, Rounding::None));
    let number = |v: &Fraction| v.to_f64().expect("a number");
    let mut all = Vec::new();
    for (j, claim) in proof.margins.iter().enumerate().filter(|(j, _)| *j != case.label) {
        assert!(claim.is_finite(), "margin {j} is {claim}, exactly {:?}", want[j].to_f64());
        let above = exact(*claim) - &want[j];
        assert!(!above.is_negative(), "margin {j} is {claim:e}, below the exact one by {:?}", above.to_f64());
        all.push(Claim { above: number(&above), margin: number(&want[j]), single: number(&(&want[j] - &ideal[j])) });
    }
    all
}

/// An image of random pixels; of one repeated pixel if sums are to cancel.
fn image(model: &Model, kind: Weights, stream: &mut Stream) -> Vec<f32> {
    let same = stream.signed().abs();
    let pixel = |_| if matches!(kind, Weights::Cancelling) { same } else { stream.signed().abs() };
    (0..model.input().size()).map(pixel).collect()
}

#[test]
fn claimed_margins_are_never_below_the_exact_ones_and_hardly_above() {
    let mut stream = Stream::new(71);
    let (mut close, mut networks_close, mut all) = (0, 0, 0);
    for (m, model) in networks().iter().enumerate() {
        for kind in KINDS {
            for (n, region) in regions().into_iter().enumerate() {
                let params = parameters(model, kind, &mut stream);
                let (image, label) = (image(model, kind, &mut stream), stream.below(model.outputs()));
                let found = claims(&Case { model, params: &params, image: &image, label, region });
                for Claim { above, margin, single } in &found {
                    // Where a margin is less than the rounding of `f32`, that rounding is the measure.
                    let size = margin.abs().max(8.0 * single);
                    assert!(
                        above / size <= 1e-9,
                        "network {m}, {kind:?}, region {n}: {margin} is claimed {above:e} more"
                    );
                }
                let good = found.iter().filter(|c| c.above <= 1e-9 * c.margin.abs()).count();
                (close, all) = (close + good, all + found.len());
                networks_close += usize::from(good == found.len());
            }
        }
    }
    assert!(networks_close >= 150 && close * 100 >= 98 * all, "{close} of {all} claims, {networks_close} networks");
}

#[test]
fn claims_hold_where_the_region_leaves_no_room_for_rounding() {
    let mut stream = Stream::new(72);
    let wide = [
        model((60, 1, 1), &[Dense(8), Relu, Dense(3)]),
        model((31, 1, 1), &[Tanh, Dense(2)]),
        model((1, 6, 6), &[conv(5, 3), MaxPool(2), Flatten, Dense(40), Relu, Dense(2)]),
    ];
    let mut count = 0;
    for model in networks().iter().chain(&wide) {
        for kind in KINDS.into_iter().chain(KINDS) {
            // A point, and all images: the ends of these intervals are the limits themselves, and not widened.
            let pixel = stream.signed().abs();
            for region in [Region { eps: 0.0, clip: Some((pixel, pixel)) }, Region::image(1.0)] {
                let params = parameters(model, kind, &mut stream);
                let (image, label) = (vec![pixel; model.input().size()], stream.below(model.outputs()));
                // Panics if a claim is below the exact margin.
                count += claims(&Case { model, params: &params, image: &image, label, region }).len();
            }
        }
    }
    assert!(count > 200, "{count} claims");
}

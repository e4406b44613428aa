//! Compares the gradients of the reference network with central differences.

mod common;

use common::{Stream, layer_models, weights};
use standoff_nn::reference::interval::{self, Interval};
use standoff_nn::{Layer, Loss, Model, Shape, reference};

/// A model with a layer of every kind.
fn every_layer() -> Model {
    let layers = [
        Layer::Conv { kernel: 2, out: 3 },
        Layer::Tanh,
        Layer::MaxPool(2),
        Layer::Conv { kernel: 2, out: 2 },
        Layer::Relu,
        Layer::Flatten,
        Layer::Dense(5),
        Layer::Tanh,
        Layer::Dense(4),
    ];
    Model::new(Shape::new(2, 7, 8), &layers).expect("fits")
}

/// A number from parameters and the ends of the input.
type Value<'a> = dyn Fn(&[f64], &Interval) -> f64 + 'a;

fn central(v: &[f64], i: usize, f: impl Fn(&[f64]) -> f64) -> f64 {
    let h = 1e-6;
    let mut v = v.to_vec();
    let at = v[i];
    v[i] = at + h;
    let up = f(&v);
    v[i] = at - h;
    (up - f(&v)) / (2.0 * h)
}

#[test]
fn the_reference_has_the_gradients_of_its_values() {
    let model = every_layer();
    let mut stream = Stream::new(9);
    let params: Vec<f64> = weights(&model, &mut stream).iter().map(|&v| f64::from(v)).collect();
    let x: Vec<f64> = (0..model.input().size()).map(|_| f64::from(stream.signed())).collect();
    let p = [0.1, 0.2, 0.3, 0.4];
    for loss in [Loss::CrossEntropy, Loss::Margin(&[2]), Loss::Cw, Loss::Dlr, Loss::DlrTargeted(&[3]), Loss::Kl(&p)] {
        let value = |params: &[f64], x: &[f64]| {
            let values = reference::forward(&model, params, x);
            loss.sample(&mut [0.0; 4], values.last().expect("logits"), 1, 0)
        };
        let values = reference::forward(&model, &params, &x);
        let mut dz = [0.0; 4];
        loss.sample(&mut dz, values.last().expect("logits"), 1, 0);
        let (grad, dx) = reference::backward(&model, &params, &values, &dz);
        for i in 0..params.len() {
            let d = central(&params, i, |p| value(p, &x));
            assert!(
                (d - grad[i]).abs() < 1e-7 * (1.0 + d.abs()),
                "{loss:?}, {}: {d} against {}",
                model.entry(i),
                grad[i]
            );
        }
        for i in 0..x.len() {
            let d = central(&x, i, |x| value(&params, x));
            assert!((d - dx[i]).abs() < 1e-7 * (1.0 + d.abs()), "{loss:?}, input {i}: {d} against {}", dx[i]);
        }
    }
}

#[test]
fn the_reference_bounds_have_the_gradients_of_their_values() {
    let model = every_layer();
    let mut stream = Stream::new(19);
    let params: Vec<f64> = weights(&model, &mut stream).iter().map(|&v| f64::from(v)).collect();
    let x: Vec<f64> = (0..model.input().size()).map(|_| f64::from(stream.signed())).collect();
    let input = Interval { lo: x.iter().map(|v| v - 0.1).collect(), hi: x.iter().map(|v| v + 0.1).collect() };
    let (a, b) = ([0.7, -0.4, 0.2, 1.1], [-0.3, 0.9, 0.5, 0.1]);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let close = |d: f64, g: f64, what: &str| assert!((d - g).abs() < 1e-7 * (1.0 + d.abs()), "{what}: {d} against {g}");
    // Twice: through the bounds of the logits, and through the margins.
    let ends = |params: &[f64], input: &Interval| {
        let values = interval::forward(&model, params, input);
        let z = values.last().expect("logits");
        dot(&a, &z.lo) + dot(&b, &z.hi)
    };
    let margins = |params: &[f64], input: &Interval| {
        let values = interval::forward(&model, params, input);
        let m = interval::margins(&model, params, &values, 1);
        Loss::CrossEntropy.sample(&mut [0.0; 4], &m, 1, 0)
    };
    let values = interval::forward(&model, &params, &input);
    let mut dm = [0.0; 4];
    Loss::CrossEntropy.sample(&mut dm, &interval::margins(&model, &params, &values, 1), 1, 0);
    let dz = Interval { lo: a.to_vec(), hi: b.to_vec() };
    let cases: [(&Value<'_>, (Vec<f64>, Interval)); 2] = [
        (&ends, interval::backward(&model, &params, &values, &dz)),
        (&margins, interval::margins_backward(&model, &params, &values, 1, &dm)),
    ];
    for (value, (grad, d)) in cases {
        for i in 0..params.len() {
            close(central(&params, i, |p| value(p, &input)), grad[i], &model.entry(i));
        }
        for i in 0..x.len() {
            let lo = central(&input.lo, i, |lo| value(&params, &Interval { lo: lo.to_vec(), hi: input.hi.clone() }));
            let hi = central(&input.hi, i, |hi| value(&params, &Interval { lo: input.lo.clone(), hi: hi.to_vec() }));
            close(lo, d.lo[i], &format!("lower end {i}"));
            close(hi, d.hi[i], &format!("upper end {i}"));
        }
    }
}

/// The parameters that training moves.
fn trained(model: &Model) -> impl Iterator<Item = usize> {
    model.views().iter().filter(|view| view.trained).flat_map(|view| view.range.clone())
}

#[test]
fn every_layer_of_the_reference_has_the_gradients_of_its_values() {
    for (number, model) in layer_models().iter().enumerate() {
        let mut stream = Stream::new(30 + number as u64);
        let params: Vec<f64> = weights(model, &mut stream).iter().map(|&v| f64::from(v)).collect();
        let x: Vec<f64> = (0..model.input().size()).map(|_| f64::from(stream.signed())).collect();
        let z = reference::forward(model, &params, &x);
        let n = model.outputs();
        let loss = |z: &[f64], dz: &mut [f64]| Loss::CrossEntropy.sample(dz, z, 1, 0);
        let value =
            |params: &[f64], x: &[f64]| loss(&reference::forward(model, params, x)[z.len() - 1], &mut vec![0.0; n]);
        let mut dz = vec![0.0; n];
        loss(&z[z.len() - 1], &mut dz);
        let (grad, dx) = reference::backward(model, &params, &z, &dz);
        for i in trained(model) {
            let d = central(&params, i, |p| value(p, &x));
            assert!(
                (d - grad[i]).abs() < 1e-6 * (1.0 + d.abs()),
                "model {number}, {}: {d}, {}",
                model.entry(i),
                grad[i]
            );
        }
        for i in 0..x.len() {
            let d = central(&x, i, |x| value(&params, x));
            assert!((d - dx[i]).abs() < 1e-6 * (1.0 + d.abs()), "model {number}, input {i}: {d}, {}", dx[i]);
        }
    }
}

#[test]
fn every_layer_of_the_reference_bounds_has_the_gradients_of_its_values() {
    for (number, model) in layer_models().iter().enumerate() {
        let mut stream = Stream::new(50 + number as u64);
        let params: Vec<f64> = weights(model, &mut stream).iter().map(|&v| f64::from(v)).collect();
        let x: Vec<f64> = (0..model.input().size()).map(|_| f64::from(stream.signed())).collect();
        let input = Interval { lo: x.iter().map(|v| v - 0.03).collect(), hi: x.iter().map(|v| v + 0.03).collect() };
        let value = |params: &[f64], input: &Interval, dm: &mut [f64]| {
            let values = interval::forward(model, params, input);
            Loss::CrossEntropy.sample(dm, &interval::margins(model, params, &values, 1), 1, 0)
        };
        let mut dm = vec![0.0; model.outputs()];
        let mut none = dm.clone();
        value(&params, &input, &mut dm);
        let values = interval::forward(model, &params, &input);
        let (grad, d) = interval::margins_backward(model, &params, &values, 1, &dm);
        for i in trained(model) {
            let c = central(&params, i, |p| value(p, &input, &mut none.clone()));
            assert!(
                (c - grad[i]).abs() < 1e-6 * (1.0 + c.abs()),
                "model {number}, {}: {c}, {}",
                model.entry(i),
                grad[i]
            );
        }
        for i in 0..x.len() {
            let mut at = |lo: f64, hi: f64| {
                let mut moved = input.clone();
                moved.lo[i] += lo;
                moved.hi[i] += hi;
                value(&params, &moved, &mut none)
            };
            let h = 1e-6;
            let (lo, hi) = ((at(h, 0.0) - at(-h, 0.0)) / (2.0 * h), (at(0.0, h) - at(0.0, -h)) / (2.0 * h));
            assert!((lo - d.lo[i]).abs() < 1e-6 * (1.0 + lo.abs()), "model {number}, lower end {i}");
            assert!((hi - d.hi[i]).abs() < 1e-6 * (1.0 + hi.abs()), "model {number}, upper end {i}");
        }
    }
}

#[test]
fn the_reference_bounds_contain_sampled_points() {
    for (number, model) in layer_models().iter().enumerate() {
        let mut stream = Stream::new(70 + number as u64);
        let params: Vec<f64> = weights(model, &mut stream).iter().map(|&v| f64::from(v)).collect();
        let x: Vec<f64> = (0..model.input().size()).map(|_| f64::from(stream.signed())).collect();
        let eps = 0.2;
        let input = Interval { lo: x.iter().map(|v| v - eps).collect(), hi: x.iter().map(|v| v + eps).collect() };
        let bounds = interval::forward(model, &params, &input);
        for _ in 0..300 {
            // Corners and points inside.
            let corner = stream.below(2) == 0;
            let mut unit = || if corner { f64::from(stream.signed()).signum() } else { f64::from(stream.signed()) };
            let point: Vec<f64> = x.iter().map(|v| v + eps * unit()).collect();
            for (values, bound) in reference::forward(model, &params, &point).iter().zip(&bounds) {
                for (v, (lo, hi)) in values.iter().zip(bound.lo.iter().zip(&bound.hi)) {
                    assert!(lo - 1e-12 <= *v && *v <= hi + 1e-12, "model {number}: {lo} {v} {hi}");
                }
            }
        }
    }
}

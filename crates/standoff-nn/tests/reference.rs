//! The plain reference against central differences: what everything else rests on.

mod common;

use common::{Stream, weights};
use standoff_nn::{Layer, Loss, Model, Shape, reference};

#[test]
fn the_reference_has_the_gradients_of_its_values() {
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
    let model = Model::new(Shape::new(2, 7, 8), &layers).expect("fits");
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
        let h = 1e-6;
        let central = |v: &[f64], i: usize, f: &dyn Fn(&[f64]) -> f64| {
            let mut v = v.to_vec();
            let at = v[i];
            v[i] = at + h;
            let up = f(&v);
            v[i] = at - h;
            (up - f(&v)) / (2.0 * h)
        };
        for i in 0..params.len() {
            let d = central(&params, i, &|p| value(p, &x));
            assert!(
                (d - grad[i]).abs() < 1e-7 * (1.0 + d.abs()),
                "{loss:?}, {}: {d} against {}",
                model.entry(i),
                grad[i]
            );
        }
        for i in 0..x.len() {
            let d = central(&x, i, &|x| value(&params, x));
            assert!((d - dx[i]).abs() < 1e-7 * (1.0 + d.abs()), "{loss:?}, input {i}: {d} against {}", dx[i]);
        }
    }
}

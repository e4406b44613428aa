//! Functions of the caller: the same attacks, on logits and gradients of the plain reference in `f64`.

use crate::{Case, attacks, small};
use standoff_nn::attack::{
    Attack, Ball, FunctionEvaluator, Judge, LabelledImages, Protocol, Run, attack, ensemble, masking_report,
};
use standoff_nn::{Error, Model, reference};
use std::cell::{Cell, RefCell};

/// The reference as a function of rows, and the number of rows of its largest call.
struct PlainNetwork {
    model: Model,
    params: Vec<f64>,
    kept: RefCell<Vec<Vec<Vec<f64>>>>,
    most: Cell<usize>,
}

impl PlainNetwork {
    fn new(case: &Case) -> Self {
        let params = case.params.iter().map(|&v| f64::from(v)).collect();
        Self { model: case.engine.model().clone(), params, kept: RefCell::default(), most: Cell::new(0) }
    }

    fn forward(&self, rows: &[f32], out: &mut [f64]) {
        let width = self.model.input().size();
        self.most.set(self.most.get().max(rows.len() / width));
        let wide = |row: &[f32]| row.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        let values: Vec<_> =
            rows.chunks(width).map(|row| reference::forward(&self.model, &self.params, &wide(row))).collect();
        for (out, values) in out.chunks_mut(self.model.outputs()).zip(&values) {
            out.copy_from_slice(values.last().unwrap());
        }
        *self.kept.borrow_mut() = values;
    }

    fn backward(&self, coefficients: &[f64], out: &mut [f32]) {
        let (n, width) = (self.model.outputs(), self.model.input().size());
        let kept = self.kept.borrow();
        for ((values, c), out) in kept.iter().zip(coefficients.chunks(n)).zip(out.chunks_mut(width)) {
            let (_, g) = reference::backward(&self.model, &self.params, values, c);
            out.iter_mut().zip(g).for_each(|(o, g)| *o = g as f32);
        }
    }
}

#[test]
fn a_function_gives_the_outcomes_of_the_engine() {
    let case = Case::new(&small(4), 40, 1);
    let plain = PlainNetwork::new(&case);
    let forward = |x: &[f32], _: bool, z: &mut [f64]| -> Result<(), Error> {
        plain.forward(x, z);
        Ok(())
    };
    let backward = |c: &[f64], g: &mut [f32]| -> Result<(), Error> {
        plain.backward(c, g);
        Ok(())
    };
    let mut f = FunctionEvaluator::new(case.engine.model().input(), 4, &forward, Some(&backward));
    f.most_rows = 7;
    for ball in [Ball::linf(0.02), Ball::l2(0.12), Ball::l1(0.7)] {
        let protocol = Protocol { attacks: attacks(), ball, judge: Judge::Every };
        let built_in = ensemble(&case.engine, case.labelled(), &protocol, &Run::new(2)).unwrap();
        let ours = ensemble(&f, case.labelled(), &protocol, &Run::new(2)).unwrap();
        assert_eq!((ours.correct(), built_in.correct()), (40, 40));
        let other: Vec<usize> = (0..40).filter(|&i| ours.stands(i) != built_in.stands(i)).collect();
        assert!(other.len() <= 1 && ours.left() > 0 && ours.left() < 40, "{ball:?}: images {other:?} differ");
        let warnings = masking_report(&f, case.labelled(), &ball, &ours, &Run::new(2)).unwrap();
        assert_eq!(warnings.images, 40);
    }
    assert_eq!(plain.most.get(), 7);
}

#[test]
fn a_function_without_gradients_is_attacked_by_queries_alone() {
    let case = Case::new(&small(4), 20, 1);
    let plain = PlainNetwork::new(&case);
    let forward = |x: &[f32], gradients: bool, z: &mut [f64]| -> Result<(), Error> {
        assert!(!gradients);
        plain.forward(x, z);
        Ok(())
    };
    let f = FunctionEvaluator::new(case.engine.model().input(), 4, &forward, None);
    let run = |name: &str| attack(&f, case.labelled(), &Attack::named(name).unwrap(), &Ball::linf(0.05), &Run::new(1));
    let error = run("apgd-ce").unwrap_err().to_string();
    assert!(error.contains("`apgd-ce100` needs gradients"), "{error}");
    let found = run("square100").unwrap();
    assert!(found.left() < 20);
    let figures = masking_report(&f, case.labelled(), &Ball::linf(0.05), &found, &Run::new(1)).unwrap();
    assert_eq!(figures.warnings(), [], "without gradients nothing follows about gradients");
}

#[test]
fn logits_and_gradients_that_are_not_finite_name_the_image() {
    let case = Case::new(&small(4), 10, 1);
    let labelled = LabelledImages { images: &case.images, labels: &case.labels };
    let bad = case.images[7 * 64];
    let seen = |x: &[f32]| x.chunks(64).map(|row| row[0].to_bits() == bad.to_bits()).collect::<Vec<_>>();
    for broken in [f64::NAN, f64::INFINITY] {
        let forward = |x: &[f32], _: bool, z: &mut [f64]| -> Result<(), Error> {
            z.fill(0.0);
            for (seen, z) in seen(x).into_iter().zip(z.chunks_mut(4)) {
                z[2] = if seen { broken } else { 0.0 };
            }
            Ok(())
        };
        let f = FunctionEvaluator::new(case.engine.model().input(), 4, &forward, None);
        let attack = Attack::named("random10").unwrap();
        let error = standoff_nn::attack::attack(&f, labelled, &attack, &Ball::linf(0.1), &Run::new(1));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("attacking image 7: logit 2"), "{error}");
    }
    let forward = |x: &[f32], _: bool, z: &mut [f64]| -> Result<(), Error> {
        for (x, z) in x.chunks(64).zip(z.chunks_mut(4)) {
            z.copy_from_slice(&[f64::from(x[0]), 0.1, -0.5, 0.2]);
        }
        Ok(())
    };
    let backward = |_: &[f64], g: &mut [f32]| -> Result<(), Error> {
        g.fill(f32::NAN);
        Ok(())
    };
    let f = FunctionEvaluator::new(case.engine.model().input(), 4, &forward, Some(&backward));
    let labelled = LabelledImages { images: &[0.5; 64], labels: &[0] };
    let error = attack(&f, labelled, &Attack::Fgsm, &Ball::linf(0.1), &Run::new(1)).unwrap_err().to_string();
    assert!(error.contains("image 0") && error.contains("gradient"), "{error}");
}

#[test]
fn an_error_of_the_function_ends_the_attack() {
    let case = Case::new(&small(4), 5, 1);
    let calls = Cell::new(0);
    let forward = |_: &[f32], _: bool, z: &mut [f64]| -> Result<(), Error> {
        z.fill(0.0);
        calls.set(calls.get() + 1);
        if calls.get() > 5 { Err(Error::Mismatch("no more".into())) } else { Ok(()) }
    };
    let f = FunctionEvaluator::new(case.engine.model().input(), 4, &forward, None);
    let labelled = LabelledImages { labels: &[0; 5], ..case.labelled() };
    let square = Attack::named("square100").unwrap();
    let error = attack(&f, labelled, &square, &Ball::linf(0.1), &Run::new(1)).unwrap_err();
    assert_eq!((error.to_string().as_str(), calls.get()), ("no more", 6));
}

//! Bounds: against sampled values, against each other, and with numbers that are not finite.

use rand::RngExt;
use standoff_nn::verify::{
    ActivationKind, Answer, Arithmetic, BoundMethod, Bounder, InputRegion, LinearMap, NodeOp, OpGraph, OutputRow,
    Property, VerifySettings, verify, violates,
};

use super::networks::{SmallNet, random};

const STEPS: usize = 20;

fn rows(outputs: usize) -> Vec<OutputRow> {
    let row = |j: usize, sign: f64| {
        let coefficients = (0..outputs).map(|k| if k == j { sign } else { 0.3 * sign }).collect();
        OutputRow { coefficients, constant: 0.25 }
    };
    (0..outputs).flat_map(|j| [row(j, 1.0), row(j, -1.0)]).collect()
}

#[test]
fn bounds_are_below_every_sampled_value_and_alpha_is_never_looser() {
    for seed in 0..12 {
        let mut rng = random(seed);
        let net = SmallNet::new(&mut rng, &[4, 12, 10, 8, 3]);
        let centre: Vec<f64> = (0..4).map(|_| rng.random::<f64>()).collect();
        for ball in [false, true] {
            let region = if ball {
                InputRegion::l2(&centre, 0.4, (-9.0, 9.0))
            } else {
                InputRegion::linf(&centre, 0.2, (-9.0, 9.0))
            };
            let region = region.expect("a region");
            let bounder = Bounder::new(&net.graph, Arithmetic::Float32).expect("a network");
            let of = |method| bounder.lower_bounds(&region, &rows(3), method);
            let (interval, crown) = (of(BoundMethod::Interval), of(BoundMethod::Crown));
            let (alpha, all) = (of(BoundMethod::Alpha { steps: STEPS }), of(BoundMethod::AlphaAll { steps: STEPS }));
            let mut least = [f64::INFINITY; 6];
            for _ in 0..2000 {
                let step: Vec<f64> = (0..4).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect();
                let norm = step.iter().map(|s| s * s).sum::<f64>().sqrt();
                let length = if ball { 0.4 / if norm > 1.0 { norm } else { 1.0 } } else { 0.2 };
                let x: Vec<f64> = centre.iter().zip(&step).map(|(c, s)| c + length * s).collect();
                for (least, row) in least.iter_mut().zip(rows(3)) {
                    *least = least.min(row.value(&net.value(&x)));
                }
            }
            for k in 0..6 {
                assert!(interval[k] <= crown[k] && crown[k] <= alpha[k], "looser at {seed}, {k}");
                assert!(alpha[k] <= least[k] && all[k] <= least[k], "above a value at {seed}, {k}");
                assert!(all[k] >= crown[k] - 1e-9, "optimised bounds inside are not looser at {seed}, {k}");
            }
        }
    }
}

/// Two inputs, a window over hidden values, and one output.
fn pooled(leak: f64, kind: Option<ActivationKind>) -> OpGraph {
    let mut graph = OpGraph::new(vec![2]);
    let w = vec![1.0, 0.5, -1.0, 0.25, 0.75, -0.5, -0.25, -1.0];
    let z = graph.push("fc", NodeOp::Linear { input: 0, map: LinearMap::dense(w, vec![0.1, -0.2, 0.0, 0.3]) }).unwrap();
    let a = graph
        .push("act", NodeOp::Activation { input: z, kind: kind.unwrap_or(ActivationKind::Relu { leak }) })
        .unwrap();
    let p =
        graph.push("pool", NodeOp::MaxPool { input: a, windows: vec![vec![0, 1, 2], vec![2, 3], vec![1]] }).unwrap();
    graph.push("out", NodeOp::Linear { input: p, map: LinearMap::dense(vec![1.0, -1.0, 0.5], vec![0.0]) }).unwrap();
    graph
}

#[test]
fn pooling_and_curves_are_bounded_soundly() {
    let kinds = [
        None,
        Some(ActivationKind::Tanh),
        Some(ActivationKind::Sigmoid),
        Some(ActivationKind::Clip { low: -0.25, high: 0.5 }),
    ];
    for (k, kind) in kinds.into_iter().enumerate() {
        let graph = pooled(0.1, kind);
        let bounder = Bounder::new(&graph, Arithmetic::Float32).unwrap();
        for sign in [1.0, -1.0] {
            let row = OutputRow { coefficients: vec![sign], constant: 0.0 };
            for (l, u) in [(-1.0, 1.0), (0.2, 0.3), (-0.6, 0.1), (0.0, 3.0)] {
                let region = InputRegion::new(vec![l; 2], vec![u; 2]).unwrap();
                let mut least = f64::INFINITY;
                for i in 0..=60 {
                    for j in 0..=60 {
                        let at = |t: usize| l + (u - l) * t as f64 / 60.0;
                        least = least.min(sign * graph.evaluate(&[at(i), at(j)])[0]);
                    }
                }
                for method in [BoundMethod::Interval, BoundMethod::Crown, BoundMethod::AlphaAll { steps: 10 }] {
                    let bound = bounder.lower_bounds(&region, std::slice::from_ref(&row), method)[0];
                    assert!(bound <= least, "{k} {l} {u} {method:?}: {bound} above {least}");
                    assert!(bound >= least - 8.0, "{k} {l} {u} {method:?}: {bound} is far below {least}");
                }
            }
        }
    }
}

#[test]
fn numbers_that_are_not_finite_prove_nothing() {
    for bad in [f64::NAN, f64::INFINITY, f64::MAX, 1e300, 1e39] {
        for place in 0..3 {
            let mut graph = OpGraph::new(vec![2]);
            let mut w = vec![1.0, 2.0, 3.0, 4.0];
            let mut b = vec![1.0; 2];
            if place == 0 {
                w[1] = bad;
            } else {
                b[1] = bad;
            }
            let z = graph.push("fc", NodeOp::Linear { input: 0, map: LinearMap::dense(w, b) }).unwrap();
            let a =
                graph.push("relu", NodeOp::Activation { input: z, kind: ActivationKind::Relu { leak: 0.0 } }).unwrap();
            let last = if place == 2 { vec![bad, 1.0, 0.0, 0.0] } else { vec![1.0, 1.0, 0.0, 0.0] };
            graph.push("out", NodeOp::Linear { input: a, map: LinearMap::dense(last, vec![5.0, 0.0]) }).unwrap();
            let bounder = Bounder::new(&graph, Arithmetic::Float32).unwrap();
            let region = InputRegion::new(vec![-1.0; 2], vec![1.0; 2]).unwrap();
            let row = OutputRow { coefficients: vec![1.0, -1.0], constant: 0.0 };
            for method in [BoundMethod::Interval, BoundMethod::Crown, BoundMethod::Alpha { steps: 3 }] {
                let bound = bounder.lower_bounds(&region, std::slice::from_ref(&row), method)[0];
                assert!(!(bound > 0.0), "{bad} at {place}: {bound}");
            }
            for few_inputs in [0, 12] {
                let settings = VerifySettings { branches: 50, few_inputs, ..VerifySettings::default() };
                let property = Property::classified(vec![-1.0; 2], vec![1.0; 2], 0, 2);
                let found = verify(&graph, &property, &settings, &false.into()).unwrap();
                assert_ne!(found.answer, Answer::Proven, "{bad} at {place}");
            }
        }
    }
    assert!(InputRegion::new(vec![f64::NAN], vec![1.0]).is_err());
}

#[test]
fn the_tree_is_the_same_on_any_number_of_threads() {
    let mut rng = random(5);
    let net = SmallNet::new(&mut rng, &[16, 24, 24, 2]);
    let property = Property::classified(vec![-0.3; 16], vec![0.3; 16], 0, 2);
    for few_inputs in [0, 16] {
        let run = |threads: usize| {
            let settings = VerifySettings { branches: 500, few_inputs, attack: false, ..VerifySettings::default() };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| verify(&net.graph, &property, &settings, &false.into()).unwrap())
        };
        let one = run(1);
        assert!(one.branches > 1, "{one:?}");
        for threads in [2, 3] {
            let other = run(threads);
            assert_eq!(
                (&one.answer, one.bound.to_bits(), one.branches),
                (&other.answer, other.bound.to_bits(), other.branches)
            );
        }
    }
}

#[test]
fn a_counter_example_is_judged_in_exact_arithmetic() {
    // y = (x + 1e16) - 1e16 in one map: 3 in real numbers, and 4 or 2 after rounding in f64.
    let mut graph = OpGraph::new(vec![1]);
    let wide = LinearMap::dense(vec![1.0, 1.0], vec![1e16, 1e16]);
    let z = graph.push("a", NodeOp::Linear { input: 0, map: wide }).unwrap();
    let map = LinearMap::dense(vec![1.0, 0.0], vec![-1e16]);
    graph.push("b", NodeOp::Linear { input: z, map }).unwrap();
    let case = |constant: f64| {
        let row = OutputRow { coefficients: vec![1.0], constant };
        standoff_nn::verify::PropertyCase {
            lower: vec![0.0],
            upper: vec![9.0],
            ball: None,
            unsafe_sets: vec![vec![row]],
        }
    };
    assert!(violates(&graph, &case(-3.0), &[3.0]));
    assert!(!violates(&graph, &case(-2.999), &[3.0]));
    assert!(!violates(&graph, &case(-20.0), &[9.5]), "outside of the box");
}

//! Margins by backward relaxation over interval bounds: the reference against central differences, the engine against the reference.

mod common;

use common::{Stream, apart, weights};
use standoff_nn::engine::check_relaxation;
use standoff_nn::reference::crown;
use standoff_nn::reference::interval::{self, Interval};
use standoff_nn::{Ask, Batch, Bounds, Engine, Isa, Loss, Model, Region, Samples, reference};

/// Chains of every layer that has lines, with strides, borders, groups and odd sizes.
fn chains() -> Vec<Model> {
    let all = [
        "input = [1, 7, 6]\nlayers = [\"conv(1, 3)\", \"ramp\", \"conv(4, 5, stride=2, pad=1)\", \"ramp\", \"conv(2, 4)\", \"ramp\", \"flatten\", \
         \"dense(6)\", \"ramp\", \"dense(4)\"]",
        "input = [2, 6, 6]\nlayers = [\"normalise(0.4, 0.5, 0.3, 0.2)\", \"conv(3, 4, pad=1, groups=2)\", \"batchnorm\", \"relu\", \
         \"conv(3, 7, stride=2)\", \"leaky_relu(0.1)\", \"flatten\", \"dense(9)\", \"batchnorm\", \"relu\", \"dense(3)\"]",
        "input = [9]\nlayers = [\"dense(11)\", \"relu\", \"dense(8)\", \"leaky_relu(0.3)\", \"dense(10)\"]",
        "input = [5]\nlayers = [\"dense(3)\"]",
        "input = [1, 8, 8]\nlayers = [\"relu\", \"conv(3, 6)\", \"relu\", \"batchnorm\", \"conv(3, 5)\", \"dropout(0.1)\", \"ramp\", \"relu\", \
         \"flatten\", \"dense(2)\"]",
    ];
    all.iter().map(|text| Model::from_toml(text).expect("fits")).collect()
}

fn wide(v: &[f32]) -> Vec<f64> {
    v.iter().map(|&v| f64::from(v)).collect()
}

/// A box around a random point from 0 to 1.
fn box_of(model: &Model, eps: f64, stream: &mut Stream) -> Interval {
    let x: Vec<f64> = (0..model.input().size()).map(|_| f64::from(stream.signed().abs())).collect();
    Interval { lo: x.iter().map(|v| (v - eps).max(0.0)).collect(), hi: x.iter().map(|v| (v + eps).min(1.0)).collect() }
}

#[test]
fn lines_enclose_the_activation_and_touch_it() {
    let mut stream = Stream::new(61);
    for _ in 0..20_000 {
        let (a, cap) =
            [(0.0, f64::INFINITY), (0.2, f64::INFINITY), (0.0, 0.7), (0.1, 0.7), (0.05, 0.0)][stream.below(5)];
        let (s, t) = (2.0 * f64::from(stream.signed()), 2.0 * f64::from(stream.signed()));
        let (l, u) = if s < t { (s, t) } else { (t, s) };
        let f = |x: f64| {
            if x <= 0.0 {
                a * x
            } else if x > cap {
                cap + a * (x - cap)
            } else {
                x
            }
        };
        let [upper, lower] = crown::lines((a, cap), l, u);
        let (mut above, mut below) = (f64::INFINITY, f64::INFINITY);
        for i in 0..=200 {
            let kinks = [0.0, cap];
            let x = if i < 2 { kinks[i].clamp(l, u) } else { l + (u - l) * (i - 2) as f64 / 198.0 };
            above = above.min(upper.slope * x + upper.shift - f(x));
            below = below.min(f(x) - lower.slope * x - lower.shift);
        }
        let at = format!("slope {a}, cap {cap}, from {l} to {u}");
        assert!(above > -1e-12 && below > -1e-12, "{at}: {above} and {below}");
        assert!(above < 1e-12 && below < 1e-12, "{at}: the lines are not the tightest: {above} and {below}");
    }
}

#[test]
fn the_gradient_of_the_reference_equals_central_differences_also_through_the_lines() {
    let mut stream = Stream::new(62);
    for (m, model) in chains().iter().enumerate() {
        let params = wide(&weights(model, &mut stream));
        for eps in [0.02, 0.2] {
            let (reach, label) = (box_of(model, eps, &mut stream), stream.below(model.outputs()));
            let dm: Vec<f64> = (0..model.outputs()).map(|_| f64::from(stream.signed())).collect();
            let value = |params: &[f64]| -> f64 {
                let values = interval::forward(model, params, &reach);
                crown::margins(model, params, &values, label).iter().zip(&dm).map(|(m, d)| m * d).sum()
            };
            let values = interval::forward(model, &params, &reach);
            let grad = crown::margins_backward(model, &params, &values, label, &dm);
            let trained: Vec<usize> =
                model.views().iter().filter(|view| view.trained).flat_map(|view| view.range.clone()).collect();
            for &i in trained.iter().step_by(1 + trained.len() / 150) {
                let h = 1e-6;
                let moved = |by: f64| {
                    let mut params = params.clone();
                    params[i] += by;
                    value(&params)
                };
                let (want, got) = ((moved(h) - moved(-h)) / (2.0 * h), grad[i]);
                assert!(
                    (want - got).abs() < 1e-6 * (1.0 + want.abs()),
                    "model {m}, eps {eps}, {}: {got}, want {want}",
                    model.entry(i)
                );
            }
        }
    }
}

#[test]
fn no_point_of_the_box_exceeds_the_margins_and_they_are_tighter_than_intervals_in_sum() {
    let mut stream = Stream::new(63);
    let (mut crowns, mut intervals) = (0.0, 0.0);
    for (m, model) in chains().iter().enumerate() {
        for eps in [0.02, 0.1, 0.4] {
            let params = wide(&weights(model, &mut stream));
            let (reach, label) = (box_of(model, eps, &mut stream), stream.below(model.outputs()));
            let values = interval::forward(model, &params, &reach);
            let margins = crown::margins(model, &params, &values, label);
            crowns += margins.iter().sum::<f64>();
            intervals += interval::margins(model, &params, &values, label).iter().sum::<f64>();
            assert_eq!(margins[label], 0.0);
            for _ in 0..200 {
                let corner = stream.below(2) == 0;
                let point = reach.lo.iter().zip(&reach.hi).map(|(lo, hi)| {
                    let t = f64::from(stream.signed()) / 2.0 + 0.5;
                    lo + (hi - lo) * if corner { t.round() } else { t }
                });
                let values = reference::forward(model, &params, &point.collect::<Vec<f64>>());
                let z = values.last().expect("logits");
                for (j, most) in margins.iter().enumerate() {
                    assert!(z[j] - z[label] <= most + 1e-9, "model {m}: {} above {most}", z[j] - z[label]);
                }
            }
        }
    }
    assert!(crowns < 0.8 * intervals, "{crowns} against {intervals}");
}

/// Samples in two groups, neither a whole number of units.
struct Case {
    rows: Vec<f32>,
    labels: Vec<u16>,
    ends: [usize; 2],
}

impl Case {
    fn new(model: &Model, n: usize, stream: &mut Stream) -> Self {
        Self {
            rows: (0..n * model.input().size()).map(|_| stream.signed().abs()).collect(),
            labels: (0..n).map(|_| stream.below(model.outputs()) as u16).collect(),
            ends: [n / 3, n],
        }
    }

    fn batch(&self) -> Batch<'_> {
        let samples = Samples::Floats(&self.rows);
        Batch { samples, labels: &self.labels, rows: None, ends: &self.ends, weights: None }
    }
}

/// Margins, the losses of the groups and their gradients by the reference.
fn expected(
    model: &Model,
    params: &[f32],
    case: &Case,
    (eps, beta): (f32, f32),
) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
    let (params, width, beta) = (wide(params), model.input().size(), f64::from(beta));
    let (mut all, mut losses, mut gradients, mut start) = (vec![], vec![], vec![], 0);
    for end in case.ends {
        let (mut total, mut gradient, scale) = (0.0, vec![0.0; model.size()], 1.0 / (end - start) as f64);
        for i in start..end {
            let x = wide(&case.rows[i * width..(i + 1) * width]);
            let reach = Interval {
                lo: x.iter().map(|v| (v - f64::from(eps)).max(0.0)).collect(),
                hi: x.iter().map(|v| (v + f64::from(eps)).min(1.0)).collect(),
            };
            let (values, label) = (interval::forward(model, &params, &reach), usize::from(case.labels[i]));
            let relaxed = crown::margins(model, &params, &values, label);
            let plain = interval::margins(model, &params, &values, label);
            let mixed: Vec<f64> = relaxed.iter().zip(&plain).map(|(r, p)| beta * r + (1.0 - beta) * p).collect();
            let mut dm = vec![0.0; mixed.len()];
            total += scale * Loss::CrossEntropy.sample(&mut dm, &mixed, label, i);
            let by_lines = crown::margins_backward(model, &params, &values, label, &dm);
            let (by_ends, _) = interval::margins_backward(model, &params, &values, label, &dm);
            for (g, (r, p)) in gradient.iter_mut().zip(by_lines.iter().zip(&by_ends)) {
                *g += scale * (beta * r + (1.0 - beta) * p);
            }
            all.extend(mixed);
        }
        losses.push(total);
        gradients.push(gradient);
        start = end;
    }
    (all, losses, gradients)
}

#[test]
fn the_engine_equals_the_reference() {
    let mut stream = Stream::new(64);
    for (m, model) in chains().iter().enumerate() {
        let params: Vec<f32> = weights(model, &mut stream).iter().map(|w| 0.7 * w).collect();
        let case = Case::new(model, 29, &mut stream);
        for (eps, beta) in [(0.05, 1.0), (0.2, 0.4), (0.0, 0.6)] {
            let (margins, losses, gradients) = expected(model, &params, &case, (eps, beta));
            for isa in Isa::all() {
                let mut engine = Engine::with_isa(model, 1, isa).expect("engine");
                engine.set_weights(&params).expect("finite");
                let mut got = Bounds::default();
                let region = (Region::image(eps), beta);
                engine.relaxed_bounds(&case.batch(), region, Ask::Gradients, &mut got).expect("finite");
                let at = format!("model {m}, eps {eps}, beta {beta}, {}", isa.name());
                assert!(apart(&got.margins, &margins, &[]) < 5e-6, "{at}: {:e}", apart(&got.margins, &margins, &[]));
                for g in 0..2 {
                    assert!((got.group_losses[g] - losses[g]).abs() < 5e-6 * (1.0 + losses[g]), "{at}");
                    for view in model.views().iter().filter(|view| view.trained) {
                        let (a, b) = (&got.gradients[g][view.range.clone()], &gradients[g][view.range.clone()]);
                        let off = apart(a, b, &gradients[g]);
                        assert!(off < 3e-5, "{at}, group {g}, {}: {off:e}", view.name);
                    }
                }
            }
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_threads_or_on_the_width_of_registers() {
    let mut stream = Stream::new(65);
    for model in chains() {
        let params = weights(&model, &mut stream);
        let case = Case::new(&model, 150, &mut stream);
        let bits = |isa: Isa, threads: usize| {
            let mut engine = Engine::with_isa(&model, threads, isa).expect("engine");
            engine.set_weights(&params).expect("finite");
            let mut out = Bounds::default();
            // The second pass uses the scratch of the first.
            for eps in [0.2, 0.05] {
                let region = (Region::image(eps), 0.7);
                engine.relaxed_bounds(&case.batch(), region, Ask::Gradients, &mut out).expect("finite");
            }
            out
        };
        for names in [["portable", "portable-pairs"], ["avx2", "avx512"]] {
            let [Ok(one), Ok(other)] = names.map(Isa::named) else { continue };
            let want = bits(one, 1);
            assert!(want == bits(one, 3) && want == bits(other, 1) && want == bits(other, 2), "{}", one.name());
        }
    }
}

#[test]
fn beta_0_gives_the_interval_margins() {
    let mut stream = Stream::new(66);
    let model = &chains()[0];
    let case = Case::new(model, 20, &mut stream);
    let mut engine = Engine::new(model, 1).expect("engine");
    engine.set_weights(&weights(model, &mut stream)).expect("finite");
    let (mut plain, mut mixed) = (Bounds::default(), Bounds::default());
    engine.bounds(&case.batch(), Region::image(0.1), Ask::Gradients, &mut plain).expect("finite");
    engine.relaxed_bounds(&case.batch(), (Region::image(0.1), 0.0), Ask::Gradients, &mut mixed).expect("finite");
    assert!(apart(&mixed.margins, &wide(&plain.margins), &[]) < 1e-6);
    assert!(apart(&mixed.gradients[1], &wide(&plain.gradients[1]), &[]) < 1e-5);
}

#[test]
fn models_without_lines_are_refused_with_the_layer() {
    let refused = |layers: &str| {
        let model = Model::from_toml(&format!("input = [1, 8, 8]\nlayers = [{layers}]")).expect("fits");
        check_relaxation(&model).expect_err("must be refused").to_string()
    };
    let pooled = refused("\"conv(3, 4)\", \"relu\", \"maxpool(2)\", \"flatten\", \"dense(3)\"");
    assert!(pooled.contains("layer 3 (maxpool(2)) has no linear relaxation"), "{pooled}");
    assert!(refused("\"flatten\", \"dense(5)\", \"tanh\", \"dense(3)\"").contains("layer 3 (tanh)"));
    let branched = refused(
        "\"start: conv(3, 4, pad=1)\", \"relu\", \"conv(3, 4, pad=1)\", \"add(start)\", \"flatten\", \"dense(3)\"",
    );
    assert!(branched.contains("layer 4 (add"), "{branched}");
    let model = &chains()[2];
    let case = Case::new(model, 5, &mut Stream::new(67));
    let (engine, mut out) = (Engine::new(model, 1).expect("engine"), Bounds::default());
    let region = Region::image(0.1);
    let wide = engine.relaxed_bounds(&case.batch(), (region, 1.5), Ask::Values, &mut out).expect_err("refused");
    assert!(wide.to_string().contains("beta is 1.5"), "{wide}");
    let inputs = engine.relaxed_bounds(&case.batch(), (region, 0.5), Ask::InputGradients, &mut out);
    assert!(inputs.expect_err("refused").to_string().contains("no gradients with respect to inputs"));
}

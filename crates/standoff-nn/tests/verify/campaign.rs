//! The campaign: random networks with a known truth, every method, no false proof.

use rand::RngExt;
use standoff_nn::verify::{Answer, BoundMethod, Bounder, InputRegion, OutputRow, VerifySettings, verify, violates};

use super::networks::{SmallNet, property, random};

const METHODS: [BoundMethod; 4] =
    [BoundMethod::Interval, BoundMethod::Crown, BoundMethod::Alpha { steps: 8 }, BoundMethod::AlphaAll { steps: 8 }];

/// Counts of a campaign: cases that hold, proofs of them by method, false proofs.
#[derive(Debug, Default, Clone, PartialEq)]
struct Counts {
    robust: usize,
    violated: usize,
    proven: [usize; 6],
    falsified: usize,
    wrong: usize,
}

/// `y_label - y_other` with the larger output as label.
fn margin(net: &SmallNet, centre: &[f64]) -> OutputRow {
    let y = net.value(centre);
    let label = usize::from(y[1] > y[0]);
    let sign = if label == 0 { 1.0 } else { -1.0 };
    OutputRow { coefficients: vec![sign, -sign], constant: 0.0 }
}

fn settings(few_inputs: usize) -> VerifySettings {
    VerifySettings { branches: 400, few_inputs, attack: few_inputs > 0, ..VerifySettings::default() }
}

/// One input: the truth is the exact minimum. The margin is moved so close to 0 that violations hide in a kink in a third of the cases.
fn exact_case(seed: u64, counts: &mut Counts) {
    let mut rng = random(seed);
    let depth = 1 + seed as usize % 3;
    let sizes: Vec<usize> = std::iter::once(1).chain((0..depth).map(|_| rng.random_range(2..9))).chain([2]).collect();
    let net = SmallNet::new(&mut rng, &sizes);
    let centre = 2.0 * rng.random::<f64>() - 1.0;
    let radius = 10.0_f64.powf(-2.5 * rng.random::<f64>());
    let region = InputRegion::new(vec![centre - radius], vec![centre + radius]).expect("a region");
    let mut row = margin(&net, &[centre]);
    if seed.is_multiple_of(3) {
        // The least value becomes barely negative or barely positive.
        let least = net.minimum(region.lower[0], region.upper[0], &row);
        row.constant = -least + if seed.is_multiple_of(2) { -1e-4 } else { 1e-3 };
    }
    let least = net.minimum(region.lower[0], region.upper[0], &row);
    if least.abs() < 1e-5 {
        return; // too close to call in floating point
    }
    judge(&net, &region, &row, least > 0.0, counts);
}

/// More inputs: a counter-example is planted at a random point of a box or of an L2 ball, and bounds may not exclude it.
fn planted_case(seed: u64, counts: &mut Counts) {
    let mut rng = random(seed);
    let n = 2 + seed as usize % 15;
    let sizes: Vec<usize> =
        [n].into_iter().chain((0..1 + seed as usize % 2).map(|_| rng.random_range(3..12))).chain([2]).collect();
    let net = SmallNet::new(&mut rng, &sizes);
    let centre: Vec<f64> = (0..n).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect();
    let radius = 10.0_f64.powf(-2.0 * rng.random::<f64>());
    let of_ball = seed % 4 == 3;
    let make = if of_ball { InputRegion::l2 } else { InputRegion::linf };
    let region = make(&centre, radius, (-9.0, 9.0)).expect("a region");
    let change: Vec<f64> = (0..n).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect();
    // On the sphere, a little inside of it.
    let size = if of_ball { change.iter().map(|d| d * d).sum::<f64>().sqrt() * (1.0 + 1e-9) } else { 1.0 };
    let planted: Vec<f64> = centre.iter().zip(&change).map(|(c, d)| c + radius * d / size).collect();
    let mut row = margin(&net, &centre);
    row.constant = -row.value(&net.value(&planted)) - 1e-6;
    judge(&net, &region, &row, false, counts);
}

fn judge(net: &SmallNet, region: &InputRegion, row: &OutputRow, holds: bool, counts: &mut Counts) {
    let bounder = Bounder::new(&net.graph, VerifySettings::default().arithmetic).expect("a network");
    if holds {
        counts.robust += 1;
    } else {
        counts.violated += 1;
    }
    let mut note = |k: usize, proven: bool| {
        if proven && holds {
            counts.proven[k] += 1;
        }
        counts.wrong += usize::from(proven && !holds);
    };
    for (k, method) in METHODS.into_iter().enumerate() {
        note(k, bounder.lower_bounds(region, std::slice::from_ref(row), method)[0] > 0.0);
    }
    let property = property(region, row);
    for (k, few) in [(4, 12), (5, 0)] {
        let found = verify(&net.graph, &property, &settings(few), &false.into()).expect("an answer");
        note(k, found.answer == Answer::Proven);
        if let Answer::Falsified { x, .. } = &found.answer {
            counts.falsified += 1;
            assert!(!holds && violates(&net.graph, &property.cases[0], x), "a counter-example that is none");
        }
    }
}

fn campaign(count: u64) -> Counts {
    let mut counts = Counts::default();
    for seed in 0..count {
        exact_case(2 * seed, &mut counts);
        planted_case(2 * seed + 1, &mut counts);
        exact_case(1_000_000 + 2 * seed + 1, &mut counts);
    }
    counts
}

fn check(counts: &Counts) {
    std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{counts:?}\n")).expect("stderr");
    assert_eq!(counts.wrong, 0, "false proofs: {counts:?}");
    for proven in counts.proven {
        assert!(10 * proven >= 3 * counts.robust, "fewer than 30 percent proven: {counts:?}");
    }
    assert!(10 * counts.proven[4] >= 9 * counts.robust, "complete verification proves nearly all: {counts:?}");
    assert!(counts.proven[2] >= counts.proven[1] && counts.proven[3] >= counts.proven[2]);
    assert!(2 * counts.falsified >= counts.violated, "attacks find half: {counts:?}");
}

#[test]
fn no_method_proves_a_property_that_is_violated() {
    check(&campaign(100));
}

#[test]
#[ignore = "12,000 networks take minutes"]
fn no_method_proves_a_property_that_is_violated_in_12000_networks() {
    check(&campaign(4000));
}

#[test]
fn a_time_limit_never_contradicts_the_truth() {
    let (mut decided, mut open) = (0, 0);
    for seed in 0..150 {
        let mut rng = random(5_000_000 + seed);
        let net = SmallNet::new(&mut rng, &[1, 12, 12, 2]);
        let centre = 2.0 * rng.random::<f64>() - 1.0;
        let region = InputRegion::new(vec![centre - 0.5], vec![centre + 0.5]).expect("a region");
        let mut row = margin(&net, &[centre]);
        row.constant = -net.minimum(region.lower[0], region.upper[0], &row) + if seed % 2 == 0 { -1e-3 } else { 1e-3 };
        for micros in [0, 50, 200, 1000, 5000] {
            // Every other network is split along its ReLUs.
            let few_inputs = if seed % 4 < 2 { 12 } else { 0 };
            let time = Some(std::time::Duration::from_micros(micros));
            let settings = VerifySettings { time, few_inputs, ..VerifySettings::default() };
            let found = verify(&net.graph, &property(&region, &row), &settings, &false.into()).expect("an answer");
            match found.answer {
                Answer::Proven => assert!(seed % 2 == 1, "seed {seed}: proven within {micros} us, but violated"),
                Answer::Falsified { .. } => {
                    assert!(seed % 2 == 0, "seed {seed}: falsified within {micros} us, but it holds");
                }
                Answer::Unknown => assert!(!(found.bound > 0.0), "seed {seed}: unknown with a positive bound"),
            }
            if found.answer == Answer::Unknown { open += 1 } else { decided += 1 }
        }
    }
    assert!(decided > 75 && open > 75, "{decided} decided, {open} open: the limits are of no use as a test");
}

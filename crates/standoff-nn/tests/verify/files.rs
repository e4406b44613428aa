//! ONNX and VNN-LIB: errors, and bytes that are no network.

use rand::RngExt;
use standoff_nn::model::onnx::OnnxModel;
use standoff_nn::verify::Property;

use super::networks::random;

const PROPERTY: &str = "; a comment\n(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n\
    (assert (<= X_0 0.5))\n(assert (>= X_0 -0.5))\n(assert (and (<= X_1 1) (>= X_1 0)))\n(assert (or (and (>= Y_1 Y_0)) (and (<= Y_0 -2.5e0))))\n";

#[test]
fn a_property_is_read() {
    let property = Property::from_vnnlib(PROPERTY).unwrap();
    assert_eq!(property.cases.len(), 1);
    let case = &property.cases[0];
    assert_eq!((case.lower.clone(), case.upper.clone()), (vec![-0.5, 0.0], vec![0.5, 1.0]));
    assert_eq!(case.unsafe_sets[0][0].coefficients, [1.0, -1.0]);
    assert_eq!((case.unsafe_sets[1][0].coefficients.clone(), case.unsafe_sets[1][0].constant), (vec![1.0, 0.0], 2.5));
}

#[test]
fn a_property_that_cannot_be_read_is_refused_with_a_reason() {
    for (from, to, wanted) in [
        ("(<= X_0 0.5)", "(<= X_0 nan)", "neither a number"),
        ("(<= X_0 0.5)", "(<= X_7 0.5)", "is it declared"),
        ("(<= X_0 0.5)", "(<= X_0 X_1)", "joins several inputs"),
        ("(<= X_0 0.5)", "(= X_0 0.5)", "not known"),
        ("(assert (<= X_0 0.5))\n", "", "no lower or no upper end"),
        ("(<= X_0 0.5)", "(<= (* X_0 X_1) 0.5)", "not linear"),
        ("(declare-const X_0 Real)", "(declare-const X_0 Real", "bracket"),
    ] {
        let text = PROPERTY.replace(from, to);
        let error = Property::from_vnnlib(&text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{to}: {error}");
    }
}

/// Length-delimited field.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut n = bytes.len();
    while n >= 128 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    [&out[..], bytes].concat()
}

/// A network of one layer, written by hand.
fn small() -> Vec<u8> {
    let weights: Vec<u8> = [1.0_f32, -1.0, 0.5, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let tensor = [&[0x08, 2, 0x08, 2, 0x10, 1][..], &field(8, b"w"), &field(9, &weights)].concat();
    let dims = [field(1, &[0x08, 1]), field(1, &[0x08, 2])].concat();
    let value =
        |name: &[u8]| [field(1, name), field(2, &field(1, &[&[0x08, 1][..], &field(2, &dims)].concat()))].concat();
    let node = [field(1, b"x"), field(1, b"w"), field(2, b"z"), field(4, b"MatMul")].concat();
    let relu = [field(1, b"z"), field(2, b"y"), field(3, b"act"), field(4, b"Relu")].concat();
    let graph = [field(1, &node), field(1, &relu), field(5, &tensor), field(11, &value(b"x")), field(12, &value(b"y"))]
        .concat();
    [field(7, &graph), field(8, &[0x10, 13])].concat()
}

#[test]
fn a_network_of_one_layer_is_read() {
    let graph = OnnxModel::from_bytes(&small()).unwrap().graph().unwrap();
    assert_eq!(graph.evaluate(&[1.0, 2.0]), [2.0, 3.0]);
    let unknown = small().windows(4).position(|w| w == b"Relu").unwrap();
    let mut bytes = small();
    bytes[unknown..unknown + 4].copy_from_slice(b"Gelu");
    let error = OnnxModel::from_bytes(&bytes).unwrap().graph().unwrap_err().to_string();
    assert!(error.contains("`act` (Gelu)") && error.contains("not supported"), "{error}");
}

fn fuzz(count: u64) {
    let (good, text) = (small(), PROPERTY.as_bytes());
    let mut rng = random(1);
    for _ in 0..count {
        let (mut bytes, mut property) = (good.clone(), text.to_vec());
        for bytes in [&mut bytes, &mut property] {
            for _ in 0..rng.random_range(1..6) {
                let at = rng.random_range(0..bytes.len());
                match rng.random_range(0..4) {
                    0 => bytes[at] = rng.random(),
                    1 => bytes.truncate(at.max(1)),
                    2 => bytes.insert(at, rng.random()),
                    _ => bytes[at] ^= 1 << rng.random_range(0..8),
                }
            }
        }
        if let Ok(model) = OnnxModel::from_bytes(&bytes)
            && let Ok(graph) = model.graph()
        {
            graph.evaluate(&vec![0.5; graph.inputs()]);
        }
        let _ = Property::from_vnnlib(&String::from_utf8_lossy(&property));
    }
}

#[test]
fn damaged_files_never_panic() {
    fuzz(20_000);
}

#[test]
#[ignore = "a million damaged files take a minute"]
fn a_million_damaged_files_never_panic() {
    fuzz(1_000_000);
}

//! Tests: files written here, files from PyTorch, and wrong files.

use super::super::presets::IMAGES;
use super::super::{Biases, Layer, Shape};
use super::*;
use proptest::prelude::*;
use safetensors::Dtype;

fn small() -> Model {
    Model::builder(Shape::new(1, 6, 6)).conv(3, 2).tanh().maxpool(2).flatten().dense(3).tanh().dense(2).build().unwrap()
}

fn weights(model: &Model) -> Weights {
    Weights { model: model.clone(), parameters: model.initialise(Biases::Fair, 4), metadata: Metadata::new() }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// A tensor to be renamed, reshaped or dropped: name, shape, values.
type Loose = (String, Vec<usize>, Vec<f32>);

/// The tensors of a model.
fn tensors(w: &Weights) -> Vec<Loose> {
    let parts = w.model.views().iter();
    parts.map(|v| (v.name.clone(), v.shape.clone(), w.parameters[v.range.clone()].to_vec())).collect()
}

fn file(tensors: &[Loose]) -> Vec<u8> {
    let list: Vec<Tensor<'_>> = tensors.iter().map(|(name, shape, values)| Tensor { name, shape, values }).collect();
    encode(&list, &Metadata::new())
}

/// The same tensors under other names.
fn renamed(w: &Weights, name: impl Fn(&str) -> String) -> Vec<u8> {
    let mut list = tensors(w);
    list.iter_mut().for_each(|t| t.0 = name(&t.0));
    list.sort_by(|a, b| a.0.cmp(&b.0));
    file(&list)
}

fn refused(model: &Model, bytes: &[u8]) -> String {
    Weights::from_bytes_for(model, bytes).unwrap_err().to_string()
}

#[test]
fn a_file_alone_rebuilds_the_model() {
    let mut w = weights(&Model::preset("fair-cnn", IMAGES, 10).unwrap());
    w.metadata.insert("scale".into(), "raw, \"as published\"".into());
    let bytes = w.to_bytes().unwrap();
    assert_eq!(Weights::from_bytes(&bytes).unwrap(), w);
    assert_eq!(Weights::from_bytes_for(&w.model, &bytes).unwrap(), w);
    assert_eq!(w.to_bytes().unwrap(), bytes);
}

#[test]
fn a_file_is_saved_and_loaded_by_its_path() {
    let folder = std::env::temp_dir().join(format!("standoff-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (path, w) = (folder.join("w.safetensors"), weights(&small()));
    w.save(&path).unwrap();
    assert_eq!(Weights::load(&path).unwrap(), w);
    assert_eq!(Weights::load_for(&w.model, &path).unwrap(), w);
    let missing = Weights::load(&folder.join("none")).unwrap_err().to_string();
    assert!(missing.starts_with("weights: ") && missing.contains("none: "), "{missing}");
    std::fs::write(&path, renamed(&w, |name| name.replace("fc2.bias", "fc3.bias"))).unwrap();
    let wrong = Weights::load_for(&w.model, &path).unwrap_err().to_string();
    assert!(wrong.contains("w.safetensors: fc2.bias is missing"), "{wrong}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn names_of_pytorch_are_recognised() {
    let w = weights(&small());
    let sequential = |name: &str| {
        name.replace("conv1", "0").replace("fc1", "4").replace("fc2", "10") // 10 sorts before 4 as text
    };
    let halves =
        |name: &str| name.replace("conv1", "features.0").replace("fc1", "classifier.0").replace("fc2", "classifier.2");
    let files = [
        renamed(&w, str::to_owned),
        renamed(&w, |name| format!("module.{name}")),
        renamed(&w, |name| format!("_orig_mod.module.{name}")),
        renamed(&w, sequential),
        renamed(&w, |name| format!("net.{}", sequential(name))),
        renamed(&w, halves),
        renamed(&w, |name| format!("module.{}", halves(name))),
    ];
    for bytes in files {
        let read = Weights::from_bytes_for(&w.model, &bytes).unwrap();
        assert_eq!(bits(&read.parameters), bits(&w.parameters));
    }
}

#[test]
fn a_logistic_model_is_not_taken_for_its_prefix() {
    let w = weights(&Model::preset("logistic", Shape::vector(4), 3).unwrap());
    for prefix in ["", "module.", "net.0."] {
        let read = Weights::from_bytes_for(&w.model, &renamed(&w, |name| format!("{prefix}{name}"))).unwrap();
        assert_eq!(read.parameters, w.parameters);
    }
    let read = Weights::from_bytes_for(&w.model, &renamed(&w, |name| name.replace("fc1", "0"))).unwrap();
    assert_eq!(read.parameters, w.parameters);
}

/// A network with batch normalisation behind a convolution and behind a dense layer.
fn normalised() -> Model {
    let text = "input = [1, 6, 6]\nlayers = [\"conv(3, 2)\", \"batchnorm\", \"relu\", \"flatten\", \"dense(3)\", \"batchnorm\", \"relu\", \
                \"dense(2)\"]";
    Model::from_toml(text).unwrap()
}

/// Parameters that all differ: a fresh batch normalisation has equal ones.
fn distinct(model: &Model) -> Weights {
    let parameters = (0..model.size()).map(|i| i as f32 - 7.5).collect();
    Weights { model: model.clone(), parameters, metadata: Metadata::new() }
}

/// The names of `nn.Sequential` for [`normalised`]; the last number sorts before the others as text.
fn sequential(name: &str) -> String {
    name.replace("conv1", "0").replace("bn1", "1").replace("fc1", "4").replace("bn2", "5").replace("fc2", "10")
}

/// A file of tensors and PyTorch's counts of batches, which are integers.
fn with_counts(tensors: &[Loose], counts: &[&str]) -> Vec<u8> {
    let seven = 7_i64.to_le_bytes();
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|t| t.2.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let all = tensors.iter().zip(&bytes);
    let mut views: Vec<(String, TensorView<'_>)> =
        all.map(|(t, b)| (t.0.clone(), TensorView::new(Dtype::F32, t.1.clone(), b).unwrap())).collect();
    let count = || TensorView::new(Dtype::I64, vec![], &seven).unwrap();
    views.extend(counts.iter().map(|name| (format!("{name}.num_batches_tracked"), count())));
    safetensors::serialize(views, None).unwrap()
}

#[test]
fn state_dicts_of_pytorch_with_batch_normalisation_are_read() {
    let w = distinct(&normalised());
    let numbers = |name: &str| sequential(name);
    let halves = |name: &str| {
        let name = name.replace("conv1", "features.0").replace("bn1", "features.1");
        name.replace("fc1", "classifier.0").replace("bn2", "classifier.1").replace("fc2", "classifier.3")
    };
    let prefixed = |name: &str| format!("module.net.{}", sequential(name));
    let names: [&dyn Fn(&str) -> String; 4] = [&str::to_owned, &numbers, &halves, &prefixed];
    for name in names {
        let renamed: Vec<Loose> = tensors(&w).into_iter().map(|(n, shape, values)| (name(&n), shape, values)).collect();
        let counts = [name("bn1"), name("bn2")];
        for counts in [vec![], counts.iter().map(String::as_str).collect()] {
            let read = Weights::from_bytes_for(&w.model, &with_counts(&renamed, &counts)).unwrap();
            assert_eq!(bits(&read.parameters), bits(&w.parameters), "{counts:?}");
        }
    }
    // A count alone does not make a network one with batch normalisation, and statistics are not ignored.
    let plain = weights(&small());
    assert!(Weights::from_bytes_for(&plain.model, &with_counts(&tensors(&plain), &["bn1"])).is_ok());
    let mean = [tensors(&plain), vec![("bn1.running_mean".into(), vec![2], vec![0.0; 2])]].concat();
    assert!(refused(&plain.model, &file(&mean)).contains("bn1.running_mean [2] is unknown"));
}

#[test]
fn only_layers_before_batch_normalisation_may_have_no_bias() {
    let w = distinct(&normalised());
    let without = |bias: &str, name: &dyn Fn(&str) -> String| {
        let kept = tensors(&w).into_iter().filter(|t| t.0 != bias);
        with_counts(&kept.map(|(n, shape, values)| (name(&n), shape, values)).collect::<Vec<_>>(), &[&name("bn1")])
    };
    for name in [&str::to_owned as &dyn Fn(&str) -> String, &sequential] {
        for (bias, layer) in [("conv1.bias", 0), ("fc1.bias", 4)] {
            let read = Weights::from_bytes_for(&w.model, &without(bias, name)).unwrap().parameters;
            let range = w.model.parameter(layer, "bias").unwrap().range.clone();
            assert!(
                read[range.clone()].iter().all(|b| *b == 0.0) && w.parameters[range.clone()].iter().any(|b| *b != 0.0)
            );
            let same = |i: &usize| range.contains(i) || read[*i].to_bits() == w.parameters[*i].to_bits();
            assert!((0..read.len()).all(|i| same(&i)));
        }
        let missing = format!("{} is missing", name("fc2.bias"));
        assert!(refused(&w.model, &without("fc2.bias", name)).contains(&missing));
        let statistics = format!("{} is missing", name("bn1.running_var"));
        assert!(refused(&w.model, &without("bn1.running_var", name)).contains(&statistics));
    }
}

#[test]
fn a_wrong_tensor_is_named_with_both_shapes() {
    let w = weights(&small());
    let changed = |change: &dyn Fn(&mut Vec<Loose>)| {
        let mut list = tensors(&w);
        change(&mut list);
        refused(&w.model, &file(&list))
    };
    let more_rows = changed(&|list| list[2] = ("fc1.weight".into(), vec![4, 8], vec![0.0; 32]));
    assert_eq!(more_rows, "weights: fc1.weight is [4, 8], the model needs [3, 8]");
    let turned = changed(&|list| list[2].1 = vec![8, 3]);
    assert_eq!(turned, "weights: fc1.weight is [8, 3], the model needs [3, 8]");
    let missing = changed(&|list| list.truncate(2));
    let has = "conv1.bias [2], conv1.weight [2, 1, 3, 3]";
    assert_eq!(missing, format!("weights: fc1.weight is missing: the model needs [3, 8]; the file has {has}"));
    let unknown = changed(&|list| list.push(("bn1.weight".into(), vec![2], vec![1.0; 2])));
    let all = "conv1.weight, conv1.bias, fc1.weight, fc1.bias, fc2.weight, fc2.bias";
    assert_eq!(unknown, format!("weights: bn1.weight [2] is unknown: the model has {all}"));
    let empty = changed(&|list| list.clear());
    assert!(empty.ends_with("the file has no tensor at all"), "{empty}");
}

#[test]
fn numbered_tensors_that_do_not_fit_are_named() {
    let w = weights(&small());
    let number = |name: &str| name.replace("conv1", "0").replace("fc1", "7").replace("fc2", "4");
    let swapped = refused(&w.model, &renamed(&w, number));
    assert_eq!(swapped, "weights: 4.weight is [2, 3], the model needs [3, 8] as fc1.weight");
    let two = renamed(&w, |name| name.replace("conv1", "a.0").replace("fc1", "b.0").replace("fc2", "c.0"));
    assert!(refused(&w.model, &two).contains("comes first is not known"), "{}", refused(&w.model, &two));
    let shorter = Model::builder(Shape::vector(4)).dense(3).build().unwrap();
    let longer = Model::builder(Shape::vector(4)).dense(3).tanh().dense(2).build().unwrap();
    let sequential = |name: &str| name.replace("fc1", "0").replace("fc2", "2");
    let too_few = refused(&longer, &renamed(&weights(&shorter), sequential));
    assert!(too_few.starts_with("weights: fc2.weight is missing"), "{too_few}");
    let too_many = refused(&shorter, &renamed(&weights(&longer), sequential));
    assert!(too_many.starts_with("weights: 2.bias [2] is unknown"), "{too_many}");
}

#[test]
fn a_nan_is_refused_with_its_name_and_index() {
    let mut w = weights(&small());
    w.parameters[9 + 5] = f32::NAN;
    let message = "not finite: conv1.weight has NaN at index [1, 0, 1, 2]";
    assert_eq!(w.to_bytes().unwrap_err().to_string(), message);
    assert_eq!(refused(&w.model, &file(&tensors(&w))), message);
    w.parameters[9 + 5] = f32::NEG_INFINITY;
    assert!(refused(&w.model, &file(&tensors(&w))).contains("conv1.weight has -inf"));
}

#[test]
fn other_precisions_are_converted() {
    let model = Model::preset("logistic", Shape::vector(1), 2).unwrap();
    let read = |dtype: Dtype, weight: &[u8], bias: &[u8]| {
        let view = |shape: &[usize], data| TensorView::new(dtype, shape.to_vec(), data).unwrap();
        let list = [("fc1.weight", view(&[2, 1], weight)), ("fc1.bias", view(&[2], bias))];
        Weights::from_bytes_for(&model, &safetensors::serialize(list, None).unwrap()).map(|w| w.parameters)
    };
    let doubles: Vec<u8> = [0.1_f64, -3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(read(Dtype::F64, &doubles, &doubles).unwrap(), [0.1_f32, -3.0, 0.1, -3.0]);
    let large: Vec<u8> = [0.1_f64, 1e300].iter().flat_map(|v| v.to_le_bytes()).collect();
    let error = read(Dtype::F64, &doubles, &large).unwrap_err().to_string();
    assert_eq!(error, "not finite: fc1.bias has inf at index [1]");
    assert_eq!(read(Dtype::F16, &[0, 0x3c, 0, 0xc0], &[0; 4]).unwrap(), [1.0, -2.0, 0.0, 0.0]);
    assert_eq!(read(Dtype::BF16, &[0x80, 0x3f, 0, 0xc0], &[0; 4]).unwrap(), [1.0, -2.0, 0.0, 0.0]);
    let error = read(Dtype::I32, &[0; 8], &[0; 8]).unwrap_err().to_string();
    assert!(error.starts_with("weights: fc1.weight holds I32; F32, F64"), "{error}");
}

#[test]
fn a_file_of_another_model_is_refused() {
    let w = weights(&small());
    let layers: Vec<Layer> =
        w.model.layers().iter().map(|l| if *l == Layer::Tanh { Layer::Relu } else { *l }).collect();
    let other = Model::new(w.model.input(), &layers).unwrap();
    let error = refused(&other, &w.to_bytes().unwrap());
    assert!(error.starts_with("weights: the file is of another model: input = [1, 6, 6]"), "{error}");
    let error = Weights::from_bytes(&file(&tensors(&w))).unwrap_err().to_string();
    assert!(error.contains("does not describe its model"), "{error}");
    let metadata = Metadata::from([(MODEL.into(), "input = [3]\nlayers = [\"dens(3)\"]".into())]);
    let error = Weights::from_bytes(&encode(&[], &metadata)).unwrap_err().to_string();
    assert!(error.contains("description of its model: layer 1 (dens(3)): unknown layer"), "{error}");
}

#[test]
fn wrong_arguments_are_refused() {
    let mut w = weights(&small());
    w.metadata.insert("format".into(), "np".into());
    assert!(w.to_bytes().unwrap_err().to_string().contains("`format` is written by the library"));
    w.metadata.clear();
    w.parameters.pop();
    assert_eq!(w.to_bytes().unwrap_err().to_string(), "there are 54 parameters, the model needs 55");
}

proptest! {
    #[test]
    fn every_bit_survives_the_round_trip(
        raw in prop::collection::vec(any::<u32>(), 55),
        metadata in prop::collection::btree_map("[a-z]{1,9}x", ".{0,9}", 0..4),
    ) {
        // -0, denormal and huge numbers included; NaN and infinity are refused elsewhere.
        let finite = raw.into_iter().map(f32::from_bits).map(|v| if v.is_finite() { v } else { -0.0 });
        let w = Weights { model: small(), parameters: finite.collect(), metadata };
        let read = Weights::from_bytes(&w.to_bytes().unwrap()).unwrap();
        prop_assert_eq!(bits(&read.parameters), bits(&w.parameters));
        prop_assert_eq!(read.metadata, w.metadata);
    }

    #[test]
    fn a_damaged_file_never_panics_and_a_cut_one_is_refused(place in 0..900_usize, bit in 0..8, cut in 1..300_usize) {
        let w = weights(&small());
        let mut bytes = w.to_bytes().unwrap();
        let short = &bytes[..bytes.len() - cut];
        prop_assert!(Weights::from_bytes(short).unwrap_err().to_string().contains("not a whole safetensors file"));
        let place = place % bytes.len();
        bytes[place] ^= 1_u8 << bit;
        let _ = Weights::from_bytes(&bytes);
        let _ = Weights::from_bytes_for(&w.model, &bytes);
    }
}

//! The network that the paper's authors published, whose figures under the published evaluation are known.

use standoff_nn::attack::{LabelledImages, Protocol, Run, ensemble};
use standoff_nn::data::ImageSet;
use standoff_nn::{Engine, Model, Shape, Weights};
use std::path::Path;

/// Set to the network's safetensors file. It takes a minute or two.
const VARIABLE: &str = "STANDOFF_PAPER_NETWORK";

#[test]
#[allow(clippy::print_stderr)]
fn the_published_network_has_its_published_figures() {
    let Some(file) = std::env::var_os(VARIABLE) else {
        eprintln!("skipped: set {VARIABLE} to the published network to measure it");
        return;
    };
    let model = Model::preset("lenet", Shape::new(1, 28, 28), 10).unwrap();
    let mut engine = Engine::new(&model, 0).unwrap();
    engine.set_weights(&Weights::load_for(&model, Path::new(&file)).unwrap().parameters).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist");
    let set = ImageSet::open(&data.join("t10k-images-idx3-ubyte.gz"), &data.join("t10k-labels-idx1-ubyte.gz")).unwrap();
    let images: Vec<f32> = set.images.iter().map(|&b| f32::from(b) / 255.0).collect();
    let labels: Vec<u16> = set.labels.iter().map(|&b| u16::from(b)).collect();
    let labelled = LabelledImages { images: &images, labels: &labels };
    for (eps, fgsm, pgd) in [(0.2, 9765, 9619), (0.3, 9786, 9545), (0.4, 9817, 9448)] {
        let found = ensemble(&engine, labelled, &Protocol::paper(eps), &Run::new(0)).unwrap();
        assert_eq!(found.correct(), 9830);
        for (attack, want) in found.attacks.iter().zip([fgsm, pgd]) {
            let left = attack.left_alone.unwrap();
            eprintln!("eps {eps}, {}: {left} of 10000 left, PyTorch has {want}", attack.attack.name());
            assert!(left.abs_diff(want) <= 3, "eps {eps}, {}: {left}, want {want}", attack.attack.name());
        }
    }
}

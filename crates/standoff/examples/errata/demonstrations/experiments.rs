//! E18 and E19: the networks and the published code of the experiments.

use super::{Failure, Page};

/// Side length of an image after a convolution without padding and a max-pooling of 2.
fn conv_pool(side: usize, kernel: usize) -> usize {
    let convolved = side - kernel + 1;
    convolved / 2
}

/// Number of entries after two such layers on 28 x 28 images.
fn flattened(kernel: usize, channels: usize) -> usize {
    let side = conv_pool(conv_pool(28, kernel), kernel);
    side * side * channels
}

pub(super) fn e18(page: &mut Page) -> Result<(), Failure> {
    // Fair classification: 28 -> 26 -> 13 -> 11 -> 5; robust training: 28 -> 24 -> 12 -> 8 -> 4.
    let (fair, robust) = (flattened(3, 10), flattened(5, 50));
    page.claim(fair == 250, format!("two 3x3 convolutions with pooling, 10 channels at the end: 5*5*10 = {fair}"))?;
    page.claim(robust == 800, format!("two 5x5 convolutions with pooling, 50 channels at the end: 4*4*50 = {robust}"))?;
    // With layers of these sizes there would be one more matrix.
    let conv = (5 * 5 + 1) * 20 + (5 * 5 * 20 + 1) * 50;
    let without = conv + (robust + 1) * 500 + (500 + 1) * 10;
    let with = without + (robust + 1) * robust;
    page.claim(
        without == 431_080,
        format!("so the robust network has {without} parameters; with a further layer of 800 it would have {with}"),
    )
}

/// The categories of Fashion-MNIST by label.
const FASHION: [&str; 10] =
    ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];

pub(super) fn e19(page: &mut Page) -> Result<(), Failure> {
    page.say(
        "robust training: the text has K = 10 steps along the gradient, the published code 11 steps along its sign",
    );
    // 11 sign steps of length t move every pixel by up to 11 t; a plain step moves a pixel by t times its share of the
    // gradient.
    let gradient = [3e-3_f64, -4e-3];
    let (plain, sign) = (gradient.map(|g| 10.0 * 0.1 * g), gradient.map(|g| 11.0 * 0.1 * g.signum()));
    page.claim(
        plain.iter().zip(&sign).all(|(p, s)| s.abs() > 100.0 * p.abs()),
        format!("for a gradient {gradient:?} and steps of 0.1: {plain:.3?} against {sign:.1?}"),
    )?;
    let trained = [0, 4, 6].map(|label: usize| FASHION[label]);
    page.claim(
        trained == ["T-shirt/top", "Coat", "Shirt"],
        format!(
            "fair classification: the text has 3 outputs, the code 10; it trains 0, 4 and 6, the labels of {trained:?}"
        ),
    )
}

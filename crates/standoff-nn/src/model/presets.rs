//! Networks with a name: those of the paper, logistic regression, and a network with one hidden layer.

use super::{Layer, Model, Shape};
use crate::Error;
use standoff::error::nearest;

/// The images of MNIST and Fashion-MNIST.
pub const IMAGES: Shape = Shape::new(1, 28, 28);

/// The outputs of the paper's networks: the published code has ten, also where it uses three classes.
pub const OUTPUTS: usize = 10;

/// A network with a name, for any number of outputs and any input that is large enough.
///
/// ```
/// use standoff_nn::model::presets::{IMAGES, OUTPUTS, PRESETS, Preset};
///
/// let lenet = Preset::named("lenet")?.build(IMAGES, OUTPUTS)?;
/// assert_eq!(lenet.size(), 431_080);
/// let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
/// assert_eq!(names, ["fair-cnn", "lenet", "logistic", "mlp"]);
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The name, as on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    layers: fn(Shape, usize) -> Vec<Layer>,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "fair-cnn",
        about: "the paper's fair classifier: two 3x3 convolutions (5, 10) and a hidden layer of 100, tanh",
        layers: fair_cnn,
    },
    Preset {
        name: "lenet",
        about: "the paper's robust network: two 5x5 convolutions (20, 50) and a hidden layer of 500, relu",
        layers: lenet,
    },
    Preset { name: "logistic", about: "logistic regression: a single dense layer", layers: logistic },
    Preset { name: "mlp", about: "one hidden layer of 100, tanh", layers: mlp },
];

impl Preset {
    /// The preset of that name; the error lists them all.
    pub fn named(name: &str) -> Result<&'static Self, Error> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let hint = nearest(name, names.iter().copied()).map(|n| format!(" (did you mean `{n}`?)"));
            Error::Model(format!("unknown preset `{name}`{}; there are {}", hint.unwrap_or_default(), names.join(", ")))
        })
    }

    /// Builds the network for an input and a number of outputs; the paper has [`IMAGES`] and [`OUTPUTS`].
    pub fn build(&self, input: Shape, outputs: usize) -> Result<Model, Error> {
        Model::new(input, &(self.layers)(input, outputs))
    }
}

impl Model {
    /// Builds the preset of that name.
    ///
    /// ```
    /// use standoff_nn::{Model, Shape};
    ///
    /// let model = Model::preset("logistic", Shape::vector(7), 3)?;
    /// assert_eq!(model.size(), 7 * 3 + 3);
    /// assert!(Model::preset("lennet", Shape::vector(7), 3).unwrap_err().to_string().contains("did you mean `lenet`?"));
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn preset(name: &str, input: Shape, outputs: usize) -> Result<Self, Error> {
        Preset::named(name)?.build(input, outputs)
    }
}

fn fair_cnn(_: Shape, outputs: usize) -> Vec<Layer> {
    use Layer::{Conv, Dense, Flatten, MaxPool, Tanh};
    let features = [Conv { kernel: 3, out: 5 }, Tanh, MaxPool(2), Conv { kernel: 3, out: 10 }, Tanh, MaxPool(2)];
    [&features[..], &[Flatten, Dense(100), Tanh, Dense(outputs)]].concat()
}

fn lenet(_: Shape, outputs: usize) -> Vec<Layer> {
    use Layer::{Conv, Dense, Flatten, MaxPool, Relu};
    let features = [Conv { kernel: 5, out: 20 }, Relu, MaxPool(2), Conv { kernel: 5, out: 50 }, Relu, MaxPool(2)];
    [&features[..], &[Flatten, Dense(500), Relu, Dense(outputs)]].concat()
}

fn logistic(input: Shape, outputs: usize) -> Vec<Layer> {
    [flat(input), &[Layer::Dense(outputs)]].concat()
}

fn mlp(input: Shape, outputs: usize) -> Vec<Layer> {
    [flat(input), &[Layer::Dense(100), Layer::Tanh, Layer::Dense(outputs)]].concat()
}

/// The first layers: images are flattened, rows of a table are vectors already.
fn flat(input: Shape) -> &'static [Layer] {
    if input.height == 1 && input.width == 1 { &[] } else { &[Layer::Flatten] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(name: &str, input: Shape, outputs: usize) -> usize {
        Model::preset(name, input, outputs).unwrap().size()
    }

    #[test]
    fn the_presets_have_the_sizes_of_the_paper() {
        assert_eq!(size("lenet", IMAGES, OUTPUTS), 431_080);
        // 5 * 9 + 5, 10 * 5 * 9 + 10, 100 * 250 + 100, 10 * 100 + 10
        assert_eq!(size("fair-cnn", IMAGES, OUTPUTS), 50 + 460 + 25_100 + 1_010);
        assert_eq!(size("fair-cnn", IMAGES, 3), 50 + 460 + 25_100 + 303);
        assert_eq!(size("logistic", IMAGES, 3), 785 * 3);
        assert_eq!(size("mlp", Shape::vector(7), 2), 8 * 100 + 101 * 2);
        assert_eq!(Model::preset("fair-cnn", IMAGES, 10).unwrap().shape(7), Shape::vector(250));
    }

    #[test]
    fn a_table_needs_no_flatten() {
        assert_eq!(Model::preset("logistic", Shape::vector(7), 2).unwrap().layers(), [Layer::Dense(2)]);
        assert_eq!(Model::preset("logistic", IMAGES, 2).unwrap().layers(), [Layer::Flatten, Layer::Dense(2)]);
    }

    #[test]
    fn an_unknown_name_gets_the_list() {
        let error = Model::preset("lennet", IMAGES, 10).unwrap_err().to_string();
        assert_eq!(
            error,
            "model: unknown preset `lennet` (did you mean `lenet`?); there are fair-cnn, lenet, logistic, mlp"
        );
    }

    #[test]
    fn an_input_too_small_names_the_layer() {
        let error = Model::preset("lenet", Shape::new(1, 8, 8), 10).unwrap_err().to_string();
        assert_eq!(error, "layer 4 (conv(5, 50)): the kernel is larger than its input 20x2x2");
    }
}

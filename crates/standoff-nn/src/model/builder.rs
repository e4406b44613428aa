//! Builds models in Rust: `Model::builder(Shape::new(1, 28, 28)).conv(3, 5).tanh().maxpool(2).flatten().dense(10).build()`.

use super::{Conv2d, Layer, Model, Pool2d, Shape};
use crate::Error;

/// Collects the layers of a model. Shapes are checked by [`build`](Builder::build).
///
/// ```
/// use standoff_nn::{Layer, Model, Shape};
///
/// let model = Model::builder(Shape::new(1, 28, 28)).conv(3, 5).tanh().maxpool(2).flatten().dense(10).build()?;
/// assert_eq!(model.layers()[0], Layer::Conv { kernel: 3, out: 5 });
/// assert_eq!(model.outputs(), 10);
/// assert_eq!(model.size(), 5 * 9 + 5 + 5 * 13 * 13 * 10 + 10);
///
/// let error = Model::builder(Shape::new(1, 4, 4)).conv(5, 2).flatten().dense(2).build().unwrap_err();
/// assert_eq!(error.to_string(), "layer 1 (conv(5, 2)): the kernel is larger than its input 1x4x4");
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Builder {
    input: Shape,
    layers: Vec<Layer>,
}

impl Model {
    /// Starts a model with the shape of its input.
    pub fn builder(input: Shape) -> Builder {
        Builder { input, layers: Vec::new() }
    }
}

impl Builder {
    /// Any layer.
    pub fn layer(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// A square convolution without padding, stride 1.
    pub fn conv(self, kernel: usize, out: usize) -> Self {
        self.layer(Layer::Conv { kernel, out })
    }

    /// Hyperbolic tangent.
    pub fn tanh(self) -> Self {
        self.layer(Layer::Tanh)
    }

    /// `max(0, x)`.
    pub fn relu(self) -> Self {
        self.layer(Layer::Relu)
    }

    /// The maximum of each square of this side; incomplete squares at the right and at the bottom are dropped.
    pub fn maxpool(self, side: usize) -> Self {
        self.layer(Layer::MaxPool(side))
    }

    /// A convolution with stride, padding, groups or a rectangular kernel.
    pub fn conv2d(self, conv: Conv2d) -> Self {
        self.layer(Layer::Conv2d(conv))
    }

    /// Maximum or average of windows.
    pub fn pool(self, pool: Pool2d) -> Self {
        self.layer(Layer::Pool(pool))
    }

    /// Batch normalisation.
    pub fn batchnorm(self) -> Self {
        self.layer(Layer::BatchNorm)
    }

    /// Adds the output of an earlier layer, by its number from 1; 0 is the input of the model.
    pub fn plus(self, layer: usize) -> Self {
        self.layer(Layer::Add(layer))
    }

    /// Number of layers so far: the number of the last one, for [`plus`](Self::plus).
    pub fn count(&self) -> usize {
        self.layers.len()
    }

    /// Turns an image into a vector, channels first.
    pub fn flatten(self) -> Self {
        self.layer(Layer::Flatten)
    }

    /// A fully connected layer with this many outputs.
    pub fn dense(self, outputs: usize) -> Self {
        self.layer(Layer::Dense(outputs))
    }

    /// Builds the model. If a layer does not fit its input, the error names it.
    pub fn build(self) -> Result<Model, Error> {
        Model::new(self.input, &self.layers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_calls_is_the_list_of_layers() {
        let built = Model::builder(Shape::new(1, 6, 6)).conv(3, 2).tanh().maxpool(2).flatten().dense(4).relu().dense(3);
        let layers = [
            Layer::Conv { kernel: 3, out: 2 },
            Layer::Tanh,
            Layer::MaxPool(2),
            Layer::Flatten,
            Layer::Dense(4),
            Layer::Relu,
            Layer::Dense(3),
        ];
        assert_eq!(built.build().unwrap(), Model::new(Shape::new(1, 6, 6), &layers).unwrap());
    }

    #[test]
    fn a_layer_that_does_not_fit_is_named() {
        let error = Model::builder(Shape::new(1, 4, 4)).conv(3, 2).conv(3, 2).flatten().dense(2).build().unwrap_err();
        assert_eq!(error.to_string(), "layer 2 (conv(3, 2)): the kernel is larger than its input 2x2x2");
    }
}

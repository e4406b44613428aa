//! Models as text: `input = [1, 28, 28]` and `layers = ["conv(3, 5)", "tanh", "maxpool(2)", "flatten", "dense(10)"]`.

use super::{MOST_LAYERS, Model, Shape, parse};
use crate::Error;
use standoff::error::nearest;
use toml::{Table, Value};

const KEYS: [&str; 2] = ["input", "layers"];

/// The largest size of a description, in bytes: more than a model of [`MOST_LAYERS`] layers needs.
const MOST_TEXT: usize = 1 << 18;

impl Model {
    /// Reads a model from TOML. The error names the key or the layer that is wrong, and the reason.
    ///
    /// ```
    /// use standoff_nn::{Model, Shape};
    ///
    /// let text = r#"
    ///     input = [1, 28, 28]
    ///     layers = ["conv(3, 5)", "tanh", "maxpool(2)", "flatten", "dense(10)"]
    /// "#;
    /// let model = Model::from_toml(text)?;
    /// assert_eq!(model.input(), Shape::new(1, 28, 28));
    /// assert_eq!(Model::from_toml(&model.to_toml())?, model);
    /// let wrong = Model::from_toml("input = [3]\nlayers = [\"dense\"]").unwrap_err();
    /// assert_eq!(wrong.to_string(), "layer 1 (dense): takes 1 argument, not 0: write dense(outputs)");
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        if text.len() > MOST_TEXT {
            let why = format!("its description has {} bytes, at most {MOST_TEXT} are read", text.len());
            return Err(Error::Model(why));
        }
        let table: Table = text.parse().map_err(|e: toml::de::Error| Error::Model(e.to_string().trim_end().into()))?;
        Self::from_table(&table)
    }

    /// As [`from_toml`](Self::from_toml), from a table of a larger file.
    pub fn from_table(table: &Table) -> Result<Self, Error> {
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let hint = nearest(key, KEYS).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            return Err(Error::Model(format!("unknown key `{key}`{hint} (the keys are input, layers)")));
        }
        let input = input(table.get("input"))?;
        let written = table.get("layers").and_then(Value::as_array).ok_or_else(|| {
            Error::Model("needs `layers`, a list of strings such as [\"flatten\", \"dense(10)\"]".into())
        })?;
        if written.len() > MOST_LAYERS {
            return Err(Error::Model(format!("has {} layers, at most {MOST_LAYERS} are possible", written.len())));
        }
        let mut layers = Vec::with_capacity(written.len());
        let mut labels = parse::Labels::default();
        for (i, value) in written.iter().enumerate() {
            let refuse = |layer: &str, why| Error::Layer { index: i + 1, layer: layer.into(), why };
            let text = value
                .as_str()
                .ok_or_else(|| refuse(&value.to_string(), "is not a string; write it as \"dense(10)\"".into()))?;
            layers.push(labels.read(text).map_err(|why| refuse(text.trim(), why))?);
        }
        Self::new(input, &layers)
    }

    /// The model as TOML; [`from_toml`](Self::from_toml) reads the same model from it.
    pub fn to_toml(&self) -> String {
        let Shape { channels, height, width } = self.input();
        let layers: Vec<String> = self.layers().iter().map(|layer| format!("\"{layer}\"")).collect();
        format!("input = [{channels}, {height}, {width}]\nlayers = [{}]\n", layers.join(", "))
    }
}

/// `[channels, height, width]`, or `[n]` for a vector.
fn input(value: Option<&Value>) -> Result<Shape, Error> {
    let wrong = |got: String| {
        Error::Model(format!("`input` must be [channels, height, width], or [n] for n numbers, each at least 1; {got}"))
    };
    let value = value.ok_or_else(|| wrong("it is missing".into()))?;
    let sides: Option<Vec<usize>> = value.as_array().and_then(|list| {
        list.iter().map(|side| side.as_integer().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0)).collect()
    });
    match sides.as_deref() {
        Some([n]) => Ok(Shape::vector(*n)),
        Some([channels, height, width]) => Ok(Shape::new(*channels, *height, *width)),
        _ => Err(wrong(format!("it is {value}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::presets::PRESETS;
    use super::*;
    use crate::Layer;
    use proptest::prelude::*;

    fn refused(text: &str) -> String {
        Model::from_toml(text).unwrap_err().to_string()
    }

    fn refused_layer(layer: &str) -> String {
        refused(&format!("input = [1, 28, 28]\nlayers = [\"flatten\", \"{layer}\", \"dense(3)\"]"))
    }

    #[test]
    fn a_description_is_read() {
        let text =
            "input = [1, 28, 28]\nlayers = [\"conv(3,5)\", \" tanh\", \"maxpool( 2 )\", \"flatten()\", \"dense(10)\"]";
        let built = Model::builder(Shape::new(1, 28, 28)).conv(3, 5).tanh().maxpool(2).flatten().dense(10);
        assert_eq!(Model::from_toml(text).unwrap(), built.build().unwrap());
        let vector = Model::from_toml("input = [7]\nlayers = [\"dense(2)\"]").unwrap();
        assert_eq!(vector.input(), Shape::vector(7));
    }

    #[test]
    fn presets_are_read_back_from_text_unchanged() {
        for preset in PRESETS {
            let model = preset.build(Shape::new(1, 28, 28), 10).unwrap();
            assert_eq!(Model::from_toml(&model.to_toml()).unwrap(), model, "{}", preset.name);
        }
    }

    #[test]
    fn a_wrong_layer_is_named_with_its_syntax() {
        let all = "(the layers are conv(kernel, channels[, stride=, pad=, groups=]), tanh, relu, leaky_relu(slope), sigmoid, gelu, \
                   hardtanh(low, high), ramp, maxpool(side[, stride=, pad=]), avgpool(side[, stride=]), globalavgpool, batchnorm, \
                   normalise(means, deviations), dropout(share), flatten, dense(outputs), from(layer), add(layer))";
        assert_eq!(
            refused_layer("dens(4)"),
            format!("layer 2 (dens(4)): unknown layer `dens`; did you mean `dense`? {all}")
        );
        assert_eq!(refused_layer("softmax"), format!("layer 2 (softmax): unknown layer `softmax` {all}"));
        assert_eq!(refused_layer("dense"), "layer 2 (dense): takes 1 argument, not 0: write dense(outputs)");
        assert_eq!(
            refused_layer("conv(3)"),
            "layer 2 (conv(3)): takes 2 arguments, not 1: write conv(kernel, channels[, stride=, pad=, groups=])"
        );
        assert_eq!(refused_layer("tanh(1)"), "layer 2 (tanh(1)): takes 0 arguments, not 1: write tanh");
        assert_eq!(refused_layer("dense(4"), "layer 2 (dense(4): has no closing bracket at its end");
        assert_eq!(refused_layer("dense(4) x"), "layer 2 (dense(4) x): has no closing bracket at its end");
        for bad in ["-4", "+4", "4.5", "4e1", "four", "99999999999999999999999"] {
            let want = format!("layer 2 (dense({bad})): `{bad}` is not a whole number: write dense(outputs)");
            assert_eq!(refused_layer(&format!("dense({bad})")), want);
        }
        assert_eq!(refused("input = [3]\nlayers = [5]"), "layer 1 (5): is not a string; write it as \"dense(10)\"");
    }

    #[test]
    fn a_wrong_file_is_refused() {
        let keys = "(the keys are input, layers)";
        assert_eq!(refused("layer = []"), format!("model: unknown key `layer`; did you mean `layers`? {keys}"));
        assert_eq!(refused("loss = 1"), format!("model: unknown key `loss` {keys}"));
        assert!(refused("input = [3]").starts_with("model: needs `layers`, a list of strings"));
        assert!(refused("input = [3]\nlayers = \"dense(3)\"").starts_with("model: needs `layers`"));
        for bad in ["[]", "[1, 2]", "[0, 2, 2]", "[-1, 2, 2]", "28", "[1.5]", "\"1x2x3\""] {
            let error = refused(&format!("input = {bad}\nlayers = [\"dense(3)\"]"));
            assert!(error.contains("`input` must be") && error.contains(bad), "{error}");
        }
        assert!(refused("layers = [\"dense(3)\"]").ends_with("it is missing"));
        assert!(refused("input = [").contains("TOML parse error at line 1"));
        assert!(refused("input = [3]\nlayers = []").contains("no dense layer"));
    }

    #[test]
    fn enormous_sizes_are_refused_without_overflow() {
        let most = i64::MAX;
        for layers in ["\"dense(60000)\"", "\"dense(18446744073709551615)\"", "\"conv(1, 18446744073709551615)\""] {
            for input in [format!("[{most}, {most}, {most}]"), format!("[{most}]"), "[60000]".into()] {
                let result = Model::from_toml(&format!("input = {input}\nlayers = [{layers}, \"dense(60000)\"]"));
                assert!(result.unwrap_err().to_string().contains("more than"), "{input} {layers}");
            }
        }
    }

    #[test]
    fn a_million_layers_are_refused() {
        let text = |n: usize| format!("input = [3]\nlayers = [{}\"dense(2)\"]", "\"tanh\", ".repeat(n));
        assert!(refused(&text(1_000_000)).contains("bytes, at most"));
        assert_eq!(refused(&text(1000)), "model: has 1001 layers, at most 1000 are possible");
        assert_eq!(Model::from_toml(&text(999)).unwrap().layers().len(), 1000);
        let many = vec![Layer::Tanh; 1_000_000];
        assert!(Model::new(Shape::vector(3), &many).unwrap_err().to_string().contains("1000000 layers"));
    }

    fn any_layer() -> impl Strategy<Value = Layer> {
        prop_oneof![
            (1..4_usize, 1..5_usize).prop_map(|(kernel, out)| Layer::Conv { kernel, out }),
            Just(Layer::Tanh),
            Just(Layer::Relu),
            (1..4_usize).prop_map(Layer::MaxPool),
            Just(Layer::Flatten),
            (1..9_usize).prop_map(Layer::Dense),
        ]
    }

    proptest! {
        #[test]
        fn every_model_is_read_back_from_text_unchanged(
            input in (1..4_usize, 1..12_usize, 1..12_usize),
            layers in prop::collection::vec(any_layer(), 0..7),
        ) {
            let layers = [layers, vec![Layer::Flatten, Layer::Dense(2)]].concat();
            if let Ok(model) = Model::new(Shape::new(input.0, input.1, input.2), &layers) {
                prop_assert_eq!(Model::from_toml(&model.to_toml()).unwrap(), model);
            }
        }
    }
}

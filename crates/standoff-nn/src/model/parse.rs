//! Layers as text: `conv(3, 16, stride=2, pad=1)`, `add(4)`, and labels, `start: relu` with `add(start)`.

use super::layer::{ChannelStats, Conv2d, Layer, Pool2d, PoolKind};
use standoff::error::nearest;

/// Every layer: its name, the smallest and the largest number of its arguments, the options it takes, and its syntax.
const LAYERS: [LayerSyntax; 19] = [
    LayerSyntax("conv", 2, 2, &["stride", "pad", "groups"], "conv(kernel, channels)"),
    LayerSyntax("tanh", 0, 0, &[], "tanh"),
    LayerSyntax("relu", 0, 0, &[], "relu"),
    LayerSyntax("leaky_relu", 1, 1, &[], "leaky_relu(slope)"),
    LayerSyntax("sigmoid", 0, 0, &[], "sigmoid"),
    LayerSyntax("gelu", 0, 0, &[], "gelu"),
    LayerSyntax("hardtanh", 0, 2, &[], "hardtanh(low, high)"),
    LayerSyntax("ramp", 0, 0, &[], "ramp"),
    LayerSyntax("maxpool", 1, 1, &["stride", "pad"], "maxpool(side)"),
    LayerSyntax("avgpool", 1, 1, &["stride"], "avgpool(side)"),
    LayerSyntax("globalavgpool", 0, 0, &[], "globalavgpool"),
    LayerSyntax("batchnorm", 0, 0, &[], "batchnorm"),
    LayerSyntax("normalise", 2, 8, &[], "normalise(means, deviations)"),
    LayerSyntax("dropout", 1, 1, &[], "dropout(share)"),
    LayerSyntax("flatten", 0, 0, &[], "flatten"),
    LayerSyntax("dense", 1, 1, &[], "dense(outputs)"),
    LayerSyntax("from", 1, 1, &[], "from(layer)"),
    LayerSyntax("add", 1, 1, &[], "add(layer)"),
    LayerSyntax("normalize", 2, 8, &[], "normalise(means, deviations)"),
];

/// The last names of [`LAYERS`] are other spellings, which the list of layers in a message leaves out.
const SPELLINGS: usize = 1;

#[derive(Clone, Copy)]
struct LayerSyntax(&'static str, usize, usize, &'static [&'static str], &'static str);

impl LayerSyntax {
    /// The syntax, with the options.
    fn usage(self) -> String {
        let options: String = self.3.iter().map(|option| format!(", {option}=")).collect();
        let Some(open) = self.4.strip_suffix(')') else { return self.4.into() };
        if options.is_empty() { self.4.into() } else { format!("{open}[{options}])") }
    }
}

/// The labels of the layers read so far.
#[derive(Default)]
pub(super) struct Labels {
    /// Label and number of its layer, from 1.
    known: Vec<(String, usize)>,
    layers: usize,
}

impl Labels {
    /// Reads the next layer, with or without a label; the error is the reason why it cannot be read.
    pub(super) fn read(&mut self, text: &str) -> Result<Layer, String> {
        let (label, text) = match text.split_once(':') {
            None => (None, text),
            Some((label, text)) => (Some(label.trim()), text),
        };
        let layer = self.layer(text)?;
        self.layers += 1;
        if let Some(label) = label {
            let fine = label.starts_with(|c: char| c.is_ascii_alphabetic())
                && label.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
            if !fine {
                return Err(format!("the label `{label}` must be a letter, then letters, digits, `_` or `-`"));
            }
            if self.known.iter().any(|known| known.0 == label) {
                return Err(format!("the label `{label}` is used twice"));
            }
            self.known.push((label.into(), self.layers));
        }
        Ok(layer)
    }

    /// The number of a layer, or that of its label.
    fn place(&self, text: &str) -> Result<usize, String> {
        if text == "input" {
            return Ok(0);
        }
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return whole(text, "a number of an earlier layer, or its label");
        }
        let found = self.known.iter().find(|known| known.0 == text).map(|known| known.1);
        found.ok_or_else(|| {
            let hint = nearest(text, self.known.iter().map(|known| known.0.as_str()));
            let hint = hint.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            format!("no layer before it has the label `{text}`{hint}")
        })
    }

    fn layer(&self, text: &str) -> Result<Layer, String> {
        let text = text.trim();
        let (name, inside) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')').ok_or("has no closing bracket at its end")?;
                (name.trim_end(), Some(inside))
            }
        };
        let Some(syntax) = LAYERS.iter().find(|known| known.0 == name) else {
            let hint = nearest(name, LAYERS.map(|known| known.0)).map(|n| format!("; did you mean `{n}`?"));
            let all: Vec<String> = LAYERS[..LAYERS.len() - SPELLINGS].iter().map(|known| known.usage()).collect();
            let all = all.join(", ");
            return Err(format!("unknown layer `{name}`{} (the layers are {all})", hint.unwrap_or_default()));
        };
        let inside = inside.map(str::trim).filter(|inside| !inside.is_empty());
        let all: Vec<&str> = inside.map_or_else(Vec::new, |inside| inside.split(',').map(str::trim).collect());
        let arguments = Arguments::new(syntax, &all)?;
        match name {
            "from" => Ok(Layer::From(self.place(arguments.plain[0])?)),
            "add" => Ok(Layer::Add(self.place(arguments.plain[0])?)),
            _ => arguments.layer(name),
        }
    }
}

/// The arguments of one layer, and its options.
struct Arguments<'t> {
    plain: Vec<&'t str>,
    options: Vec<(&'t str, &'t str)>,
    usage: String,
}

impl<'t> Arguments<'t> {
    fn new(syntax: &LayerSyntax, all: &[&'t str]) -> Result<Self, String> {
        let LayerSyntax(_, least, most, known, _) = *syntax;
        let usage = syntax.usage();
        let (mut plain, mut options) = (Vec::new(), Vec::new());
        for &argument in all {
            let Some((option, value)) = argument.split_once('=') else {
                plain.push(argument);
                continue;
            };
            let (option, value) = (option.trim(), value.trim());
            if !known.contains(&option) {
                return Err(format!("has no option `{option}`: write {usage}"));
            }
            if options.iter().any(|(name, _)| *name == option) {
                return Err(format!("has the option `{option}` twice"));
            }
            options.push((option, value));
        }
        if plain.len() < least || plain.len() > most {
            let count = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let plural = if count == "1" { "" } else { "s" };
            return Err(format!("takes {count} argument{plural}, not {}: write {usage}", plain.len()));
        }
        Ok(Self { plain, options, usage })
    }

    fn layer(&self, name: &str) -> Result<Layer, String> {
        Ok(match name {
            "conv" => {
                let (kernel, out) = (self.sides(self.plain[0])?, self.number(self.plain[1])?);
                let (stride, padding) = (self.option("stride", [1; 2])?, self.option("pad", [0; 2])?);
                let groups = match self.options.iter().find(|(name, _)| *name == "groups") {
                    None => 1,
                    Some((_, value)) => self.number(value)?,
                };
                Layer::Conv2d(Conv2d { out, kernel, stride, padding, groups })
            }
            "tanh" => Layer::Tanh,
            "relu" => Layer::Relu,
            "leaky_relu" => Layer::LeakyRelu(self.real(self.plain[0])?),
            "sigmoid" => Layer::Sigmoid,
            "gelu" => Layer::Gelu,
            "hardtanh" => match self.plain[..] {
                [] => Layer::HardTanh(-1.0, 1.0),
                [low, high] => Layer::HardTanh(self.real(low)?, self.real(high)?),
                _ => return Err(format!("takes no argument or two: write {}", self.usage)),
            },
            "ramp" => Layer::Ramp,
            "maxpool" => self.pool(PoolKind::Max)?,
            "avgpool" => self.pool(PoolKind::Average)?,
            "globalavgpool" => Layer::GlobalAverage,
            "batchnorm" => Layer::BatchNorm,
            "normalise" | "normalize" => self.normalise()?,
            "dropout" => Layer::Dropout(self.real(self.plain[0])?),
            "flatten" => Layer::Flatten,
            _ => Layer::Dense(self.number(self.plain[0])?),
        }
        .canonical())
    }

    fn pool(&self, kind: PoolKind) -> Result<Layer, String> {
        let window = self.sides(self.plain[0])?;
        let (stride, padding) = (self.option("stride", window)?, self.option("pad", [0; 2])?);
        let square = kind == PoolKind::Max && window[0] == window[1] && stride == window && padding == [0; 2];
        Ok(if square { Layer::MaxPool(window[0]) } else { Layer::Pool(Pool2d { kind, window, stride, padding }) })
    }

    /// The first half of the arguments are means, the second half deviations.
    fn normalise(&self) -> Result<Layer, String> {
        let all: Result<Vec<f32>, String> = self.plain.iter().map(|text| self.real(text)).collect();
        let all = all?;
        let (mean, std) = all.split_at(all.len() / 2);
        let stats = ChannelStats::new(mean, std).ok_or_else(|| {
            "wants as many means as deviations, for 1 to 4 channels, all deviations from 1e-6 to 1e6: write \
             normalise(0.1307, 0.3081), or normalise(mean1, mean2, mean3, std1, std2, std3)"
                .to_owned()
        })?;
        Ok(Layer::Normalise(stats))
    }

    fn number(&self, text: &str) -> Result<usize, String> {
        whole(text, "").map_err(|_| format!("`{text}` is not a whole number: write {}", self.usage))
    }

    /// `3`, or `3x5` for height and width.
    fn sides(&self, text: &str) -> Result<[usize; 2], String> {
        match text.split_once('x') {
            None => self.number(text).map(|side| [side; 2]),
            Some((height, width)) => Ok([self.number(height.trim())?, self.number(width.trim())?]),
        }
    }

    fn option(&self, name: &str, default: [usize; 2]) -> Result<[usize; 2], String> {
        self.options.iter().find(|option| option.0 == name).map_or(Ok(default), |(_, value)| self.sides(value))
    }

    fn real(&self, text: &str) -> Result<f32, String> {
        let read = text.parse::<f32>().ok().filter(|v| v.is_finite());
        read.ok_or_else(|| format!("`{text}` is not a number: write {}", self.usage))
    }
}

/// Digits only: `parse` would take a sign as well.
fn whole(text: &str, want: &str) -> Result<usize, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| format!("`{text}` is not {want}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Layer, String> {
        Labels::default().read(text)
    }

    #[test]
    fn options_are_read_and_simple_layers_stay_simple() {
        assert_eq!(read("conv(3, 5)"), Ok(Layer::Conv { kernel: 3, out: 5 }));
        assert_eq!(read("conv(3x3, 5, stride=1, groups=1)"), Ok(Layer::Conv { kernel: 3, out: 5 }));
        let all = Conv2d { out: 6, kernel: [3, 5], stride: [2, 1], padding: [1, 2], groups: 3 };
        assert_eq!(read("conv(3x5, 6, stride=2x1, pad = 1x2, groups=3)"), Ok(Layer::Conv2d(all)));
        assert_eq!(read("maxpool(2)"), Ok(Layer::MaxPool(2)));
        assert_eq!(read("hardtanh"), Ok(Layer::HardTanh(-1.0, 1.0)));
        let pool = Pool2d { kind: PoolKind::Average, window: [3, 2], stride: [2, 2], padding: [0; 2] };
        assert_eq!(read("avgpool(3x2, stride=2)"), Ok(Layer::Pool(pool)));
        let stats = ChannelStats::new(&[0.5, 0.25], &[1.0, 2.0]).unwrap();
        assert_eq!(read("normalise(0.5, 0.25, 1, 2)"), Ok(Layer::Normalise(stats)));
    }

    #[test]
    fn wrong_options_are_named() {
        let usage = "write conv(kernel, channels[, stride=, pad=, groups=])";
        assert_eq!(read("conv(3, 5, dilation=2)"), Err(format!("has no option `dilation`: {usage}")));
        assert_eq!(read("conv(3, 5, pad=1, pad=1)"), Err("has the option `pad` twice".into()));
        assert_eq!(read("conv(3, 5, pad=same)"), Err(format!("`same` is not a whole number: {usage}")));
        assert_eq!(read("avgpool(3, pad=1)"), Err("has no option `pad`: write avgpool(side[, stride=])".into()));
        assert!(read("normalise(1, 2, 3)").unwrap_err().contains("as many means as deviations"));
        assert!(read("leaky_relu(inf)").unwrap_err().contains("`inf` is not a number"));
        assert!(read("hardtanh(1)").unwrap_err().contains("no argument or two"));
    }

    #[test]
    fn labels_name_earlier_layers() {
        let text = "input = [4]\nlayers = [\"dense(3)\", \"start: relu\", \"dense(3)\", \"add(start)\", \"dense(2)\"]";
        let model = Model::from_toml(text).unwrap();
        assert_eq!(model.layers()[3], Layer::Add(2));
        assert_eq!(Model::from_toml(&model.to_toml()).unwrap(), model);
        let refused = |text: &str| Model::from_toml(text).unwrap_err().to_string();
        let wrong = refused("input = [4]\nlayers = [\"start: relu\", \"add(stat)\", \"dense(2)\"]");
        assert_eq!(wrong, "layer 2 (add(stat)): no layer before it has the label `stat`; did you mean `start`?");
        let wrong = refused("input = [4]\nlayers = [\"a: relu\", \"a: tanh\", \"dense(2)\"]");
        assert_eq!(wrong, "layer 2 (a: tanh): the label `a` is used twice");
        let wrong = refused("input = [4]\nlayers = [\"dense(3)\", \"add(input)\", \"dense(2)\"]");
        assert_eq!(wrong, "layer 2 (add(0)): layer 0 gives 4x1x1, the layer before gives 3x1x1");
        let wrong = refused("input = [4]\nlayers = [\"from(1)\", \"dense(2)\"]");
        assert_eq!(wrong, "layer 1 (from(1)): there is no layer 1 before it: want a number from 0 to 0");
    }

    proptest! {
        #[test]
        fn no_text_of_a_layer_panics(text in ".{0,12}", number in "[-+]?[0-9]{0,25}") {
            let _ = read(&text);
            let _ = read(&format!("dense({number})"));
            let _ = read(&format!("conv({number}x{number}, {number}, stride={number}, pad={number}, groups={number})"));
        }
    }
}

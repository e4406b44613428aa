//! The files of the verification competition (VNN-COMP): lists of instances, answers and counter-examples as text.

use std::fmt::Write;
use std::time::Duration;

use super::Answer;
use crate::Error;

/// One line of a list of instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The network, as written in the list.
    pub network: String,
    /// The property, as written in the list.
    pub property: String,
    /// Its time limit.
    pub limit: Duration,
}

impl Instance {
    /// Reads a list: `network,property,seconds` in every line. Each instance is there once, with its place in the list.
    ///
    /// ```
    /// use standoff_nn::verify::Instance;
    ///
    /// let list = Instance::list("a.onnx,p.vnnlib,120\nb.onnx,p.vnnlib,60\na.onnx,p.vnnlib,120\n")?;
    /// assert_eq!((list.len(), list[1].1.network.as_str()), (2, "b.onnx"));
    /// assert!(Instance::list("a.onnx,p.vnnlib,soon").is_err());
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn list(text: &str) -> Result<Vec<(usize, Self)>, Error> {
        let mut all: Vec<(usize, Self)> = Vec::new();
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let seconds = fields.get(2).and_then(|s| s.parse::<f64>().ok()).filter(|s| (0.0..1e9).contains(s));
            let (&[network, property, _], Some(seconds)) = (&fields[..], seconds) else {
                return Err(Error::Mismatch(format!("line {}: `{line}` is not network,property,seconds", i + 1)));
            };
            let limit = Duration::from_secs_f64(seconds);
            let instance = Self { network: network.into(), property: property.into(), limit };
            if !all.iter().any(|(_, other)| other.key() == instance.key()) {
                all.push((i, instance));
            }
        }
        Ok(all)
    }

    /// The begin of its line in `results.csv`.
    pub fn key(&self) -> String {
        format!("{},{},", self.network, self.property)
    }
}

impl Answer {
    /// The word of the competition.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Proven => "unsat",
            Self::Falsified { .. } => "sat",
            Self::Unknown => "unknown",
        }
    }

    /// The counter-example in the form of the competition.
    pub fn counter_example(&self) -> Option<String> {
        let Self::Falsified { x, y } = self else { return None };
        let mut text = String::from("sat\n(");
        let named =
            x.iter().enumerate().map(|(i, v)| ('X', i, v)).chain(y.iter().enumerate().map(|(j, v)| ('Y', j, v)));
        for (n, (letter, i, value)) in named.enumerate() {
            let _ = write!(text, "{}({letter}_{i} {value})", if n == 0 { "" } else { "\n " });
        }
        Some(text + ")\n")
    }
}

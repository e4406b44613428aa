//! The experiment files of the repository's folder `experiments/` that are part of the program.

/// An experiment file that is part of the program.
///
/// ```
/// use standoff_train::experiments::FAIR_QUICK;
/// assert!(FAIR_QUICK.name == "fair-quick" && FAIR_QUICK.text.contains("title"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExperimentFile {
    /// Its name, without `.toml`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl ExperimentFile {
    /// Its path in the repository.
    pub fn path(&self) -> String {
        format!("experiments/{}.toml", self.name)
    }
}

macro_rules! experiments {
    ($($constant:ident = $name:literal: $about:literal;)*) => {$(
        #[doc = $about]
        pub const $constant: ExperimentFile =
            ExperimentFile { name: $name, text: include_str!(concat!(env!("STANDOFF_EXPERIMENTS"), "/", $name, ".toml")) };
    )*};
}

experiments! {
    FAIR_QUICK = "fair-quick": "The default experiment of `standoff fair`.";
    FAIR_GD = "fair-gd": "Table 1 of the paper.";
    FAIR_ADAM = "fair-adam": "Table 2 of the paper.";
    FAIR_SGD_3000 = "fair-sgd-3000": "Table 4 of the paper.";
    FAIR_SGD_600 = "fair-sgd-600": "Table 5 of the paper.";
    FAIR_LOGISTIC = "fair-logistic": "Table 6 of the paper.";
    ROBUST_QUICK = "robust-quick": "The default experiment of `standoff robust`.";
    ROBUST_PAPER = "robust-paper": "The paper's robust network, Table 3.";
    ROBUST_MADRY_035 = "robust-madry-035": "PGD training at eps 0.35, Table 3.";
    ROBUST_TRADES_035 = "robust-trades-035": "TRADES at eps 0.35, Table 3.";
    ROBUST_TRADES_040 = "robust-trades-040": "TRADES at eps 0.4, Table 3.";
    ROBUST_IBP = "robust-ibp": "Training with interval bounds.";
    ROBUST_CROWN_IBP = "robust-crown-ibp": "Training with interval bounds and backward relaxation.";
    ROBUST_NATURAL = "robust-natural": "Training without attacks.";
}

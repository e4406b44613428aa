//! The attacks by name: `fgsm`, `pgd40`, `pgd100x10`, `apgd-ce`, `apgd-t50x9`, `square1000`, ...

use crate::Error;
use standoff::error::nearest;
use std::fmt;

/// The loss that an untargeted attack maximises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttackLoss {
    /// The cross-entropy.
    CrossEntropy,
    /// The largest other logit less the label's (Carlini and Wagner).
    Margin,
    /// The difference-of-logits ratio (Croce and Hein), defined from two classes on.
    Dlr,
}

/// An attack and its budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Attack {
    /// One step of length eps along the sign of the gradient of the cross-entropy.
    Fgsm,
    /// Projected gradient ascent with steps along the sign of the gradient (L2: along the gradient).
    Pgd {
        /// Gradients per run.
        steps: usize,
        /// Runs.
        restarts: usize,
        /// The length of a step, in the units of the input; `None` for 2.5 eps / steps.
        step: Option<f64>,
        /// If true, runs start at random points of the ball; otherwise at the image itself.
        random_start: bool,
        /// The loss.
        loss: AttackLoss,
    },
    /// The same with the margin towards one class at a time, for every class.
    Targeted {
        /// Gradients per run.
        steps: usize,
        /// Runs per class.
        restarts: usize,
    },
    /// Projected ascent with momentum whose step halves when it no longer helps (Croce and Hein 2020).
    Apgd {
        /// Gradients per run.
        steps: usize,
        /// Runs.
        restarts: usize,
        /// The loss.
        loss: AttackLoss,
    },
    /// The same on the targeted difference-of-logits ratio, for the classes that are nearest.
    ApgdTargeted {
        /// Gradients per run.
        steps: usize,
        /// The largest number of target classes; all classes but the label if there are fewer.
        targets: usize,
        /// Runs per class.
        restarts: usize,
    },
    /// The nearest point beyond the linearised boundary to a class, for the classes that are nearest (Croce and Hein 2020).
    Fab {
        /// Steps per run.
        steps: usize,
        /// The largest number of target classes; all classes but the label if there are fewer.
        targets: usize,
        /// Runs per class.
        restarts: usize,
    },
    /// Ascent on the margin blurred by noise that shrinks during the run: for networks whose gradients are zero almost
    /// everywhere.
    Smooth {
        /// Gradients per run.
        steps: usize,
        /// Runs.
        restarts: usize,
    },
    /// Random search with squares of one sign, without gradients (Andriushchenko et al. 2020).
    Square {
        /// Forward passes.
        queries: usize,
    },
    /// Random points of the ball: the baseline for all other attacks.
    Random {
        /// Forward passes.
        tries: usize,
    },
}

/// The first parts of names.
const FAMILIES: [&str; 12] = [
    "fgsm",
    "pgd",
    "targeted",
    "apgd-ce",
    "apgd-margin",
    "apgd-dlr",
    "apgd-t",
    "fab",
    "fab-t",
    "smooth",
    "square",
    "random",
];

impl Attack {
    /// The attack of that name: a family, and its budget where it is not the default. `pgd40` has 40 steps, `pgd100x10` 10
    /// restarts too; `apgd-t50x9` has 50 steps for each of 9 classes, `apgd-t50x9x2` two runs of each; `square1000` has 1000
    /// queries. PGD takes `step=`, `start=clean|random` and `loss=ce|margin|dlr` after a colon: `pgd40:step=0.01,start=clean`.
    pub fn named(name: &str) -> Result<Self, Error> {
        let (body, options) = name.split_once(':').unwrap_or((name, ""));
        let Some(family) = FAMILIES.iter().find(|f| body.strip_prefix(**f).is_some_and(is_budget)) else {
            let letters = body.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
            let hint = nearest(letters, FAMILIES).map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default();
            let why = format!("unknown attack `{name}`{hint}; there are {}, with budgets", FAMILIES.join(", "));
            return Err(Error::Mismatch(format!("{why} as in pgd40, pgd100x10, apgd-t50x9, square1000")));
        };
        let budget = budget(name, &body[family.len()..])?;
        let most = match *family {
            "fgsm" => 0,
            "square" | "random" => 1,
            "apgd-t" | "fab" | "fab-t" => 3,
            _ => 2,
        };
        if budget.len() > most {
            let got = budget.len();
            return Err(Error::Mismatch(format!("attack `{name}` has {got} numbers, `{family}` takes at most {most}")));
        }
        if !options.is_empty() && *family != "pgd" {
            return Err(Error::Mismatch(format!("attack `{name}`: only pgd takes options after a colon")));
        }
        let number = |i: usize, default: usize| budget.get(i).copied().unwrap_or(default);
        let apgd = |loss| Self::Apgd { steps: number(0, 100), restarts: number(1, 1), loss };
        Ok(match *family {
            "fgsm" => Self::Fgsm,
            "pgd" => pgd(name, options, number(0, 40), number(1, 1))?,
            "targeted" => Self::Targeted { steps: number(0, 40), restarts: number(1, 1) },
            "apgd-ce" => apgd(AttackLoss::CrossEntropy),
            "apgd-margin" => apgd(AttackLoss::Margin),
            "apgd-dlr" => apgd(AttackLoss::Dlr),
            "apgd-t" => Self::ApgdTargeted { steps: number(0, 50), targets: number(1, 9), restarts: number(2, 1) },
            "fab" | "fab-t" => Self::Fab { steps: number(0, 100), targets: number(1, 9), restarts: number(2, 1) },
            "smooth" => Self::Smooth { steps: number(0, 300), restarts: number(1, 1) },
            "square" => Self::Square { queries: number(0, 1000) },
            _ => Self::Random { tries: number(0, 100) },
        })
    }

    /// Its name in full, which [`named`](Self::named) understands.
    pub fn name(&self) -> String {
        self.to_string()
    }

    /// True if it uses only the outputs of the network, no gradients.
    pub fn black_box(&self) -> bool {
        matches!(self, Self::Square { .. } | Self::Random { .. })
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |n: &usize| if *n == 1 { String::new() } else { format!("x{n}") };
        match self {
            Self::Fgsm => f.write_str("fgsm"),
            Self::Pgd { steps, restarts, step, random_start, loss } => {
                write!(f, "pgd{steps}{}", times(restarts))?;
                let mut options = Vec::new();
                options.extend(step.map(|s| format!("step={s}")));
                options.extend((!random_start).then(|| "start=clean".to_owned()));
                options.extend((*loss != AttackLoss::CrossEntropy).then(|| format!("loss={loss}")));
                if options.is_empty() { Ok(()) } else { write!(f, ":{}", options.join(",")) }
            }
            Self::Targeted { steps, restarts } => write!(f, "targeted{steps}{}", times(restarts)),
            Self::Apgd { steps, restarts, loss } => write!(f, "apgd-{loss}{steps}{}", times(restarts)),
            Self::ApgdTargeted { steps, targets, restarts } => {
                write!(f, "apgd-t{steps}x{targets}{}", times(restarts))
            }
            Self::Fab { steps, targets, restarts } => write!(f, "fab{steps}x{targets}{}", times(restarts)),
            Self::Smooth { steps, restarts } => write!(f, "smooth{steps}{}", times(restarts)),
            Self::Square { queries } => write!(f, "square{queries}"),
            Self::Random { tries } => write!(f, "random{tries}"),
        }
    }
}

impl fmt::Display for AttackLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CrossEntropy => "ce",
            Self::Margin => "margin",
            Self::Dlr => "dlr",
        })
    }
}

fn is_budget(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || c == 'x')
}

/// The numbers of `100x10`, each from 1 on.
fn budget(name: &str, text: &str) -> Result<Vec<usize>, Error> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let number = |part: &str| match part.parse() {
        Ok(n) if (1..=1_000_000).contains(&n) => Ok(n),
        _ => Err(Error::Mismatch(format!("attack `{name}`: `{part}` is not a number from 1 to 1000000"))),
    };
    text.split('x').map(number).collect()
}

fn pgd(name: &str, options: &str, steps: usize, restarts: usize) -> Result<Attack, Error> {
    let (mut step, mut random_start, mut loss) = (None, true, AttackLoss::CrossEntropy);
    for option in options.split(',').filter(|o| !o.is_empty()) {
        match option.split_once('=') {
            Some(("step", v)) => step = v.parse::<f64>().ok().filter(|v| v.is_finite() && *v > 0.0),
            Some(("start", "clean")) => random_start = false,
            Some(("start", "random")) => random_start = true,
            Some(("loss", "ce")) => loss = AttackLoss::CrossEntropy,
            Some(("loss", "margin")) => loss = AttackLoss::Margin,
            Some(("loss", "dlr")) => loss = AttackLoss::Dlr,
            _ => {
                let want = "step=0.01, start=clean, start=random, loss=ce, loss=margin or loss=dlr";
                return Err(Error::Mismatch(format!("attack `{name}`: option `{option}` is not {want}")));
            }
        }
        if option.starts_with("step") && step.is_none() {
            return Err(Error::Mismatch(format!("attack `{name}`: `{option}` is not a length above 0")));
        }
    }
    if restarts > 1 && !random_start {
        return Err(Error::Mismatch(format!("attack `{name}`: restarts from the image itself are all the same")));
    }
    Ok(Attack::Pgd { steps, restarts, step, random_start, loss })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        for name in [
            "fgsm",
            "pgd40",
            "pgd100x10",
            "pgd40:step=0.01,start=clean",
            "pgd7x2:loss=margin",
            "pgd7:step=0.5,loss=dlr",
            "targeted40",
            "targeted20x3",
            "apgd-ce100",
            "apgd-margin100x5",
            "apgd-dlr30",
            "apgd-t50x9",
            "apgd-t50x9x2",
            "fab100x9",
            "fab20x3x2",
            "smooth300",
            "smooth100x2",
            "square1000",
            "random100",
        ] {
            assert_eq!(Attack::named(name).unwrap().name(), name);
        }
        for (short, full) in [
            ("pgd", "pgd40"),
            ("apgd-t", "apgd-t50x9"),
            ("square", "square1000"),
            ("fab", "fab100x9"),
            ("fab-t", "fab100x9"),
            ("pgd9x1", "pgd9"),
        ] {
            assert_eq!(Attack::named(short).unwrap().name(), full);
        }
    }

    #[test]
    fn a_wrong_name_says_what_is_wrong() {
        for (name, part) in [
            ("pdg40", "did you mean `pgd`"),
            ("pgd0", "`0` is not a number from 1"),
            ("pgd40x", "`` is not a number"),
            ("pgd40x2x2", "has 3 numbers, `pgd` takes at most 2"),
            ("fgsm2", "takes at most 0"),
            ("square9:step=1", "only pgd takes options"),
            ("pgd4:step=-1", "not a length above 0"),
            ("pgd4:step=nan", "not a length above 0"),
            ("pgd4:pace=2", "option `pace=2` is not"),
            ("pgd4x2:start=clean", "are all the same"),
            ("", "unknown attack"),
        ] {
            let error = Attack::named(name).unwrap_err().to_string();
            assert!(error.contains(part), "{name}: {error}");
        }
    }
}

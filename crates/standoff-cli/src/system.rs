//! A control system and an expert, from a TOML file.

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use standoff::error::nearest;
use standoff::zoo::lqr::{DMatrix, Imitation, LqrGame, Order, System, discretise, eigenvalue_range};

/// The keys of a system file.
const KEYS: [&str; 11] = ["A", "B", "K", "Q", "R", "Sigma0", "dt", "gamma", "q_bounds", "r_bounds", "centre"];

/// The built-in example, in the format of a file: a pole on a cart, and an expert who minds the pole's angle most.
pub(crate) const EXAMPLE: &str = "\
# A pole balanced on a cart by a force: linearised upright, in continuous time, sampled ten times a second.
# States: position (m), speed (m/s), angle (rad), rate (rad/s). Cart 1 kg, pole 0.1 kg on a rod of 0.5 m.
A = [[0, 1, 0, 0], [0, 0, -0.981, 0], [0, 0, 0, 1], [0, 0, 21.582, 0]]
B = [[0], [1], [0], [-2]]
dt = 0.1
# The expert minimises the sum of x'Qx + u'Ru.
Q = [[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 5, 0], [0, 0, 0, 1]]
R = [[0.5]]
# 0: the adversary does not know this cost, and finds one that explains the expert. Without this line it prefers Q and R.
gamma = 0
";

/// The content of a file. Matrices are lists of rows.
#[derive(Debug, Deserialize)]
#[allow(non_snake_case)] // the names that people of the field use
struct File {
    A: Vec<Vec<f64>>,
    B: Vec<Vec<f64>>,
    K: Option<Vec<Vec<f64>>>,
    Q: Option<Vec<Vec<f64>>>,
    R: Option<Vec<Vec<f64>>>,
    Sigma0: Option<Vec<Vec<f64>>>,
    dt: Option<f64>,
    gamma: Option<f64>,
    q_bounds: Option<[f64; 2]>,
    r_bounds: Option<[f64; 2]>,
    centre: Option<Centre>,
}

/// The cost that the regulariser prefers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
struct Centre {
    Q: Vec<Vec<f64>>,
    R: Vec<Vec<f64>>,
}

/// A system, an expert's gain, and what the adversary may claim.
#[derive(Debug)]
pub(crate) struct Task {
    /// The system in discrete time.
    pub system: System,
    /// The gain to imitate.
    pub expert: DMatrix<f64>,
    /// The adversary's bounds and regulariser.
    pub imitation: Imitation,
    /// Reasons why the equilibrium may differ from the expert's gain, in sentences.
    pub warnings: Vec<String>,
}

impl Task {
    /// Reads a system file.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|e| anyhow!("{e}"))?;
        if let Some(key) = table.keys().find(|k| !KEYS.contains(&k.as_str())) {
            let hint = nearest(key, KEYS).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            bail!("unknown key `{key}`{hint} (a system file has: {})", KEYS.join(", "));
        }
        let file: File = toml::from_str(text).map_err(|e| anyhow!("{e}"))?;
        let (mut a, mut b) = (matrix("A", &file.A)?, matrix("B", &file.B)?);
        if let Some(dt) = file.dt {
            (a, b) = discretise(&a, &b, dt).context("sampling the system every `dt`")?;
        }
        let n = a.nrows();
        let sigma0 = file.Sigma0.as_deref().map_or(Ok(DMatrix::identity(n, n)), |rows| matrix("Sigma0", rows))?;
        let system = System::new(a, b, sigma0)?;
        let own = match (&file.Q, &file.R) {
            (Some(q), Some(r)) => Some((matrix("Q", q)?, matrix("R", r)?)),
            _ => None,
        };
        let expert = match (&file.K, &own) {
            (Some(k), None) if file.Q.is_none() && file.R.is_none() => matrix("K", k)?,
            (None, Some((q, r))) => system.gain_for(q, r)?,
            (Some(_), _) => bail!("the expert is given twice: keep either K, or Q and R that generate it"),
            _ => bail!("the expert is missing: give its gain K, or the cost Q and R that generates it"),
        };
        system.check_stabilising("K", &expert)?;
        let usual = Imitation::default();
        let centre = match &file.centre {
            Some(c) => Some((matrix("centre.Q", &c.Q)?, matrix("centre.R", &c.R)?)),
            None => own,
        };
        let (q_bounds, q_warning) = bounds("Q", file.q_bounds, usual.q_bounds, centre.as_ref().map(|c| &c.0))?;
        let (r_bounds, r_warning) = bounds("R", file.r_bounds, usual.r_bounds, centre.as_ref().map(|c| &c.1))?;
        let imitation = Imitation {
            q_bounds,
            r_bounds,
            // A cost that is known makes the game strongly concave, and its equilibrium is the expert's all the same.
            gamma: file.gamma.unwrap_or(if centre.is_some() { 1.0 } else { usual.gamma }),
            centre,
        };
        let warnings = [q_warning, r_warning].into_iter().flatten().collect();
        Ok(Self { system, expert, imitation, warnings })
    }

    /// The game, with the policy or the cost as the minimising player.
    pub(crate) fn game(&self, order: Order) -> Result<LqrGame> {
        Ok(LqrGame::new(&self.system, &self.expert, &self.imitation, order)?)
    }
}

/// The bounds of the eigenvalues of one matrix of the cost. Bounds from the file are kept, with a warning when the known cost
/// violates them; the usual ones are widened until they contain it, so that the adversary can claim the known cost.
fn bounds(
    name: &str,
    given: Option<[f64; 2]>,
    usual: (f64, f64),
    known: Option<&DMatrix<f64>>,
) -> Result<((f64, f64), Option<String>)> {
    let known = known.map(|m| eigenvalue_range(name, m)).transpose()?;
    match (given, known) {
        (Some([least, most]), Some((low, high))) if low < least || high > most => {
            let key = format!("{}_bounds", name.to_lowercase());
            let warning = format!(
                "{name} has eigenvalues from {low} to {high}, and {key} allows {least} to {most}: \
                 the equilibrium is then not the expert's gain; widen {key}, or leave it out"
            );
            Ok(((least, most), Some(warning)))
        }
        (Some([least, most]), _) => Ok(((least, most), None)),
        // A semidefinite Q may have eigenvalues a rounding below 0.
        (None, Some((low, high))) => Ok(((usual.0.min(low.max(0.0)), usual.1.max(high)), None)),
        (None, None) => Ok((usual, None)),
    }
}

/// A matrix from its rows.
fn matrix(name: &str, rows: &[Vec<f64>]) -> Result<DMatrix<f64>> {
    let columns = rows.first().map_or(0, Vec::len);
    if columns == 0 {
        bail!("{name} is empty; a matrix is a list of rows, such as [[1, 0], [0, 1]]");
    }
    if let Some(i) = rows.iter().position(|r| r.len() != columns) {
        bail!("row {i} of {name} has {} entries, row 0 has {columns}", rows[i].len());
    }
    Ok(DMatrix::from_fn(rows.len(), columns, |i, j| rows[i][j]))
}

#[cfg(test)]
mod tests {
    use standoff::zoo::lqr::cart_pole;

    use super::*;

    #[test]
    fn the_example_is_the_zoos_cart_with_a_pole() {
        let task = Task::parse(EXAMPLE).unwrap();
        let zoo = cart_pole();
        assert!((task.system.a() - zoo.a()).amax() < 1e-12 && (task.system.b() - zoo.b()).amax() < 1e-12);
    }

    #[test]
    fn a_file_that_does_not_fit_says_what_to_do() {
        let body = "A = [[1.1]]\nB = [[0.5]]\n";
        for (text, want) in [
            (body.to_owned(), "the expert is missing"),
            (format!("{body}K = [[1]]\nQ = [[1]]\nR = [[1]]"), "given twice"),
            (format!("{body}K = [[1]]\nSigma = [[1]]"), "did you mean `Sigma0`"),
            (format!("{body}K = [[0]]"), "does not stabilise"),
            (format!("{body}K = [[1, 2]]"), "it must be 1 x 1"),
            ("A = [[1, 0], [0]]\nB = [[1]]\nK = [[1]]".into(), "row 1 of A has 1 entries, row 0 has 2"),
            ("A = [[2, 0], [0, 0.5]]\nB = [[0], [1]]\nK = [[0, 0]]".into(), "cannot be stabilised"),
            ("A = []\nB = [[1]]\nK = [[1]]".into(), "A is empty"),
            ("A = [[nan]]\nB = [[1]]\nK = [[1]]".into(), "must be finite"),
            ("A = 3".into(), "invalid type"),
        ] {
            let message = format!("{:#}", Task::parse(&text).unwrap_err());
            assert!(message.contains(want), "{message}");
        }
    }
}

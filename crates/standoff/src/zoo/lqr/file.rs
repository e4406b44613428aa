//! A control system and an expert from TOML text.

use toml::{Table, Value};

use super::{DMatrix, Imitation, LqrGame, Order, System, discretise, eigenvalue_range};
use crate::error::nearest;
use crate::{Error, Point};

/// The keys of a system file.
const KEYS: [&str; 11] = ["A", "B", "K", "Q", "R", "Sigma0", "dt", "gamma", "q_bounds", "r_bounds", "centre"];

/// Gains that differ by less than this, relative to 1 plus the largest entry, count as the same.
const SAME_GAIN: f64 = 1e-3;

/// A file that describes [`cart_pole`](super::cart_pole) and an expert that weights the angle of the pole most.
pub const EXAMPLE: &str = "\
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

/// A system, the gain of an expert, and the costs that the adversary may choose.
///
/// ```
/// use standoff::zoo::lqr::{EXAMPLE, ImitationTask, Order};
///
/// let task = ImitationTask::from_toml(EXAMPLE)?;
/// let game = task.game(Order::PolicyMinimises)?;
/// assert_eq!(game.gain(&game.start()).shape(), (1, 4));
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug)]
pub struct ImitationTask {
    /// The system in discrete time.
    pub system: System,
    /// The gain to imitate.
    pub expert: DMatrix<f64>,
    /// The adversary's bounds and regulariser.
    pub imitation: Imitation,
    /// Reasons why the equilibrium may differ from the expert's gain, in sentences.
    pub warnings: Vec<String>,
}

/// A policy and a cost, compared with the expert.
#[derive(Debug)]
pub struct Recovered {
    /// The gain of the policy.
    pub k: DMatrix<f64>,
    /// The cost of states.
    pub q: DMatrix<f64>,
    /// The cost of controls.
    pub r: DMatrix<f64>,
    /// The largest difference between an entry of the gain and the expert's.
    pub apart: f64,
    /// The cost of this policy less the cost of the expert, under the recovered cost.
    pub excess: f64,
    /// The largest difference between the expert's gain and the optimal gain of the recovered cost.
    pub unexplained: Option<f64>,
    /// Reasons why this policy may differ from the expert's.
    pub warnings: Vec<String>,
}

impl ImitationTask {
    /// Reads a system file.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let file: Table = text.parse().map_err(|e| Error::Lqr(format!("{e}")))?;
        if let Some(key) = file.keys().find(|k| !KEYS.contains(&k.as_str())) {
            let hint = nearest(key, KEYS).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            let all = KEYS.join(", ");
            return Err(Error::Lqr(format!("unknown key `{key}`{hint} (a system file has: {all})")));
        }
        let needed = |name: &str| matrix(&file, name)?.ok_or_else(|| Error::Lqr(format!("{name} is missing")));
        let (mut a, mut b) = (needed("A")?, needed("B")?);
        if let Some(dt) = number(&file, "dt")? {
            (a, b) = discretise(&a, &b, dt)?;
        }
        let n = a.nrows();
        let system = System::new(a, b, matrix(&file, "Sigma0")?.unwrap_or_else(|| DMatrix::identity(n, n)))?;
        let own = matrix(&file, "Q")?.zip(matrix(&file, "R")?);
        let expert = match (matrix(&file, "K")?, &own) {
            (Some(k), None) if !file.contains_key("Q") && !file.contains_key("R") => k,
            (None, Some((q, r))) => system.gain_for(q, r)?,
            (Some(_), _) => return refuse("the expert is given twice: keep either K, or Q and R that generate it"),
            _ => return refuse("the expert is missing: give its gain K, or the cost Q and R that generates it"),
        };
        system.check_stabilising("K", &expert)?;
        let centre = match file.get("centre") {
            None => own,
            Some(Value::Table(centre)) => matrix(centre, "Q")?.zip(matrix(centre, "R")?),
            Some(_) => return refuse("centre is not { Q = ..., R = ... }"),
        };
        let usual = Imitation::default();
        let known = centre.as_ref();
        let (q_bounds, q_warning) = bounds("Q", pair(&file, "q_bounds")?, usual.q_bounds, known.map(|c| &c.0))?;
        let (r_bounds, r_warning) = bounds("R", pair(&file, "r_bounds")?, usual.r_bounds, known.map(|c| &c.1))?;
        // A known cost makes the game strongly concave, and its equilibrium is the expert's gain too.
        let gamma = number(&file, "gamma")?.unwrap_or(if centre.is_some() { 1.0 } else { usual.gamma });
        let warnings = [q_warning, r_warning].into_iter().flatten().collect();
        Ok(Self { system, expert, imitation: Imitation { q_bounds, r_bounds, gamma, centre }, warnings })
    }

    /// The game, with the policy or the cost as the minimising player.
    pub fn game(&self, order: Order) -> Result<LqrGame, Error> {
        LqrGame::new(&self.system, &self.expert, &self.imitation, order)
    }

    /// The policy and the cost of a point of the game, compared with the expert.
    pub fn recover(&self, game: &LqrGame, point: &Point<f64>) -> Recovered {
        let k = game.gain(point);
        let (q, r) = game.cost(point);
        let apart = (&k - &self.expert).amax();
        let excess = self.system.cost(&k, &q, &r) - self.system.cost(&self.expert, &q, &r);
        let unexplained = self.system.gain_for(&q, &r).ok().map(|optimal| (optimal - &self.expert).amax());
        let mut warnings = self.warnings.clone();
        if apart > SAME_GAIN * (1.0 + self.expert.amax()) {
            warnings.push(format!("this policy is {apart:.6} off the expert's gain: {}", self.advice(&q, &r)));
        }
        Recovered { k, q, r, apart, excess, unexplained, warnings }
    }

    /// Names the bounds that the cost touches.
    fn advice(&self, q: &DMatrix<f64>, r: &DMatrix<f64>) -> String {
        let touches = |m: &DMatrix<f64>, (least, most): (f64, f64)| {
            let slack = 1e-6 * (most - least);
            eigenvalue_range("the cost", m).is_ok_and(|(low, high)| low <= least + slack || high >= most - slack)
        };
        let bounds =
            [("q_bounds", touches(q, self.imitation.q_bounds)), ("r_bounds", touches(r, self.imitation.r_bounds))];
        let keys: Vec<&str> = bounds.iter().filter(|b| b.1).map(|b| b.0).collect();
        match keys.is_empty() {
            true => "a regulariser (gamma) around another cost than the expert's has this effect".to_owned(),
            false => format!("the cost is at its bounds; wider {} may explain the expert", keys.join(" and ")),
        }
    }
}

fn refuse<T>(why: &str) -> Result<T, Error> {
    Err(Error::Lqr(why.to_owned()))
}

/// The bounds of the eigenvalues of one matrix of the cost. Bounds from the file are kept, with a warning if the known cost
/// violates them; the usual ones are widened until they contain it, so that the adversary can choose the known cost.
fn bounds(
    name: &str,
    given: Option<[f64; 2]>,
    usual: (f64, f64),
    known: Option<&DMatrix<f64>>,
) -> Result<((f64, f64), Option<String>), Error> {
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
        // A semidefinite Q may have eigenvalues a rounding error below 0.
        (None, Some((low, high))) => Ok(((usual.0.min(low.max(0.0)), usual.1.max(high)), None)),
        (None, None) => Ok((usual, None)),
    }
}

fn float(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

fn number(file: &Table, name: &str) -> Result<Option<f64>, Error> {
    let read = |value: &Value| float(value).ok_or_else(|| Error::Lqr(format!("{name} is not a number")));
    file.get(name).map(read).transpose()
}

fn pair(file: &Table, name: &str) -> Result<Option<[f64; 2]>, Error> {
    let read = |value: &Value| {
        let list: Option<Vec<f64>> = value.as_array().and_then(|list| list.iter().map(float).collect());
        list.and_then(|list| list.try_into().ok()).ok_or_else(|| Error::Lqr(format!("{name} is not [least, most]")))
    };
    file.get(name).map(read).transpose()
}

/// A matrix from its rows.
fn matrix(file: &Table, name: &str) -> Result<Option<DMatrix<f64>>, Error> {
    let Some(value) = file.get(name) else { return Ok(None) };
    let row = |row: &Value| row.as_array()?.iter().map(float).collect::<Option<Vec<f64>>>();
    let rows = value.as_array().and_then(|rows| rows.iter().map(row).collect::<Option<Vec<_>>>());
    let form = "a matrix is a list of rows, such as [[1, 0], [0, 1]]";
    let rows = rows.ok_or_else(|| Error::Lqr(format!("{name} is not a matrix; {form}")))?;
    let columns = rows.first().map_or(0, Vec::len);
    if columns == 0 {
        return Err(Error::Lqr(format!("{name} is empty; {form}")));
    }
    if let Some(i) = rows.iter().position(|r| r.len() != columns) {
        return Err(Error::Lqr(format!("row {i} of {name} has {} entries, row 0 has {columns}", rows[i].len())));
    }
    Ok(Some(DMatrix::from_fn(rows.len(), columns, |i, j| rows[i][j])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo::lqr::cart_pole;

    #[test]
    fn the_example_is_the_zoos_cart_with_a_pole() {
        let task = ImitationTask::from_toml(EXAMPLE).unwrap();
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
            ("A = 3".into(), "A is not a matrix"),
            ("B = [[1]]".into(), "A is missing"),
        ] {
            let message = ImitationTask::from_toml(&text).unwrap_err().to_string();
            assert!(message.contains(want), "{message}");
        }
    }
}

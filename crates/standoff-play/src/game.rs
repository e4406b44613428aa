//! A game that a user types: two variables, a formula, bounds. Its level sets.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use standoff::formula::FormulaGame;
use standoff::methods::METHODS;
use standoff::{Game, Need, Point};

use crate::answer::Answer;

/// The longest formula.
const MOST_CHARACTERS: usize = 10_000;
/// The largest bound, in absolute value.
const LARGEST: f64 = 1e9;
/// Points of the grid for level sets, along each side.
const GRID: usize = 97;
/// The longest time for the values of the grid.
const GRID_TIME: Duration = Duration::from_secs(2);

/// A game, a start and the methods, as the page sends them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GameRequest {
    objective: String,
    x: [f64; 2],
    y: [f64; 2],
    start: [f64; 2],
    pub(crate) eps: f64,
    pub(crate) methods: Vec<String>,
}

impl GameRequest {
    /// Reads the body of a request.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Answer> {
        let request: Self = serde_json::from_slice(body)
            .map_err(|error| Answer::refusal(400, &format!("the request is not as expected: {error}")))?;
        request.check().map_err(|(status, why)| Answer::refusal(status, &why))?;
        Ok(request)
    }

    fn check(&self) -> Result<(), (u16, String)> {
        let length = self.objective.chars().count();
        if length > MOST_CHARACTERS {
            return Err((413, format!("the formula has {length} characters, the most is {MOST_CHARACTERS}")));
        }
        for (name, [lower, upper]) in [("x", self.x), ("y", self.y)] {
            for bound in [lower, upper] {
                if !(bound.abs() <= LARGEST) {
                    return Err((422, format!("the bound {bound} of {name} is not between -1e9 and 1e9")));
                }
            }
            if !(lower < upper) {
                return Err((422, format!("the bounds of {name} are {lower} and {upper}: the first must be smaller")));
            }
        }
        if !self.start.iter().all(|v| v.abs() <= LARGEST) {
            return Err((422, "the start is not between -1e9 and 1e9".to_owned()));
        }
        if !(self.eps >= 1e-12 && self.eps <= 1e6) {
            return Err((422, format!("eps is {}: want a number from 1e-12 to 1e6", self.eps)));
        }
        let unknown = |name: &&String| !offered().any(|known| known == name.as_str());
        match self.methods.iter().find(unknown) {
            _ if self.methods.is_empty() || self.methods.len() > 3 => {
                Err((422, "give one to three methods".to_owned()))
            }
            Some(name) => Err((422, format!("the page has no method `{}`", name.chars().take(40).collect::<String>()))),
            None => Ok(()),
        }
    }

    /// The game in the language of game files. An error of the formula has its position, with a caret.
    pub(crate) fn game(&self) -> Result<FormulaGame, Answer> {
        let player = |[lower, upper]: [f64; 2], start: f64| {
            let start = if start < lower {
                lower
            } else if start > upper {
                upper
            } else {
                start
            };
            toml::Table::from_iter(
                [("lower", lower), ("upper", upper), ("start", start)].map(|(k, v)| (k.to_owned(), v.into())),
            )
        };
        let variable = |name: &str, table: toml::Table| toml::Table::from_iter([(name.to_owned(), table.into())]);
        let file = toml::Table::from_iter([
            ("objective".to_owned(), self.objective.clone().into()),
            ("min".to_owned(), variable("x", player(self.x, self.start[0])).into()),
            ("max".to_owned(), variable("y", player(self.y, self.start[1])).into()),
        ]);
        FormulaGame::from_toml(&file.to_string(), &mut |_| Err("a typed game reads no files".to_owned()))
            .map_err(|error| Answer::refusal(422, &error.to_string()))
    }

    /// The values of f on a grid over both sets, row by row from the smallest y; `null` where f is not finite.
    pub(crate) fn levels(&self) -> Result<Value, Answer> {
        let mut game = self.game()?;
        let begun = Instant::now();
        let at = |[lower, upper]: [f64; 2], i: usize| lower + (upper - lower) * i as f64 / (GRID - 1) as f64;
        let mut values = vec![Value::Null; GRID * GRID];
        for column in 0..GRID {
            if begun.elapsed() > GRID_TIME {
                return Err(Answer::refusal(422, "the formula takes too long to evaluate"));
            }
            let z = Point::new(&[at(self.x, column)], &[0.0]);
            game.fix(&z.x, Need::Values);
            for row in 0..GRID {
                let value = game.value(&[at(self.y, row)]) as f32;
                values[row * GRID + column] = if value.is_finite() { json!(value) } else { Value::Null };
            }
        }
        Ok(json!({ "side": GRID, "values": values, "warnings": game.warnings() }))
    }
}

/// The methods that the page offers: all.
pub(crate) fn offered() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(objective: &str, change: impl FnOnce(&mut Value)) -> Result<GameRequest, (u16, String)> {
        let mut body = json!({ "objective": objective, "x": [-2, 2], "y": [-1, 1], "start": [1.5, -1], "eps": 1e-3, "methods": ["auto"] });
        change(&mut body);
        GameRequest::read(body.to_string().as_bytes()).map_err(|answer| told(&answer))
    }

    fn told(answer: &Answer) -> (u16, String) {
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        (answer.status, body["error"].as_str().expect("an error").to_owned())
    }

    #[test]
    fn level_sets_are_the_values_of_the_formula() {
        let levels = request("x*y + 1", |_| ()).expect("a game").levels().expect("values");
        let values = levels["values"].as_array().expect("numbers");
        assert_eq!(values.len(), GRID * GRID);
        // The corners: (-2, -1), (2, -1), (-2, 1), (2, 1).
        let corners = [0, GRID - 1, GRID * (GRID - 1), GRID * GRID - 1].map(|i| values[i].as_f64().expect("a number"));
        assert_eq!(corners, [3.0, -1.0, -1.0, 3.0]);
    }

    #[test]
    fn values_that_are_not_finite_become_null() {
        let levels = request("log(x) + exp(900*y)", |_| ()).expect("a game").levels().expect("values");
        let values = levels["values"].as_array().expect("numbers");
        assert!(values[0].is_null() && values[GRID * GRID - 1].is_null() && values[GRID - 1].is_number());
    }

    #[test]
    fn an_error_of_the_formula_has_a_caret() {
        let (status, text) = told(&request("x*y + sinn(x)", |_| ()).expect("a request").game().expect_err("refused"));
        assert_eq!(status, 422);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("objective, column 7:") && lines[2].trim() == "^", "{text}");
        assert_eq!(lines[1].as_bytes()[lines[2].len() - 1], b's');
    }

    #[test]
    fn hostile_numbers_and_names_are_refused() {
        let refused = |change: fn(&mut Value)| request("x*y", change).expect_err("refused");
        assert_eq!(refused(|body| body["x"] = json!([1, 1])).0, 422);
        assert_eq!(refused(|body| body["x"] = json!([-1e300, 1e300])).0, 422);
        assert_eq!(refused(|body| body["x"] = json!([null, 1])).0, 400);
        assert_eq!(refused(|body| body["start"] = json!([1e18, 0])).0, 422);
        assert_eq!(refused(|body| body["eps"] = json!(0)).0, 422);
        assert_eq!(refused(|body| body["methods"] = json!([])).0, 422);
        assert_eq!(refused(|body| body["methods"] = json!(["newton"])).0, 422);
        assert_eq!(refused(|body| body["files"] = json!(["/etc/passwd"])).0, 400);
        assert_eq!(request(&"x+".repeat(9000), |_| ()).expect_err("refused").0, 413);
        assert_eq!(GameRequest::read(b"\xff{").expect_err("refused").status, 400);
    }

    #[test]
    fn quotes_and_line_breaks_of_a_formula_stay_inside_it() {
        let (_, text) = told(&request("x\"\n[data]\nA = 'f'", |_| ()).expect("a request").game().expect_err("refused"));
        assert!(text.starts_with("objective, line 1, column 2"), "{text}");
    }
}

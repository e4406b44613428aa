//! The paths of methods on a typed game, sent while they run: one line of JSON for each measurement, one for each end.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};
use standoff::estimate::estimate;
use standoff::formula::FormulaGame;
use standoff::methods::{MethodInfo, NamedParameters};
use standoff::{
    AnyMethod, Gap, Method, Observer, Oracle, Point, Record, Settings, Solution, StopReason, Visitor, solve_with,
};
use standoff_present::number::{count, short, upper};

use crate::game::GameRequest;

/// Limits of one method.
const MOST_GRADIENTS: u64 = 20_000;
const TIME_LIMIT: Duration = Duration::from_secs(3);
/// All measurements up to this number are sent, then those after so many times more gradients.
const ALL_UP_TO: u64 = 1_000;
const GROWTH: f64 = 1.005;
/// Points at which the constants of a game are sampled.
const SAMPLES: u64 = 100;

/// Runs the methods of a request side by side. `send` gets the lines; when it fails, the client is gone and the methods end.
pub(crate) fn race(request: &GameRequest, game: &FormulaGame, send: &mut dyn FnMut(&Value) -> std::io::Result<()>) {
    let gone = Arc::new(AtomicBool::new(false));
    let (sender, lines) = sync_channel(256);
    std::thread::scope(|scope| {
        for (place, name) in request.methods.iter().enumerate() {
            let (sender, gone, mut game) = (sender.clone(), Arc::clone(&gone), game.clone());
            scope.spawn(move || {
                let runner = Runner { place, sent: 0, last: 0.0, at: Rc::default(), sender, gone };
                runner.run(&mut game, name, request.eps);
            });
        }
        drop(sender);
        for line in lines {
            if send(&line).is_err() {
                gone.store(true, Ordering::Relaxed);
                break;
            }
        }
    });
}

/// One method.
struct Runner {
    place: usize,
    sent: u64,
    /// The gradients at the last measurement that was sent.
    last: f64,
    /// The pair that is measured next.
    at: Rc<Cell<[f64; 2]>>,
    sender: SyncSender<Value>,
    gone: Arc<AtomicBool>,
}

/// A method whose pairs are noted.
struct Followed<'m> {
    method: Box<dyn Method<FormulaGame> + 'm>,
    at: Rc<Cell<[f64; 2]>>,
}

impl Followed<'_> {
    fn note(&self, z: &Point<f64>) {
        self.at.set([z.x[0], z.y[0]]);
    }
}

impl Method<FormulaGame> for Followed<'_> {
    fn answer(&mut self, f: &mut Oracle<'_, FormulaGame>, z: &mut Point<f64>) -> Result<(), StopReason> {
        let done = self.method.answer(f, z);
        self.note(z);
        done
    }

    fn advance(&mut self, f: &mut Oracle<'_, FormulaGame>, z: &mut Point<f64>) -> Result<(), StopReason> {
        let done = self.method.advance(f, z);
        self.note(z);
        done
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<f64>) {
        self.method.visit(visitor);
    }
}

impl Observer for Runner {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        let gradients = record.calls.gradients();
        self.sent += 1;
        if self.sent <= ALL_UP_TO || gradients as f64 >= self.last * GROWTH {
            self.last = gradients as f64;
            let ([x, y], c) = (self.at.get(), &record.certificate);
            let line = json!({ "m": self.place, "g": gradients, "x": x, "y": y, "X": c.x.upper, "Y": c.y.upper });
            self.send(line);
        }
        self.gone.load(Ordering::Relaxed).then_some(StopReason::Observer)
    }
}

impl Runner {
    fn send(&self, line: Value) {
        if self.sender.send(line).is_err() {
            self.gone.store(true, Ordering::Relaxed);
        }
    }

    fn run(mut self, game: &mut FormulaGame, name: &str, eps: f64) {
        let line = match self.solved(game, name, eps) {
            Ok(solution) => ended((self.place, name), &solution),
            Err(error) => json!({ "m": self.place, "end": "error", "text": error.to_string() }),
        };
        self.send(line);
    }

    fn solved(&mut self, game: &mut FormulaGame, name: &str, eps: f64) -> Result<Solution<f64>, standoff::Error> {
        let start = game.start();
        // Constants are sampled, for the methods that need them.
        let sampled = MethodInfo::find(name)?.needs_constants.then(|| estimate(game, &start, SAMPLES, 0).constants);
        let given = NamedParameters { constants: sampled, ..NamedParameters::default() };
        let settings = Settings {
            max_gradients: MOST_GRADIENTS,
            time_limit: Some(TIME_LIMIT),
            interrupt: Some(Arc::clone(&self.gone)),
            method: AnyMethod::named(name, &given)?,
            ..Settings::eps(eps)
        };
        let mut method = Followed { method: settings.build(game)?, at: Rc::clone(&self.at) };
        method.note(&start);
        solve_with(game, &start, &mut method, &settings, self)
    }
}

/// The advice for an end. The budget of the page is fixed, so it cannot be raised.
fn advice(reason: StopReason) -> String {
    match reason {
        StopReason::OracleLimit => format!("not solved within the {} gradients of this page", count(MOST_GRADIENTS)),
        StopReason::NonFinite => {
            "f, a gradient or the point became NaN or infinite: is f defined everywhere in the box?".into()
        }
        reason => reason.advice().to_owned(),
    }
}

/// The end of a method: the best pair with its certificate, as numbers and as text.
fn ended((place, name): (usize, &str), solution: &Solution<f64>) -> Value {
    let (c, point) = (&solution.certificate, &solution.point);
    let most = |gap: &Gap| if gap.upper.is_finite() { upper(gap.upper) } else { "unknown".to_owned() };
    json!({
        "m": place,
        "end": solution.reason.name(),
        "text": advice(solution.reason),
        "g": solution.calls.gradients(),
        "x": point.x[0],
        "y": point.y[0],
        "X": c.x.upper,
        "Y": c.y.upper,
        "proof": c.proof.name(),
        "sampled": MethodInfo::find(name).is_ok_and(|method| method.needs_constants),
        "shown": {
            "x": short(point.x[0]),
            "y": short(point.y[0]),
            "f": short(solution.value),
            "X": most(&c.x),
            "Y": most(&c.y),
            "g": count(solution.calls.gradients()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(objective: &str, methods: &[&str], most: usize) -> Vec<Value> {
        let body = json!({ "objective": objective, "x": [-2, 2], "y": [-1, 1], "start": [1.7, -1], "eps": 1e-6, "methods": methods });
        let request = GameRequest::read(body.to_string().as_bytes()).expect("a request");
        let (game, mut lines) = (request.game().expect("a game"), Vec::new());
        race(&request, &game, &mut |line| {
            lines.push(line.clone());
            if lines.len() < most { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        });
        lines
    }

    #[test]
    fn every_method_begins_at_the_start_and_ends_with_a_certificate() {
        let all = lines("cos(3*x)/4 + y*(x - 0.5)", &["auto", "gda", "extragradient"], usize::MAX);
        for place in 0..3 {
            let own: Vec<&Value> = all.iter().filter(|line| line["m"] == place).collect();
            assert_eq!(own[0]["x"], 1.7);
            let end = own.last().expect("an end");
            assert!(end["end"].is_string() && own.iter().filter(|line| line["end"].is_string()).count() == 1);
        }
        // The equilibrium is known: x = 1/2.
        let end = all.iter().find(|line| line["m"] == 0 && line["end"] == "converged").expect("auto converges");
        assert!((end["x"].as_f64().expect("x") - 0.5).abs() < 1e-5 && end["X"].as_f64().expect("X") <= 1e-6);
        assert_eq!(end["proof"], "rigorous");
    }

    #[test]
    fn a_path_leads_to_the_pair_of_its_last_measurement() {
        let all = lines("x^2 - y^2 + x*y", &["extragradient"], usize::MAX);
        let (last, end) = (&all[all.len() - 2], &all[all.len() - 1]);
        assert!(
            end["end"] == "converged" && (last["x"].as_f64().expect("x") - end["x"].as_f64().expect("x")).abs() < 1e-6
        );
    }

    #[test]
    fn a_client_that_leaves_ends_the_methods() {
        assert!(lines("sin(5*x)*cos(4*y) + x*y", &["gda", "agda"], 5).len() <= 6);
    }

    #[test]
    fn a_formula_that_is_nowhere_finite_ends_with_a_message() {
        let all = lines("log(x - 9)*y", &["auto"], usize::MAX);
        let end = all.last().expect("an end");
        assert!(
            end["end"].is_string() && end["end"] != "converged" && !end["text"].as_str().expect("text").is_empty(),
            "{end}"
        );
    }
}

//! Certificates of games that are read as JSON lines from standard input, one answer per line; used by the search over
//! formulas.

use serde_json::{Value, json};
use standoff::certify::evidence;
use standoff::enclosure::{EnclosedGradient, Enclosure, Precision, Slopes};
use standoff::formula::FormulaGame;
use standoff::{Game, Point, Settings, certify, solve};
use std::io::{BufRead, Write};

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().map(|list| list.iter().filter_map(Value::as_f64).collect()).unwrap_or_default()
}

/// Both ends as text, because JSON has no infinity.
fn ends(e: &Enclosure) -> Value {
    json!([format!("{:e}", e.lower()), format!("{:e}", e.upper())])
}

fn gradient(g: &EnclosedGradient) -> Value {
    let entries: Vec<Value> = g.entries.iter().map(ends).collect();
    json!({ "entries": entries, "kinks": g.covers_a_kink || !g.free.is_empty() })
}

fn read(text: &str) -> Result<FormulaGame, String> {
    FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}"))).map_err(|e| e.to_string())
}

fn certified(request: &Value) -> Result<Value, String> {
    let mut game = read(request["toml"].as_str().unwrap_or_default())?;
    let point = Point::new(&numbers(&request["x"]), &numbers(&request["y"]));
    let e = evidence(&mut game, &point, request["radius"].as_f64().unwrap_or(1.0));
    let mut out = json!({
        "X": format!("{:e}", e.certificate.x.upper), "Y": format!("{:e}", e.certificate.y.upper),
        "proof": format!("{:?}", e.certificate.proof), "multipliers": format!("{:?} {:?}", e.x, e.y),
        "outside": e.certificate.outside.map(|v| format!("{v:e}")),
    });
    for (name, precision) in [("fast", Precision::Fast), ("double", Precision::Double)] {
        if let Some(g) = game.enclose(&point, precision, &Slopes::default()) {
            out[name] = json!({ "value": ends(&g.value), "x": gradient(&g.x), "y": gradient(&g.y) });
        }
    }
    Ok(out)
}

/// The end of a run with default settings, with its measured and its proven bounds.
fn solved(request: &Value) -> Result<Value, String> {
    let mut game = read(request["toml"].as_str().unwrap_or_default())?;
    let start = game.start();
    let mut settings = Settings::eps(request["eps"].as_f64().unwrap_or(1e-6));
    settings.time_limit = Some(std::time::Duration::from_secs_f64(request["seconds"].as_f64().unwrap_or(5.0)));
    let s = solve(&mut game, &start, &settings).map_err(|e| e.to_string())?;
    let again = certify(&mut game, &s.point, settings.radius);
    Ok(json!({
        "reason": s.reason.name(), "seconds": s.seconds,
        "measured": format!("{:e}", s.certificate.epsilon()), "again": format!("{:e}", again.epsilon()),
        "lower": [format!("{:e}", again.x.lower), format!("{:e}", again.y.lower)],
        "x": s.point.x, "y": s.point.y,
    }))
}

/// Answers every line until the input ends.
pub fn run() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let answer = if request["solve"].as_bool() == Some(true) { solved(&request) } else { certified(&request) };
        writeln!(out, "{}", answer.unwrap_or_else(|e| json!({ "error": e })))?;
        if request["flush"].as_bool() == Some(true) {
            out.flush()?;
        }
    }
    out.flush()
}

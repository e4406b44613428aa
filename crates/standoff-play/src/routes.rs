//! The addresses of the site: the page and its files, level sets, races, digits and runs.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::json;

use crate::answer::Answer;
use crate::digit::{DigitRequest, Digits};
use crate::game::{GameRequest, offered};
use crate::gate::Gate;
use crate::http::Connection;
use crate::{page, race, runs};

/// Everything that can be asked for.
#[derive(Debug)]
pub(crate) struct Site {
    runs: PathBuf,
    gate: Gate,
    digits: OnceLock<Result<Digits, String>>,
}

impl Site {
    pub(crate) fn new(runs: PathBuf) -> Self {
        Self { runs, gate: Gate::default(), digits: OnceLock::new() }
    }

    /// The network, which is read at its first use.
    fn digits(&self) -> Result<&Digits, Answer> {
        let digits = self.digits.get_or_init(Digits::load);
        digits.as_ref().map_err(|why| Answer::refusal(503, why))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        match path {
            "" => Answer::page(page::html(offered())),
            "play.css" => Answer::file("text/css; charset=utf-8", page::STYLE),
            "play.js" | "ask.js" | "plot.js" | "game.js" | "digit.js" | "runs.js" => {
                page::script(path).map_or_else(absent, |text| Answer::file("text/javascript; charset=utf-8", text))
            }
            "network" => self.digits().map_or_else(|refusal| refusal, |digits| Answer::json(&digits.about())),
            "sample" => self.digits().map_or_else(|refusal| refusal, |digits| sample(digits, query)),
            "runs" => Answer::json(&runs::list(&self.runs)),
            "run" => match (decoded(query), self.gate.enter()) {
                (_, None) => busy(),
                (Some(name), Some(_pass)) => runs::page(&self.runs, &name).unwrap_or_else(|refusal| refusal),
                (None, _) => Answer::refusal(400, "the name of the run is not text"),
            },
            _ => absent(),
        }
    }

    pub(crate) fn post(&self, path: &str, body: &[u8], mut connection: Connection) {
        let Some(_pass) = self.gate.enter() else { return connection.answer(&busy()) };
        let answer = match path {
            "levels" => {
                GameRequest::read(body).and_then(|request| request.levels()).map(|levels| Answer::json(&levels))
            }
            "solve" => match GameRequest::read(body).and_then(|request| Ok((request.game()?, request))) {
                Ok((game, request)) => {
                    if connection.begin("application/x-ndjson").is_ok() {
                        race::race(&request, &game, &mut |line| connection.piece(&format!("{line}\n")));
                        connection.close();
                    }
                    return;
                }
                Err(refusal) => Err(refusal),
            },
            "bracket" => self.digit(body, Digits::bracket),
            "attack" => self.digit(body, Digits::attack),
            _ => Err(absent()),
        };
        connection.answer(&answer.unwrap_or_else(|refusal| refusal));
    }

    fn digit(
        &self,
        body: &[u8],
        compute: impl FnOnce(&Digits, &DigitRequest) -> Result<serde_json::Value, standoff_nn::Error>,
    ) -> Result<Answer, Answer> {
        let request = DigitRequest::read(body)?;
        let found = compute(self.digits()?, &request).map_err(|error| Answer::refusal(422, &error.to_string()))?;
        Ok(Answer::json(&found))
    }
}

fn absent() -> Answer {
    Answer::refusal(404, "there is nothing at this address")
}

fn busy() -> Answer {
    Answer::refusal(503, "the server is busy with other computations; try again")
}

/// A test image by its number.
fn sample(digits: &Digits, query: &str) -> Answer {
    match query.parse::<usize>().ok().and_then(|number| digits.sample(number)) {
        Some((pixels, label)) => Answer::json(&json!({ "pixels": pixels, "label": label })),
        None => Answer::refusal(404, "there is no test image of that number"),
    }
}

/// Decodes a text in which `%20` encodes the byte of that number.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'%' {
            let digits =
                std::str::from_utf8(rest.get(..2)?).ok().filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runs_are_decoded_and_broken_ones_refused() {
        assert_eq!(decoded("fair-1").as_deref(), Some("fair-1"));
        assert_eq!(decoded("a%20b%c3%a4").as_deref(), Some("a b\u{e4}"));
        for broken in ["%", "%2", "%zz", "%ff", "%+1"] {
            assert_eq!(decoded(broken), None, "{broken}");
        }
    }

    #[test]
    fn unknown_addresses_and_numbers_are_refused() {
        let site = Site::new(PathBuf::from("no such folder"));
        for path in [
            "x",
            "play.css/",
            "../play.css",
            "sample",
            "sample?-1",
            "sample?99999999999999999999",
            "run?",
            "run?%2e%2e",
        ] {
            assert_eq!(site.get(path).status, 404, "{path}");
        }
        assert_eq!(site.get("run?%ff").status, 400);
        assert_eq!(site.get("runs").status, 200);
    }
}

//! Proof files of games: everything that a claim rests on, in the format of docs/proofs.md.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use standoff::certify::Evidence;
use standoff::enclosure::KinkSlope;
use standoff::{Multiplier, Point, Proof};

use crate::error::{Result, refuse};
use crate::files;
use crate::number::hexadecimal;

/// A game file and the data files that it names, byte for byte.
#[derive(Debug, Clone, Default)]
pub struct GameFiles {
    /// The text of the game file.
    pub toml: String,
    /// The bytes of each data file by its name in the game file.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Writes the proof of a pair.
pub fn write(path: &Path, game: &GameFiles, point: &Point<f64>, evidence: &Evidence) -> Result<()> {
    let value = proof(game, point, evidence)?;
    files::replace(path, format!("{value}\n").as_bytes())
}

fn proof(game: &GameFiles, point: &Point<f64>, evidence: &Evidence) -> Result<Value> {
    let c = &evidence.certificate;
    let (Some(x), Some(y)) = (&evidence.x, &evidence.y) else {
        refuse!(Proof, "a set without a closed form has no proof file")
    };
    if c.proof != Proof::Rigorous {
        refuse!(Proof, "the certificate is as computed, not rigorous: there is nothing that a proof file could prove");
    }
    let claim = [c.radius, c.x.upper, c.y.upper, c.outside[0], c.outside[1]];
    if !claim.iter().all(|v| v.is_finite()) {
        refuse!(Proof, "nothing is proven at this point: X, Y or the distance from the sets has no bound");
    }
    let mut numbers = Vec::new();
    numbers_of_multipliers(x, &mut numbers);
    numbers_of_multipliers(y, &mut numbers);
    for slope in evidence.slopes.x.iter().chain(&evidence.slopes.y) {
        numbers.extend([slope.kink as f64, slope.entry as f64]);
        numbers.extend(&slope.slope);
    }
    let coordinates: Vec<f64> = point.x.iter().chain(&point.y).copied().collect();
    let encoded: BTreeMap<&str, String> = game.files.iter().map(|(k, v)| (k.as_str(), STANDARD.encode(v))).collect();
    Ok(json!({
        "format": "standoff-proof",
        "version": 1,
        "kind": "game",
        "game": { "toml": game.toml, "files": encoded },
        "radius": c.radius,
        "point": { "x": point.x, "y": point.y },
        "claim": { "X": c.x.upper, "Y": c.y.upper, "outside": { "x": c.outside[0], "y": c.outside[1] } },
        "multipliers": { "x": multipliers(x), "y": multipliers(y) },
        "slopes": { "x": slopes(&evidence.slopes.x), "y": slopes(&evidence.slopes.y) },
        "sha256": {
            "game": digest_of_game(game),
            "point": digest(&coordinates),
            "multipliers": digest(&numbers),
            "claim": digest(&claim),
        },
    }))
}

fn multipliers(all: &[Multiplier]) -> Value {
    let one = |m: &Multiplier| match m {
        Multiplier::Vector(n) => json!({ "n": n }),
        Multiplier::Rows(l) => json!({ "l": l }),
    };
    all.iter().map(one).collect()
}

fn numbers_of_multipliers(all: &[Multiplier], numbers: &mut Vec<f64>) {
    for m in all {
        match m {
            Multiplier::Vector(v) | Multiplier::Rows(v) => numbers.extend(v),
        }
    }
}

fn slopes(all: &[KinkSlope]) -> Value {
    all.iter().map(|s| json!({ "kink": s.kink, "entry": s.entry, "slope": s.slope })).collect()
}

fn digest(numbers: &[f64]) -> String {
    let mut hash = Sha256::new();
    numbers.iter().for_each(|v| hash.update(v.to_le_bytes()));
    hexadecimal(&hash.finalize())
}

fn digest_of_game(game: &GameFiles) -> String {
    let mut hash = Sha256::new();
    hash.update(game.toml.as_bytes());
    hash.update([0]);
    for (name, content) in &game.files {
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update(content);
        hash.update([0]);
    }
    hexadecimal(&hash.finalize())
}

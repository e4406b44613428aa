//! Any input gives a game or an error, never a panic.

use proptest::prelude::*;
use standoff::formula::FormulaGame;
use standoff::{Game, Need};

use crate::{around, read};

/// Parses an objective and evaluates it if it is valid.
fn exercise(objective: &str) {
    if let Ok(mut game) = read(&around(objective)) {
        let mut g = [0.0; 4];
        game.fix(&[0.5, 1.0, -2.0, 0.0], Need::Gradients);
        let f = game.grad_x(&[0.0, 0.3, 0.1, -0.2], &mut g);
        assert_eq!(game.grad_y(&[0.0, 0.3, 0.1, -0.2], &mut g).to_bits(), f.to_bits());
    }
}

const PIECES: [&str; 48] = [
    "s",
    "t",
    "u",
    "v",
    "A",
    "B",
    "c",
    "k",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    ".T",
    "+",
    "-",
    "*",
    "/",
    "^",
    "**",
    "@",
    " ",
    "\n",
    "1",
    "0",
    "2.5",
    "-1",
    "1e3",
    "sin(",
    "sum(",
    "max(",
    "norm(",
    "dot(",
    "logsumexp(",
    "[0]",
    "[1:]",
    "[0, 1]",
    "[:, 1]",
    "pi",
    "e",
    "é",
    "²",
    "'",
    "transpose(",
    "mean(",
    "u @ v",
    "A @ u",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_characters_never_panic(text in "\\PC{0,60}") {
        exercise(&text.replace("'''", ""));
    }

    #[test]
    fn random_pieces_of_the_language_never_panic(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24)) {
        exercise(&pieces.concat());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = FormulaGame::from_bytes(&bytes, &mut |_| Ok(bytes.clone()));
        let _ = read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_changes_to_a_game_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = b"objective = \"sum(p * sigmoid(-b * (A @ w))) + p @ p\"\n[min.w]\ndim = 2\nset = { ball = { radius = 5.0 } }\n\
            start = [0.1, -0.2]\n[max.p]\ndim = 3\nset = \"simplex\"\n[data]\nA = [[1, 2], [0.5, -1], [-1.5, 0.3]]\nb = \"b.csv\"\n".to_vec();
        for (place, byte) in changes {
            let i = place.index(bytes.len());
            bytes[i] = byte;
        }
        let _ = FormulaGame::from_bytes(&bytes, &mut |_| Ok(b"1\n-1\n1\n".to_vec()));
    }

    #[test]
    fn random_data_files_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "[-0-9.,; \te\n\"a#]{0,60}", shape in "[0-9,() -]{0,20}") {
        let game = |file: &str| format!("objective = 'sum(D)*x*y'\n[min.x]\n[max.y]\n[data]\nD = '{file}'\n");
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}");
        let mut npy = b"\x93NUMPY\x01\x00".to_vec();
        npy.extend((header.len() as u16).to_le_bytes());
        npy.extend(header.as_bytes());
        npy.extend(&bytes);
        let _ = FormulaGame::from_toml(&game("D.npy"), &mut |_| Ok(npy.clone()));
        let _ = FormulaGame::from_toml(&game("D.npy"), &mut |_| Ok([b"\x93NUMPY", &bytes[..]].concat()));
        let _ = FormulaGame::from_toml(&game("D.csv"), &mut |_| Ok(bytes.clone()));
        let _ = FormulaGame::from_toml(&game("D.csv"), &mut |_| Ok(text.clone().into_bytes()));
    }
}

//! Game files, and after a zero byte a data file: refused or built. Small games are evaluated at their start.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff::formula::FormulaGame;
use standoff::{Game, Need};

/// Games with more variables are not evaluated: they are slow.
const SMALL: usize = 200;

fuzz_target!(|data: &[u8]| {
    let (text, file) = data.split_at(data.iter().position(|b| *b == 0).unwrap_or(data.len()));
    let file = file.get(1..).unwrap_or(&[]);
    let Ok(mut game) = FormulaGame::from_bytes(text, &mut |_| Ok(file.to_vec())) else { return };
    let start = game.start();
    if start.x.len() + start.y.len() > SMALL {
        return;
    }
    game.fix(&start.x, Need::Gradients);
    let (mut x, mut y) = (vec![0.0; start.x.len()], vec![0.0; start.y.len()]);
    let value = game.value(&start.y);
    let both = [game.grad_x(&start.y, &mut x), game.grad_y(&start.y, &mut y)];
    for other in both {
        assert!(other == value || (other.is_nan() && value.is_nan()), "{other} is not {value}");
    }
});

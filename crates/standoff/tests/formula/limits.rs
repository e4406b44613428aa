//! Size and depth: long expressions work, and what exceeds a limit is refused without a crash.

use std::time::Instant;

use standoff::{Game, Need};

use crate::{around, read, refusal};

fn first_line(objective: &str) -> String {
    refusal(&around(objective)).lines().next().unwrap_or_default().to_owned()
}

fn nested(depth: usize) -> String {
    format!("{}s{}", "(".repeat(depth), ")".repeat(depth))
}

#[test]
fn a_million_characters_are_read_and_evaluated() {
    let begun = Instant::now();
    let objective = format!("{}t*s", "s+".repeat(499_998)) + " ";
    assert_eq!(objective.len(), 1_000_000);
    let mut game = read(&around(&objective)).unwrap();
    let mut g = [0.0; 4];
    game.fix(&[1.0, 0.0, 0.0, 0.0], Need::Gradients);
    assert_eq!(game.grad_x(&[2.0, 0.0, 0.0, 0.0], &mut g), 500_000.0);
    assert_eq!(g[0], 500_000.0);
    drop(game);
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

#[test]
fn one_character_more_is_refused() {
    let message = refusal(&around(&format!("{}{}", "s+".repeat(500_000), "s")));
    assert_eq!(message, "line 1: `objective` has 1000001 characters, the most is 1000000; move numbers to [data]");
}

#[test]
fn nesting_is_allowed_up_to_its_limit() {
    assert!(read(&around(&nested(256))).is_ok());
    assert_eq!(
        first_line(&nested(257)),
        "objective, column 257: brackets are nested more than 256 deep; name the inner parts under [define]"
    );
    let calls = |depth: usize| format!("{}s{}", "sin(".repeat(depth), ")".repeat(depth));
    assert!(read(&around(&calls(256))).is_ok());
    assert!(first_line(&calls(257)).contains("nested more than 256 deep"));
    let sides = vec![nested(200); 100].join(" + ");
    assert!(read(&around(&sides)).is_ok(), "brackets side by side are not nested");
}

#[test]
fn two_hundred_thousand_brackets_do_not_overflow_the_stack() {
    for text in ["(", "sin(", "-(", "max(s,", "s^(", "u[", "(((s)"] {
        let many = text.repeat((1_000_000 / text.len()).min(200_000));
        assert!(first_line(&many).starts_with("objective, column "), "{text}");
    }
    assert!(first_line(&nested(200_000)).contains("nested more than 256 deep"));
}

#[test]
fn long_chains_of_signs_powers_and_operators_do_not_overflow_the_stack() {
    let value = |objective: &str| {
        let mut game = read(&around(objective)).unwrap();
        game.fix(&[1.0; 4], Need::Values);
        game.value(&[1.0; 4])
    };
    assert_eq!(value(&format!("{}s", "-".repeat(200_001))), -1.0);
    assert_eq!(value(&format!("{}s", "s^".repeat(200_000))), 1.0);
    assert_eq!(value(&format!("{}1", "1^-".repeat(200_000))), 1.0);
    assert_eq!(value(&format!("s{}", " / s * t".repeat(100_000))), 1.0);
    assert_eq!(value(&format!("sum(u{})", "[0:3]".repeat(100_000))), 3.0);
    assert_eq!(value(&format!("sum(A{})", ".T".repeat(200_000))), 21.0);
    assert_eq!(value(&format!("max({}s)", "t,".repeat(200_000))), 1.0);
}

#[test]
fn more_numbers_than_fit_are_refused() {
    let column = format!("[{}]", vec!["[1]"; 20_000].join(","));
    let text = format!("objective = 'sum(D @ D.T)*x*y'\n[min.x]\n[max.y]\n[data]\nD = {column}\n");
    let message = refusal(&text);
    assert!(message.contains("needs more than 100000000 numbers") && message.contains("column 7"), "{message}");
    let wide = refusal("objective = 't'\n[min.u]\n[min.w]\ndim = 100000000\n[max.t]\n");
    assert!(wide.starts_with("line 3: `min.w` needs more than"), "{wide}");
}

#[test]
fn deep_toml_is_refused() {
    let deep =
        format!("objective = 'x*y'\n[min.x]\n[max.y]\n[data]\nD = {}1{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refusal(&deep).starts_with("the game file is not valid TOML"));
}

#[test]
fn the_deepest_nesting_fits_into_a_small_stack() {
    let work =
        || read(&around(&format!("{}{}", "max(s, -2^(".repeat(128), "t".to_owned() + &"))".repeat(128)))).is_ok();
    let thread = std::thread::Builder::new().stack_size(384 << 10).spawn(work);
    assert!(thread.is_ok_and(|t| t.join().is_ok_and(|read| read)));
}

#[test]
fn names_of_any_length_are_cut_in_messages() {
    let name = "q".repeat(100_000);
    for objective in
        [name.clone(), format!("{name}(s)"), format!("s {name}"), format!("s[{name}]"), format!("s, {name}")]
    {
        assert!(refusal(&around(&objective)).len() < 400);
    }
    assert!(refusal(&format!("objective = 's'\n{name} = 3\n[min.s]\n[max.t]\n")).len() < 400);
    assert!(refusal(&format!("objective = 's'\n[min.s]\nlower = '{name}'\n[max.t]\n")).len() < 400);
    assert!(refusal(&format!("objective = 's'\n[min.s]\nset = '{name}'\n[max.t]\n")).len() < 400);
    assert!(refusal(&format!("objective = 's'\n[min.s]\ndim = '{name}'\n[max.t]\n")).len() < 400);
}

//! Every error message shows the position of the mistake and what to do.

use crate::{around, refusal};

/// The first line of the error for an objective, and the column of its caret.
fn fault(objective: &str) -> (String, usize) {
    let message = refusal(&around(objective));
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 3, "{message}");
    (lines[0].to_owned(), lines[2].len() - 4)
}

fn says(objective: &str, column: usize, part: &str) {
    let (message, caret) = fault(objective);
    assert!(message.contains(part), "{objective}: {message}");
    assert!(
        message.starts_with(&format!("objective, column {column}: ")) && caret == column,
        "{objective}: {message}, caret {caret}"
    );
}

#[test]
fn an_unknown_name_suggests_the_nearest_one() {
    assert_eq!(
        refusal("objective = 'sum(p * sigmoid(ww))'\n[min.w]\ndim = 2\n[max.p]\ndim = 2\n"),
        "objective, column 17: unknown name `ww`; did you mean `w`?\n    sum(p * sigmoid(ww))\n                    ^"
    );
}

#[test]
fn an_unclosed_bracket_is_shown_where_it_opens() {
    assert_eq!(
        refusal("objective = 'x * (y + sin(x)'\n[min.x]\n[max.y]\n"),
        "objective, column 5: this `(` is never closed; add `)`\n    x * (y + sin(x)\n        ^"
    );
}

#[test]
fn shapes_that_do_not_fit_are_shown_at_their_operator() {
    assert_eq!(
        refusal(
            "objective = \"\"\"\nsum(p) +\n  sum(A @ p)\"\"\"\n[min.w]\ndim = 2\n[max.p]\ndim = 3\n[data]\nA = [[1, 2], [3, 4], [5, 6]]\n"
        ),
        "objective, line 2, column 9: `@` cannot multiply a 3x2 matrix by a vector of length 3: 2 is not 3; transpose the first with .T\n      sum(A @ p)\n            ^"
    );
    says("u + A", 3, "a vector of length 3 with a 2x3 matrix");
    says("A * u", 3, "for the matrix product write @");
    says("s @ u", 3, "to scale write *");
    says("sum(max(u, c[0:2]))", 5, "`max` cannot combine");
    says("u ^ A", 3, "`^` cannot combine");
    says("dot(u, A)", 1, "`dot` needs two vectors");
}

#[test]
fn a_definition_is_named_in_its_error() {
    assert_eq!(
        refusal("objective = 'x*y'\n[min.x]\n[max.y]\n[define]\nz = 'x + '\n"),
        "define.z, column 5: a value is missing at the end\n    x + \n        ^"
    );
    let later = refusal("objective = 'x*y'\n[min.x]\n[max.y]\n[define]\na = 'bb'\nbb = 'x'\n");
    assert!(later.contains("unknown name `bb`"), "{later}");
}

#[test]
fn brackets_and_operators_out_of_place_are_named() {
    says("s + t)", 6, "`)` closes nothing");
    says("s + t]", 6, "`]` closes nothing");
    says("(s + t]", 7, "got `]` where `)` is needed");
    says("s, t", 2, "`,` belongs inside a function call");
    says("(s, t)", 3, "`,` belongs inside a function call");
    says("2 s", 3, "an operator is missing before `s`; to multiply write *");
    says("2(s)", 2, "to multiply write *");
    says("sin(s t)", 7, "an operator is missing");
    says("s * / t", 5, "a value is missing before `/`");
    says("s +", 4, "a value is missing at the end");
    says("()", 2, "a value is missing before `)`");
    says("[1, 2] @ u", 1, "put it under [data]");
    says("s : t", 3, "`:` has no meaning here");
    says("s = t", 3, "an objective is one expression");
    says("s & t", 3, "`&` has no meaning");
    says("A' @ u", 2, "write .T");
}

#[test]
fn functions_are_explained() {
    says("sn(s)", 1, "unknown function `sn`; did you mean `sin`?");
    says("ln(s)", 1, "write log(...)");
    says("s(t)", 1, "`s` is not a function; for a product write s * (...)");
    says("sin + s", 1, "`sin` is a function: write sin(...)");
    says("np.sin(s)", 1, "remove `np.`");
    says("sum(u, 0)", 1, "`sum` takes one argument, got 2");
    says("sin()", 1, "`sin` takes one argument, got 0");
    says("dot(u)", 1, "`dot` takes two arguments, got 1");
    says("norm(u, 1)", 1, "the 1-norm is sum(abs(v))");
    says("max()", 1, "`max` needs an argument");
}

#[test]
fn indices_are_explained() {
    says("u[3]", 2, "index 3 is outside: the length is 3, so 0 to 2 or -1 to -3");
    says("u[-4]", 2, "index -4 is outside");
    says("A[2, 0]", 2, "the row count is 2");
    says("A[0, 3]", 2, "the column count is 3");
    says("s[0]", 2, "a scalar has no entries");
    says("u[0, 0]", 2, "2 indices for a vector of length 3: too many");
    says("A[0, 0, 0]", 7, "at most two indices");
    says("u[0.5]", 3, "an index is a whole number");
    says("u[s]", 3, "an index is a whole number");
    says("u[]", 3, "an index is a whole number");
    says("u[0", 2, "this `[` is never closed");
    says("u[0)", 4, "`]` is missing before `)`");
    says("u[::2]", 4, "a slice has no step");
    says("sum(u[2:1])", 6, "the slice is empty");
    says("sum(u[0:9])", 6, "the slice goes outside");
    says("A.X", 2, "only T is known");
}

#[test]
fn a_result_that_is_not_a_number_asks_for_a_sum() {
    says("u * v", 1, "the result is a vector of length 3, but must be a number; write sum(...) around it");
    says("A * s", 1, "a 2x3 matrix");
}

#[test]
fn an_empty_objective_is_refused() {
    says("", 1, "the expression is empty");
    says("  ", 3, "the expression is empty");
    let none = refusal("[min.x]\n[max.y]\n");
    assert_eq!(none, "the game file has no `objective`; add one, such as objective = \"x*y - y^2\"");
}

#[test]
fn a_long_line_is_shown_around_its_mistake() {
    let objective = format!("{} ? {}", "s + ".repeat(1000), "+ t".repeat(1000));
    let message = refusal(&around(&objective));
    let lines: Vec<&str> = message.lines().collect();
    assert!(lines[1].len() < 75 && lines[1].contains('?'), "{message}");
    assert_eq!(lines[1].chars().nth(lines[2].len() - 1), Some('?'));
}

#[test]
fn unknown_keys_suggest_the_nearest() {
    let game = |line: &str| refusal(&format!("objective = 'x*y'\n[min.x]\n[max.y]\n{line}\n"));
    assert_eq!(game("dimm = 3"), "line 4: `max.y.dimm` is an unknown key; did you mean `dim`?");
    assert_eq!(game("[dta]\nA = 1"), "line 4: `dta` is an unknown key; did you mean `data`?");
    assert_eq!(game("[constants]\nl11 = 1"), "line 5: `constants.l11` is an unknown key; did you mean `L11`?");
    assert_eq!(
        game("set = { ball = { radios = 1 } }"),
        "line 4: `max.y.set.ball.radios` is an unknown key; did you mean `radius`?"
    );
    assert_eq!(
        game("set = { bal = { radius = 1 } }"),
        "line 4: `max.y.set.bal` names an unknown set `bal`; did you mean `ball`?"
    );
    assert_eq!(game("set = 'simplx'"), "line 4: `max.y.set` names an unknown set `simplx`; did you mean `simplex`?");
    assert_eq!(
        game("zzzzz = 1"),
        "line 4: `max.y.zzzzz` is an unknown key; known here are dim, set, lower, upper, start"
    );
    assert_eq!(
        game("[data]\nA = { files = 'A.npy' }"),
        "line 5: `data.A.files` is an unknown key; did you mean `file`?"
    );
}

#[test]
fn wrong_types_report_the_expected_type_and_the_position() {
    let game = |line: &str| refusal(&format!("objective = 'x*y'\n[min.x]\n[max.y]\n{line}\n"));
    assert_eq!(game("dim = 'two'"), "line 4: `max.y.dim` must be a whole number, got the string \"two\"");
    assert_eq!(game("dim = 0"), "line 4: `max.y.dim` must be a whole number from 1 to 100000000, got 0");
    assert_eq!(game("dim = -1"), "line 4: `max.y.dim` must be a whole number from 1 to 100000000, got -1");
    assert_eq!(game("dim = 2.0"), "line 4: `max.y.dim` must be a whole number, got 2.0");
    assert_eq!(
        game("dim = 99999999999999999999"),
        "line 4: `max.y.dim` must be a whole number from 1 to 100000000, got 99999999999999999999"
    );
    assert_eq!(
        game("lower = true"),
        "line 4: `max.y.lower` must be a number, a list, a list of rows or a file, got true"
    );
    assert_eq!(game("start = [1, 'a']"), "line 4: `max.y.start[1]` must be a number, got the string \"a\"");
    assert_eq!(
        game("[data]\nA = 1979-05-27"),
        "line 5: `data.A` must be a number, a list, a list of rows or a file, got a date"
    );
    assert_eq!(
        game("[constants]\nL11 = 1\nL12 = 1\nL22 = -1"),
        "line 7: `constants.L22` must be a finite number that is not negative, got -1"
    );
    assert_eq!(game("[constants]\nL11 = 1\nL12 = 1"), "line 4: `constants` has no `L22`; add one, such as L22 = 1.0");
    assert_eq!(refusal("objective = 3\n[min.x]\n[max.y]\n"), "line 1: `objective` must be a string, got 3");
    assert_eq!(
        refusal("objective = 'x'\nmin = 3\n[max.y]\n"),
        "line 2: `min` must be a table: write [min] above its entries, got 3"
    );
    assert_eq!(refusal("objective = 'x'\nname = 3\n[min.x]\n[max.y]\n"), "line 2: `name` must be a string, got 3");
}

#[test]
fn names_that_clash_are_refused() {
    let clash = "objective = 'x*y'\n[min.x]\n[max.x]\n";
    assert_eq!(refusal(clash), "line 3: `max.x` has the same name as `min.x`; rename one of them");
    let clash = "objective = 'x*y'\n[min.x]\n[max.y]\n[data]\ny = 3\n";
    assert_eq!(refusal(clash), "line 5: `data.y` has the same name as `max.y`; rename one of them");
    let clash = "objective = 'x*y'\n[min.x]\n[max.y]\n[define]\nx = '3'\n";
    assert_eq!(refusal(clash), "line 5: `define.x` has the same name as `min.x`; rename one of them");
    for reserved in ["e", "pi", "sin", "max", "T_1-a", "'1x'", "''"] {
        let message = refusal(&format!("objective = 'x*y'\n[min.{reserved}]\n[max.y]\n"));
        assert!(message.starts_with("line 2: `min."), "{message}");
        assert!(message.contains("reserved name") || message.contains("is not a name"), "{message}");
    }
}

#[test]
fn a_missing_player_is_named() {
    let alone = refusal("objective = 'x'\n[min.x]\n");
    assert_eq!(alone, "the game has no variable under [max]; add one, such as [max.z]");
}

#[test]
fn toml_errors_keep_their_message_and_position() {
    let message = refusal("objective = 'x*y'\n[min.x\nlower = 1\n");
    assert!(message.starts_with("the game file is not valid TOML, line 2, column 7: "), "{message}");
    assert!(message.contains("\n    [min.x\n          ^"), "{message}");
    let twice = refusal("objective = 'x'\nobjective = 'y'\n");
    assert!(twice.contains("duplicate key") && twice.contains("line 2"), "{twice}");
}

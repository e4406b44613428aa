//! The table `[batch]`: refusals, and runs on batches.

use standoff::formula::FormulaGame;
use standoff::methods::{AnyMethod, Multistep};
use standoff::{Constants, Game, Settings, StopReason, solve};

const HEAD: &str = "[min.w]\ndim = 2\nset = { ball = { radius = 5.0 } }\n[max.y]\nlower = -1\nupper = 1\n\
                    [data]\nA = [[1, 2], [3, -1], [0, 1], [2, 2]]\nb = [1, 0, -2, 3]\nc = [1, 2]\n";

fn read(objective: &str, batch: &str) -> Result<FormulaGame, String> {
    let text = format!("objective = \"{objective}\"\n{HEAD}[batch]\n{batch}\n");
    FormulaGame::from_toml(&text, &mut |path| Err(format!("no file {path}"))).map_err(|e| e.to_string())
}

const OVER: &str = "over = [\"A\", \"b\"]\nsize = 2";

#[test]
fn objectives_that_are_linear_in_means_over_rows_are_accepted() {
    for objective in [
        "mean((A @ w - b)^2) - y^2",
        "0.5*mean(softplus(b * (A @ w))) + y*mean(b) - y^2 + sum(w^2)",
        "mean(A[:, 0]*w[0] + A[:, 1]*w[1] - b) - (y - mean(b*y))/3 - y^2",
    ] {
        let game = read(objective, OVER).unwrap();
        assert!(game.draws_batches(), "{objective}");
    }
}

#[test]
fn objectives_whose_batches_have_the_wrong_mean_are_refused() {
    for (objective, why) in [
        ("sum((A @ w - b)^2) - y^2", "write `N*mean(u*v)`"),
        ("(A @ w) @ b - y^2", "write `N*mean(u*v)`"),
        ("mean((A @ w - b)^2)^2 - y^2", "is not linear in a mean"),
        ("sqrt(mean((A @ w - b)^2)) - y^2", "is not linear in a mean"),
        ("mean(b*mean(A @ w)) - y^2", "only numbers are allowed"),
        ("(A @ w)[0] + mean(b) - y^2", "applied to the rows of a batch"),
        ("sum(w^2) - y^2 + 0*y", "has no mean over the rows"),
        ("norm(A @ w - b) - y^2", "write `N*mean(u*v)`"),
    ] {
        let error = read(objective, OVER).unwrap_err();
        assert!(error.contains(why), "{objective}: {error}");
    }
}

#[test]
fn a_batch_table_is_checked() {
    let objective = "mean((A @ w - b)^2) - y^2";
    for (batch, why) in [
        ("size = 2", "has no `over`"),
        ("over = \"A\"", "has no `size`"),
        ("over = [\"A\", \"q\"]\nsize = 2", "not an entry of [data]"),
        ("over = [\"A\", \"c\"]\nsize = 2", "the same rows"),
        ("over = [\"A\", \"b\"]\nsize = 5", "from 1 to 4"),
        ("over = [\"A\", \"b\"]\nsize = 2\nseed = 0.5", "whole number"),
        ("over = [\"A\", \"b\"]\nsize = 2\nboth = 1", "true or false"),
        ("over = [\"A\"]\nsize = 2", "only numbers are allowed"),
        ("ower = [\"A\"]\nsize = 2", "did you mean `over`?"),
    ] {
        let error = read(objective, batch).unwrap_err();
        assert!(error.contains(why), "{batch}: {error}");
    }
}

#[test]
fn methods_that_need_exact_gradients_refuse_batches() {
    let mut game = read("mean((A @ w - b)^2) - y^2 + 0.1*y*w[0]", OVER).unwrap();
    let start = game.start();
    for method in ["auto", "extragradient", "fastnash"] {
        let method = AnyMethod::named(method, &Some(Constants::default()).into()).unwrap();
        let settings = Settings { method, ..Settings::eps(0.1) };
        let error = solve(&mut game, &start, &settings).unwrap_err().to_string();
        assert!(error.contains("draws batches") && error.contains("multistep"), "{error}");
    }
}

#[test]
fn a_run_on_batches_is_certified_on_all_rows() {
    let objective = "mean((A @ w - b)^2) - y^2 + 0.1*y*w[0]";
    let constants = Constants { l11: 12.0, l12: 0.1, l22: 2.0, mu: 2.0, ..Constants::default() };
    // The noise does not vanish, so only a loose eps is reached by chance; the certificate is of the whole sum all the
    // same.
    let settings = Settings {
        method: Multistep { constants: Some(constants), ..Multistep::default() }.into(),
        max_gradients: 200_000,
        ..Settings::eps(0.5)
    };
    let run = || {
        let mut game = read(objective, "over = [\"A\", \"b\"]\nsize = 3\nseed = 7").unwrap();
        let start = game.start();
        solve(&mut game, &start, &settings).unwrap()
    };
    let (first, second) = (run(), run());
    assert_eq!(first.reason, StopReason::Converged);
    assert_eq!((&first.point, first.calls), (&second.point, second.calls), "the same seed, the same bits");
    let text = format!("objective = \"{objective}\"\n{HEAD}");
    let mut whole = FormulaGame::from_toml(&text, &mut |path| Err(format!("no file {path}"))).unwrap();
    let again = standoff::certify(&mut whole, &first.point, 1.0);
    assert!(again.proves(0.5), "{again:?}");
}

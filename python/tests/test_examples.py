"""The examples run, and find what the games of the same names in examples/ lead to."""

import importlib.util
import math

import pytest

import standoff as so


def example(root, name):
    spec = importlib.util.spec_from_file_location(name, root / f"python/examples/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["jammer", "kink", "portfolio", "robust_regression", "rock_paper_scissors", "worst_group"])
def test_an_example_is_the_game_of_its_file(root, name):
    found = example(root, name).main()
    game = so.Game.from_file(root / f"examples/{name.replace('_', '-')}.toml")
    theirs = game.solve(eps=found.gap.epsilon * 1.01 + 1e-12)
    assert found.success and theirs.success
    assert game(found.x, found.y) == pytest.approx(found.fun, abs=1e-12), "the same function"
    assert game.gap(found.x, found.y).gap.epsilon == pytest.approx(found.gap.epsilon, rel=1e-6, abs=1e-12), "the same gradients"
    assert found.fun == pytest.approx(theirs.fun, abs=1e-3)


def test_own_game_finds_what_the_one_in_rust_finds(root, capsys):
    found = example(root, "own_game").main()
    assert "converged: x = " in capsys.readouterr().out and found.success
    assert math.sin(3 * found.x[0]) + 1 == pytest.approx((found.x[0] - 1) ** 2, abs=1e-5)


def test_every_example_is_tested(root):
    names = {path.stem for path in (root / "python/examples").glob("*.py")}
    assert names == {"jammer", "kink", "own_game", "portfolio", "robust_regression", "rock_paper_scissors", "worst_group"}

"""Results as text, as HTML and as pictures; what `dir` lists."""

import warnings

import numpy as np
import pytest

import standoff as so


def test_dir_lists_the_public_names_and_nothing_else():
    assert dir(so) == sorted(so.__all__)


def test_a_certificate_shows_its_bounds_and_stays_a_tuple():
    c = so.Certificate(0.0, 1e-4, 0.0, 2e-4, 1.0)
    assert repr(c) == "Certificate(X <= 0.0001, Y <= 0.0002 (radius 1, as-computed))"
    assert tuple(c)[:4] == (0.0, 1e-4, 0.0, 2e-4) and "0.0002" in c._repr_html_()


def test_a_solution_has_a_short_repr_and_a_table():
    game = so.Game.from_toml('objective = "dot(x, y)"\n[min.x]\ndim = 1000\nset = "simplex"\n[max.y]\ndim = 1000\nset = "simplex"')
    r = game.solve(max_iters=2)
    assert len(repr(r)) < 900 and len(r._repr_html_()) < 2000
    assert "<td" in r._repr_html_() and r.status in r._repr_html_()


def test_text_in_tables_is_escaped():
    r = so.solve(so.zoo["kink"])
    r["message"] = "<script>alert(1)</script>"
    assert "<script>" not in r._repr_html_()


def test_a_race_shows_its_standings():
    r = so.race(["auto", "gda"], ["kink"], eps=1e-2, max_grads=2000)
    lines = repr(r).splitlines()
    assert lines[0].startswith("method") and lines[1].startswith("auto") and "1 of 1" in lines[1] and len(lines) == 3
    assert "<th>gda</th>" in r._repr_html_()


def attacked(eps):
    pytest.importorskip("sklearn")
    X = np.repeat([[0.1, 0.1, 0.9, 0.9], [0.9, 0.9, 0.1, 0.1]], 20, axis=0)
    y = np.repeat([0, 1], 20)
    network = so.RobustClassifier("logistic", "ibp", eps=0.1, epochs=30, learning_rate=0.03, batch_size=20, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return so.evaluate(network, X, y, eps=eps, attacks=["pgd10"])


def test_an_attack_result_shows_the_bracket_and_no_pixels():
    r = attacked(0.1)
    assert repr(r).startswith("eps 0.1: robust accuracy at least ") and "pgd10" in repr(r) and len(repr(r)) < 1500
    assert "proven" in r._repr_html_() and "array" not in r._repr_html_()


def test_the_last_line_of_a_progress_bar_keeps_its_number(capsys):
    from standoff._progress import ProgressReport

    with ProgressReport(True, "loss") as bar:
        bar.callback(0.5, 0.125)
    assert capsys.readouterr().err.rstrip().endswith("100 %  loss 0.125")


def test_pictures_are_drawn_where_matplotlib_is_installed(tmp_path):
    pytest.importorskip("sklearn")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = so.solve(so.zoo["kink"]).plot()
    assert [line.get_label() for line in ax.get_lines()] == ["X", "Y"] and ax.get_yscale() == "log"
    ax = so.race(["auto", "gda"], ["kink"], eps=1e-2, max_grads=2000).plot()
    assert len(ax.get_lines()) == 2
    several = attacked([0.05, 0.6])
    assert repr(several).count("eps ") == 2 and len(several.plot().get_lines()) == 2
    assert len(several[1].plot(count=3).axes) == 3
    with pytest.raises(ValueError, match="no attack broke an image"):
        several[0].plot()
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    so.FairClassifier(max_iter=8, random_state=0, folder=tmp_path / "a").fit(X, y, eval_set=(X, y))
    run = so.read_run(tmp_path / "a")
    assert "finished, 1 runs" in repr(run) and list(run.tradeoff()) == ["minmax-reg-0.1"]
    assert "worst group" in run.plot().get_ylabel()
    plt.close("all")

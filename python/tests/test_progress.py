"""`verbose=True`: a bar in a terminal, a display in a notebook, nothing on stdout."""

import os
import subprocess
import sys

import numpy as np
import pytest

import standoff as so

RUN = """
import standoff as so
r = so.solve(so.zoo["bilinear"], method="gda", constants={"l12": 1.0}, eps=1e-9, time_limit=0.7, max_grads=1e15,
             check_every=1000, verbose=True)
assert r.status == "time-limit"
print("the end")
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals here")
def test_a_terminal_shows_a_bar_that_is_rewritten():
    ours, theirs = os.openpty()
    child = subprocess.Popen([sys.executable, "-c", RUN], stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = bytearray()
    try:
        while piece := os.read(ours, 4096):
            said.extend(piece)
    except OSError:  # the other side is gone
        pass
    os.close(ours)
    text = said.decode()
    assert child.wait() == 0, text
    bars = [line for line in text.split("\r") if line.startswith("[")]
    assert len(bars) >= 3 and "gap <= " in bars[0] and " %  iteration" in bars[0]
    assert "the end" in text.splitlines()[-1], "the bar ends its line"


def test_a_notebook_shows_a_display_that_is_updated():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(RUN)])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    outputs = book.cells[0].outputs
    shown = [o for o in outputs if o.output_type == "display_data"]
    assert len(shown) == 1, "one display, updated in place"
    assert "<progress value=" in shown[0].data["text/html"] and "gap &lt;= " in shown[0].data["text/html"]
    assert all(o.get("name") != "stderr" for o in outputs)


def test_the_bar_ends_full_and_leaves_stdout_alone(capsys):
    r = so.solve(so.zoo["kink"], eps=1e-6, verbose=True)
    out, err = capsys.readouterr()
    assert r.success and out == "" and "100 %" in err and err.endswith("\n")


def test_training_and_racing_show_their_progress(capsys):
    pytest.importorskip("sklearn")
    X = np.random.default_rng(0).normal(size=(4000, 20))
    so.FairClassifier(verbose=True, random_state=0, max_iter=400).fit(X, X[:, 0] > 0)
    assert "100 %  loss" in capsys.readouterr().err
    so.race(["auto"], ["kink"], eps=0.1, verbose=True)
    assert "100 %  racing" in capsys.readouterr().err


def test_an_exception_ends_the_line(capsys):
    def f(x, y):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError):
        so.solve(f, [0.0], [0.0], verbose=True)
    assert capsys.readouterr().err == "\n"

"""Measures of the scripts in bench/ that make the tables of the documents."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture
def fair_tables(root):
    for name in ("pandas", "sklearn"):
        pytest.importorskip(name)
    spec = importlib.util.spec_from_file_location("fair_tables", root / "bench" / "fair_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_groups_with_few_test_rows_decide_neither_the_worst_group_nor_odds(fair_tables):
    # Group and label, rows, the probability of class 1. Of women with label 0 there are 22, all classified wrongly.
    parts = [("f", 0, 22, 0.9), ("f", 1, 40, 0.8), ("m", 0, 50, 0.3), ("m", 1, 90, 0.4)]
    attribute = np.concatenate([[a] * n for a, _, n, _ in parts])
    y = np.concatenate([[label] * n for _, label, n, _ in parts])
    share = np.concatenate([[p] * n for *_, n, p in parts])
    cells = np.array([f"{a}, {label}" for a, label in zip(attribute, y)])
    split = SimpleNamespace(y=[None, y], attribute=[None, attribute], cells=[None, cells])
    plain = fair_tables.measured(split, np.where(cells == "m, 1", 0.6, share), False)
    assert plain["worst accuracy"] == 1.0 and plain["worst log-loss"] == pytest.approx(-np.log(0.6))
    assert plain["accuracy"] == pytest.approx(180 / 202)
    # All women and 90 of 140 men are predicted to be of class 1; both labels count for parity.
    assert plain["parity"] == pytest.approx(1 - 90 / 140) and plain["odds"] == 0.0
    assert fair_tables.measured(split, share, False)["worst accuracy"] == 0.0

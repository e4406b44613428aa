"""Shares in five assets against the worst mixture of six scenarios: examples/portfolio.toml in NumPy."""

from pathlib import Path

import numpy as np

import standoff

RETURNS = np.loadtxt(Path(__file__).parents[2] / "examples/returns.csv", delimiter=",", ndmin=2)
HELD = np.full(5, 0.2)


def loss(w, q):
    moved = (w - HELD) ** 2
    return -q @ RETURNS @ w + 0.02 * (moved / (0.01 + moved)).sum()


def grad_w(w, q):
    away = w - HELD
    return -q @ RETURNS + 0.02 * 2 * away * 0.01 / (0.01 + away**2) ** 2


def grad_q(w, q):
    return -RETURNS @ w


def main():
    # Weights of scenarios: at least 0, at most 0.4, together 1.
    one, each = np.ones((1, 6)), np.eye(6)
    scenarios = standoff.Polyhedron(np.vstack([one, -one, each, -each]), [1, -1] + [0.4] * 6 + [0] * 6)
    start = scenarios.project(np.zeros(6))
    found = standoff.solve(loss, HELD, start, standoff.Simplex(5), scenarios, grad_w, grad_q, linear_in_y=True, eps=1e-5)
    print(found)
    return found


if __name__ == "__main__":
    main()

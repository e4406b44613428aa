"""Overhead of calling a Python function from the solver, compared with a plain Python loop of calls."""

import time

import numpy as np

import standoff as so

CALLS = 60_000


def f(x, y):
    return 1e-9


def grad_x(x, y):
    return y


def grad_y(x, y):
    return x


def bare():
    """Seconds of one call in a Python loop, on average over the three functions."""
    x, y = np.array([0.5]), np.array([0.5])
    begun = time.perf_counter()
    for _ in range(CALLS // 3):
        f(x, y)
        grad_x(x, y)
        grad_y(x, y)
    return (time.perf_counter() - begun) / CALLS


def played():
    """Seconds of one call by the solver, including all of its own work."""
    box = so.Box(-1, 1)
    begun = time.perf_counter()
    r = so.solve(
        f, [0.5], [0.5], box, box, grad_x, grad_y, method="gda", constants={"l12": 1.0}, eps=1e-12, max_grads=2 * CALLS / 3,
        check_every=CALLS,
    )  # fmt: skip
    return (time.perf_counter() - begun) / sum(r.python_calls.values())


if __name__ == "__main__":
    own, all_in_all = min(bare() for _ in range(5)), min(played() for _ in range(5))
    print(f"a call by the solver {all_in_all * 1e6:.2f} us, in a loop {own * 1e6:.2f} us: overhead {(all_in_all - own) * 1e6:.2f} us")

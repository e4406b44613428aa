"""A classifier that serves its worst group as well as it can: examples/worst-group.toml in NumPy."""

import numpy as np

import standoff

A = np.array([
    [1.0, 0.2], [0.8, 0.5], [-0.9, 0.1], [-1.1, -0.4],
    [0.3, 1.2], [0.1, 0.9], [0.2, -1.0], [-0.2, -0.8],
    [0.5, -0.6], [0.9, -0.3], [-0.4, 0.7], [-0.6, 0.2],
])  # fmt: skip
LABELS = np.array([1, 1, -1, -1] * 3)
GROUPS = np.kron(np.eye(3), np.full((1, 4), 0.25))  # the mean over each group


def losses(x):
    """The loss of every person, and its slope in the margin."""
    w, c = x[:2], x[2]
    s = 1 / (1 + np.exp(4 * LABELS * (A @ w + c)))
    return s, -4 * LABELS * s * (1 - s)


def f(x, p):
    w = x[:2]
    return p @ GROUPS @ losses(x)[0] + 0.01 * (w**2 / (1 + w**2)).sum()


def grad_x(x, p):
    w, slope = x[:2], (p @ GROUPS) * losses(x)[1]
    return np.append(slope @ A + 0.02 * w / (1 + w**2) ** 2, slope.sum())


def grad_p(x, p):
    return GROUPS @ losses(x)[0]


def main():
    sets = standoff.Product(standoff.Ball(5.0, n=2), standoff.Box(-3, 3)), standoff.Simplex(3)
    found = standoff.solve(f, np.zeros(3), np.full(3, 1 / 3), *sets, grad_x, grad_p, linear_in_y=True)
    print(found)
    return found


if __name__ == "__main__":
    main()

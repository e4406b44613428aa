"""A non-convex game whose value function has a kink: examples/kink.toml in NumPy."""

import numpy as np

import standoff


def main():
    found = standoff.solve(
        lambda x, y: 0.25 * np.cos(3 * x[0]) + y[0] * (x[0] - 0.5), [1.7], [-1.0], standoff.Box(-2, 2), standoff.Box(-1, 1),
        grad_x=lambda x, y: y - 0.75 * np.sin(3 * x), grad_y=lambda x, y: x - 0.5, linear_in_y=True, eps=1e-6,
    )  # fmt: skip
    print(found)
    return found


if __name__ == "__main__":
    main()

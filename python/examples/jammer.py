"""A transmitter spreads power over four channels, a jammer spreads noise: examples/jammer.toml in NumPy."""

import numpy as np

import standoff

NOISE = np.array([0.5, 1.0, 1.5, 3.0])


def capacity(n, p):
    return np.log1p(p / (NOISE + n)).sum()


def grad_n(n, p):
    return 1 / (NOISE + n + p) - 1 / (NOISE + n)


def grad_p(n, p):
    return 1 / (NOISE + n + p)


def main():
    sets = standoff.Simplex(4, 3), standoff.Simplex(4, 5)
    found = standoff.solve(capacity, sets[0].centre(), sets[1].centre(), *sets, grad_n, grad_p, eps=1e-6)
    print(found)
    return found


if __name__ == "__main__":
    main()

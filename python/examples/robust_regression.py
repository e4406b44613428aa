"""A neuron fitted to labels that an adversary may bend at a price: examples/robust-regression.toml in NumPy."""

import numpy as np

import standoff

A = np.array([-1, 0.5, 2])
B = np.tanh(1.5 * A)


def f(w, y):
    return np.mean((np.tanh(A * w) - y) ** 2 / 2 - (y - B) ** 2)


def grad_w(w, y):
    t = np.tanh(A * w)
    return np.mean((t - y) * (1 - t**2) * A)


def grad_y(w, y):
    return (y - np.tanh(A * w) - 2 * (y - B)) / 3


def main():
    sets = standoff.Box(-5, 5), standoff.Box(-3, 3, n=3)
    found = standoff.solve(f, [0.2], np.zeros(3), *sets, grad_w, grad_y, eps=1e-6)
    print(found)
    return found


if __name__ == "__main__":
    main()

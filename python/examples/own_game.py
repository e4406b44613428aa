"""Your own game in ten lines: minimise over x the larger of two losses, written as a maximum over weights."""

import numpy as np

import standoff


def f(x, y):  # y0 (x - 1)^2 + y1 (sin(3 x) + 1),  x in [-2, 2],  y in the simplex
    return y[0] * (x[0] - 1) ** 2 + y[1] * (np.sin(3 * x[0]) + 1)


def grad_x(x, y):
    return [y[0] * 2 * (x[0] - 1) + y[1] * 3 * np.cos(3 * x[0])]


def grad_y(x, y):
    return [(x[0] - 1) ** 2, np.sin(3 * x[0]) + 1]


def main():
    sets = standoff.Box(-2, 2), standoff.Simplex(2)
    found = standoff.solve(f, [0.0], [0.5, 0.5], *sets, grad_x, grad_y, eps=1e-6)
    print(f"{found.status}: x = {found.x[0]:.6f}, weights = {found.y.round(4)}, worst loss = {found.fun:.6f}")
    print(f"proof: X <= {found.gap.x_upper:.1e}, Y <= {found.gap.y_upper:.1e}, {found.njev_x + found.njev_y} gradients")
    return found


if __name__ == "__main__":
    main()

"""Rock, paper, scissors with unequal stakes: examples/rock-paper-scissors.toml in NumPy."""

import numpy as np

import standoff

A = np.array([[0, 1, -2], [-1, 0, 3], [2, -3, 0]])


def main():
    three = standoff.Simplex(3)
    found = standoff.solve(
        lambda x, y: y @ A @ x, [1.0, 0, 0], [0, 1.0, 0], three, three, grad_x=lambda x, y: y @ A,
        grad_y=lambda x, y: A @ x, linear_in_y=True, eps=1e-6,
    )  # fmt: skip
    print(found)
    return found


if __name__ == "__main__":
    main()

"""The constants of `tests/linear/main.rs`: two fair games with groups that overlap, solved by the conic solver Clarabel.

    pip install cvxpy clarabel numpy
    python crates/standoff-nn/tests/linear/conic.py

min over w, b, of the largest mean loss of a group + mu/2 |w|^2 + 1e-6 mu/2 b^2. The duals of the groups are their weights.
"""

import cvxpy as cp
import numpy as np

N, WIDTH, MU = 60, 3, 0.01

i = np.arange(N)
X = np.stack([(37 * i + 101 * j + i * i * (j + 3)) % 211 / 105.5 - 1 for j in range(WIDTH)], axis=1)
GROUPS = [i[i % 2 == 0], i[i % 3 == 0], i[i < 20], i[i % 5 == 1]]


def solve(loss):
    """Value, coefficients and intercept, weights of the groups."""
    w, b, t = cp.Variable(WIDTH), cp.Variable(), cp.Variable()
    z = X @ w + b
    if loss == "logistic":
        sign = np.where((53 * i + 17 * (i % 3)) % 7 < 3, 1.0, -1.0)
        losses = cp.logistic(-cp.multiply(sign, z))
    else:
        losses = cp.square(z - (X[:, 0] * (i % 3 - 1) + (29 * i) % 31 / 31)) / 2
    below = [cp.sum(losses[rows]) / len(rows) <= t for rows in GROUPS]
    objective = t + MU / 2 * cp.sum_squares(w) + 1e-6 * MU / 2 * cp.square(b)
    problem = cp.Problem(cp.Minimize(objective), below)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value, [*w.value, b.value], [float(c.dual_value) for c in below]


for loss in ("logistic", "squared"):
    value, x, y = solve(loss)
    print(loss, f"value {value:.9f}", "x", [f"{v:.6f}" for v in x], "y", [f"{v:.6f}" for v in y])

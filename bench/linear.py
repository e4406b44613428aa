"""A fair logistic model against scikit-learn's LogisticRegression: processor time, and memory beyond the rows themselves.

    python bench/linear.py [ROWS] [WIDTH] [THREADS]

Each side runs in a process of its own on the same rows. The fair side plays the game of four groups (method "minmax", C = 1) until
X, Y and the optimality gap are at most 1e-3.
"""

import json
import os
import resource
import subprocess
import sys
import time


def rows(n, width):
    """Four groups whose labels depend on the features in different ways; filled in place, so that little memory is used."""
    import numpy as np

    rng = np.random.default_rng(0)
    X, y, group = np.empty((n, width)), np.empty(n, dtype=np.int64), rng.integers(0, 4, n)
    slopes = rng.normal(size=(4, width)) * 0.2 + rng.normal(size=width) * 0.3
    for first in range(0, n, 10_000):
        part = slice(first, first + 10_000)
        X[part] = rng.normal(size=X[part].shape)
        odds = np.einsum("ij,ij->i", X[part], slopes[group[part]]) + 0.5 * (group[part] == 1)
        y[part] = rng.random(len(odds)) < 1 / (1 + np.exp(-odds))
    return X, y, group


def side(name, n, width, threads):
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    import standoff

    X, y, group = rows(n, width)
    make = {
        "sklearn": lambda: LogisticRegression().fit(X, y),
        "fair": lambda: standoff.FairClassifier(method="minmax", tol=1e-3, n_jobs=threads).fit(X, y, sensitive_features=group),
    }
    standoff.FairClassifier(method="minmax").fit(X[:500], y[:500], sensitive_features=group[:500])  # imports and warms up
    LogisticRegression().fit(X[:500], y[:500])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    cpu, wall = time.process_time(), time.perf_counter()
    fitted = make[name]()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    z = X @ fitted.coef_[0] + fitted.intercept_[0]
    loss = np.logaddexp(0, -(2 * y - 1) * z)
    out = {"cpu": cpu, "wall": wall, "extra": extra / X.nbytes, "worst": max(loss[group == g].mean() for g in range(4))}
    out["steps"] = int(np.max(fitted.n_iter_))
    if name == "fair":
        c = fitted.certificate_
        out |= {"X": c.x_upper, "Y": c.y_upper, "gap": fitted.optimality_gap_}
    print(json.dumps(out))


def main():
    n, width, threads = (int(v) for v in (sys.argv[1:] + ["1000000", "50", "1"][len(sys.argv) - 1 :])[:3])
    env = os.environ | {k: str(threads) for k in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    found = {}
    for name in ("sklearn", "fair"):
        code = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import linear; linear.side({name!r}, {n}, {width}, {threads})"
        found[name] = json.loads(subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout)
        print(name, {k: float(f"{v:.4g}") for k, v in found[name].items()})
    print(f"processor time: {found['fair']['cpu'] / found['sklearn']['cpu']:.2f} times scikit-learn's")


if __name__ == "__main__":
    main()

"""`FairClassifier` under joblib's backends: the same scores as in one process. Dask and Ray are skipped if they are not installed."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
import joblib.pool  # noqa: E402
from joblib import parallel_config  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402

import standoff as so  # noqa: E402


def search():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=120) > 0).astype(int)
    grid = GridSearchCV(so.FairClassifier("logistic", max_iter=20, random_state=0), {"lam": [0.05, 0.5]}, cv=2, n_jobs=2)
    return grid, X, y


def scores(grid, X, y):
    found = grid.fit(X, y)
    return found.cv_results_["mean_test_score"], found.best_estimator_.predict_proba(X)


@pytest.fixture(scope="module")
def expected():
    grid, X, y = search()
    return scores(grid.set_params(n_jobs=1), X, y)


def same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_processes_of_joblib(expected):
    same(scores(*search()), expected)


def test_dask(expected):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None), parallel_config("dask"):
        same(scores(*search()), expected)


def test_ray(expected, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # otherwise Ray writes a token into the home folder
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    bases = joblib.pool.PicklingPool.__bases__
    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with parallel_config("ray"):
            same(scores(*search()), expected)
    finally:
        # Ray replaces the pool that joblib's own processes inherit from.
        joblib.pool.PicklingPool.__bases__ = bases
        ray.shutdown()

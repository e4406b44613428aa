"""Threads: one inside a worker, unless told."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from standoff._threads import in_worker, threads_of

joblib = pytest.importorskip("joblib")


def seen(n_jobs):
    return threads_of(n_jobs)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_a_worker_of_joblib_has_one_thread_unless_told(backend):
    jobs = [-1, None, 2]
    inside = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(seen)(n) for n in jobs)
    assert inside == [1, 1, 2]
    assert not in_worker() and [threads_of(n) for n in jobs] == [0, 1, 2]


def test_a_worker_of_a_pool_has_one_thread():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(seen, -1).result() == 1


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="n_jobs = 0"):
        threads_of(0)


def threads_while_training(n_jobs, name):
    """The most threads at a time that a fit with ``n_jobs`` adds to this process, after one that started all threads of libraries.

    Workers are used again, and threads of an earlier task may still end: only new threads count.
    """
    import os
    import threading

    import numpy as np

    import standoff

    X = np.random.default_rng(0).normal(size=(20_000, 20))

    def fit(n_jobs):
        if name == "FairRegressor":
            standoff.FairRegressor("huber", n_jobs=n_jobs, tol=1e-12).fit(X, X[:, 0] + np.abs(X[:, 1]))
        else:
            standoff.FairClassifier(n_jobs=n_jobs, max_iter=20, random_state=0).fit(X, X[:, 0] > 0)

    def threads():
        return set(os.listdir("/proc/self/task"))

    seen, done = [], threading.Event()

    def watch():
        while not done.wait(0.001):
            seen.append(len(threads() - before))

    fit(1)
    before = threads()
    watcher = threading.Thread(target=watch)
    watcher.start()
    while len(seen) < 20:  # one fit may be shorter than the watcher's pause
        fit(n_jobs)
    done.set()
    watcher.join()
    return max(seen) - 1  # without the watcher


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
@pytest.mark.parametrize("name", ["FairClassifier", "FairRegressor"])
def test_training_in_a_worker_takes_the_threads_of_one_job_unless_told(name):
    pytest.importorskip("sklearn")
    unsaid, one, four = joblib.Parallel(n_jobs=2)(joblib.delayed(threads_while_training)(n, name) for n in (-1, 1, 4))
    assert unsaid == one < four, (unsaid, one, four)

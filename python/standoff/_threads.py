"""Numbers of threads: one inside a worker of joblib or multiprocessing, unless the caller says otherwise."""

from __future__ import annotations

import multiprocessing
import sys


def in_worker() -> bool:
    """True in a process that another one started, and inside ``joblib.Parallel`` with threads."""
    if multiprocessing.parent_process() is not None:
        return True
    parallel = sys.modules.get("joblib.parallel")  # a worker of joblib has imported it
    return parallel is not None and (parallel.get_active_backend()[0].nesting_level or 0) > 0


def threads_of(n_jobs: int | None) -> int:
    """The threads of ``n_jobs``: 1 for None, 0 (all cores) for a negative number, but 1 inside a worker."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs = 0 is not allowed: give a number of threads, -1 for all, or None for one")
    if n_jobs < 0:
        return 1 if in_worker() else 0
    return int(n_jobs)

#!/usr/bin/env python3
"""Times two versions of the engine on the same work, in turns, with AVX2: the least and the median ratio of each job.

    cargo build --release -p standoff-nn --example bench_engine        # in a clone of each version
    bench/run.sh --only logistic-pass                                  # writes the data of the jobs to bench/out
    python3 bench/releases.py OLD/target/release/examples/bench_engine NEW/target/release/examples/bench_engine [JOB ...]

Only Python is needed. `STANDOFF_ISA` chooses another instruction set.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

OUT = pathlib.Path(__file__).resolve().parent / "out"
JOBS = ["fair-pass", "fair-adam", "robust-step", "pgd40", "logistic-pass"]
SHORT, TURNS = ["fair-adam", "logistic-pass"], 7


def start(program):
    environment = {"STANDOFF_ISA": "avx2"} | os.environ
    return subprocess.Popen([program, OUT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def seconds(side, job):
    """The median of a turn: short jobs are repeated, because the first passes after a pause wake the threads."""
    time.sleep(0.4)
    side.stdin.write(f"time {job} all {20 if job in SHORT else 1}\n")
    side.stdin.flush()
    return statistics.median(json.loads(side.stdout.readline())["seconds"])


def main():
    old, new = map(start, sys.argv[1:3])
    for job in sys.argv[3:] or JOBS:
        times = {old: [], new: []}
        for turn in range(TURNS):
            for side in (old, new) if turn % 2 == 0 else (new, old):
                times[side].append(seconds(side, job))
        least = min(times[new]) / min(times[old])
        middle = statistics.median(times[new]) / statistics.median(times[old])
        print(f"{job}: least {min(times[old]):.4f} s old, {min(times[new]):.4f} s new, ratio {least:.3f}; ratio of medians {middle:.3f}", flush=True)


if __name__ == "__main__":
    main()

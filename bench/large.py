#!/usr/bin/env python3
"""A gradient over a large matrix: the tape of a formula against NumPy, and the memory of `standoff solve`.

    cargo build --release && cargo build --release -p standoff --example bench_large
    python3 -m venv bench/.venv && bench/.venv/bin/pip install numpy
    bench/.venv/bin/python bench/large.py [--rows 100000] [--cols 200] [--rounds 12] [--no-memory]

Both sides compute `mean(softplus(-b * (A @ w)))` and its gradient in w. They take turns within one run and the fastest time of each is
kept, so that other work on the machine affects both sides. NumPy runs on one BLAS thread; for two threads each half of the rows
has its own thread. Needs only NumPy.
"""

from __future__ import annotations

import argparse
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target" / "release"

GAME = """objective = "mean(softplus(-(b * (A @ w)))) + 0.005 * sum(w^2) + d @ w - sum(d^2)"
[min.w]
dim = {cols}
lower = -5
upper = 5
[max.d]
dim = {cols}
set = {{ ball = {{ radius = 0.1 }} }}
[data]
A = "A.npy"
b = "b.npy"
"""


def make(folder: Path, rows: int, cols: int) -> None:
    """Writes the data and the game that reads it."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((rows, cols))
    b = np.where(A @ rng.standard_normal(cols) + rng.standard_normal(rows) > 0, 1.0, -1.0)
    np.save(folder / "A.npy", A)
    np.save(folder / "b.npy", b)
    (folder / "game.toml").write_text(GAME.format(cols=cols))


def part(A: np.ndarray, b: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray]:
    """Sum of losses and its gradient over some rows."""
    t = -b * (A @ w)
    e = np.exp(-np.abs(t))
    value = (np.maximum(t, 0) + np.log1p(e)).sum()
    slope = np.where(t >= 0, 1.0, e) / (1 + e)
    return float(value), (-b * slope) @ A


class NumPy:
    """NumPy's gradient, on one thread per part."""

    def __init__(self, A: np.ndarray, b: np.ndarray, parts: int) -> None:
        cuts = np.linspace(0, len(A), parts + 1).astype(int)
        self.pieces = [(A[i:j], b[i:j]) for i, j in zip(cuts[:-1], cuts[1:])]
        self.pool = ThreadPoolExecutor(parts) if parts > 1 else None

    def gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        if self.pool is None:
            done = [part(*self.pieces[0], w)]
        else:
            done = list(self.pool.map(lambda piece: part(*piece, w), self.pieces))
        rows = sum(len(A) for A, _ in self.pieces)
        return sum(v for v, _ in done) / rows, sum(g for _, g in done) / rows

    def seconds(self, count: int, w: np.ndarray) -> list[float]:
        times = []
        for _ in range(count):
            begun = time.perf_counter()
            self.gradient(w)
            times.append(time.perf_counter() - begun)
        return times


class Standoff:
    """The solver's process, `bench_large`."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [RELEASE / "examples" / "bench_large", folder / "game.toml"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, request: str) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def seconds(self, count: int, threads: int) -> list[float]:
        self.ask(f"threads {threads}")
        return [float(s) for s in self.ask(f"time {count}").strip("[]").split(",")]


WATCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(folder: Path) -> float:
    """The peak memory of `standoff solve`, in bytes. A small process starts it, because Linux counts the memory of the process that
    starts a program as the program's own, and this one holds the data too."""
    command = [RELEASE / "standoff", "solve", folder / "game.toml", "--eps", "1e-3", "--max-grads", "400"]
    watched = subprocess.run([sys.executable, "-c", WATCH, *command], stdout=subprocess.PIPE, text=True, check=True)
    return int(watched.stdout) * 1024


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--cols", type=int, default=200)
    arguments.add_argument("--rounds", type=int, default=12)
    arguments.add_argument("--no-memory", action="store_true")
    args = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, args.rows, args.cols)
        data = sum((folder / file).stat().st_size for file in ("A.npy", "b.npy"))
        A, b = np.load(folder / "A.npy"), np.load(folder / "b.npy")
        w = 0.01 * np.cos(np.arange(args.cols))
        ours, one, two = Standoff(folder), NumPy(A, b, 1), NumPy(A, b, 2)
        best = {key: float("inf") for key in ("numpy 1", "numpy 2", "standoff 1", "standoff 2")}
        for _ in range(args.rounds):
            for key, times in [
                ("numpy 1", one.seconds(3, w)),
                ("standoff 1", ours.seconds(3, 1)),
                ("numpy 2", two.seconds(3, w)),
                ("standoff 2", ours.seconds(3, 2)),
            ]:
                best[key] = min(best[key], *times)
        bits = []
        for threads in (1, 2, 3):
            ours.ask(f"threads {threads}")
            bits.append(ours.ask("bits"))
        ours.process.kill()
        del A, b, one, two
        print(f"gradient of {args.rows} x {args.cols}, fastest of {3 * args.rounds}, milliseconds")
        for side in ("numpy", "standoff"):
            alone, shared = best[f"{side} 1"], best[f"{side} 2"]
            print(f"  {side:9} one thread {1e3 * alone:7.2f}   two {1e3 * shared:7.2f}   speed-up {alone / shared:.3f}")
        print(f"standoff / NumPy on one thread   {best['standoff 1'] / best['numpy 1']:.3f}   (at most 1.1)")
        ratio = best["standoff 1"] / best["standoff 2"] * best["numpy 2"] / best["numpy 1"]
        print(f"speed-up / NumPy's speed-up      {ratio:.3f}   (at least 0.95)")
        print(f"same bits on 1, 2, 3 threads     {len(set(bits)) == 1}   {bits[0]}")
        if not args.no_memory:
            print(f"peak memory of solve / data      {peak_memory(folder) / data:.3f}   (at most 1.2, data {data / 1e6:.0f} MB)")


if __name__ == "__main__":
    main()

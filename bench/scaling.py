"""The constants of the cost model of docs/scaling.md, measured, and its predictions.

    mpirun -n 2 python3 bench/scaling.py exchange          latency and bandwidth of the two exchanges of a step (needs mpi4py, NumPy)
    python3 bench/scaling.py compute target/release/standoff    seconds per image of full-batch steps, one thread
    python3 bench/scaling.py two target/standoff-mpi        efficiency of two ranks (a command with the feature mpi)
    python3 bench/scaling.py predict                        the table of the page

The constants at the top are those that the first two commands printed for the page.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEAF = {"fair-cnn": 32, "lenet": 64, "mlp-2048": 64}  # images of a leaf, as crates/standoff-nn/src/engine/mod.rs chooses them
#                   parameters, seconds per image (forward, backward, three groups)
NETWORKS = {"fair-cnn": (25_913, 5.57e-6), "lenet": (427_573, 55.49e-6), "mlp-2048": (5_810_179, 257.93e-6)}
LOCAL = (1.1e-6, 5.0e-11)  # seconds per message, seconds per byte: two ranks in shared memory
CLUSTER = (2e-6, 8e-11)  # assumed, not measured: 2 microseconds, 12.5 GB/s (100 Gbit/s)

WIDE = """
input = [1, 28, 28]
layers = ["flatten", "dense(2048)", "relu", "dense(2048)", "relu", "dense(3)"]
"""


def half(leaves):
    """Leaves of the left child, as in forest.rs."""
    power = 1
    while power < leaves:
        power *= 2
    return power // 2


def cuts(groups, ranks, tolerance=32):
    """The first leaf of each rank, as in ranks.rs."""
    total = sum(groups)
    step = max(total // (ranks * tolerance), 1)
    step = 1 << (step.bit_length() - 1)
    found = []
    for rank in range(ranks + 1):
        cut, first = rank * total // ranks, 0
        for count in groups:
            if cut < first + count:
                cut = first + min((cut - first + step // 2) // step * step, count)
                break
            first += count
        found.append(cut)
    return found


def nodes(groups, ranks):
    """Number of nodes that each rank sums, and the largest number of leaves of a rank."""
    edge = cuts(groups, ranks)
    owner = [rank for rank in range(ranks) for _ in range(edge[rank + 1] - edge[rank])]
    count = [0] * ranks

    def divide(start, end):
        if owner[start] == owner[end - 1]:
            count[owner[start]] += 1
        else:
            middle = start + half(end - start)
            divide(start, middle)
            divide(middle, end)

    first = 0
    for leaves in groups:
        if leaves:
            divide(first, first + leaves)
        first += leaves
    return max(count), max(b - a for a, b in zip(edge, edge[1:]))


def step(network, images, groups, ranks, wire):
    """Seconds of a step: compute, exchange of the nodes, exchange of the sums; and what a ring all-reduce of the gradients would take."""
    parameters, per_image = NETWORKS[network]
    latency, per_byte = wire
    leaves = [-(-images // groups // LEAF[network])] * groups
    most, share = nodes(leaves, ranks)
    compute = per_image * share * LEAF[network]
    if ranks == 1:
        return compute, 0.0, 0.0
    gradient = 4 * parameters
    others = (ranks - 1) / ranks
    samples = 4 * images * (3 + 2) * others * per_byte  # losses, predictions, three logits of every image
    scatter = (ranks - 1) * latency + most * gradient * others * per_byte
    gather = (ranks - 1) * latency + groups * gradient * others * per_byte
    small = 2 * (ranks - 1) * latency + samples
    ring = 2 * (ranks - 1) * latency + 2 * groups * gradient * others * per_byte + small
    return compute, scatter + gather + small, ring


def predict():
    images, groups = 960_000, 3
    print(f"{images:,} images in {groups} groups, all in every step; efficiency against one rank, fixed tree / ring all-reduce\n")
    ranks = [1, 2, 4, 16, 64, 256, 1024]
    print("| network | parameters | " + " | ".join(map(str, ranks)) + " |\n|" + "---|" * (len(ranks) + 2))
    for name, (parameters, _) in NETWORKS.items():
        alone = step(name, images, groups, 1, CLUSTER)[0]
        row = []
        for n in ranks:
            compute, tree, ring = step(name, images, groups, n, CLUSTER)
            row.append(f"{alone / n / (compute + tree):.2f} / {alone / n / (compute + ring):.2f}")
        print(f"| {name} | {parameters:,} | " + " | ".join(row) + " |")
    print("\n| ranks | nodes of a rank, one group | three groups | ten groups |\n|---|---|---|---|")
    for n in ranks[1:]:
        print(f"| {n} | " + " | ".join(str(nodes([30_000 // g] * g, n)[0]) for g in (1, 3, 10)) + " |")


def compute(standoff):
    for name in NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            model = name
            if name == "mlp-2048":
                model = str(Path(folder, "wide.toml"))
                Path(model).write_text(WIDE)
            steps = {"fair-cnn": 40, "lenet": 6, "mlp-2048": 3}[name]
            out = Path(folder, "run")
            subprocess.run(
                [standoff, "fair", "-q", "--model", model, "--method", "minmax-reg", "--seeds", "1", "--optimizer", "gd",
                 "--iterations", str(steps), "--measure-every", str(steps), "--threads", "1", "--out", str(out)],
                check=True, stdout=subprocess.DEVNULL)
            lines = [json.loads(line) for line in next(out.glob("*/metrics.jsonl")).read_text().splitlines()]
            seconds = (lines[-1]["seconds"] - lines[0]["seconds"]) / steps
            bytes_ = next(out.glob("*/model.safetensors")).read_bytes()
            tensors = (len(bytes_) - 8 - int.from_bytes(bytes_[:8], "little")) // 4
            print(f"{name}: {seconds:.4f} s per step of 18,000 images, {seconds / 18_000 * 1e6:.2f} us per image, {tensors:,} parameters")


# Name: arguments, and the seconds in the results that count. Starting MPI and reading the data are not among them.
TWO = {
    "fair-cnn, 18,000 images in every step, 120 steps": (
        ["fair", "--method", "minmax-reg", "--seeds", "1", "--optimizer", "gd", "--iterations", "120", "--measure-every", "120"],
        lambda results: results["runs"][0]["seconds"]),
    "lenet, PGD-40 on 6,000 images": (
        ["attack", "models/paper.safetensors", "--limit", "6000", "--attacks", "pgd40", "--eps", "0.3"],
        lambda results: sum(attack.get("seconds", 0) for attack in results["budgets"][0]["attacks"])),
    "lenet, Madry's training: 40 PGD steps on four batches of 256 images": (
        ["robust", "--method", "madry", "--limit", "1024", "--batch", "256", "--epochs", "1", "--steps", "40", "--measure-every", "1"],
        lambda results: results["seconds"]),
}  # fmt: skip


def two(standoff):
    """Seconds of one rank and of two, with one thread each, in turns: those of the work, and of the whole command."""
    turns = 3
    for name, (arguments, own) in TWO.items():
        found = {1: [], 2: []}
        for turn in range(turns):
            for n in (1, 2) if turn % 2 == 0 else (2, 1):
                with tempfile.TemporaryDirectory() as folder:
                    command = ["mpirun", "-n", str(n), "--bind-to", "core", standoff, *arguments, "-q", "--threads", "1"]
                    begun = time.perf_counter()
                    subprocess.run([*command, "--out", f"{folder}/run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    whole = time.perf_counter() - begun
                    found[n].append((own(json.loads(Path(folder, "run/results.json").read_text())), whole))
        cells = [", ".join(f"{pair[k]:.2f}" for pair in found[n]) for k in (0, 1) for n in (1, 2)]
        ratios = [sorted(p[k] for p in found[1])[turns // 2] / 2 / sorted(p[k] for p in found[2])[turns // 2] for k in (0, 1)]
        print(f"| {name} | {cells[0]} | {cells[1]} | {ratios[0]:.2f} | {cells[2]} | {cells[3]} | {ratios[1]:.2f} |", flush=True)


def exchange():
    import numpy
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    n = world.size

    def seconds(words, repeats):
        counts = [words // n] * n
        own, all_ = numpy.zeros(sum(counts), "u4"), numpy.zeros(sum(counts), "u4")
        best = float("inf")
        for _ in range(repeats):
            world.Barrier()
            begun = MPI.Wtime()
            world.Alltoallv([own, counts], [all_, counts])
            world.Allgatherv(own[: counts[0]], [all_, counts])
            best = min(best, MPI.Wtime() - begun)
        return best

    found = {words: seconds(words, 200 if words < 1e5 else 20) for words in (n, 10_000, 1_000_000, 8_000_000)}
    if world.rank == 0:
        for words, best in found.items():
            print(f"{n} ranks, {4 * words:,} bytes: {best * 1e6:.1f} us")
        sent = 2 * 4 * 8_000_000 * (n - 1) / n
        print(f"latency {found[n] / 2 / (n - 1):.1e} s per message, {found[8_000_000] / sent:.1e} s per byte")


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    {"exchange": exchange, "predict": predict, "two": lambda: two(sys.argv[2])}.get(what, lambda: compute(sys.argv[2]))()

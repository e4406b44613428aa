"""Times PyTorch and the engine on the same work, in turns, after checking that they compute the same numbers.

    compare.py ENGINE [--repeats 5] [--only JOB ...]        (run.sh calls it; README.md explains jobs and protocol)
"""

import argparse
import json
import pathlib
import platform
import subprocess
import sys
import time

import numpy as np
from safetensors.numpy import load_file

import work

HERE = pathlib.Path(__file__).parent
OUT = HERE / "out"
# name: (what it is, gigaflops of one run or None)
FAIR, LENET = 221_740, 4_586_000  # forward, one image; multiply and add counted
JOBS = {
    "fair-pass": ("fair-cnn, full-batch pass, 18,000 images", (3 * FAIR - 60_840) * 18_000e-9),
    "fair-adam": ("fair-cnn, Adam step, 600 images", (3 * FAIR - 60_840) * 600e-9),
    "robust-same": ("lenet, robust step, same work", (22 * LENET + 3 * LENET - 576_000) * 640e-9),
    "robust-step": ("lenet, robust step, needed work only", None),
    "pgd40": ("lenet, PGD-40, 1,000 images", 81 * LENET * 1_000e-9),
    "logistic-pass": ("logistic, full-batch pass, 18,000 images", 2 * 15_680 * 18_000e-9),
}


class Side:
    """A worker process: receives one line per job and returns one line of JSON."""

    def __init__(self, *command):
        self.process = subprocess.Popen([*map(str, command), str(OUT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[0]} ended while asked for: {' '.join(map(str, words))}")
        return json.loads(line)

    def seconds(self, job, variant, repeats=1):
        # Wait until spinning threads sleep, so that one side does not slow the other down.
        time.sleep(0.5)
        return self.ask("time", job, variant, repeats)["seconds"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def agree(job):
    """The differences between both sides' numbers, by name; exits if the sides do not compute the same thing."""
    one, other = (load_file(OUT / f"check-{job}-{side}.safetensors") for side in ("torch", "standoff"))
    differences = {}
    for name in one:
        a, b = one[name].astype(np.float64), other[name].astype(np.float64)
        if name == "attacked images":  # a sign of a slope near zero may differ: count the pixels
            found, limit = float(np.mean(~(np.abs(a - b) <= 1e-4))), 1e-2
        else:
            found, limit = float(np.linalg.norm(a - b) / np.linalg.norm(a)), 1e-3 if name == "change" else 1e-4
        if not found <= limit:
            sys.exit(f"{job}: {name} differs by {found:.1e}, more than {limit:.0e}: not the same work, nothing is timed")
        differences[name] = found
    return differences


def measure(job, torch, engine, repeats):
    for side in (torch, engine):
        side.ask("check", job)
    result = {"job": job, "differences": agree(job)}
    variants = torch.ask("variants", job)["variants"]
    torch.seconds(job, variants[0])  # warm
    tried = {variant: min(torch.seconds(job, variant, 2)) for variant in variants}
    best = min(tried, key=tried.get)
    engine.seconds(job, "all")
    runs = {"written": [], "best": [], "standoff": []}
    for _ in range(repeats):
        runs["standoff"] += engine.seconds(job, "all")
        runs["written"] += torch.seconds(job, variants[0])
        runs["standoff"] += engine.seconds(job, "all")
        runs["best"] += torch.seconds(job, best)
    result |= {"torch_tried": tried, "torch_best": best, "seconds": runs}
    result["median"] = {key: float(np.median(values)) for key, values in runs.items()}
    result["least"] = {key: min(values) for key, values in runs.items()}
    return result


def peak_memory(command, job, variant):
    """Peak memory of a new process that does one job, and of one that does nothing."""
    side = Side(*command)
    empty = side.ask("memory")["peak_mb"]
    side.seconds(job, variant)
    peak = side.ask("memory")["peak_mb"]
    side.end()
    return {"empty": empty, "peak": peak}


def milliseconds(seconds):
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def table(results):
    lines = ["| work | PyTorch as written | PyTorch best | standoff | ratio | ratio to best | GFLOP/s: PyTorch, standoff |",
             "|---|---|---|---|---|---|---|"]
    for r in results:
        about, gigaflops = JOBS[r["job"]]
        m = r["median"]
        rate = f"{gigaflops / m['best']:.1f}, {gigaflops / m['standoff']:.1f}" if gigaflops else ""
        lines.append(f"| {about} | {milliseconds(m['written'])} | {milliseconds(m['best'])} ({r['torch_best']}) | "
                     f"{milliseconds(m['standoff'])} | {m['written'] / m['standoff']:.1f} | "
                     f"{m['best'] / m['standoff']:.1f} | {rate} |")
    return "\n".join(lines)


def processor():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
        return next(line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=list(JOBS), default=list(JOBS))
    options = parser.parse_args()
    work.make(OUT)
    commands = {"torch": (sys.executable, HERE / "torch_side.py"), "standoff": (options.engine,)}
    torch, engine = Side(*commands["torch"]), Side(*commands["standoff"])
    report = {"machine": processor(), "system": platform.platform(), "sides": [torch.ask("about"), engine.ask("about")]}
    report["results"] = [measure(job, torch, engine, options.repeats) for job in options.only]
    torch.end()
    engine.end()
    report["memory_mb"] = {
        "PyTorch as written": peak_memory(commands["torch"], "fair-pass", "whole"),
        "PyTorch, chunks of 600": peak_memory(commands["torch"], "fair-pass", "chunk-600"),
        "standoff": peak_memory(commands["standoff"], "fair-pass", "all"),
    }
    (OUT / "results.json").write_text(json.dumps(report, indent=1) + "\n")
    sides = "; ".join(f"{s['name']} {s['version']}, {s['threads']} threads, {s['isa']}" for s in report["sides"])
    print(f"{report['machine']}, {report['system']}; {sides}. Medians of runs in turns.\n")
    print(table(report["results"]))
    print("\nPeak memory of a full-batch fair-cnn pass (of which the program alone):")
    for name, found in report["memory_mb"].items():
        print(f"- {name}: {found['peak']:.0f} MB ({found['empty']:.0f} MB)")


if __name__ == "__main__":
    main()

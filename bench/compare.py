"""Times PyTorch and the engine on the same work, in turns, after checking that they compute the same numbers.

    compare.py ENGINE [--repeats 5] [--seconds 20] [--only JOB ...]        (run.sh calls it; README.md explains jobs and protocol)

The engine runs with every instruction set of the machine. Its times are compared with those of the last release, in
last_release.json; a job that is slower by more than a tenth is named, and the exit status is 1.
"""

import argparse
import json
import os
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
LAST = HERE / "last_release.json"
SLOWER = 1.1
# Turns of a job that are always made, and seconds below which a way to feed PyTorch is tried twice.
TURNS, AGAIN, TURN = 2, 1.0, 0.1
# name: (what it is, gigaflops of one run or None)
FAIR, LENET = 221_740, 4_586_000  # forward, one image; multiply and add counted
JOBS = {
    "fair-pass": ("fair-cnn, full-batch pass, 18,000 images", (3 * FAIR - 60_840) * 18_000e-9),
    "fair-adam": ("fair-cnn, Adam step, 600 images", (3 * FAIR - 60_840) * 600e-9),
    "robust-same": ("lenet, robust step, same work", (22 * LENET + 3 * LENET - 576_000) * 640e-9),
    "robust-step": ("lenet, robust step, needed work only", None),
    "pgd40": ("lenet, PGD-40, 1,000 images", 81 * LENET * 1_000e-9),
    **{f"{name}-{work_of}": (f"{name}, {about}, 64 images", passes * cost * 64e-9)
       for name, cost in (("resnet8", 25.0e6), ("cnn7", 303e6), ("dm-large", 106e6))
       for work_of, about, passes in (("forward", "forward", 1), ("gradient", "gradient", 3), ("train", "training step", 3), ("pgd10", "PGD-10", 20))
       if (name, work_of) != ("dm-large", "train")},
    "logistic-pass": ("logistic, full-batch pass, 18,000 images", 2 * 15_680 * 18_000e-9),
}


class Side:
    """A worker process: receives one line per job and returns one line of JSON."""

    def __init__(self, *command, isa="auto"):
        self.process = subprocess.Popen([*map(str, command), str(OUT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=os.environ | {"STANDOFF_ISA": isa})

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
            # Through batch statistics, single precision itself is this far from double: 6e-4 for PyTorch, 1e-3 for the engine on cnn7.
            limit = {"change": 1e-3, "training gradient": 5e-3}.get(name, 1e-4)
            found = float(np.linalg.norm(a - b) / np.linalg.norm(a))
        if not found <= limit:
            sys.exit(f"{job}: {name} differs by {found:.1e}, more than {limit:.0e}: not the same work, nothing is timed")
        differences[name] = found
    return differences


def measure(job, torch, engines, options):
    """Times a job: both ways of PyTorch and the engine with each instruction set, in turns. The best level comes first."""
    best_isa, engine = next(iter(engines.items()))
    for side in (torch, engine):
        side.ask("check", job)
    result = {"job": job, "differences": agree(job)}
    variants = torch.ask("variants", job)["variants"]
    torch.seconds(job, variants[0])  # warm
    wanted = [v for v in variants if not options.variants or v in options.variants]
    tried = {variant: torch.seconds(job, variant)[0] for variant in wanted}
    tried |= {variant: min(least, *torch.seconds(job, variant)) for variant, least in tried.items() if least < AGAIN}
    best = min(tried, key=tried.get)
    runs = {"written": [], "best": [], **{isa: [] for isa in engines}}
    for isa, side in engines.items():
        if isa != "portable":
            least = side.seconds(job, "all")[0]
    # Short jobs are repeated within a turn: the first passes after a pause wake the threads and the wide registers.
    repeats = max(1, min(30, int(TURN / max(least, 1e-6))))
    begin = time.monotonic()
    for turn in range(options.repeats):
        if turn >= TURNS and time.monotonic() - begin > options.seconds:
            break
        for isa, side in engines.items():
            if isa != "portable" or turn == 0:
                runs[isa] += side.seconds(job, "all", repeats)
        runs["written"] += torch.seconds(job, variants[0], repeats)
        runs[best_isa] += engine.seconds(job, "all", repeats)
        runs["best"] += torch.seconds(job, best, repeats)
    result |= {"torch_tried": tried, "torch_best": best, "seconds": runs}
    result["median"] = {key: float(np.median(values)) for key, values in runs.items()}
    result["least"] = {key: min(values) for key, values in runs.items()}
    return result


def slower(results, peaks):
    """Jobs that need a tenth more than in the last release, by level. Least times are compared, in operations that the machine's
    peak allows in that time, so that another machine of the same kind may be faster or slower as a whole."""
    if not LAST.exists():
        return []
    last, found = json.loads(LAST.read_text()), []
    for r in results:
        for isa, seconds in last["least"].get(r["job"], {}).items():
            if isa in peaks and isa in last["peaks"]:
                ratio = r["least"][isa] * peaks[isa] / (seconds * last["peaks"][isa])
                if ratio > SLOWER:
                    found.append(f"{r['job']} ({isa}) needs {ratio:.2f} times the time of {last['version']}")
    return found


def save_release(results, peaks, report):
    """Keeps the engine's least times for the next release; those of jobs that were not run stay."""
    last = json.loads(LAST.read_text()) if LAST.exists() else {"least": {}}
    least = {r["job"]: {isa: r["least"][isa] for isa in peaks} for r in results}
    version = report["sides"][1]["version"]
    last |= {"version": version, "machine": report["machine"], "peaks": peaks, "least": last["least"] | least}
    LAST.write_text(json.dumps(last, indent=1) + "\n")


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


def table(results, isas):
    """One line per job; the ratios are those of the first level."""
    lines = [f"| work | PyTorch as written | PyTorch best | {' | '.join(isas)} | ratio | ratio to best | "
             f"{' | '.join(f'{isas[0]} / {isa}' for isa in isas[1:])} | GFLOP/s: PyTorch, standoff |"]
    lines.append("|---" * (5 + 2 * len(isas)) + "|")
    for r in results:
        about, gigaflops = JOBS[r["job"]]
        m = r["median"]
        own = m[isas[0]]
        rate = f"{gigaflops / m['best']:.1f}, {gigaflops / own:.1f}" if gigaflops else ""
        cells = [about, milliseconds(m["written"]), f"{milliseconds(m['best'])} ({r['torch_best']})"]
        cells += [milliseconds(m[isa]) for isa in isas] + [f"{m['written'] / own:.1f}", f"{m['best'] / own:.1f}"]
        lines.append(f"| {' | '.join(cells + [f'{m[isa] / own:.2f}' for isa in isas[1:]] + [rate])} |")
    return "\n".join(lines)


def wanted(names):
    """The jobs of names and of beginnings of names, in their order here; all without a name."""
    chosen = [job for job in JOBS if not names or any(job == name or job.startswith(f"{name}-") for name in names)]
    for name in names:
        if not any(job == name or job.startswith(f"{name}-") for job in JOBS):
            sys.exit(f"there is no job {name}; there are: {', '.join(JOBS)}")
    return chosen


def earlier(report):
    """Results of jobs that an earlier run on this machine measured with the same programs and levels, and this one did not."""
    path = OUT / "results.json"
    last = json.loads(path.read_text()) if path.exists() else {}
    if any(last.get(key) != report[key] for key in ("machine", "sides")) or last.get("peaks", {}).keys() != report["peaks"].keys():
        return []
    return [r for r in last["results"] if r["job"] not in {new["job"] for new in report["results"]}]


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
    parser.add_argument("--seconds", type=float, default=20, help="a job makes no further turn after this time, but two in any case")
    parser.add_argument("--only", nargs="*", default=[], metavar="JOB", help="names of jobs or their beginnings, such as resnet8; "
                        "the table has the jobs of earlier runs too, so that the bench can be made in parts")
    parser.add_argument("--variants", nargs="*", default=[], help="the ways to feed PyTorch that are tried; all if empty")
    parser.add_argument("--isas", nargs="*", default=["avx512", "avx2", "portable"], help="levels, the best first")
    parser.add_argument("--save-release", action="store_true", help=f"keep the times in {LAST.name}")
    options = parser.parse_args()
    options.only = wanted(options.only)
    work.make(OUT)
    commands = {"torch": (sys.executable, HERE / "torch_side.py"), "standoff": (options.engine,)}
    torch, first = Side(*commands["torch"]), Side(*commands["standoff"])
    report = {"machine": processor(), "system": platform.platform(), "sides": [torch.ask("about"), first.ask("about")]}
    peaks = report["sides"][1].pop("peaks")
    isas = [isa for isa in options.isas if isa in peaks]
    peaks = {isa: peaks[isa] for isa in isas}
    engines = {isa: Side(*commands["standoff"], isa=isa) for isa in isas}
    report |= {"peaks": peaks, "results": [measure(job, torch, engines, options) for job in options.only]}
    for side in (torch, first, *engines.values()):
        side.end()
    if "fair-pass" in options.only:
        report["memory_mb"] = {
            "PyTorch as written": peak_memory(commands["torch"], "fair-pass", "whole"),
            "PyTorch, chunks of 600": peak_memory(commands["torch"], "fair-pass", "chunk-600"),
            "standoff": peak_memory(commands["standoff"], "fair-pass", "all"),
        }
    measured = report["results"]
    order = list(JOBS)
    report["results"] = sorted(measured + earlier(report), key=lambda r: order.index(r["job"]))
    (OUT / "results.json").write_text(json.dumps(report, indent=1) + "\n")
    sides = "; ".join(f"{s['name']} {s['version']}, {s['threads']} threads, {s['isa']}" for s in report["sides"])
    print(f"{report['machine']}, {report['system']}; {sides}. Medians of runs in turns.\n")
    print(table(report["results"], isas))
    print("\nPeak of one thread: " + ", ".join(f"{isa} {peak:.0f} GFLOP/s" for isa, peak in peaks.items()))
    if "memory_mb" in report:
        print("\nPeak memory of a full-batch fair-cnn pass (of which the program alone):")
        for name, found in report["memory_mb"].items():
            print(f"- {name}: {found['peak']:.0f} MB ({found['empty']:.0f} MB)")
    found = slower(measured, peaks)
    if options.save_release:
        save_release(measured, peaks, report)
    elif found:
        sys.exit("\nSlower than the last release:\n- " + "\n- ".join(found))


if __name__ == "__main__":
    main()

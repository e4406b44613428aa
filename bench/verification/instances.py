#!/usr/bin/env python3
"""One row per instance of a benchmark of the verification competition: answer, time, bound and branches of `standoff verify-net`.

    cargo build --release
    python3 bench/verification/instances.py FOLDER OUT.csv [--threads 1] [--cap SECONDS] [--only TEXT ...]
    python3 bench/verification/instances.py FOLDER OUT.csv --answers answers.csv     # compares, runs nothing

FOLDER has `instances.csv` (network, property, limit in seconds) and the files that it names, also as `.gz`. Every instance has its own
limit, at most --cap. Rows that are in OUT.csv already are kept, so an interrupted run continues. Only Python is needed.
"""

import argparse
import csv
import gzip
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIELDS = ["onnx", "vnnlib", "limit", "result", "wall_seconds", "cpu_seconds", "bound", "branches", "time_cap", "threads"]
WORDS = {"proven": "unsat", "falsified": "sat"}


def unpacked(folder, name, into):
    """The path of a file of the benchmark; a `.gz` is unpacked into a temporary folder."""
    if (folder / name).exists():
        return folder / name
    path = into / name.replace("/", "-")
    if not path.exists():
        with gzip.open(folder / f"{name}.gz") as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
    return path


def verify(program, network, query, seconds, threads):
    """The answer as a row."""
    command = [program, "verify-net", network, query, "--json", "--threads", threads, "--time-limit", seconds]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - start
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        sys.exit(f"error: {done.stderr.strip()}")
    # The search ends at the first bound above zero, so the bound of a proof says nothing more.
    found = answer["answer"]
    bound = "proven" if found == "proven" else answer.get("bound")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"result": WORDS.get(found, found), "wall_seconds": f"{wall:.2f}", "cpu_seconds": f"{cpu:.2f}", "bound": bound,
            "branches": answer.get("branches"), "time_cap": seconds, "threads": threads}  # fmt: skip


def compare(rows, answers):
    """Counts the decided instances, ours and those of the tools in `answers`, and names contradictions."""
    key = lambda row: (pathlib.Path(row["onnx"]).name, pathlib.Path(row["vnnlib"]).name)
    theirs = {key(row): row for row in csv.DictReader(answers.open())}
    tools = [name for name in next(iter(theirs.values())) if name not in ("onnx", "vnnlib", "timeout")]
    decided = lambda text: text in ("sat", "unsat")
    print(f"{len(rows)} instances; standoff decides {sum(decided(row['result']) for row in rows)}")
    for tool in tools:
        print(f"  {tool} {sum(decided(theirs[key(row)][tool]) for row in rows)}")
    for row in rows:
        others = {theirs[key(row)][tool] for tool in tools} & {"sat", "unsat"}
        if decided(row["result"]) and others - {row["result"]}:
            print(f"contradiction: {key(row)}: {row['result']}, published {others}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--standoff", default=ROOT / "target/release/standoff", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cap", type=float, default=float("inf"))
    parser.add_argument("--only", nargs="*", default=[""], help="instances whose network or property contains one of these texts")
    parser.add_argument("--answers", type=pathlib.Path)
    options = parser.parse_args()
    rows = list(csv.DictReader(options.out.open())) if options.out.exists() else []
    if options.answers:
        return compare(rows, options.answers)
    known = {(row["onnx"], row["vnnlib"]) for row in rows}
    with options.out.open("a", newline="", buffering=1) as out, tempfile.TemporaryDirectory() as into:
        table = csv.DictWriter(out, FIELDS)
        if not rows:
            table.writeheader()
        for network, query, limit in csv.reader((options.folder / "instances.csv").open()):
            if (network, query) in known or not any(text in network + query for text in options.only):
                continue
            paths = (unpacked(options.folder, name, pathlib.Path(into)) for name in (network, query))
            row = verify(options.standoff, *paths, min(options.cap, float(limit)), options.threads)
            table.writerow({"onnx": network, "vnnlib": query, "limit": limit, **row})


if __name__ == "__main__":
    main()

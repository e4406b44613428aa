#!/usr/bin/env python3
"""Means of fair runs beside the paper's, with the standard error of their difference.

    python3 bench/standard_errors.py docs/reproducing.md            # the tables of that page
    python3 bench/standard_errors.py runs/table2                    # a run folder, finished or not
    python3 bench/standard_errors.py runs/table2 --at 5000 --seeds 10

The difference of two means of n and 50 runs has the standard error sqrt(sd^2/n + paper_sd^2/50). The sd of a few runs is itself uncertain:
the last column takes the paper's for both, paper_sd * sqrt(1/n + 1/50). A run folder counts the seeds that all its methods have
finished; `--at STEP` reads the accuracy at the measurement of that step instead of the end. Only Python is needed.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import tomllib

PAPER_RUNS = 50


def folder_rows(folder, at, seeds):
    """Rows (title, method, n, column, mean, sd, paper mean, paper sd) of a run folder."""
    config = tomllib.loads((folder / "config.toml").read_text())
    paper = {row["method"]: row for row in config.get("paper", [])}
    runs = {}
    for file in sorted(folder.glob("*-seed-*/result.json")):
        run = json.loads(file.read_text())
        correct = [group["correct"] for group in run["test"]]
        if at is not None:
            lines = map(json.loads, (file.parent / "metrics.jsonl").read_text().splitlines())
            correct = next((line["correct"] for line in lines if line["step"] == at), None)
            if correct is None:
                raise SystemExit(f"{file.parent} has no measurement at step {at}")
        runs.setdefault(run["method"], {})[run["seed"]] = correct
    methods = config["methods"]
    common = sorted(set.intersection(*(set(runs.get(method, {})) for method in methods)))[:seeds]
    names = [f"class {name}" for name in config["classes"]]
    for method in methods:
        known = paper.get(method, {})
        columns = [("worst", [min(runs[method][s]) for s in common], known.get("worst"))]
        columns += [
            (name, [runs[method][s][g] for s in common], known.get("groups", [None] * len(names))[g])
            for g, name in enumerate(names)
        ]
        for name, values, theirs in columns:
            if theirs and values:
                sd = statistics.stdev(values) if len(values) > 1 else None
                yield config["title"], method, len(values), name, statistics.mean(values), sd, *theirs


def page_rows(page):
    """The same rows from the tables in a page: a method's line has a line `paper` below it."""
    title, seeds, header, ours = None, 1, [], None
    for line in page.read_text().splitlines():
        if line.startswith("## "):
            title, ours = line[3:], None
        found = re.search(r"over (\d+) seeds|: one seed;", line)
        if found:
            seeds = int(found.group(1) or 1)
        if line.startswith("method ") and "worst" in line:
            header = re.split(r"\s{2,}", line.strip())[1:]
        cells = re.findall(r"-?\d+(?:\.\d+)?(?: / \d+\.\d+)?", line[10:])
        if re.match(r"(normal|minmax|minmax-reg|group-dro)\s", line) and len(cells) == len(header):
            ours = line.split()[0], [[float(v) for v in cell.split(" / ")] for cell in cells]
        elif line.startswith("  paper") and ours:
            theirs = [[float(v) for v in cell.split(" / ")] for cell in cells]
            # The paper has no averages, and the worst category only in some tables.
            names = [name for name in header if name != "average"][-len(theirs) :]
            for name, (mean, sd) in zip(names, theirs):
                own = ours[1][header.index(name)]
                yield title, ours[0], seeds, name, own[0], own[1] if len(own) > 1 else None, mean, sd
            ours = None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="+", type=pathlib.Path, help="run folders, or pages with tables")
    parser.add_argument("--at", type=int, help="read the accuracy at this step")
    parser.add_argument("--seeds", type=int, help="the first seeds only")
    options = parser.parse_args()
    above = rows = 0
    print("| table | method | seeds | category | mean | paper | difference | standard errors | with the paper's sd |")
    print("|" + "---|" * 9)
    for source in options.source:
        found = folder_rows(source, options.at, options.seeds) if source.is_dir() else page_rows(source)
        for title, method, n, name, mean, sd, paper_mean, paper_sd in found:
            # A single run has no deviation of its own: the paper's stands in.
            error = math.sqrt((paper_sd if sd is None else sd) ** 2 / n + paper_sd**2 / PAPER_RUNS)
            usual = paper_sd * math.sqrt(1 / n + 1 / PAPER_RUNS)
            gap = mean - paper_mean
            table = re.split(r"[:,]| of the paper", title)[0]
            cells = [table, method, n, name, f"{mean:.2f}", f"{paper_mean:.2f}", f"{gap:+.2f}", f"{gap / error:+.1f}"]
            print("|", *(f"{cell} |" for cell in [*cells, f"{gap / usual:+.1f}"]))
            rows += name == "worst"
            above += name == "worst" and gap > 0
    print(f"\nThe worst category is above the paper's in {above} of {rows} rows.")


if __name__ == "__main__":
    main()

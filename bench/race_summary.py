"""Summarises the CSV file of `standoff race`: medians per family and accuracy, `auto` against the fewest gradients, totals.

    python3 bench/race_summary.py race.csv

An entry is one game at one accuracy. `fewest` is the smallest count of gradients of any method that solved the entry. A run that did not solve it
counts as infinite in medians; an entry that no method solved has no ratio.
"""

import csv
import sys
from math import inf
from statistics import median

NEAR = 2.0


def read(path):
    """Gradients (None: not solved) by family and accuracy, game, and method."""
    groups = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = (row["family"], float(row["eps"]))
            solved = row["ending"] == "converged"
            games = groups.setdefault(key, {})
            games.setdefault(row["game"], {})[row["method"]] = int(row["gradients"]) if solved else None
    return groups


def ratio(counts):
    """Gradients of auto divided by the fewest; infinite if only other methods solved it, None if no method did."""
    solved = [max(c, 1) for c in counts.values() if c is not None]
    if not solved:
        return None
    own = counts["auto"]
    return inf if own is None else max(own, 1) / min(solved)


def show(value):
    return "-" if value == inf else f"{value:.0f}"


def main(path):
    groups = read(path)
    methods = list(next(iter(next(iter(groups.values())).values())))
    print("| family | eps | " + " | ".join(methods) + " | auto / fewest, median |")
    print("|---" * (len(methods) + 3) + "|")
    solved = dict.fromkeys(methods, 0)
    entries = near = 0
    ratios, beyond = [], []
    for (family, eps), games in sorted(groups.items(), key=lambda item: (item[0][0], -item[0][1])):
        cells = []
        for method in methods:
            counts = [game[method] for game in games.values()]
            solved[method] += sum(c is not None for c in counts)
            cells.append(show(median(inf if c is None else c for c in counts)))
        found = [ratio(game) for game in games.values()]
        known = [r for r in found if r is not None]
        entries += len(found)
        near += sum(r <= NEAR for r in known)
        ratios += known
        middle = median(known) if known else None
        if middle is not None and middle > NEAR:
            beyond.append(f"{family} at {eps:g}: {middle:.2f}")
        text = "not solved" if middle is None else "-" if middle == inf else f"{middle:.2f}"
        print(f"| {family} | {eps:g} | " + " | ".join(cells) + f" | {text} |")
    print()
    print(f"{entries} entries, {len(ratios)} of them solved by some method")
    for method in methods:
        print(f"{method}: {solved[method]} solved")
    print(f"auto within {NEAR:g} times the fewest: {near} of {entries} ({100 * near / entries:.1f} percent of all entries)")
    print(f"medians beyond {NEAR:g}: {len(beyond)} {beyond}")


if __name__ == "__main__":
    main(sys.argv[1])

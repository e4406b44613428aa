"""Coverage over other tables, from the outcomes that `coverage -- FILE LABEL GROUPS 30x2000 solve SEED FOLDER` keeps, all seeds together.

`python bench/coverage_tables.py FOLDER`: percent of the intervals over 3, 5 and 10 splits of one table that hold the mean over fresh tables,
with Nadeau and Bengio's variance and with 1/J alone.
"""

import json
import math
import pathlib
import sys

STUDENT = {3: 4.302653, 5: 2.776445, 10: 2.262157}  # 97.5 percent quantiles with J - 1 degrees of freedom
LEAST_ROWS = 100


def differences(split):
    """`minmax` less `normal`: the average, then each group."""
    normal, minmax = (run["test"] for run in split["tested"])
    average = [sum(g["correct"] for g in test) / sum(g["total"] for g in test) for test in (normal, minmax)]
    return [average[1] - average[0]] + [b["correct"] / b["total"] - a["correct"] / a["total"] for a, b in zip(normal, minmax)]


def main(folder):
    files = pathlib.Path(folder).glob("*-rows-*.jsonl")
    tables = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
    # A table has ten splits; those of the target have one.
    own, fresh = [t for t in tables if len(t) > 1], [t[0] for t in tables if len(t) == 1]
    first = own[0][0]
    split = first["tested"][0]["split"]
    ratio = split["test"] / split["train"]
    sizes = [g["total"] for g in first["tested"][0]["test"]]
    print(f"{len(own)} tables, target from {len(fresh)} more, test rows for each training row {ratio}")
    for place, name in enumerate(["average", *first["groups"]]):
        if place and sizes[place - 1] < LEAST_ROWS:
            continue
        target = sum(differences(s)[place] for s in fresh) / len(fresh)
        for more, rule in [(ratio, "corrected"), (0.0, "1/J alone")]:
            shown = []
            for j, quantile in STUDENT.items():
                held = []
                for splits in own:
                    values = [differences(s)[place] for s in splits]
                    for part in (values[i : i + j] for i in range(0, len(values) - j + 1, j)):
                        mean = sum(part) / j
                        variance = sum((v - mean) ** 2 for v in part) / (j - 1)
                        held.append(abs(mean - target) <= quantile * math.sqrt(variance * (1 / j + more)))
                shown.append(f"{100 * sum(held) / len(held):5.1f} % of {len(held)}")
            print(f"{name}, {rule}: " + ", ".join(shown))


if __name__ == "__main__":
    main(sys.argv[1])

"""Searches for false certificates among random formulas: `python3 formulas.py --count N --seed S`, with mpmath installed.

Each formula is differentiated with 150 digits (1200 if these are not enough) at a random point. The enclosures of value and gradients, fast and double, must
contain the true values, and the bounds of X and Y must not be below the gain of a feasible step. `--mild` solves well-conditioned formulas
instead and counts the runs that measure at most eps but are not proven.
"""

import argparse
import json
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from dual import Dual, TooLarge, Undefined
from expressions import Evaluation, Generator, text
from mpmath import mp, mpf
from regions import Region

BINARY = Path(__file__).parent / "target/release/standoff-search"
BATCH = 100


class Case:
    """A formula with its sets and its point."""

    def __init__(self, seed, index, mild, long=False):
        r = random.Random(f"{seed} {index}")
        self.index = index
        most = 6 if mild else 4
        sizes = [r.randint(1, most), r.randint(1, most)]
        self.regions = [Region(r, n, mild) for n in sizes]
        generator = Generator(r, sizes, mild, long)
        self.tree = generator.tree(1, r.randint(2, 4) if mild else r.randint(1, 6))
        if mild:
            both = [("fold", "sum", ("unary", "square", generator.leaf_of(p, n))) for p, n in zip("xy", sizes)]
            scaled = [("binary", "*", ("literal", r.choice([0.5, 1.0, 2.0])), t) for t in both]
            self.tree = ("binary", "-", ("binary", "+", self.tree, scaled[0]), scaled[1])
        self.data = generator.data
        self.radius = 1.0 if mild or r.random() < 0.7 else 10 ** r.uniform(-3, 3)
        self.point = {p: region.point for p, region in zip("xy", self.regions)}
        self.random = r

    def toml(self):
        lines = [f'objective = "{text(self.tree)}"']
        for role, name, region in zip(["min", "max"], "xy", self.regions):
            lines += [f"[{role}.{name}]", f"dim = {region.n}", region.text]
        if self.data:
            lines.append("[data]")
            lines += [f"{name} = {value}" for name, value in self.data.items()]
        return "\n".join(lines) + "\n"

    def request(self, flush, mild):
        out = {"toml": self.toml(), "radius": self.radius, "flush": flush, **self.point}
        return json.dumps({**out, "solve": True, "eps": 1e-6, "seconds": 2.0} if mild else out)

    def gradient(self):
        """The value, the gradients of both players, and true if a kink was met."""
        n = sum(region.n for region in self.regions)
        Dual.kinks = 0
        identity = [[int(i == j) for j in range(n)] for i in range(n)]
        [f] = Evaluation(self.data, self.point, identity).of(self.tree)
        split = self.regions[0].n
        return f.v, (f.d[:split], f.d[split:]), Dual.kinks > 0

    def along(self, player, steps):
        """One-sided derivatives along steps of one player."""
        before, after = (0, self.regions[1].n) if player == 0 else (self.regions[0].n, 0)
        directions = [[0] * before + list(s) + [0] * after for s in steps]
        [f] = Evaluation(self.data, self.point, directions).of(self.tree)
        return f.d

    def truth(self):
        """Value, gradients, kink, and a lower bound of X and of Y."""
        value, gradients, kink = self.gradient()
        gains = []
        for player, (region, sign) in enumerate(zip(self.regions, (1, -1))):
            g = [sign * d for d in gradients[player]]
            if kink:
                steps = region.samples(self.radius)
                steps.append(region.step(g, mpf(self.radius) / (mp.sqrt(sum(d * d for d in g)) or 1) / 2))
                gains.append(max([mpf(0)] + [-sign * d for d in self.along(player, steps)]))
            else:
                gains.append(region.gain(g, mpf(self.radius)))
        return value, gradients, kink, gains


def bounds(pair):
    return tuple(mpf(float(v)) for v in pair)


def contradictions(case, answer):
    """The false claims of an answer, and the kind of the case."""
    value, gradients, kink, gains = case.truth()
    wrong = []
    slack = 1 - mpf(10) ** -60
    for name, gain in zip("XY", gains):
        if mpf(float(answer[name])) < gain * slack:
            wrong.append(f"{name} <= {answer[name]}, truth {mp.nstr(gain, 20)}")
    for precision in ("fast", "double"):
        enclosed = answer[precision]
        claims = [("value", enclosed["value"], value)]
        for player, g in zip("xy", gradients):
            if not kink and not enclosed[player]["kinks"]:
                claims += [(f"d{player}{i}", pair, d) for i, (pair, d) in enumerate(zip(enclosed[player]["entries"], g))]
        for what, pair, truth in claims:
            low, high = bounds(pair)
            tiny = abs(truth) * mpf(10) ** -60
            if truth < low - tiny or truth > high + tiny:
                wrong.append(f"{precision} {what} in {pair}, truth {mp.nstr(truth, 20)}")
    largest = max(abs(v) for v in [value, *gradients[0], *gradients[1]])
    return wrong, ("kink" if kink else "smooth") + (" above 1e290" if largest > mpf(10) ** 290 else "")


def judge(case, answer, counts):
    """Counts one answer and returns its false claims."""
    if "error" in answer:
        counts["refused: " + answer["error"].splitlines()[0][:60]] += 1
        return []
    silent = any(answer[name] == "NaN" for name in "XY")
    try:
        mp.prec = 500
        wrong, kind = contradictions(case, answer)
        if wrong:
            mp.prec = 4000
            wrong, kind = contradictions(case, answer)
    except Undefined:
        counts["undefined" + (", silent" if silent else ", with a bound")] += 1
        return [] if silent or "^" in text(case.tree) else ["a bound where the formula is not defined"]
    except (TooLarge, OverflowError):
        counts["too large for the truth" + (", silent" if silent else ", with a bound")] += 1
        return []
    counts[kind + (", silent" if silent else ", with a bound")] += 1
    return wrong


def judge_solution(answer, counts):
    """Counts how a run ended; a run that measures at most eps without convergence counts as unproven."""
    if "error" in answer:
        counts["refused: " + answer["error"].splitlines()[0][:60]] += 1
        return
    lower = max(float(v) for v in answer["lower"])
    if answer["reason"] == "converged":
        counts["converged"] += 1
        counts["FALSE: certified again above eps"] += not float(answer["again"]) <= 1e-6
    elif float(answer["measured"]) <= 1e-6 or lower <= 1e-6 and answer["reason"] in ("rounding-limit", "not-inside", "at-kink"):
        counts["unproven: " + answer["reason"]] += 1
    else:
        counts["not solved: " + answer["reason"]] += 1


def send(solver, cases, mild):
    for k, case in enumerate(cases):
        solver.stdin.write(case.request(k == len(cases) - 1, mild) + "\n")
    solver.stdin.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--mild", action="store_true")
    parser.add_argument("--long", action="store_true", help="products with up to 90 rows")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    counts, wrong = Counter(), 0
    solver = subprocess.Popen([BINARY, "stream"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for start in range(options.first, options.first + options.count, BATCH):
        cases = [Case(options.seed, i, options.mild, options.long) for i in range(start, min(start + BATCH, options.first + options.count))]
        # In a thread, because both pipes may be full.
        threading.Thread(target=send, args=(solver, cases, options.mild)).start()
        for case in cases:
            answer = json.loads(solver.stdout.readline())
            if options.mild:
                before = dict(counts)
                judge_solution(answer, counts)
                changed = [k for k in counts if counts[k] != before.get(k, 0)]
                if options.show and any(k.startswith(("unproven", "FALSE")) for k in changed):
                    print(f"{changed} case {case.index}: {answer}\n{case.toml()}", flush=True)
                continue
            for reason in judge(case, answer, counts):
                wrong += 1
                print(f"FALSE case {case.index}: {reason}\nradius {case.radius} point {case.point}\n{case.toml()}", flush=True)
        if start // BATCH % 20 == 19:
            print(start + BATCH, dict(counts), file=sys.stderr, flush=True)
    solver.stdin.close()
    solver.wait()
    for kind, count in sorted(counts.items()):
        print(f"{count:8} {kind}")
    print(f"false claims {wrong}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

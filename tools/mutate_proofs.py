#!/usr/bin/env python3
"""Changes accepted proof files at random and counts what the checker says: nothing that no longer follows may be accepted.

    python3 tools/mutate_proofs.py [PROOF.json ...] [--model FILE.safetensors] [--count 1000] [--seed 1]

Without files, the made-up proofs of tests/examples.py are used. Every change is checked twice: with stale digests (always to be rejected)
and with digests made anew. For the latter a second evaluation in ordinary floating point, which shares nothing with the checker but the
reading of data files, decides whether the claim surely fails, surely holds, or is too close to tell. Exit code 1 if the checker
accepted a stale digest, a claim below E, or a claim that surely fails.
"""

import argparse
import base64
import cmath
import copy
import json
import math
import os
import random
import re
import struct
import sys
import tomllib
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tests"))

import examples  # noqa: E402
from writer import checked, digest, sealed, sealed_network  # noqa: E402

FAILS, HOLDS, CLOSE = "fails", "holds", "too close"
CLOSENESS = 1e-12  # derivatives by a complex step are good to about 1e-15


# The second evaluation: the expression becomes Python, values are complex numbers or nested lists of them. The derivative of an analytic
# function is the imaginary part of f(x + ih)/h, without a difference and so without cancellation; kinks go by the real part.


class Value:
    """A float, a list or a list of rows, with NumPy's operators."""

    def __init__(self, v):
        self.v = v

    def each(self, other, f):
        a, b = self.v, other.v if isinstance(other, Value) else other
        return Value(broadcast(a, b, f))

    def __add__(self, o): return self.each(o, lambda a, b: a + b)
    def __radd__(self, o): return self.each(o, lambda a, b: b + a)
    def __sub__(self, o): return self.each(o, lambda a, b: a - b)
    def __rsub__(self, o): return self.each(o, lambda a, b: b - a)
    def __mul__(self, o): return self.each(o, lambda a, b: a * b)
    __rmul__ = __mul__
    def __truediv__(self, o): return self.each(o, lambda a, b: a / b)
    def __rtruediv__(self, o): return self.each(o, lambda a, b: b / a)
    def __pow__(self, o): return self.each(o, raised)
    def __rpow__(self, o): return self.each(o, lambda a, b: raised(b, a))
    def __neg__(self): return self.each(0.0, lambda a, _: -a)
    def __pos__(self): return self

    def __matmul__(self, other):
        a, b = self.v, other.v
        rows = a if isinstance(a[0], list) else [a]
        columns = [list(c) for c in zip(*b)] if isinstance(b[0], list) else [b]
        result = [[sum(x * y for x, y in zip(r, c)) for c in columns] for r in rows]
        result = result if isinstance(b[0], list) else [r[0] for r in result]
        return Value(result if isinstance(a[0], list) else result[0])

    @property
    def T(self):
        return Value([list(c) for c in zip(*self.v)]) if isinstance(self.v[0], list) else self

    def __getitem__(self, key):
        if not isinstance(key, tuple):
            return Value(self.v[key])
        rows = self.v[key[0]]
        return Value([row[key[1]] for row in rows] if isinstance(key[0], slice) else rows[key[1]])


def raised(a, b):
    """a^b by products for whole b, so that the imaginary part stays right for negative a."""
    if complex(b).imag == 0 and complex(b).real == int(complex(b).real):
        return complex(a) ** int(complex(b).real)
    if complex(a).real <= 0:
        raise ValueError("a base that is not positive")
    return cmath.exp(b * cmath.log(a))


def positive(f):
    def call(a):
        if complex(a).real <= 0:
            raise ValueError("outside the domain")
        return f(a)
    return call


def largest(a, b=None):
    return max(a if b is None else (a, b), key=lambda v: complex(v).real)


def smallest(a, b=None):
    return min(a if b is None else (a, b), key=lambda v: complex(v).real)


def broadcast(a, b, f):
    if isinstance(a, list):
        return [broadcast(x, y, f) for x, y in zip(a, b)] if isinstance(b, list) else [broadcast(x, b, f) for x in a]
    return [broadcast(a, y, f) for y in b] if isinstance(b, list) else f(a, b)


def flat(v):
    v = v.v if isinstance(v, Value) else v
    return [x for part in v for x in flat(part)] if isinstance(v, list) else [v]


def entrywise(f):
    return lambda v: (v if isinstance(v, Value) else Value(v)).each(0.0, lambda a, _: f(a))


def extreme(f):
    def call(first, *more):
        if not more:
            return f(flat(first))
        for other in more:
            first = (first if isinstance(first, Value) else Value(first)).each(other, f)
        return first
    return call


def logsumexp(v):
    most = max(complex(x).real for x in flat(v))
    return most + cmath.log(sum(cmath.exp(x - most) for x in flat(v)))


def softplus(a):
    return a + cmath.log(1 + cmath.exp(-a)) if complex(a).real > 0 else cmath.log(1 + cmath.exp(a))


NAMES = {name: entrywise(getattr(cmath, name)) for name in "sin cos tan exp tanh sinh cosh atan".split()} | {
    "log": entrywise(positive(cmath.log)), "sqrt": entrywise(positive(cmath.sqrt)), "log1p": entrywise(lambda a: positive(cmath.log)(1 + a)),
    "expm1": entrywise(lambda a: cmath.exp(a) - 1), "abs": entrywise(lambda a: largest(a, -a)), "relu": entrywise(lambda a: largest(a, 0.0)),
    "square": entrywise(lambda a: a * a), "sigmoid": entrywise(lambda a: 1 / (1 + cmath.exp(-a))), "softplus": entrywise(softplus),
    "max": extreme(largest), "min": extreme(smallest), "sum": lambda v: sum(flat(v)), "mean": lambda v: sum(flat(v)) / len(flat(v)),
    "norm": lambda v: cmath.sqrt(sum(x * x for x in flat(v))), "logsumexp": logsumexp,
    "dot": lambda a, b: sum(x * y for x, y in zip(flat(a), flat(b))), "transpose": lambda v: v.T, "pi": math.pi, "e": math.e, "__builtins__": {},
}


class FloatGame:
    """The game of a proof in floating point: f, its slopes by a complex step, and the bound."""

    def __init__(self, proof):
        self.proof, table = proof, tomllib.loads(proof["game"]["toml"])
        files = {name: base64.b64decode(content) for name, content in proof["game"]["files"].items()}
        self.data = {name: nested(value, files) for name, value in table.get("data", {}).items()}
        self.players = {"x": table["min"], "y": table["max"]}
        texts = table.get("define", {}) | {"": table["objective"]}
        self.code = {name: compile("(" + text.replace("^", "**") + ")", "game", "eval") for name, text in texts.items()}

    def value(self, point):
        names = NAMES | {name: Value(v) for name, v in self.data.items()}
        for player, variables in self.players.items():
            numbers = list(point[player])
            for name, entry in variables.items():
                size = entry.get("dim", 1)
                names[name] = Value(numbers[:size] if "dim" in entry else numbers[0])
                numbers = numbers[size:]
        for name, code in self.code.items():
            names[name] = eval(code, names)
        return flat(names[""])[0]

    def gradient(self, player):
        """None where the differences to both sides do not agree (a kink)."""
        result, point = [], self.proof["point"]
        middle = self.value(point)
        for i, v in enumerate(point[player]):
            h = 1e-6 * max(1.0, abs(v))
            sides = []
            for step in (h, -h):
                moved = point | {player: point[player][:i] + [v + step] + point[player][i + 1 :]}
                sides.append(complex(self.value(moved) - middle).real / step)
            if abs(sides[0] - sides[1]) > 1e-3 * (1 + abs(sides[0])):
                return None
            moved = point | {player: point[player][:i] + [v + 1e-100j] + point[player][i + 1 :]}
            result.append(complex(self.value(moved)).imag / 1e-100)
        return result

    def numbers(self, value, length):
        value = self.data.get(value, value) if isinstance(value, str) else value
        return flat(value) * (length if len(flat(value)) == 1 else 1)

    def supremum(self, entry, x, given):
        """n, sup <n, z - x>, and how far x is outside, for one variable."""
        n, size = list(given.values())[0], len(x)
        n = [v or 0.0 for v in n]
        chosen = entry.get("set", {"box": {k: entry[k] for k in ("lower", "upper") if k in entry}})
        ((kind, args),) = ({chosen: {}} if isinstance(chosen, str) else chosen).items()
        inner = sum(a * b for a, b in zip(n, x))
        if kind in ("box", "free"):
            lower, upper = self.numbers(args.get("lower", -math.inf), size), self.numbers(args.get("upper", math.inf), size)
            outside = max(max(a - v, v - b) for a, v, b in zip(lower, x, upper))
            return n, sum(v * ((b if v > 0 else a) - p) for v, a, p, b in zip(n, lower, x, upper) if v), outside
        if kind in ("ball", "l1", "simplex"):
            radius = self.numbers(args.get("radius", args.get("scale", 1.0)), 1)[0]
            if kind == "simplex":
                return n, radius * max(n) - inner, max(abs(sum(x) - radius), -min(x))
            if kind == "l1":
                return n, radius * max(map(abs, n)) - inner, sum(map(abs, x)) - radius
            centre = self.numbers(args.get("center", args.get("centre", 0.0)), size)
            return n, radius * math.hypot(*n) + sum(a * (c - v) for a, c, v in zip(n, centre, x)), math.dist(x, centre) - radius
        rows = self.numbers(args.get("A", args.get("a")), size)
        rows = [rows[i : i + size] for i in range(0, len(rows), size)]
        slack = [b - sum(a * v for a, v in zip(row, x)) for row, b in zip(rows, self.numbers(args["b"], len(rows)))]
        if kind != "affine" and min(n) < 0:
            return n, math.inf, 0.0
        outside = max(map(abs, slack)) if kind == "affine" else -min(slack)
        return [sum(m * row[i] for m, row in zip(n, rows)) for i in range(size)], sum(m * s for m, s in zip(n, slack)), outside

    def verdict(self):
        """Whether the claims surely fail, surely hold, or are too close to tell."""
        verdicts = []
        for player, claim in (("x", "X"), ("y", "Y")):
            numbers, normals, total, outside = list(self.proof["point"][player]), [], 0.0, 0.0
            for entry, given in zip(self.players[player].values(), self.proof["multipliers"][player]):
                x, numbers = numbers[: entry.get("dim", 1)], numbers[entry.get("dim", 1) :]
                n, sup, out = self.supremum(entry, x, given)
                normals, total, outside = normals + n, total + sup, max(outside, out)
            if outside > self.proof["claim"]["outside"][player] * len(normals) + 1e-9:
                return FAILS
            gradient = self.gradient(player)
            if gradient is None:
                return CLOSE
            sign = 1 if player == "x" else -1
            bound = self.proof["radius"] * math.hypot(*(sign * g + n for g, n in zip(gradient, normals))) + total
            scale = CLOSENESS * (1 + abs(bound) + sum(map(abs, gradient)))
            gap = self.proof["claim"][claim] - bound
            verdicts.append(FAILS if not gap >= -scale else HOLDS if gap > scale else CLOSE)
        return FAILS if FAILS in verdicts else CLOSE if CLOSE in verdicts else HOLDS


def nested(value, files):
    if not isinstance(value, (str, dict)):
        return value
    from proofcheck.game import read_numbers
    numbers, shape = read_numbers(value, files, {})
    return [numbers[i : i + shape[1]] for i in range(0, len(numbers), shape[1])] if len(shape) == 2 else numbers if shape else numbers[0]


def game_verdict(proof):
    try:
        return FloatGame(proof).verdict()
    except (ArithmeticError, ValueError):
        return FAILS  # outside the domain of f
    except Exception:
        return CLOSE


# The recursion for networks in floating point.


class FloatNetwork:
    def __init__(self, content):
        size = struct.unpack("<Q", content[:8])[0]
        header, self.tensors = json.loads(content[8 : 8 + size]), {}
        self.model = tomllib.loads(header.pop("__metadata__")["standoff.model"])
        for name, entry in header.items():
            start, end = (8 + size + v for v in entry["data_offsets"])
            self.tensors[name] = struct.unpack(f"<{(end - start) // 4}f", content[start:end])

    def margins(self, pixels, label, eps, limits):
        shape, lo, hi, counts = self.model["input"], [], [], Counter()
        for v in pixels:
            reach = eps + 2**-19 + 2**-22 * (abs(v) + eps)
            lo.append(max(limits[0], v - reach))
            hi.append(min(limits[1], v + reach))
        for text in self.model["layers"]:
            kind, args = text.split("(")[0], [int(v) for v in re.findall(r"\d+", text)]
            counts[kind] += 1
            if kind == "relu":
                lo, hi = ([max(v, 0.0) for v in side] for side in (lo, hi))
            elif kind == "tanh":
                lo, hi = [math.tanh(v) * (1 - 2**-20) for v in lo], [math.tanh(v) * (1 + 2**-20) for v in hi]
            elif kind == "maxpool":
                s, (c, h, w) = args[0], shape
                places = [[(i * h + y * s + p) * w + x * s + q for p in range(s) for q in range(s)] for i in range(c) for y in range(h // s) for x in range(w // s)]
                lo, hi, shape = [max(lo[i] for i in g) for g in places], [max(hi[i] for i in g) for g in places], [c, h // s, w // s]
            elif kind in ("conv", "dense"):
                name = ("conv" if kind == "conv" else "fc") + str(counts[kind])
                weights, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
                last = kind == "dense" and counts[kind] == sum(t.startswith("dense") for t in self.model["layers"])
                if last:
                    return self.last(weights, bias, lo, hi, label)
                lo, hi, shape = self.linear(weights, bias, lo, hi, shape, args)
        return []

    def linear(self, weights, bias, lo, hi, shape, args):
        c, r = [(a + b) / 2 for a, b in zip(lo, hi)], [(b - a) / 2 for a, b in zip(lo, hi)]
        if len(args) == 2:
            size, (channels, h, w) = args[0], shape
            places = [[(i * h + y + p) * w + x + q for i in range(channels) for p in range(size) for q in range(size)]
                      for y in range(h - size + 1) for x in range(w - size + 1)]
            shape = [args[1], h - size + 1, w - size + 1]
        else:
            places, shape = [list(range(len(c)))], [args[0]]
        k = len(places[0])
        gamma = (k + 1) * 2**-24 / (1 - (k + 1) * 2**-24)
        r = [b + gamma * (abs(a) + b) for a, b in zip(c, r)]
        low, high = [], []
        for j, b in enumerate(bias):
            row = weights[j * k : j * k + k]
            for place in places:
                centre = b + sum(v * c[i] for v, i in zip(row, place))
                radius = gamma * abs(b) + sum(abs(v) * r[i] for v, i in zip(row, place))
                low.append(centre - radius)
                high.append(centre + radius)
        return low, high, shape

    def last(self, weights, bias, lo, hi, label):
        c, r, k = [(a + b) / 2 for a, b in zip(lo, hi)], [(b - a) / 2 for a, b in zip(lo, hi)], len(lo)
        gamma = (k + 1) * 2**-24 / (1 - (k + 1) * 2**-24)
        rows = [weights[j * k : j * k + k] for j in range(len(bias))]
        error = [gamma * (abs(b) + sum(abs(v) * (abs(a) + d) for v, a, d in zip(row, c, r))) for row, b in zip(rows, bias)]
        return [bias[j] - bias[label] + sum((v - u) * a + abs(v - u) * d for v, u, a, d in zip(rows[j], rows[label], c, r)) + error[j] + error[label]
                for j in range(len(bias))]


def network_verdict(model, proof):
    verdicts = []
    try:
        network = FloatNetwork(model)
        for image in proof["images"]:
            pixels = base64.b64decode(image["pixels"])
            pixels = struct.unpack(f"<{len(pixels) // 4}f", pixels)
            eps = struct.unpack("<f", struct.pack("<f", proof["eps"]))[0]
            found = network.margins(pixels, image["label"], eps, (proof["least"], proof["most"]))
            for j, (claim, margin) in enumerate(zip(image["margins"], found)):
                if j != image["label"]:
                    gap = claim - margin if claim < 0 else -1.0
                    scale = 1e-9 * (1 + abs(margin))
                    verdicts.append(FAILS if not gap >= -scale else HOLDS if gap > scale else CLOSE)
    except (ArithmeticError, ValueError, LookupError, TypeError):
        return FAILS
    return FAILS if FAILS in verdicts else CLOSE if CLOSE in verdicts else HOLDS


# Changes.


def changed_number(v):
    factor = 1 + random.choice((-1, 1)) * 10 ** random.uniform(-3, 0)
    return random.choice([-v, v * factor, v * 10 ** random.uniform(-3, 3), v + random.choice((-1, 1)) * 10 ** random.uniform(-3, 0)]) if v else (
        random.choice((-1, 1)) * 10 ** random.uniform(-3, 3))


def change_game(proof):
    lines = proof["game"]["toml"].split("\n")
    places = [(i, m) for i, line in enumerate(lines) if not line.lstrip().startswith(("#", "start", "name", "description"))
              for m in re.finditer(r"(?<![\w.])\d+\.?\d*(?:e[+-]?\d+)?(?![\w.])|[-+*/](?=[ \w(])|\b(?:sin|cos|exp|tanh|log1p|sum)\b", line.split("#")[0])
              if "objective" in line or m[0][0].isdigit()]
    i, m = random.choice(places)
    word = m[0]
    if word[0].isdigit():
        new = repr(abs(changed_number(float(word)))) if "dim" not in lines[i] and "[" + word + "]" not in lines[i] else str(int(word) + 1)
    elif word in "+-*/":
        new = random.choice([c for c in "+-*/" if c != word])
    else:
        new = random.choice([f for f in ("sin", "cos", "exp", "tanh", "mean", "sum") if f != word])
    lines[i] = lines[i][: m.start()] + new + lines[i][m.end() :]
    proof["game"]["toml"] = "\n".join(lines)


def change_point(proof):
    numbers = proof["point"][random.choice("xy")]
    i = random.randrange(len(numbers))
    numbers[i] = changed_number(numbers[i])


def change_multiplier(proof):
    entries = [part for p in "xy" for entry in proof["multipliers"][p] for part in entry.values()] + [s["slope"] for p in "xy" for s in proof["slopes"][p]]
    numbers = random.choice(entries)
    i = random.randrange(len(numbers))
    numbers[i] = changed_number(numbers[i] or 0.0)


def lower_claim(proof):
    name, bound = random.choice([(n, b) for n, b in zip("XY", proof.pop("bounds")) if b >= 0])
    lowered = random.choice([math.nextafter(bound, -math.inf), bound * (1 - 10 ** random.uniform(-15, 0)), -bound, bound / 2])
    proof["claim"][name] = lowered if lowered < bound else math.nextafter(bound, -math.inf)
    proof["claim"][name] = math.nextafter(proof["claim"][name], -math.inf)  # E is printed in 17 digits, half a unit off at most


def one_image(proof):
    proof["images"] = [random.choice(proof["images"])]


def change_pixels(proof):
    image = proof["images"][0]
    content = bytearray(base64.b64decode(image["pixels"]))
    for _ in range(random.choice((1, 5, 50))):
        struct.pack_into("<f", content, 4 * random.randrange(len(content) // 4), random.uniform(0, 1))
    image["pixels"] = base64.b64encode(bytes(content)).decode()


def lower_margin(proof):
    margins = proof["images"][0]["margins"]
    j = random.choice([j for j, v in enumerate(margins) if v is not None])
    margins[j] = random.choice([margins[j] * (1 + 10 ** random.uniform(-14, 0)), math.nextafter(math.nextafter(margins[j], -math.inf), -math.inf), margins[j] - 1])


def changed_model(model):
    size = 8 + struct.unpack("<Q", model[:8])[0]
    content = bytearray(model)
    for _ in range(random.choice((1, 10, 100))):
        place = size + 4 * random.randrange((len(model) - size) // 4)
        v = changed_number(struct.unpack_from("<f", content, place)[0])
        struct.pack_into("<f", content, place, v)
    return bytes(content)


# Counting.


class Table:
    def __init__(self):
        self.counts, self.wrong = {}, 0

    def add(self, kind, stale, code, verdict):
        row = self.counts.setdefault(kind, Counter())
        row["stale rejected" if stale != 0 else "STALE ACCEPTED"] += 1
        row[f"{verdict}, {'accepted' if code == 0 else 'rejected'}"] += 1
        self.wrong += (stale == 0) + (code == 0 and verdict == FAILS)

    def show(self):
        columns = ["stale rejected", "STALE ACCEPTED"] + [f"{v}, {c}" for v in (FAILS, CLOSE, HOLDS) for c in ("rejected", "accepted")]
        print("| change | " + " | ".join(columns) + " |")
        print("|---" * (len(columns) + 1) + "|")
        for kind, row in self.counts.items():
            print(f"| {kind} | " + " | ".join(str(row[c]) for c in columns) + " |")
        print(f"{self.wrong} wrongly accepted")


def mutate_game(proof, count, table):
    bounds = examples.bounds(proof)
    kinds = {"game changed": change_game, "point changed": change_point, "multiplier changed": change_multiplier, "claim lowered below E": lower_claim}
    for kind, change in kinds.items():
        for _ in range(count):
            new = copy.deepcopy(proof)
            if change is lower_claim:
                new["bounds"] = bounds
            while True:
                change(new)
                if {k: v for k, v in new.items() if k != "bounds"} != proof:
                    break
            stale, _ = checked(new)
            code, _ = checked(sealed(new))
            table.add(kind, stale, code, FAILS if change is lower_claim else game_verdict(new))


def mutate_network(proof, model, count, table):
    for kind, change in (("network changed", one_image), ("pixels changed", change_pixels), ("margin lowered below E", lower_margin)):
        for _ in range(count):
            new, content = copy.deepcopy(proof), model
            one_image(new)
            new = sealed_network(new)
            before = copy.deepcopy(new)
            if kind == "network changed":
                content = changed_model(model)
                stale, _ = checked(new, model=content)
                new["model"]["sha256"] = digest(content)
            else:
                change(new)
                stale, _ = checked(new, model=content) if new != before else (1, "")
            code, _ = checked(sealed_network(new), model=content)
            table.add(kind, stale, code, FAILS if change is lower_margin else network_verdict(content, new))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("proofs", nargs="*")
    parser.add_argument("--model")
    parser.add_argument("--count", type=int, default=1000, help="changes of each kind, over all proofs of a kind")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    model, table, proofs = None, Table(), []
    for path in arguments.proofs:
        with open(path) as file:
            proofs.append(json.load(file))
    if arguments.model:
        with open(arguments.model, "rb") as file:
            model = file.read()
    if not proofs:
        model, small = examples.network()
        proofs = examples.games() + [small]
    random.seed(arguments.seed)
    for kind in ("game", "network"):
        chosen = [p for p in proofs if p["kind"] == kind]
        for proof in chosen:
            each = -(-arguments.count // len(chosen))
            code, output = checked(proof, model=model) if kind == "network" else checked(proof)
            if code:
                sys.exit(f"error: a proof is not accepted as it stands:\n{output}")
            mutate_game(proof, each, table) if kind == "game" else mutate_network(proof, model, each, table)
    table.show()
    sys.exit(1 if table.wrong else 0)


if __name__ == "__main__":
    main()

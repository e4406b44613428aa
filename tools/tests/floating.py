"""A second evaluation of proofs in ordinary floating point, which shares nothing with the checker but the reading of data files."""

import base64
import cmath
import json
import math
import re
import struct
import tomllib
from collections import Counter

import writer  # noqa: F401  (puts tools/ on the path)

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
        """The verdict: the claims surely fail, surely hold, or are too close to decide."""
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

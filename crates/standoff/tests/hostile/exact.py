"""Exact evaluation of a game file: one-sided directional derivatives and membership of sets, with 1500 digits and fractions.

A number in a file means the binary64 number nearest to its text. Everything after that is exact, or rounded at 1500 digits.
"""

import itertools
import math
import re
import tomllib
from fractions import Fraction

import mpmath
from mpmath import mpf

mpmath.mp.dps = 1500


class Dual:
    """A number `v`, and its one-sided derivative `d` along a direction."""

    def __init__(self, v, d=0):
        self.v, self.d = mpf(v), mpf(d)

    def __add__(self, o):
        return o.__radd__(self) if isinstance(o, Array) else Dual(self.v + o.v, self.d + o.d)

    def __sub__(self, o):
        return (-o).__radd__(self) if isinstance(o, Array) else Dual(self.v - o.v, self.d - o.d)

    def __mul__(self, o):
        return o.__rmul__(self) if isinstance(o, Array) else Dual(self.v * o.v, self.v * o.d + self.d * o.v)

    def __truediv__(self, o):
        return Dual(self.v / o.v, self.d / o.v - self.v * o.d / o.v**2)

    def __neg__(self):
        return Dual(-self.v, -self.d)

    def __pow__(self, o):
        n = int(o.v)
        assert o.d == 0 and n == o.v >= 1, "only whole powers"
        return Dual(self.v**n, n * self.v ** (n - 1) * self.d)


class Array(list):
    """A vector of `Dual`, or a matrix as a vector of rows."""

    def map(self, f):
        return Array(e.map(f) if isinstance(e, Array) else f(e) for e in self)

    def zip(self, o, f):
        return (
            Array(f(a, b) for a, b in zip(self, o, strict=True))
            if isinstance(o, Array)
            else self.map(lambda a: f(a, o))
        )

    def __add__(self, o):
        return self.zip(o, lambda a, b: a + b)

    def __sub__(self, o):
        return self.zip(o, lambda a, b: a - b)

    def __mul__(self, o):
        return self.zip(o, lambda a, b: a * b)

    def __truediv__(self, o):
        return self.zip(o, lambda a, b: a / b)

    def __pow__(self, o):
        return self.zip(o, lambda a, b: a**b)

    def __radd__(self, o):
        return self.map(lambda a: o + a)

    def __rmul__(self, o):
        return self.map(lambda a: o * a)

    def __neg__(self):
        return self.map(lambda a: -a)

    def __matmul__(self, o):
        if isinstance(self[0], Array):
            return Array(row @ o for row in self)
        if isinstance(o[0], Array):
            return Array(self @ Array(column) for column in zip(*o, strict=True))
        return total(self * o)

    def __getitem__(self, i):
        return super().__getitem__(int(i.v) if isinstance(i, Dual) else i)


def total(a):
    return sum(a[1:], a[0])


def smooth(f, slope):
    return lambda a: a.map(smooth(f, slope)) if isinstance(a, Array) else Dual(f(a.v), slope(a.v) * a.d)


def absolute(a):
    if isinstance(a, Array):
        return a.map(absolute)
    return Dual(abs(a.v), mpmath.sign(a.v) * a.d if a.v != 0 else abs(a.d))


def largest(*args):
    args = list(args[0]) if isinstance(args[0], Array) else args
    top = max(a.v for a in args)
    return Dual(top, max(a.d for a in args if a.v == top))


def smallest(*args):
    return -largest(*[-a for a in (args[0] if isinstance(args[0], Array) else args)])


def norm(a):
    length = mpmath.sqrt(sum(e.v**2 for e in a))
    if length == 0:
        return Dual(0, mpmath.sqrt(sum(e.d**2 for e in a)))
    return Dual(length, sum(e.v * e.d for e in a) / length)


def logsumexp(a):
    weights = [mpmath.exp(e.v) for e in a]
    return Dual(mpmath.log(sum(weights)), sum(w * e.d for w, e in zip(weights, a, strict=True)) / sum(weights))


def sigmoid(v):
    return 1 / (1 + mpmath.exp(-v))


FUNCTIONS = {
    "N": lambda text: Dual(float(text)),
    "sin": smooth(mpmath.sin, mpmath.cos),
    "cos": smooth(mpmath.cos, lambda v: -mpmath.sin(v)),
    "exp": smooth(mpmath.exp, mpmath.exp),
    "log": smooth(mpmath.log, lambda v: 1 / v),
    "log1p": smooth(lambda v: mpmath.log(1 + v), lambda v: 1 / (1 + v)),
    "expm1": smooth(lambda v: mpmath.exp(v) - 1, mpmath.exp),
    "sqrt": smooth(mpmath.sqrt, lambda v: 1 / (2 * mpmath.sqrt(v))),
    "tanh": smooth(mpmath.tanh, lambda v: 1 - mpmath.tanh(v) ** 2),
    "sigmoid": smooth(sigmoid, lambda v: sigmoid(v) * (1 - sigmoid(v))),
    "softplus": smooth(lambda v: mpmath.log(1 + mpmath.exp(v)), sigmoid),
    "sinh": smooth(mpmath.sinh, mpmath.cosh),
    "cosh": smooth(mpmath.cosh, mpmath.sinh),
    "atan": smooth(mpmath.atan, lambda v: 1 / (1 + v**2)),
    "square": lambda a: a * a,
    "abs": absolute,
    "relu": lambda a: a.map(FUNCTIONS["relu"]) if isinstance(a, Array) else largest(a, Dual(0)),
    "max": largest,
    "min": smallest,
    "norm": norm,
    "sum": total,
    "mean": lambda a: total(a) / Dual(len(a)),
    "dot": lambda a, b: a @ b,
    "logsumexp": logsumexp,
}
NUMBER = re.compile(r"(?<![\w.])(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)")


def constant(value):
    return Array(constant(e) for e in value) if isinstance(value, list) else Dual(float(value))


class Game:
    """A parsed game file with one variable for each player."""

    def __init__(self, text):
        self.file = tomllib.loads(text)
        (self.x,) = self.file["min"]
        (self.y,) = self.file["max"]

    def slope(self, point, player, direction):
        """The one-sided derivative of f at the point, along a direction of one player."""
        names = dict(FUNCTIONS) | {name: constant(value) for name, value in self.file.get("data", {}).items()}
        for side, variable in (("x", self.x), ("y", self.y)):
            along = direction if side == player else [0] * len(point[side])
            entries = Array(
                Dual(v, mpf(d.numerator) / d.denominator if d else 0) for v, d in zip(point[side], along, strict=True)
            )
            table = self.file["min" if side == "x" else "max"][variable]
            names[variable] = entries if "dim" in table else entries[0]
        code = NUMBER.sub(r"N('\1')", self.file["objective"].replace("^", "**"))
        return eval(code, {"__builtins__": {}}, names).d  # the objectives are those of cases.py

    def contains(self, player, v):
        """True if a vector of fractions is in the player's set, tested exactly."""
        table = self.file["min"][self.x] if player == "x" else self.file["max"][self.y]
        return contains(table, v)


def fractions(value, n):
    values = value if isinstance(value, list) else [value] * n
    return [f if math.isinf(f) else Fraction(f) for f in map(float, values)]


def contains(table, v):
    n = len(v)
    given = table.get("set", "free")
    kind, spec = (given, {}) if isinstance(given, str) else next(iter(given.items()))
    if "lower" in table or "upper" in table:
        kind, spec = "box", table
    if kind == "free":
        return True
    if kind == "box":
        low, high = fractions(spec.get("lower", -math.inf), n), fractions(spec.get("upper", math.inf), n)
        return all(a <= e <= b for a, e, b in zip(low, v, high, strict=True))
    if kind == "simplex":
        return min(v) >= 0 and sum(v) == Fraction(float(spec.get("scale", 1)))
    if kind == "ball":
        center = fractions(spec.get("center", 0), n)
        return sum((e - c) ** 2 for e, c in zip(v, center, strict=True)) <= Fraction(float(spec["radius"])) ** 2
    if kind == "l1":
        return sum(map(abs, v)) <= Fraction(float(spec["radius"]))
    rows = [spec["a"]] if kind == "halfspace" else spec["A"]
    sides = fractions(spec["b"], len(rows))
    found = [sum(a * e for a, e in zip(fractions(row, n), v, strict=True)) for row in rows]
    test = Fraction.__eq__ if kind == "affine" else Fraction.__le__
    return all(test(f, b) for f, b in zip(found, sides, strict=True))


def null_projection(rows, g):
    """The projection of g onto the null space of the rows, exactly, by Gram and Schmidt."""
    basis = []
    for row in rows:
        for b in basis:
            t = sum(p * q for p, q in zip(row, b, strict=True)) / sum(q * q for q in b)
            row = [p - t * q for p, q in zip(row, b, strict=True)]
        if any(row):
            basis.append(row)
    for b in basis:
        t = sum(p * q for p, q in zip(g, b, strict=True)) / sum(q * q for q in b)
        g = [p - t * q for p, q in zip(g, b, strict=True)]
    return g


def rational(v, digits=80):
    """A fraction near a long number."""
    if v == 0:
        return Fraction(0)
    power = digits - int(mpmath.floor(mpmath.log10(abs(v))))
    return Fraction(int(mpmath.nint(v * mpf(10) ** power))) / Fraction(10) ** power


def directions(game, point, player, extra):
    """Directions to try: signs, minus the gradient, its projection onto an affine set, and the given ones."""
    n = len(point[player])
    out = [list(map(Fraction, d)) for d in extra]
    out += [list(map(Fraction, s)) for s in itertools.product((-1, 0, 1), repeat=min(n, 3)) if any(s)] if n <= 3 else []
    units = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    out += units + [[-e for e in u] for u in units]
    sign = -1 if player == "x" else 1
    g = [sign * rational(game.slope(point, player, u)) for u in units]
    if any(g):
        out.append(g)
    table = game.file["min"][game.x] if player == "x" else game.file["max"][game.y]
    given = table.get("set")
    if isinstance(given, dict) and "affine" in given:
        out.append(null_projection([fractions(row, n) for row in given["affine"]["A"]], g))
    if given == "simplex" or (isinstance(given, dict) and "simplex" in given):
        out.append(null_projection([[Fraction(1)] * n], g))
        out += [[a - b for a, b in zip(p, q, strict=True)] for p in units for q in units if p != q]
    return [d for d in out if any(d)]


def longest(game, point, player, d):
    """A step length t, nearly the largest, with `x + t d` in the set and `t ||d|| <= 1`."""
    x = [Fraction(e) for e in point[player]]
    most = rational(1 / mpmath.sqrt(sum((mpf(e.numerator) / e.denominator) ** 2 for e in d))) * (
        1 - Fraction(1, 10**30)
    )

    def fits(t):
        return game.contains(player, [e + t * s for e, s in zip(x, d, strict=True)])

    t = most
    for _ in range(2200):
        if fits(t):
            break
        t /= 2
    else:
        return Fraction(0)
    low, high = t, min(2 * t, most)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def gain(game, point, player, extra=()):
    """A lower bound of the player's first-order gain by a feasible step of length at most 1."""
    best = mpf(0)
    sign = -1 if player == "x" else 1
    for d in directions(game, point, player, extra):
        slope = sign * game.slope(point, player, d)
        if slope > 0:
            t = longest(game, point, player, d)
            best = max(best, slope * mpf(t.numerator) / t.denominator)
    return math.nextafter(float(best * (1 - mpf(10) ** -9)), 0) if best < mpf("1e308") else 1e308

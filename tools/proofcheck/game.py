"""Games: the TOML text with its data and sets, and the bound E of either player at a point."""

import re, struct, tomllib
from fractions import Fraction
from itertools import accumulate, chain
from math import inf, isfinite, isnan, prod

from .enclosure import ZERO, Enclosure, Rejected, Undecided, Unreadable, exact, largest, power, rejected_if, sqrt, unreadable_if
from .expression import CONSTANTS, FUNCTIONS, Evaluation, Graph, Parser

LARGEST, PRECISIONS = 10**6, (256, 512, 1024, 4096)
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", re.IGNORECASE | re.ASCII)
CODES = {"f4": "f", "f8": "d", "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}
SETS = {"free": (), "simplex": ("scale",), "box": ("lower", "upper"), "ball": ("center", "centre", "radius"), "l1": ("radius",),
        "halfspace": ("a", "b"), "affine": ("A", "b"), "polyhedron": ("A", "b")}

def read_npy(content):
    try:
        start = 10 if content[6] == 1 else 12
        end = start + int.from_bytes(content[8:start], "little")
        header = content[start : min(end, 65536)].decode("latin-1")
        kind, order, shape = (re.search(rf"[\"']{key}[\"']:\s*{value}", header)[1] for key, value in (
            ("descr", r"[\"']([<>=|][a-z]\d)[\"']"), ("fortran_order", "(True|False)"), ("shape", r"\(([\d\s,]*)\)")))
        shape = tuple(int(n) for n in shape.split(",") if n.strip())
        if content[:6] != b"\x93NUMPY" or content[6] not in (1, 2, 3) or len(shape) > 2 or not all(1 <= n <= LARGEST for n in shape):
            raise ValueError
        layout = f"{'>' if kind[0] == '>' else '<'}{prod(shape)}{CODES[kind[1:]]}"
        numbers = [float(v) for v in struct.unpack(layout, content[end:])]
    except (ValueError, KeyError, IndexError, TypeError, struct.error):
        raise Unreadable("a .npy file cannot be read") from None
    if order == "True" and len(shape) == 2:
        numbers = [numbers[j * shape[0] + i] for i in range(shape[0]) for j in range(shape[1])]
    return numbers, shape

def read_csv(content):
    lines = [line.strip() for line in content.decode("utf-8-sig").splitlines() if line.strip() and not line.startswith("#")]
    rows = [[f.strip('"') for f in re.split(r"\s*,\s*" if "," in line else r"\s*;\s*" if ";" in line else r"\s+", line)] for line in lines]
    rows = rows[1:] if rows and not any(map(NUMBER.fullmatch, rows[0])) else rows  # without a heading
    if not rows or any(len(row) != len(rows[0]) or not all(map(NUMBER.fullmatch, row)) for row in rows):
        raise Unreadable("a .csv file is empty, or its lines differ in length, or a field is not a number")
    return [float(field) for field in chain(*rows)], tuple(n for n in (len(rows), len(rows[0])) if n > 1)

def read_numbers(value, files, data):
    """Numbers of a game file, as a flat list and its shape."""
    if isinstance(value, dict) and list(value) == ["file"]:
        value, data = value["file"], {}
    if isinstance(value, str):
        if value in data:
            return data[value]
        reader = {".npy": read_npy, ".csv": read_csv}.get(value[-4:].lower())
        unreadable_if(reader is None or value not in files, f"`{value[:80]}` is neither data nor a .npy or .csv file of the proof")
        numbers, shape = reader(files[value])
    else:
        shape, numbers = ((len(value),), value) if isinstance(value, list) else ((), [value])
        if shape and value and all(isinstance(row, list) and len(row) == len(value[0]) > 0 for row in value):
            shape, numbers = (len(value), len(value[0])), list(chain(*value))
    if not numbers or any(type(v) not in (int, float) or isnan(v) for v in numbers):
        raise Unreadable("numbers, or rows of numbers of one length, are expected")
    return [float(v) for v in numbers], shape

def only(table, known, where):
    unreadable_if(not isinstance(table, dict) or not set(table) <= set(known), f"{where} is not a table, or has a key that is not known")
    return table

class Variable:
    """A variable with its set: `rows` and `b` of half-spaces, affine sets and polyhedra; a free set is a box without bounds."""
    def __init__(self, name, player, table, numbers):
        only(table, ("dim", "set", "lower", "upper", "start"), f"variable {name}")
        self.name, self.player, self.shape, self.rows, self.b = name, player, (table["dim"],) if "dim" in table else (), [], []
        unreadable_if(any(type(n) is not int or not 1 <= n <= LARGEST for n in self.shape), f"dim of {name} is not from 1 to {LARGEST}")
        bounds, self.size = {key: table[key] for key in ("lower", "upper") if key in table}, prod(self.shape)
        chosen = table.get("set", {"box": bounds})
        chosen = {chosen: {}} if isinstance(chosen, str) else chosen
        unreadable_if("set" in table and bounds or len(only(chosen, SETS, f"the set of {name}")) != 1, f"{name} has not one set")
        ((self.kind, given),) = chosen.items()
        self.given = {key: numbers(value) for key, value in only(given, SETS[self.kind], f"the set of {name}").items()}
        if self.kind in ("box", "free"):
            self.kind, self.lower, self.upper = "box", self.vector("lower", self.size, -inf), self.vector("upper", self.size, inf)
        elif self.kind in ("ball", "l1", "simplex"):
            self.radius = self.vector("scale", 1, 1.0)[0] if self.kind == "simplex" else self.vector("radius", 1)[0]
            self.center = self.vector("centre" if "centre" in self.given else "center", self.size, 0.0)
        else:
            flat, shape = self.given.get("a" if self.kind == "halfspace" else "A", ([inf], ()))
            width = shape[1] if len(shape) == 2 else 1 if self.size == 1 else len(flat)
            if width != self.size or self.kind == "halfspace" and len(flat) != width or inf in map(abs, flat):
                raise Unreadable(f"the set of {name} has no finite matrix of the right shape")
            self.rows = [[exact(v) for v in flat[i : i + width]] for i in range(0, len(flat), width)]
            self.b = [exact(v) for v in self.vector("b", len(self.rows))]
    def vector(self, key, length, default=None):
        values, shape = self.given.get(key, ([default], ()))
        if None in values or shape not in ((), (length,)) or inf in map(abs, values) and key not in ("lower", "upper"):
            raise Unreadable(f"`{key}` of the set of {self.name} is missing, infinite or of another length")
        return values if shape else values * length
    def slack(self, z): return [b - sum((a * v for a, v in zip(row, z)), ZERO) for row, b in zip(self.rows, self.b)]
    def distance_squared(self, x):
        """The exact squared distance of x from its set, or a bound of it for a polyhedron with equations; other sets have to contain x."""
        z = [exact(v) for v in x]
        inside = {
            "box": lambda: all(a <= v <= b for a, v, b in zip(self.lower, x, self.upper)),
            "ball": lambda: self.radius >= 0 and (power(exact(self.radius), 2) - squares(v - exact(c) for v, c in zip(z, self.center))).lo >= 0,
            "l1": lambda: (exact(self.radius) - sum((largest([v, -v]) for v in z), ZERO)).lo >= 0,
            "simplex": lambda: min(x) >= 0 < self.radius,
        }.get(self.kind, lambda: self.kind != "halfspace" or self.slack(z)[0].lo >= 0)
        rejected_if(not inside(), f"the point is outside the set of {self.name}")
        if self.kind == "simplex":
            return simplex_distance_squared([Fraction(v) for v in x], Fraction(self.radius))
        fraction = lambda v: v.lo * Fraction(2) ** v.e
        rows, slack = [[fraction(v) for v in row] for row in self.rows], [fraction(v) for v in self.slack(z)]
        if self.kind == "polyhedron" and min(slack) < 0:
            sides = [(*row, fraction(b)) for row, b in zip(rows, self.b)]
            missed = [tuple(-v for v in side) for side, s in zip(sides, slack) if s < 0]
            rejected_if(not {*missed} <= {*sides}, f"the point is outside the set of {self.name}")
            near = [p for p, s in enumerate(slack) if s * 10**9 <= Fraction(max(map(abs, x))) * sum(map(abs, rows[p])) + abs(sides[p][-1])]
            move = self.shortest_move([rows[p] for p in near], [slack[p] for p in near])
            left = [s - sum(a * d for a, d in zip(row, move)) for row, s in zip(rows, slack)]
            rejected_if(min(left) < 0, f"no point of the set of {self.name} is found next to the point")
            return sum(d * d for d in move)
        return sum(d * d for d in self.shortest_move(rows, slack)) if self.kind == "affine" else Fraction(0)
    def shortest_move(self, rows, r):
        """The shortest d with <row, d> = r for every row: d = A^T l with A A^T l = r, by elimination; rows that depend on others drop out."""
        unreadable_if(len(rows) > 200 and any(r), f"the set of {self.name} has more than 200 equations")
        gram = [[sum(a * b for a, b in zip(p, q)) for q in rows] + [s] for p, s in zip(rows, r)] if any(r) else []
        for p in range(len(gram)):
            rejected_if(gram[p][-1] and not gram[p][p], f"the set of {self.name} is empty")
            gram[p] = [v / gram[p][p] for v in gram[p]] if gram[p][p] else gram[p]
            for i in range(len(gram) if gram[p][p] else 0):
                if i != p and gram[i][p]:
                    gram[i] = [a - gram[i][p] * b for a, b in zip(gram[i], gram[p])]
        return [sum(g[-1] * row[j] for p, (g, row) in enumerate(zip(gram, rows)) if g[p]) for j in range(self.size)]
    def normal(self, given, x):
        """The vector n that the multipliers give, and sup <n, z - x>."""
        z, n = [exact(v) for v in x], [exact(v) for v in given]
        if self.rows:
            rejected_if(self.kind != "affine" and min(given) < 0, f"a multiplier of {self.name} is negative")
            sup = sum((m * s for m, s in zip(n, self.slack(z))), ZERO)
            return [sum((m * row[i] for m, row in zip(n, self.rows)), ZERO) for i in range(self.size)], sup
        if self.kind == "box":
            ends = [self.upper[i] if v > 0 else self.lower[i] if v < 0 else x[i] for i, v in enumerate(given)]
            rejected_if(not all(map(isfinite, ends)), f"n of {self.name} is not 0 where its set has no bound")
            return n, sum((m * (exact(end) - v) for m, end, v in zip(n, ends, z)), ZERO)
        size = sqrt(squares(n)) if self.kind == "ball" else largest(n + [-v for v in n] if self.kind == "l1" else n)
        return n, exact(self.radius) * size + sum((m * (exact(c) - v) for m, c, v in zip(n, self.center, z)), ZERO)

def squares(values): return sum((power(v, 2) for v in values), ZERO)
def simplex_distance_squared(x, scale):
    """The projection subtracts t from every entry and clips at 0."""
    partial, t = Fraction(0), Fraction(0)
    for count, v in enumerate(sorted(x, reverse=True), 1):
        partial += v
        if v * count <= partial - scale:
            break
        t = (partial - scale) / count
    return sum(min(v, t) ** 2 for v in x)

class Game:
    """A game file: variables in order, and the graph of the objective."""
    def __init__(self, text, files):
        table = tomllib.loads(text.removeprefix("\ufeff"))
        only(table, ("objective", "min", "max", "data", "define", "constants", "batch", "name", "description"), "the game")
        least, most, data, define = (table.get(key, {}) for key in ("min", "max", "data", "define"))
        if not all(isinstance(part, dict) for part in (least, most, data, define)) or not least or not most:
            raise Unreadable("a player has no variable, or a part of the game is not a table")
        listed = [*least, *most, *data, *define]
        if len({*listed, *FUNCTIONS, *CONSTANTS}) < len(listed + [*FUNCTIONS, *CONSTANTS]) or not all(re.fullmatch(r"[^\W\d]\w*", n) for n in listed):
            raise Unreadable("a name occurs twice, is reserved, or is not a valid name")
        data = {name: read_numbers(value, files, {}) for name, value in data.items()}
        numbers = lambda value: read_numbers(value, files, data)
        self.variables = [Variable(name, k, entry, numbers) for k, part in ((1, least), (2, most)) for name, entry in part.items()]
        graph = Graph()
        names = {v.name: graph.add("variable", (), v.name, v.shape, v.player) for v in self.variables}
        names |= {name: graph.constant(name, values, shape) for name, (values, shape) in data.items()}
        for name, expression in [*define.items(), ("", table.get("objective", 0))]:
            names[name] = Parser(expression, graph, names).whole()
        unreadable_if(graph.shape(names[""]), "the objective is not a number")
        self.evaluation = Evaluation(graph, names[""])
    def place(self, point, multipliers, slopes):
        """Takes a point with its multipliers and slopes, all as lists per player, after checking their lengths."""
        self.parts, self.slopes = [], [self.allowed(part) for part in slopes]
        for player, (numbers, given) in enumerate(zip(point, multipliers), 1):
            variables = [v for v in self.variables if v.player == player]
            needed = [("l", len(v.rows)) if v.rows else ("n", v.size) for v in variables]
            rejected_if([(key, len(l)) for key, l in given] != needed, "the multipliers do not fit the sets")
            rejected_if(len(numbers) != sum(v.size for v in variables), "the point has another length than the variables")
            ends = list(accumulate((v.size for v in variables), initial=0))
            self.parts.append([(v, numbers[a:b], l) for v, a, b, (_, l) in zip(variables, ends, ends[1:], given)])
    def allowed(self, slopes):
        """The slopes of one player as {(kink, entry): numbers}; each has to be inside what its kink allows."""
        result = {}
        for kink, entry, numbers in slopes:
            rejected_if(kink >= len(self.evaluation.kinks) or (kink, entry) in result, f"no kink {kink}, or two slopes for entry {entry}")
            node = self.evaluation.kinks[kink]
            least = -1 if node.op in ("abs", "norm") else 0
            count = prod(self.evaluation.graph.shape(node.args[0])) if node.op in ("norm", "max of all") else 1
            right = entry < prod(node.shape) and len(numbers) == count and all(least <= v <= 1 for v in numbers)
            if not right or (sum(Fraction(v) ** 2 for v in numbers) > 1 if node.op == "norm" else count > 1 and not any(numbers)):
                raise Rejected(f"the slope at kink {kink}, entry {entry}, is not one of `{node.op}`")
            result[kink, entry] = numbers
        return result
    def distances_squared(self): return [sum((v.distance_squared(x) for v, x, _ in part), Fraction(0)) for part in self.parts]
    def bounds(self, radius):
        """The enclosures of E for x and y with the present precision."""
        self.evaluation.run({v.name: x for part in self.parts for v, x, _ in part})
        result = []
        for player, part in enumerate(self.parts, 1):
            gradient, residual, sup = self.evaluation.gradient(player, self.slopes[player - 1]), [], ZERO
            for v, x, given in part:
                n, more = v.normal(given, x)
                residual += [b + a if player == 1 else b - a for a, b in zip(gradient.get(v.name, [ZERO] * v.size), n)]
                sup = sup + more
            result.append(exact(radius) * sqrt(squares(residual)) + sup)
        return result
    def decided_bounds(self, radius, claims):
        """E for x and y, with more bits until the claims are seen to hold, or to fail, or more bits do not help."""
        before = None
        for Enclosure.bits in PRECISIONS:
            try:
                found = self.bounds(radius)
            except Undecided as error:
                rejected_if(Enclosure.bits == PRECISIONS[-1], str(error))
                continue
            slack = [exact(c) - e for c, e in zip(claims, found)]
            stuck = before and all((a.upper() - b.upper()).top() <= b.top() - 60 for a, b in zip(before, found))
            if all(s.lo >= 0 for s in slack) or any(s.hi < 0 for s in slack) or stuck:
                break
            before = found
        return found

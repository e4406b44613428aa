"""Games: the TOML text with its data and sets, and the bound E of either player at a point."""

import re
import struct
import tomllib
from fractions import Fraction
from itertools import chain
from math import inf, isfinite, isnan, prod

from .enclosure import ZERO, Enclosure, Rejected, Undecided, Unreadable, exact, largest, power, sqrt
from .expression import RESERVED, Evaluation, Graph, Parser

LARGEST = 10**6
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", re.IGNORECASE | re.ASCII)
PRECISIONS = (256, 512, 1024, 4096)
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
    rows = []
    for line in content.decode("utf-8-sig").splitlines():
        if line.strip() and not line.startswith("#"):
            separator = r"\s*,\s*" if "," in line else r"\s*;\s*" if ";" in line else r"\s+"
            fields = [field.strip('"') for field in re.split(separator, line.strip())]
            if rows or any(NUMBER.fullmatch(field) for field in fields):
                rows.append(fields)
            else:
                rows.append([])  # a heading
    rows = rows[1:] if rows and not rows[0] else rows
    if not rows or any(len(row) != len(rows[0]) or not all(map(NUMBER.fullmatch, row)) for row in rows):
        raise Unreadable("a .csv file is empty, or its lines differ in length, or a field is not a number")
    return [float(field) for field in chain(*rows)], tuple(n for n in (len(rows), len(rows[0])) if n > 1)

def read_numbers(value, files, data):
    """Numbers as they may stand in a game file, as a flat list and its shape."""
    if isinstance(value, dict) and list(value) == ["file"]:
        value, data = value["file"], {}
    if isinstance(value, str):
        if value in data:
            return data[value]
        reader = {".npy": read_npy, ".csv": read_csv}.get(value[-4:].lower())
        if reader is None or value not in files:
            raise Unreadable(f"`{value[:80]}` is neither data nor a .npy or .csv file of the proof")
        numbers, shape = reader(files[value])
    else:
        shape, numbers = ((len(value),), value) if isinstance(value, list) else ((), [value])
        if shape and value and all(isinstance(row, list) and len(row) == len(value[0]) > 0 for row in value):
            shape, numbers = (len(value), len(value[0])), list(chain(*value))
    if not numbers or any(type(v) not in (int, float) or isnan(v) for v in numbers):
        raise Unreadable("numbers, or rows of numbers of one length, are expected")
    return [float(v) for v in numbers], shape

def only(table, known, where):
    if not isinstance(table, dict) or not set(table) <= set(known):
        raise Unreadable(f"{where} is not a table, or has a key that is not known")
    return table

class Variable:
    """A variable with its set: `rows` and `b` of half-spaces, affine sets and polyhedra; a free set is a box without bounds."""

    def __init__(self, name, player, table, numbers):
        only(table, ("dim", "set", "lower", "upper", "start"), f"variable {name}")
        self.name, self.player, self.shape = name, player, (table["dim"],) if "dim" in table else ()
        if any(type(n) is not int or not 1 <= n <= LARGEST for n in self.shape):
            raise Unreadable(f"the dim of {name} is not a whole number from 1 to {LARGEST}")
        self.size = n = prod(self.shape)
        bounds = {key: table[key] for key in ("lower", "upper") if key in table}
        chosen = table.get("set", {"box": bounds})
        chosen = {chosen: {}} if isinstance(chosen, str) else chosen
        if "set" in table and bounds or len(only(chosen, SETS, f"the set of {name}")) != 1:
            raise Unreadable(f"{name} has not one set")
        ((self.kind, self.given),) = chosen.items()
        only(self.given, SETS[self.kind], f"the set of {name}")
        self.numbers, self.rows = numbers, []
        if self.kind in ("box", "free"):
            self.kind, self.lower, self.upper = "box", self.vector("lower", n, -inf), self.vector("upper", n, inf)
        elif self.kind == "simplex":
            self.radius, self.center = self.vector("scale", 1, 1.0)[0], [0.0] * n
        elif self.kind in ("ball", "l1"):
            self.radius, self.center = self.vector("radius", 1)[0], self.vector("centre" if "centre" in self.given else "center", n, 0.0)
        else:
            key = "a" if self.kind == "halfspace" else "A"
            flat, shape = numbers(self.given[key]) if key in self.given else ([], ())
            self.rows = [[exact(v) for v in flat[i : i + n]] for i in range(0, len(flat), n)] if all(map(isfinite, flat)) else []
            if not self.rows or (shape[1] != n if len(shape) == 2 else n != 1 and len(flat) != n) or key == "a" and len(flat) != n:
                raise Unreadable(f"`{key}` of the set of {name} is missing or has another shape")
            self.b = [exact(v) for v in self.vector("b", len(self.rows))]

    def vector(self, key, length, default=None):
        values, shape = self.numbers(self.given[key]) if key in self.given else ([default], ())
        if None in values or shape not in ((), (length,)) or inf in map(abs, values) and key not in ("lower", "upper"):
            raise Unreadable(f"`{key}` of the set of {self.name} is missing, infinite or of another length")
        return values if shape else values * length

    def slack(self, z):
        return [b - sum((a * v for a, v in zip(row, z)), ZERO) for row, b in zip(self.rows, self.b)]

    def distance_squared(self, x):
        """The exact squared distance of x from a simplex or an affine set; the other sets have to contain x."""
        z, inside = [exact(v) for v in x], True
        if self.kind == "box":
            inside = all(a <= v <= b for a, v, b in zip(self.lower, x, self.upper))
        elif self.kind == "ball":
            rest = power(exact(self.radius), 2) - sum((power(v - exact(c), 2) for v, c in zip(z, self.center)), ZERO)
            inside = rest.lo >= 0 and self.radius >= 0
        elif self.kind == "l1":
            inside = (exact(self.radius) - sum((largest([v, -v]) for v in z), ZERO)).lo >= 0
        elif self.kind == "simplex":
            inside = min(x) >= 0 < self.radius
        elif self.kind != "affine":
            inside = all(s.lo >= 0 for s in self.slack(z))
        if not inside:
            raise Rejected(f"the point is outside the set of {self.name}")
        if self.kind == "simplex":
            return simplex_distance_squared([Fraction(v) for v in x], Fraction(self.radius))
        return self.affine_distance_squared(self.slack(z)) if self.kind == "affine" else Fraction(0)

    def affine_distance_squared(self, residual):
        """r^T (A A^T)^-1 r with r = b - A x, by elimination; rows that depend on others drop out."""
        if len(self.rows) > 200 and any(not r.is_zero() for r in residual):
            raise Unreadable("an affine set with more than 200 rows")
        fraction = lambda v: v.lo * Fraction(2) ** v.e
        r, rows, result = [fraction(v) for v in residual], [[fraction(v) for v in row] for row in self.rows], Fraction(0)
        gram = [[sum(a * b for a, b in zip(p, q)) for q in rows] for p in rows] if any(r) else []
        for p, row in enumerate(gram):
            if r[p] and not row[p]:
                raise Rejected(f"the affine set of {self.name} is empty")
            result += r[p] ** 2 / row[p] if row[p] else 0
            for i in range(p + 1, len(gram)):
                if gram[i][p]:
                    factor = gram[i][p] / row[p]
                    r[i] -= factor * r[p]
                    gram[i] = [a - factor * b for a, b in zip(gram[i], row)]
        return result

    def normal(self, given, x):
        """The vector n that the multipliers give, and sup <n, z - x>."""
        z, n = [exact(v) for v in x], [exact(v) for v in given]
        if self.rows:
            if self.kind != "affine" and min(given) < 0:
                raise Rejected(f"a multiplier of {self.name} is negative")
            sup = sum((m * s for m, s in zip(n, self.slack(z))), ZERO)
            return [sum((m * row[i] for m, row in zip(n, self.rows)), ZERO) for i in range(self.size)], sup
        if self.kind == "box":
            ends = [self.upper[i] if v > 0 else self.lower[i] if v < 0 else x[i] for i, v in enumerate(given)]
            if not all(map(isfinite, ends)):
                raise Rejected(f"n of {self.name} is not 0 where its set has no bound")
            return n, sum((m * (exact(end) - v) for m, end, v in zip(n, ends, z)), ZERO)
        inner = sum((m * (exact(c) - v) for m, c, v in zip(n, self.center, z)), ZERO)
        if self.kind == "ball":
            return n, exact(self.radius) * length(n) + inner
        return n, exact(self.radius) * largest(n + [-v for v in n] if self.kind == "l1" else n) + inner

def length(values):
    return sqrt(sum((power(v, 2) for v in values), ZERO))

def simplex_distance_squared(x, scale):
    """The projection takes t from every entry and cuts at 0."""
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
        try:
            table = tomllib.loads(text.removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"the game is not TOML: {str(error)[:200]}") from None
        only(table, ("objective", "min", "max", "data", "define", "constants", "name", "description"), "the game")
        least, most, data, define = (table.get(key, {}) for key in ("min", "max", "data", "define"))
        if not all(isinstance(part, dict) for part in (least, most, data, define)) or not least or not most:
            raise Unreadable("a player has no variable, or a part of the game is not a table")
        listed = [*least, *most, *data, *define]
        if len(set(listed)) < len(listed) or any(name in RESERVED or not re.fullmatch(r"[^\W\d]\w*", name) for name in listed):
            raise Unreadable("a name stands twice, or is reserved, or is not a name")
        data = {name: read_numbers(value, files, {}) for name, value in data.items()}
        numbers = lambda value: read_numbers(value, files, data)
        self.variables = [Variable(name, k, entry, numbers) for k, part in ((1, least), (2, most)) for name, entry in part.items()]
        self.graph, names = Graph(), {}
        for v in self.variables:
            names[v.name] = self.graph.add("variable", (), v.name, v.shape, v.player)
        for name, (values, shape) in data.items():
            names[name] = self.graph.constant(name, values, shape)
        for name, text in [*define.items(), ("", table.get("objective"))]:
            if not isinstance(text, str):
                raise Unreadable("the objective or a definition is not a text")
            names[name] = Parser(text, self.graph, names).whole()
        if self.graph.shape(names[""]):
            raise Unreadable("the objective is not a number")
        self.evaluation = Evaluation(self.graph, names[""])

    def split(self, player, numbers):
        """The numbers of a player by variable: pairs."""
        variables, parts = [v for v in self.variables if v.player == player], []
        if len(numbers) != sum(v.size for v in variables):
            raise Rejected(f"the point has {len(numbers)} numbers for player {'xy'[player - 1]}, not {sum(v.size for v in variables)}")
        for v in variables:
            parts.append((v, numbers[: v.size]))
            numbers = numbers[v.size :]
        return parts

    def checked_slopes(self, slopes):
        """The slopes of one player as {(kink, entry): numbers}, each inside what its kink allows."""
        result = {}
        for slope in slopes:
            key, numbers = slope[:2], slope[2]
            node = self.evaluation.kinks[key[0]] if key[0] < len(self.evaluation.kinks) else None
            if node is None or key[1] >= prod(node.shape) or key in result:
                raise Rejected(f"there is no kink {key[0]} with entry {key[1]}, or it has two slopes")
            vector = node.op.endswith("of all")
            least = -1 if node.op in ("abs", "norm of all") else 0
            right = len(numbers) == (prod(self.graph.shape(node.args[0])) if vector else 1) and all(least <= v <= 1 for v in numbers)
            if node.op == "norm of all":
                right = right and sum(Fraction(v) ** 2 for v in numbers) <= 1
            elif not right or vector and not any(numbers):
                right = False
            if not right:
                raise Rejected(f"the slope at kink {key[0]}, entry {key[1]}, is not a slope of `{node.op.split()[0]}`")
            result[key] = numbers
        return result

    def bounds(self, point, radius, multipliers, slopes):
        """The enclosures of E for x and y with the present precision."""
        parts = [self.split(player, numbers) for player, numbers in enumerate(point, 1)]
        self.evaluation.run({v.name: numbers for part in parts for v, numbers in part})
        result = []
        for player, part in enumerate(parts, 1):
            gradient, residual, sup = self.evaluation.gradient(player, slopes[player - 1]), [], ZERO
            for (v, x), given in zip(part, multipliers[player - 1]):
                g = gradient.get(v.name, [ZERO] * v.size)
                n, more = v.normal(given, x)
                residual += [a + b if player == 1 else b - a for a, b in zip(g, n)]
                sup = sup + more
            result.append(exact(radius) * length(residual) + sup)
        return result

    def decide(self, claims, *problem):
        """E for x and y, with more bits until the claims are seen to hold, or to fail, or more bits do not help."""
        before = None
        for Enclosure.bits in PRECISIONS:
            try:
                found = self.bounds(*problem)
            except Undecided as error:
                if Enclosure.bits == PRECISIONS[-1]:
                    raise Rejected(str(error)) from None
                continue
            slack = [exact(c) - e for c, e in zip(claims, found)]
            stuck = before and all((a.upper() - b.upper()).top() <= b.top() - 60 for a, b in zip(before, found))
            if all(s.lo >= 0 for s in slack) or any(s.hi < 0 for s in slack) or stuck:
                break
            before = found
        return found

    def check(self, radius, point, claims, given, show):
        """Prints what was found; returns what does not hold. `claims`: of X and Y, and of the distances; `given`: multipliers and slopes."""
        failures, multipliers = [], []
        for player, part in enumerate(given[0], 1):
            variables = [v for v in self.variables if v.player == player]
            if [key for key, _ in part] != ["l" if v.rows else "n" for v in variables]:
                raise Rejected("the multipliers do not fit the sets")
            if [len(numbers) for _, numbers in part] != [len(v.rows) or v.size for v in variables]:
                raise Rejected("the multipliers have another length than their sets need")
            multipliers.append([numbers for _, numbers in part])
        slopes = [self.checked_slopes(part) for part in given[1]]
        for player, claim in enumerate(claims[1], 1):
            squared = sum((v.distance_squared(x) for v, x in self.split(player, point[player - 1])), Fraction(0))
            distance = sqrt(exact(squared.numerator) / exact(squared.denominator))
            show(f"outside {'xy'[player - 1]}: distance {distance}, claimed {claim!r}")
            if claim < 0 or Fraction(claim) ** 2 < squared:
                failures.append(f"the point is further outside the set of {'xy'[player - 1]} than claimed")
        for name, claim, found in zip("XY", claims[0], self.decide(claims[0], point, radius, multipliers, slopes)):
            excess = (exact(claim) - found.upper()) / found.upper() if found.hi > 0 else ZERO
            show(f"{name}: E = {found}, claimed {claim!r}, above E by {excess} of E")
            if (exact(claim) - found).lo < 0:
                failures.append(f"the claim {name} is below E")
        return failures

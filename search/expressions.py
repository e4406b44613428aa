"""Random formulas as trees: their text for the solver, and their value with derivatives."""

import dual
from dual import Dual, constant
from mpmath import mpf

SMOOTH = "sin cos tanh sigmoid softplus square atan exp log1p".split()
SPECIAL = [0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 0.1, 0.3, 0.25, 1e-8, 7.0, 10.0]


class Generator:
    """Draws trees. `mild` keeps to smooth functions and numbers of moderate size; `long` adds products with up to 90 rows."""

    def __init__(self, random, sizes, mild=False, long=False):
        self.random, self.sizes, self.mild, self.long = random, sizes, mild, long
        self.data = {}

    def literal(self):
        r = self.random
        if self.mild:
            return ("literal", round(r.uniform(-2, 2), 3))
        kind = r.random()
        if kind < 0.5:
            return ("literal", r.choice(SPECIAL))
        if kind < 0.75:
            return ("literal", r.choice([-1, 1]) * 10 ** r.uniform(-20, 20))
        return ("literal", r.uniform(-3, 3))

    def vector(self, n):
        """A vector of data."""
        name = f"u{len(self.data)}"
        self.data[name] = [self.literal()[1] for _ in range(n)]
        return ("data", name)

    def product(self, n, depth):
        """A matrix of data times a vector."""
        k = self.random.choice([s for s in self.sizes if s > 1] or [2])
        name = f"A{len(self.data)}"
        self.data[name] = [[self.literal()[1] for _ in range(k)] for _ in range(n)]
        return ("product", name, self.tree(k, depth - 1))

    def leaf(self, n):
        r = self.random
        if n == 1:
            player = r.choice("xy")
            return ("entry", player, r.randrange(self.sizes["xy".index(player)])) if r.random() < 0.75 else self.literal()
        fitting = [p for p, size in zip("xy", self.sizes) if size == n]
        if fitting and r.random() < 0.8:
            return ("whole", r.choice(fitting))
        return self.vector(n)

    def leaf_of(self, player, n):
        """All of a player's variables."""
        return ("whole", player) if n > 1 else ("entry", player, 0)

    def tree(self, n, depth):
        """A tree with n entries; n = 1 is a scalar."""
        r = self.random
        if depth <= 0 or r.random() < 0.08:
            return self.leaf(n)
        kind = r.random()
        if kind < 0.3:
            return self.unary(n, depth)
        if kind < 0.62:
            return self.binary(n, depth)
        if kind < 0.7:
            exponents = [2, 3] if self.mild else [2, 3, 4, 7, -1, -2, 0, 1]
            return ("power", self.tree(n, depth - 1), r.choice(exponents))
        if n == 1:
            k = r.choice([s for s in self.sizes if s > 1] or [2])
            if self.long and r.random() < 0.7:
                return ("fold", r.choice(["sum", "mean", "logsumexp", "norm", "max"]), self.product(r.randint(5, 90), depth))
            if kind < 0.88:
                names = ["sum", "mean", "logsumexp"] if self.mild else ["sum", "mean", "norm", "logsumexp", "max", "min"]
                return ("fold", r.choice(names), self.tree(k, depth - 1))
            return ("dot", self.tree(k, depth - 1), self.tree(k, depth - 1))
        return self.other_product(n, depth) if self.long and r.random() < 0.5 else self.product(n, depth)

    def other_product(self, n, depth):
        """A vector times a matrix of data, a transposed matrix times a vector, or a part of a longer vector."""
        r = self.random
        k = r.choice([s for s in self.sizes if s > 1] or [2])
        if r.random() < 0.3:
            return ("slice", self.product(n + 2, depth), r.randrange(3), n)
        name = f"A{len(self.data)}"
        self.data[name] = [[self.literal()[1] for _ in range(n)] for _ in range(k)]
        return (r.choice(["left", "transposed"]), name, self.tree(k, depth - 1))

    def unary(self, n, depth):
        r = self.random
        inner = self.tree(n, depth - 1)
        if self.mild:
            name = r.choice(SMOOTH)
            if name == "exp":
                inner = ("unary", "sin", inner)
            if name == "log1p":
                inner = ("unary", "square", inner)
            return ("unary", name, inner)
        name = r.choice(list(dual.UNARY))
        if name in ("log", "sqrt") and r.random() < 0.8:
            inner = ("unary", r.choice(["square", "abs", "exp", "cosh", "softplus"]), inner)
        if name in ("exp", "expm1", "sinh", "cosh") and r.random() < 0.6:
            inner = ("unary", r.choice(["tanh", "sin", "atan", "sigmoid"]), inner)
        return ("unary", name, inner)

    def binary(self, n, depth):
        r = self.random
        a = self.tree(n, depth - 1)
        b = self.tree(n if r.random() < 0.7 else 1, depth - 1)
        if self.mild:
            return ("binary", r.choice("+-*"), a, b)
        kind = r.random()
        if kind < 0.08:
            # Cancellation: a large number is added and subtracted.
            big = ("literal", r.choice([-1, 1]) * 10 ** r.uniform(5, 20))
            return ("binary", "-", ("binary", "+", a, big), big)
        if kind < 0.13:
            return ("binary", "^", ("unary", r.choice(["exp", "abs", "softplus", "square"]), a), b)
        return ("binary", r.choice(["+", "-", "*", "*", "/", "max", "min", "+", "-"]), a, b)


def number(v):
    return repr(float(v)) if v >= 0 else f"({float(v)!r})"


def text(t):
    """The text of a tree in the solver's language."""
    match t:
        case ("literal", v):
            return number(v)
        case ("data", name) | ("whole", name):
            return name
        case ("entry", name, i):
            return f"{name}[{i}]"
        case ("product", name, v):
            return f"({name} @ {text(v)})"
        case ("left", name, v):
            return f"({text(v)} @ {name})"
        case ("transposed", name, v):
            return f"({name}.T @ {text(v)})"
        case ("slice", v, start, n):
            return f"({text(v)})[{start}:{start + n}]"
        case ("unary", "-", a):
            return f"(-{text(a)})"
        case ("unary", name, a) | ("fold", name, a):
            return f"{name}({text(a)})"
        case ("binary", ("max" | "min") as name, a, b):
            return f"{name}({text(a)}, {text(b)})"
        case ("binary", name, a, b):
            return f"({text(a)} {name} {text(b)})"
        case ("power", a, n):
            return f"({text(a)})^({n})"
        case ("dot", a, b):
            return f"dot({text(a)}, {text(b)})"
    raise ValueError(t)


class Evaluation:
    """The value of a tree at a point, with derivatives along `directions` (a list of vectors over x and then y)."""

    def __init__(self, data, point, directions):
        self.data, self.n = data, len(directions)
        self.point = {}
        at = 0
        for player in "xy":
            entries = []
            for v in point[player]:
                entries.append(Dual(mpf(v), [mpf(s[at]) for s in directions]))
                at += 1
            self.point[player] = entries

    def of(self, t):
        """The value of a tree as a list of duals; a scalar has one entry."""
        match t:
            case ("literal", v):
                return [constant(v, self.n)]
            case ("data", name):
                return [constant(v, self.n) for v in self.data[name]]
            case ("whole", name):
                return self.point[name]
            case ("entry", name, i):
                return [self.point[name][i]]
            case ("product", name, v):
                v = self.of(v)
                return [dual.total([dual.mul(constant(a, self.n), b) for a, b in zip(row, v)]) for row in self.data[name]]
            case ("left" | "transposed", name, v):
                v, columns = self.of(v), zip(*self.data[name])
                return [dual.total([dual.mul(constant(a, self.n), b) for a, b in zip(column, v)]) for column in columns]
            case ("slice", v, start, n):
                return self.of(v)[start : start + n]
            case ("unary", name, a):
                return [dual.UNARY[name](v) for v in self.of(a)]
            case ("fold", name, a):
                return [dual.fold(name, self.of(a))]
            case ("binary", name, a, b):
                a, b = self.of(a), self.of(b)
                n = max(len(a), len(b))
                a, b = a if len(a) == n else a * n, b if len(b) == n else b * n
                return [dual.BINARY[name](u, v) for u, v in zip(a, b)]
            case ("power", a, k):
                return [dual.power(v, k) for v in self.of(a)]
            case ("dot", a, b):
                return [dual.total([dual.mul(u, v) for u, v in zip(self.of(a), self.of(b))])]
        raise ValueError(t)

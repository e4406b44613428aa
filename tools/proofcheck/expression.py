"""Expressions of game files: parsed into a graph of nodes, evaluated and differentiated (reverse mode) with enclosures."""

import re
from collections import namedtuple
from functools import reduce
from math import e, isfinite, pi, prod

from . import enclosure as num
from .enclosure import ONE, SIGNED_UNIT, TWO, UNIT, ZERO, Undecided, Unreadable, exact, rejected_if, unreadable_if

SMOOTH = {  # name: (value, derivative)
    "sin": (num.sin, num.cos),
    "cos": (num.cos, lambda x: -num.sin(x)),
    "exp": (num.exp, num.exp),
    "log": (num.log, lambda x: ONE / x),
    "sqrt": (num.sqrt, lambda x: ONE / (TWO * num.sqrt(x))),
    "atan": (num.atan, lambda x: ONE / (ONE + num.power(x, 2))),
    "negative": (lambda x: -x, lambda x: -ONE),
}
BINARY = {  # operation: (value, derivatives)
    "+": (lambda a, b: a + b, lambda a, b: (ONE, ONE)),
    "-": (lambda a, b: a - b, lambda a, b: (ONE, -ONE)),
    "*": (lambda a, b: a * b, lambda a, b: (b, a)),
    "/": (lambda a, b: a / b, lambda a, b: (ONE / b, -(a / num.power(b, 2)))),
    "max": (lambda a, b: num.largest([a, b]), None),
}
KINKS = {  # operation: slope above the kink, slope below, slope at it unless the file has another, all slopes
    "abs": (ONE, -ONE, ZERO, SIGNED_UNIT),
    "relu": (ONE, ZERO, ZERO, UNIT),
    "max": (ONE, ZERO, ONE, UNIT),  # of a - b: the weight of a
    "max of all": None, "norm": None,
}
WRITTEN = {  # functions in terms of others; no exponent is too large for an enclosure, so this loses no digits where arguments are large
    "square": "v^2", "tan": "sin(v)/cos(v)", "log1p": "log(1 + v)", "expm1": "exp(v) - 1", "sinh": "(exp(v) - exp(-v))/2",
    "cosh": "(exp(v) + exp(-v))/2", "tanh": "1 - 2/(1 + exp(2*v))", "sigmoid": "1/(1 + exp(-v))", "softplus": "log(1 + exp(v))",
    "logsumexp": "log(sum(exp(v)))"}
FUNCTIONS = {*SMOOTH, *WRITTEN, "abs", "relu", "max", "min", "norm", "sum", "mean", "dot", "transpose"} - {"negative"}
CONSTANTS = {"e": e, "pi": pi}
TOKEN = re.compile(r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[^\W\d]\w*)|(?P<index>\[[^][]*\])"
                   r"|(?P<symbol>\*\*|[-+*/^@(),]|\.T\b)|(?P<bad>\S))")
KEY = re.compile(r"\s*([+-]?[0-9]{1,18})?\s*(?:(:)\s*([+-]?[0-9]{1,18})?)?\s*")
BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "@": 2}
MOST_CHARACTERS, DEEPEST, MOST_WORK = 10**6, 256, 3 * 10**7

# One operation. `depends` has bit 1 for x and bit 2 for y; `extra` is the key of a variable or constant, or a tuple of entries.
Node = namedtuple("Node", "op args extra shape depends")

class Graph:
    """Nodes in the order in which they are made; equal subexpressions are one node."""
    def __init__(self):
        self.nodes, self.table, self.work, self.constants = [], {}, 0, {}
    def add(self, op, args=(), extra=None, shape=(), depends=0, cost=1):
        key = (op, args, extra, shape)
        if key not in self.table:
            for a in args:
                depends |= self.nodes[a].depends
            self.work += max(cost, prod(shape), *(prod(self.shape(a)) for a in args), 1)
            unreadable_if(self.work > MOST_WORK, "the game is too large for this program")
            self.table[key] = len(self.nodes)
            self.nodes.append(Node(op, args, extra, shape, depends))
        return self.table[key]
    def constant(self, key, numbers, shape):
        self.constants[key] = numbers
        return self.add("constant", (), key, shape)
    def number(self, value): return self.constant(value, [value], ())
    def shape(self, i): return self.nodes[i].shape
    def negative(self, a): return self.add("negative", (a,), None, self.shape(a))
    def entrywise(self, op, a, b, extra=None):
        shapes = self.shape(a), self.shape(b)
        unreadable_if(shapes[0] != shapes[1] and () not in shapes, f"`{op}` of the shapes {shapes[0]} and {shapes[1]}")
        return self.add(op, (a, b), extra, shapes[0] or shapes[1])
    def product(self, a, b):
        left, right = self.shape(a), self.shape(b)
        unreadable_if(not left or not right or left[-1] != right[0], f"`@` of the shapes {left} and {right}")
        return self.add("@", (a, b), None, left[:-1] + right[1:], cost=prod(left + right[1:]))
    def call(self, name, args):
        shape = self.shape(args[0])
        if name == "min":  # the maximum of the negatives, and its negative; "min" keeps it apart from a max of the same negatives
            return self.negative(self.maximum([self.negative(a) for a in args], "min"))
        if name == "max":
            return self.maximum(args, None)
        shapes = [self.shape(a) for a in args]
        unreadable_if(shapes != ([shape] * 2 if name == "dot" and len(shape) < 2 else [shape]), f"`{name}` with arguments that do not fit")
        if name in WRITTEN:
            return Parser(WRITTEN[name], self, {"v": args[0]}).whole()
        if name == "transpose":
            entries = tuple(i * shape[1] + j for j in range(shape[1]) for i in range(shape[0])) if len(shape) == 2 else None
            return self.add("entries", args, entries, shape[::-1]) if entries else args[0]
        if name in ("dot", "mean"):
            whole = self.add("sum", (self.entrywise("*", *args),) if name == "dot" else args)
            return whole if name == "dot" else self.entrywise("/", whole, self.number(float(prod(shape))))
        return self.add(name, args, None, () if name in ("sum", "norm") else shape)
    def maximum(self, args, extra):
        return reduce(lambda a, b: self.entrywise("max", a, b, extra), args) if len(args) > 1 else self.add("max of all", tuple(args), extra)
    def index(self, a, text):
        """a[text]: whole numbers or start:end, separated by commas."""
        shape, ranges, left = self.shape(a), [], []
        keys = [KEY.fullmatch(part) for part in text[1:-1].split(",")]
        wrong = None in keys or len(keys) > len(shape) or any(key[1] is None and not key[2] for key in keys)
        unreadable_if(wrong, f"the index {text[:40]} does not fit")
        for n, key in zip(shape, keys + [KEY.fullmatch(":")] * (len(shape) - len(keys))):
            start, end = int(key[1] or 0), int(key[3] or n) if key[2] else int(key[1])
            start, end = start + n * (start < 0), end + n * (end < 0) + (not key[2])
            unreadable_if(not 0 <= start < end <= n, f"the index {text[:40]} is outside the length {n} or empty")
            ranges.append(range(start, end))
            left += [end - start] if key[2] else []
        width, columns = (shape[1], ranges[1]) if len(shape) == 2 else (1, range(1))
        return self.add("entries", (a,), tuple(i * width + j for i in ranges[0] for j in columns), tuple(left))

class Parser:
    """Recursive descent, with the precedence of Python."""
    def __init__(self, text, graph, names):
        self.graph, self.names, self.depth, self.at = graph, names, 0, 0
        self.tokens = [(m.lastgroup, m[m.lastgroup]) for m in TOKEN.finditer(text[: MOST_CHARACTERS + 1])] + [("end", "")]
        unreadable_if(len(text) > MOST_CHARACTERS, "an expression has more than 10^6 characters")
    def accept(self, *symbols):
        if self.tokens[self.at][0] == "symbol" and self.tokens[self.at][1] in symbols:
            self.at += 1
            return self.tokens[self.at - 1][1]
    def expect(self, kind, text):
        unreadable_if(self.tokens[self.at] != (kind, text), f"something does not fit at {self.tokens[self.at][1][:40]!r} in an expression")
        self.at += 1
    def whole(self):
        result = self.sum()
        self.expect("end", "")
        return result
    def sum(self, least=1):
        """Operations that bind at least so tightly."""
        left = self.signed()
        while (level := BINDING.get(self.tokens[self.at][1], 0)) >= least:
            op, self.at = self.tokens[self.at][1], self.at + 1
            right = self.sum(level + 1)
            left = self.graph.product(left, right) if op == "@" else self.graph.entrywise(op, left, right)
        return left
    def signed(self):
        signs = 0
        while sign := self.accept("+", "-"):
            signs += sign == "-"
        left = self.operand()
        if self.accept("^", "**"):
            left = self.graph.entrywise("^", left, self.signed())
        for _ in range(signs):
            left = self.graph.negative(left)
        return left
    def operand(self):
        (kind, text), self.at = self.tokens[self.at], self.at + 1
        if kind == "number" and isfinite(float(text)) or text in CONSTANTS:
            result = self.graph.number(CONSTANTS.get(text) or float(text))
        elif text == "(" or text in FUNCTIONS and self.accept("("):
            result = self.bracketed(text)
        elif kind == "name" and text in self.names:
            result = self.names[text]
        else:
            raise Unreadable(f"{text[:40]!r} is not a value that is known")
        while self.tokens[self.at][0] == "index" or self.tokens[self.at][1] == ".T":
            (kind, text), self.at = self.tokens[self.at], self.at + 1
            result = self.graph.index(result, text) if kind == "index" else self.graph.call("transpose", (result,))
        return result
    def bracketed(self, name):
        self.depth += 1
        unreadable_if(self.depth > DEEPEST, "brackets are nested more than 256 deep")
        args = [self.sum()]
        while name != "(" and self.accept(","):
            args.append(self.sum())
        self.expect("symbol", ")")
        self.depth -= 1
        return self.graph.call(name, tuple(args)) if name != "(" else args[0]

def at(values, i): return values[0] if len(values) == 1 else values[i]
def pow_value(a, b, n):
    """a^b; n is b if the exponent is constant and exactly whole, otherwise None."""
    if n is None:
        return num.exp(b * num.log(a))
    return num.power(a, n) if n >= 0 else ONE / num.power(a, -n)

def pow_slopes(a, b, n):
    if n is None:
        return b * num.exp((b - ONE) * num.log(a)), num.exp(b * num.log(a)) * num.log(a)
    return (b * pow_value(a, None, n - 1) if n else ZERO), ZERO

class Evaluation:
    """The values of all nodes that the result needs, at a point, and gradients with slopes at kinks."""
    def __init__(self, graph, result):
        self.graph, self.result, self.values = graph, result, {}
        needed = {result}
        for i in range(result, -1, -1):
            needed.update(graph.nodes[i].args if i in needed else ())
        self.order = sorted(needed)
        self.kinks = [graph.nodes[i] for i in self.order if graph.nodes[i].depends and graph.nodes[i].op in KINKS]
        self.kink_numbers = {node: k for k, node in enumerate(self.kinks)}
    def run(self, variables):
        for i in self.order:
            node = self.graph.nodes[i]
            numbers = variables[node.extra] if node.op == "variable" else self.graph.constants[node.extra] if node.op == "constant" else ()
            unreadable_if(not all(map(isfinite, numbers)), "an objective needs finite numbers")
            self.values[i] = [exact(v) for v in numbers] or self.value(node, [self.values[a] for a in node.args])
    def sizes(self, node):
        """Of a product: rows, inner length, columns."""
        left, right = (self.graph.shape(a) for a in node.args)
        return (left[0] if len(left) == 2 else 1), left[-1], (right[1] if len(right) == 2 else 1)
    def whole_exponent(self, node, b): return None if self.graph.nodes[node.args[1]].depends else b.whole()
    def value(self, node, args):
        op, first = node.op, args[0]
        if op == "sqrt" and node.depends and any(v.lo <= 0 for v in first):
            raise Undecided("sqrt has no derivative at 0")
        if op in SMOOTH:
            return [SMOOTH[op][0](v) for v in first]
        if op in BINARY or op == "^":
            pairs = [(at(first, i), at(args[1], i)) for i in range(prod(node.shape))]
            return [pow_value(a, b, self.whole_exponent(node, b)) if op == "^" else BINARY[op][0](a, b) for a, b in pairs]
        if op == "@":
            n, k, m = self.sizes(node)
            return [sum((first[i * k + t] * args[1][t * m + j] for t in range(k)), ZERO) for i in range(n) for j in range(m)]
        return {
            "abs": lambda: [num.largest([v, -v]) for v in first],
            "relu": lambda: [num.largest([v, ZERO]) for v in first],
            "entries": lambda: [first[j] for j in node.extra],
            "sum": lambda: [sum(first, ZERO)],
            "norm": lambda: [num.sqrt(sum((num.power(v, 2) for v in first), ZERO))],
            "max of all": lambda: [num.largest(first)],
        }[op]()
    def gradient(self, player, slopes):
        """The derivatives for x (player 1) or y (player 2), by variable; `slopes` maps (kink, entry) to what the file says."""
        self.player, self.slopes, adjoints, result = player, slopes, {self.result: [ONE]}, {}
        for i in reversed(self.order):
            node, adjoint = self.graph.nodes[i], adjoints.pop(i, None)
            if adjoint is None or not node.depends & player:
                continue
            if node.op == "variable":
                result[node.extra] = adjoint
                continue
            for k, parts in self.parts(node, adjoint, [self.values[a] for a in node.args]):
                adjoints[k] = [a + b for a, b in zip(adjoints[k], parts)] if k in adjoints else parts
        return result
    def parts(self, node, adjoint, args):
        """The adjoints that a node passes to its arguments: pairs of an argument and a list."""
        op, first = node.op, args[0]
        if op == "@":
            n, k, m = self.sizes(node)
            if self.graph.nodes[node.args[0]].depends & self.player:
                yield node.args[0], [sum((adjoint[i * m + j] * args[1][t * m + j] for j in range(m)), ZERO) for i in range(n) for t in range(k)]
            if self.graph.nodes[node.args[1]].depends & self.player:
                yield node.args[1], [sum((adjoint[i * m + j] * first[i * k + t] for i in range(n)), ZERO) for t in range(k) for j in range(m)]
        elif op == "entries":
            passed = dict(zip(node.extra, adjoint))
            yield node.args[0], [passed.get(j, ZERO) for j in range(len(first))]
        elif op in ("sum", "norm", "max of all"):
            slopes = {"sum": lambda *_: [ONE] * len(first), "norm": self.norm_slopes, "max of all": self.max_slopes}[op](node, adjoint[0], first)
            yield node.args[0], [adjoint[0] * s for s in slopes]
        elif len(args) == 1:
            slopes = [SMOOTH[op][1](v) if op in SMOOTH else self.kink_slope(node, i, adjoint[i], v) for i, v in enumerate(first)]
            yield node.args[0], [a * s for a, s in zip(adjoint, slopes)]
        else:
            pairs = [self.pair_slopes(node, i, a, (at(first, i), at(args[1], i))) for i, a in enumerate(adjoint)]
            for side, k in enumerate(node.args):
                parts = [a * p[side] for a, p in zip(adjoint, pairs)]
                yield k, parts if self.graph.shape(k) == node.shape else [sum(parts, ZERO)]
    def pair_slopes(self, node, i, adjoint, pair):
        if node.op == "^":
            return pow_slopes(*pair, self.whole_exponent(node, pair[1]))
        if node.op in KINKS:
            weight = self.kink_slope(node, i, adjoint, pair[0] - pair[1])
            return weight, ONE - weight
        return BINARY[node.op][1](*pair)
    def harmless(self, adjoint): return adjoint.lo >= 0 if self.player == 1 else adjoint.hi <= 0
    def chosen(self, node, entry, default):
        slope = self.slopes.get((self.kink_numbers[node], entry))
        return default if slope is None else [exact(v) for v in slope]
    def kink_slope(self, node, entry, adjoint, v):
        above, below, default, everything = KINKS[node.op]
        if v.lo > 0 or v.hi < 0:
            return above if v.lo > 0 else below
        if v.is_zero() and self.harmless(adjoint):
            return self.chosen(node, entry, [default])[0]
        return everything
    def norm_slopes(self, node, adjoint, values):
        if any(v.lo > 0 or v.hi < 0 for v in values):
            length = self.value(node, [values])[0]
            return [v / length for v in values]
        if all(v.is_zero() for v in values) and self.harmless(adjoint):
            return self.chosen(node, 0, [ZERO] * len(values))
        return [SIGNED_UNIT] * len(values)
    def max_slopes(self, node, adjoint, values):
        most = num.largest(values)
        tied = [(v.upper() - most.lower()).hi >= 0 for v in values]
        if sum(tied) == 1 or not self.harmless(adjoint) or any(v.lo != v.hi for v, t in zip(values, tied) if t):
            return [(ONE if sum(tied) == 1 else UNIT) if t else ZERO for t in tied]
        weights = self.chosen(node, 0, [ONE if i == tied.index(True) else ZERO for i in range(len(values))])
        whole = sum(weights, ZERO)
        rejected_if(any(not w.is_zero() for w, t in zip(weights, tied) if not t), "a slope gives weight to an entry that is not extreme")
        return [w / whole for w in weights]

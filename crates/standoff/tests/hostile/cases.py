"""Games made to obtain a false certificate, by kind. Every case is written for the variable `v`; make.py writes it for both players."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import mpmath

UNIT = "lower = -1\nupper = 1"
WIDE = "lower = -100\nupper = 100"
FREE = 'set = "free"'


@dataclass
class Case:
    """A game of one player: the objective that `v` minimises, the set, the point, and why it is difficult."""

    kind: str
    name: str
    objective: str
    point: list
    why: str
    limits: str = UNIT
    data: dict = field(default_factory=dict)
    extra: list = field(default_factory=list)
    vector: bool = False
    outside: bool = False


def scalar(kind, name, objective, at, why, limits=WIDE, **more):
    return Case(kind, name, objective, [float(at)], why, limits, **more)


def vector(kind, name, objective, at, why, limits=FREE, **more):
    return Case(kind, name, objective, [float(e) for e in at], why, limits, vector=True, **more)


def cosine(shift, at):
    """cos(shift + at), with the sum exact."""
    return float(mpmath.cos(mpmath.mpf(shift) + at))


def cancellation():
    """Large terms whose difference is the slope."""
    k = "cancellation"
    lost = "the small term is lost beside the large ones"
    sums = {
        "sum-1e17": [1e17, 1, -1e17], "sum-1e20": [1e20, 1, -1e20], "sum-twice": [1e17, 1, 1, -1e17],
        "sum-negative": [-1e18, -3, 1e18], "sum-five": [1e17, -1e17, 1e17, 1, -1e17], "sum-1e300": [1e300, 1, -1e300],
        "sum-small": [1, 1e-17, -1],
    }
    for name, c in sums.items():
        factor = "1e17*" if name == "sum-small" else ""
        yield scalar(k, name, f"{factor}sum(c)*v", 0, lost, data={"c": c})
    yield scalar(k, "mean", "mean(c)*v", 0, lost, data={"c": [1e17, 3, -1e17]})
    yield scalar(k, "dot", "dot(c, d)*v", 0, lost, data={"c": [1e8, 1, 1e8], "d": [1e9, 1, -1e9]})
    yield scalar(k, "rows", "sum(A @ u)*v", 0, lost, data={"A": [[1e17, 1], [-1e17, 1]], "u": [1, 1]})
    yield vector(k, "columns", "u @ A @ v", [0, 0], lost, UNIT,
                 data={"A": [[1e17, 1e18], [1, 2], [-1e17, -1e18]], "u": [1, 1, 1]})
    yield vector(k, "square-of-sum", "(v[0] + v[1] + v[2])^2", [1e17, 1, -1e17], lost)
    yield vector(k, "square-of-product", "(A @ v) @ (A @ v)", [1e17, 1, -1e17], lost, data={"A": [[1, 1, 1]]})
    yield scalar(k, "shift-squared", "((v + 1e17) - 1e17)^2", 1, "v is absorbed by 1e17; the slope is 2")
    yield scalar(k, "shift-times-v", "((v + 1e17) - 1e17)*v", 1, "v is absorbed by 1e17 in one factor; the slope is 2")
    yield scalar(k, "shift-cubed", "((v + 1e18) - 1e18)^3", 10, "v is absorbed by 1e18; the slope is 300")
    yield scalar(k, "squares", "(1e17*v + 1)^2 - (1e17*v)^2", 1, "the 1 is absorbed; the slope is 2e17")
    yield scalar(k, "two-products", "(100000001*99999999 - 1e8*1e8)*v", 0, "the product is rounded to 1e16; the slope is -1")
    yield scalar(k, "mersenne", "(134217729*134217727 - 134217728*134217728)*v", 0, "2^54 - 1 is rounded to 2^54")
    yield scalar(k, "determinant", "(64919121*205117922 - 159018721*83739041)*v", 0, "the determinant is 1, its products are 1e16")
    yield scalar(k, "rump", "(333.75*b^6 + a^2*(11*a^2*b^2 - b^6 - 121*b^4 - 2) + 5.5*b^8 + a/(2*b))*v", 0,
                 "Rump's example: the slope is -0.827, rounding gives any number", data={"a": 77617, "b": 33096})
    tiny = "the difference is below the rounding of its terms"
    functions = {
        "exp": "exp(1e-17) - 1", "log": "log(1 + 1e-17)", "cos": "2e17*(1 - cos(1e-17))", "sqrt": "2*(sqrt(1 + 1e-17) - 1)",
        "sigmoid": "4*(sigmoid(1e-17) - 0.5)", "atan": "2*(atan(2e17) - atan(1e17))", "cosh": "1e17*(cosh(1e-17) - 1)",
        "softplus": "2*(softplus(1e-17) - softplus(0))", "square": "(1 + 1e-17)^2 - 1", "quotient": "1/(1 - 1e-17) - 1",
    }
    for name, f in functions.items():
        yield scalar(k, f"near-one-{name}", f"1e17*({f})*v", 0, tiny)
    for n, shift in enumerate([1e17, 1e18, 2e17, 3e17, 7e17]):
        at = max((i / 4 for i in range(30)), key=lambda at: abs(cosine(shift, at)) - abs(math.cos(shift + at)))
        yield scalar(k, f"sine-{n}", f"sin(v + {shift:.0f})", at, "v is rounded away or to another phase inside the sine")
    for n, e in enumerate([27, 28, 29]):
        yield scalar(k, f"expanded-cube-{n}", f"{4**e}*(v^3 - 3*v^2 + 3*v - 1)", 1 + 2.0**-e,
                     "an expanded (v - 1)^3 near its root: the slope is 3")
    tenths = [[i / 10, j / 10, -(i + j) / 10] for i in range(1, 10) for j in range(i + 1, 10)]
    for n, c in enumerate([c for c in tenths if c[0] + c[1] + c[2] == 0 != sum(map(Fraction, c))][:4]):
        yield scalar(k, f"decimals-{n}", "1e17*sum(c)*v", 0, "the doubles nearest to these decimals do not add up to 0",
                     data={"c": c})


def saturation():
    """Functions that are constant in floating point but not in exact arithmetic."""
    k = "saturation"
    flat = "the function is flat in floating point; its slope times the factor is not small"
    for n, (scale, inner, at) in enumerate([
        (1e3, 1e11, 3.8e-10), (1e3, 1e11, 3.75e-10), (1e5, 1e11, 4e-10), (1e8, 1e9, 4.5e-8), (1e14, 1e3, 0.04), (1e20, 1, 50),
        (1e30, 10, 7), (1e16, 1e5, 5e-4),
    ]):
        yield scalar(k, f"sigmoid-{n}", f"{scale:.0e}*sigmoid({inner:.0e}*v)", at, flat)
    for n, (scale, shift) in enumerate([(1e15, 20), (1e17, 21), (1e20, 24), (1e24, 30), (1e36, 42)]):
        yield scalar(k, f"tanh-{n}", f"{scale:.0e}*tanh({shift} + v)", 0, flat)
    yield scalar(k, "tanh-inner", "1e12*tanh(1e9*v)", 2.5e-8, flat)
    yield scalar(k, "tanh-nested", "1e45*tanh(1e3*tanh(v))", 0.05, flat)
    yield scalar(k, "tanh-of-square", "1e20*tanh(v^2)", 5, flat)
    yield scalar(k, "sigmoid-of-sigmoid", "1e44*sigmoid(100*sigmoid(v))", 5, flat)
    yield scalar(k, "softplus-minus-line-0", "1e20*(v - softplus(v))", 50, "1 - sigmoid(50) is 0 in floating point")
    yield scalar(k, "softplus-minus-line-1", "1e18*(softplus(v) - v)", 42, "1 - sigmoid(42) is 0 in floating point")
    yield scalar(k, "softplus-constant", "5e21*(softplus(50) - 50)*v", 0, "softplus(50) - 50 is exp(-50)")
    yield scalar(k, "one-minus-tanh", "1e22*(1 - tanh(25))*v", 0, "1 - tanh(25) is 2 exp(-50)")
    yield scalar(k, "two-sigmoids", "1e22*(sigmoid(60) - sigmoid(50))*v", 0, "both are 1 in floating point")
    yield scalar(k, "two-tanhs", "1e20*(tanh(30) - tanh(23))*v", 0, "both are 1 in floating point")
    yield scalar(k, "two-atans", "1e17*(atan(1e17) - atan(2e17))*v", 0, "both are pi/2 in floating point")
    yield scalar(k, "atan-squared", "1e34*(atan(1e17*v) - atan(2e17))^2", 1, "the difference is 0 in floating point")
    under = "exp underflows to 0; the factors make it large"
    for n, (exponent, at) in enumerate([(-750, 0), (-755, 1), (-760, 0.5), (-746, -1)]):
        yield scalar(k, f"exp-underflow-{n}", f"1e300*(1e30*exp(v - {-exponent}))", at, under)
    yield scalar(k, "exp-of-square", "1e300*(1e30*exp(-1000*v^2))", 0.875, under)
    yield scalar(k, "exp-times-exp", "1e200*(exp(-400)*exp(-400 + v))*1e150", 0, "the product underflows, each factor does not")
    yield scalar(k, "sigmoid-underflow", "1e300*(1e30*sigmoid(v - 750))", 0, "the sigmoid underflows to 0")
    yield scalar(k, "softplus-underflow", "1e300*(1e30*softplus(v - 750))", 0, "the softplus underflows to 0")
    yield vector(k, "logsumexp-0", "1e20*(v[1] - logsumexp(v))", [0, 50, 0], "1 - softmax is 0 in floating point", WIDE)
    yield vector(k, "logsumexp-1", "1e20*(logsumexp(v) - v[0])", [45, 0], "1 - softmax is 0 in floating point", WIDE)
    yield vector(k, "logsumexp-large", "logsumexp(v)", [1000, 999, -1000], "exp(1000) overflows; the slope does not", FREE)
    yield vector(k, "logsumexp-small", "1e300*(1e30*(logsumexp(v) - v[0]))", [800, 50], "exp(-750) underflows", FREE)
    yield scalar(k, "log-cosh", "log(cosh(v))", 800, "cosh(800) overflows; the slope is 1", FREE)
    yield scalar(k, "log-of-exp", "log(1 + exp(v))", 800, "exp(800) overflows; the slope is 1", FREE)
    yield scalar(k, "sinh-over-cosh", "1e22*sinh(v)/cosh(v)", 25, "a tanh by hand", FREE)
    yield scalar(k, "sigmoid-by-hand", "1e22/(1 + exp(-v))", 50, "1 + exp(-50) is 1 in floating point", FREE)
    yield scalar(k, "gauss-tail", "1e17*(1 - exp(-exp(-v)))", 40, "1 - exp(-e^-40) is 0, its slope is not", FREE)
    yield scalar(k, "sqrt-saturated", "1e17*(sqrt(1 + 1e-17*v^2) - 1)^1*v", 1, "the square root is 1 in floating point", FREE)
    yield scalar(k, "log1p-saturated", "1e20*(log(1 + exp(-v)))*v", 45, "1 + exp(-45) is 1 in floating point", FREE)


def kinks():
    """Kinks at which a step in one or two directions decreases f, and kinks that are met only because of rounding."""
    k = "kinks"
    tip = "f falls on one side of the kink or on both; the slope used there hides it"
    simple = [
        "-abs(v)", "-3*abs(v)", "-1e6*abs(v)", "-relu(v)", "-relu(-v)", "-2*relu(v) - 0.5*relu(-v)", "min(v, -v)", "min(-v, v)",
        "min(v, 2*v)", "min(-v, -2*v)", "-max(v, -v)", "-max(0, v)", "-max(0, -v, 2*v)", "min(0, v)", "min(0, -v)",
        "-abs(abs(v))", "-abs(relu(v))", "-relu(abs(v))", "-abs(sin(v))", "-abs(tanh(v))", "abs(v) - 2*abs(v)",
        "-max(0, min(v, 2*v))", "min(0, max(v, 2*v))", "-abs(v)*exp(v)", "-sigmoid(abs(v))", "-log1p(abs(v))", "-relu(relu(v))",
        "cos(v) - abs(v)", "-sqrt(1 + abs(v))", "-tanh(relu(v))", "v - 3*relu(v)", "-abs(expm1(v))", "-abs(v^3 + v)",
    ]
    for n, objective in enumerate(simple):
        yield scalar(k, f"simple-{n:02}", objective, 0, tip)
    for n, objective in enumerate([
        "-norm(v)", "-abs(v[0]) - abs(v[1])", "-max(abs(v))", "-norm(A @ v)", "-abs(v[0] - v[1])", "-norm(abs(v))",
        "min(v[0], v[1], 0)", "-max(0, v[0], v[1])", "-sum(abs(A @ v))", "-sum(relu(v))", "-relu(norm(v))", "-log1p(norm(v))",
        "-max(v[0] - v[1], v[1] - v[0])",
    ]):
        data = {"A": [[1, 2], [-1, 1], [0, 3]]} if "A" in objective else {}
        yield vector(k, f"vector-{n:02}", objective, [0, 0], tip, UNIT, data=data)
    yield vector(k, "blocked-max", "-max(v)", [0, 0, 0], "the first entry receives the slope and is blocked",
                 "lower = -1\nupper = [0, 1, 1]")
    yield vector(k, "blocked-min", "min(v)", [0, 0, 0], "the first entry receives the slope and is blocked",
                 "lower = [0, -1, -1]\nupper = 1")
    rounded = "the argument is 0 only after rounding; f has a slope here"
    yield scalar(k, "rounded-shift", "-abs((v + 1e17) - 1e17)", 1, rounded)
    yield scalar(k, "rounded-relu", "-relu((v + 1e17) - 1e17)", 1, rounded)
    yield scalar(k, "rounded-exp", "-abs(exp(v) - 1)", 1e-17, rounded)
    yield scalar(k, "rounded-log", "-relu(log(1 + v))", 1e-17, rounded)
    yield scalar(k, "rounded-max", "-max(1, 1 + v)", 1e-17, "the arguments are equal only after rounding")
    yield scalar(k, "rounded-min", "min(1e17, 1e17 - v)", 1, "the arguments are equal only after rounding")
    yield vector(k, "rounded-norm", "-norm((v + 1e17) - 1e17)", [3, 4], rounded)
    yield vector(k, "rounded-sum", "-abs(sum(v))", [1e17, 1, -1e17], rounded)
    whole = [n for n in range(3, 200) if n * (1 / n) == 1 and n * int((1 / n) * 2**80) != 2**80][:4]
    for n in whole:
        yield scalar(k, f"rounded-reciprocal-{n}", f"-abs({n}*v - 1)", 1 / n, rounded)
    roots = [n for n in range(2, 100) if math.sqrt(n) ** 2 == n and math.isqrt(n) ** 2 != n][:3]
    for n in roots:
        yield scalar(k, f"rounded-root-{n}", f"-abs(v*v - {n})", math.sqrt(n), rounded)


def scales():
    """Numbers from 1e-300 to 1e300 in objectives and sets; some products underflow or overflow on the way."""
    k = "scales"
    fit = "a large slope times a small set, or the reverse"
    for n, e in enumerate([300, 250, 200, 160, 100]):
        yield scalar(k, f"box-{n}", f"1e{e}*v", 0, fit, f"lower = -1e-{e}\nupper = 1e-{e}")
        yield vector(k, f"ball-{n}", f"1e{e}*v[0]", [0, 0], fit, f"set = {{ ball = {{ radius = 1e-{e} }} }}")
        yield vector(k, f"simplex-{n}", f"1e{e}*v[0] - 1e{e}*v[1]", [float(f"1e-{e}"), 0], fit,
                     f"set = {{ simplex = {{ scale = 1e-{e} }} }}")
        yield vector(k, f"l1-{n}", f"1e{e}*v[1]", [0, 0], fit, f"set = {{ l1 = {{ radius = 1e-{e} }} }}")
        yield vector(k, f"halfspace-{n}", "-v[0]", [0, 0], "the normal is long", f"set = {{ halfspace = {{ a = [1e{e}, 0], b = 1e{e} }} }}")
        yield vector(k, f"thin-polyhedron-{n}", "-v[0]", [0, 0], "the normals are short",
                     f"set = {{ polyhedron = {{ A = [[1e-{e}, 0], [0, 1e-{e}]], b = 1e-{e} }} }}")
        yield scalar(k, f"underflow-square-{n}", f"((1e-{e}*v)^2*1e{e})*1e{e}", 1, "the square of 1e-200 underflows; the slope is 2", FREE)
    yield scalar(k, "underflow-constants", "((1e-200*1e-200)*1e200)*1e200*v", 0, "the product of the constants underflows")
    yield scalar(k, "overflow-constants", "((1e200*1e200)*1e-200)*1e-200*v", 0, "the product of the constants overflows")
    yield vector(k, "norm-underflow", "1e200*norm(1e-200*v)", [3, 4], "the squares inside the norm underflow")
    yield vector(k, "norm-overflow", "1e-200*norm(1e200*v)", [3, 4], "the squares inside the norm overflow")
    yield vector(k, "tiny-vector", "norm(v)", [3e-200, 4e-200], "the squares inside the norm underflow")
    yield scalar(k, "subnormal-box", "-1e300*(1e23*v)", 0, "the set is one subnormal number long", "lower = 0\nupper = 5e-324")
    yield scalar(k, "large-box", "1e-300*v", 1e300, "the set is long and the slope is small", "lower = -1e300\nupper = 1e300")
    yield scalar(k, "large-point", "1e-300*v^2", 1e300, "the square overflows; the slope is 2", FREE)
    yield vector(k, "large-ball", "v[0] + v[1]", [3e299, 4e299], "squares of entries overflow",
                 "set = { ball = { radius = 6e299 } }")
    yield vector(k, "ball-rim", "v[0]", [1e200, 0], "on the rim of a ball whose squares overflow", "set = { ball = { radius = 1e200 } }")
    yield vector(k, "small-ball-rim", "1e200*v[0]", [1e-200, 0], "on the rim of a ball whose squares underflow",
                 "set = { ball = { radius = 1e-200 } }")
    yield vector(k, "large-simplex", "v[0] - v[1]", [1e300, 0, 0], "on a vertex of a large simplex", "set = { simplex = { scale = 1e300 } }")
    yield vector(k, "mixed-box", "1e300*v[0] + v[1]", [0, 1], "one entry is tiny, one is not",
                 "lower = [0, -1]\nupper = [1e-300, 1]")
    yield vector(k, "mixed-slopes", "1e-300*v[0] + 1e300*v[1]", [1, 0], "the slopes differ by 1e600",
                 "lower = [-1, 0]\nupper = 1")
    yield scalar(k, "quotient", "v*(1e-300/1e-308)/1e8", 0, "a quotient of small numbers")
    yield scalar(k, "ratio-of-squares", "(1e-200*v)^2/((1e-200)^2)", 1, "both squares underflow", FREE)


def rotated(k, n, d):
    """A wedge between rows that are d apart, turned by an angle whose sine is 3/5; f gains `1 - part` along the second row."""
    row = [3 - 4 * d, 4 + 3 * d]
    wedge = f"set = {{ polyhedron = {{ A = [[3, 4], {row!r}], b = 0 }} }}"
    for part in (0.5, 0.9, 0.99):
        c = [-(0.6 * part / d - 0.8), -(0.8 * part / d + 0.6)]
        yield vector(k, f"wedge-rotated-{n}-{part}", "c @ v", [0, 0], "the two multipliers are large and differ in sign", wedge,
                     data={"c": c}, extra=[[-row[1], row[0]]])


def ill_conditioned(k):
    """Hilbert's and Vandermonde's rows; the objective is a large combination of the rows plus a small vector."""
    for rows, columns in [(2, 4), (3, 5), (4, 6), (5, 7), (6, 8), (7, 9)]:
        hilbert = [[1 / (i + j + 1) for j in range(columns)] for i in range(rows)]
        powers = [[float((j + 1) ** i) for j in range(columns)] for i in range(rows)]
        for name, a in (("hilbert", hilbert), ("vandermonde", powers)):
            c = [1e6 * sum((-1) ** i * row[j] for i, row in enumerate(a)) + (j % 3 - 1) for j in range(columns)]
            yield vector(k, f"{name}-{rows}", "c @ v", [0] * columns, "the gradient is nearly in the span of nearly dependent rows",
                         f"set = {{ affine = {{ A = {a!r}, b = 0 }} }}", data={"c": c})


def conditioning():
    """Affine sets and polyhedra with rows that are nearly parallel."""
    k = "conditioning"
    yield from ill_conditioned(k)
    for n, d in enumerate([3e-11, 1e-12, 1e-9, 2e-13, 1e-14]):
        row = f"[[1, 1, 0], [1, {1 + d!r}, 0]]"
        yield vector(k, f"affine-free-entry-{n}", "1e10*v[0] + 1e10*v[1] + v[2]", [0, 0, 0], "only the last entry may move",
                     f"set = {{ affine = {{ A = {row}, b = 0 }} }}")
        row = f"[[1, 1, 1, 0], [1, 1, {1 + d!r}, 0]]"
        yield vector(k, f"affine-difference-{n}", "c @ v", [0, 0, 0, 0], "the null space is (1, -1, 0, 0) and the last entry",
                     f"set = {{ affine = {{ A = {row}, b = 0 }} }}", data={"c": [1e10 + 1, 1e10 - 1, 5e9, 0.5]})
        row = f"[[1e8, 1e8, 0], [1e-8, {1e-8 * (1 + d)!r}, 0]]"
        yield vector(k, f"affine-scaled-{n}", "1e6*v[0] - 1e6*v[1] + v[2]", [0, 0, 0], "nearly parallel rows of different length",
                     f"set = {{ affine = {{ A = {row}, b = 0 }} }}")
        wedge = f"set = {{ polyhedron = {{ A = [[1, 0], [1, {d!r}]], b = 0 }} }}"
        step = [[-d, 1]]
        yield vector(k, f"wedge-{n}", "-v[1]", [0, 0], "the step (-d, 1) slides along the second row", wedge, extra=step)
        steep = 0.25 / d
        yield vector(k, f"wedge-steep-{n}", f"-{steep!r}*v[0] - v[1]", [0, 0], "a large slope balances a quarter of the gain",
                     wedge, extra=step)
        wedge = f"set = {{ polyhedron = {{ A = [[-1, 0], [-1, {d!r}]], b = 0 }} }}"
        yield vector(k, f"wedge-mirrored-{n}", f"{steep!r}*v[0] - v[1]", [0, 0], "as wedge-steep, on the other side", wedge,
                     extra=[[d, 1]])
        three = f"set = {{ polyhedron = {{ A = [[1, 0, 0], [1, {d!r}, 0], [1, 0, {d!r}]], b = 0 }} }}"
        yield vector(k, f"three-rows-{n}", "-v[1] - v[2]", [0, 0, 0], "three nearly parallel rows", three, extra=[[-d, 1, 1]])
        yield from rotated(k, n, d)
        slab = f"set = {{ polyhedron = {{ A = [[1, 0], [-1, {-d!r}]], b = 0 }} }}"
        yield vector(k, f"needle-{n}", "-v[1]", [0, 0], "a needle: only steps near (0, 1) are feasible", slab)


def outside():
    """Points outside their sets: far relative to the set or its data, near in absolute terms."""
    k = "outside"
    out = "the point is outside its set"

    def put(name, at, limits, why=out):
        # f decreases outwards, so a certificate that trusts the point finds little to gain.
        objective = "-v" if not isinstance(at, list) else "-sum(v)" if any(at[1:]) else "-v[0]"
        make = vector if isinstance(at, list) else scalar
        return make(k, name, objective, at, why, limits, outside=True)

    for n, (upper, at) in enumerate([("1e-9", 9e-9), ("1e-12", 2e-12), ("1e-15", 1.5e-15), ("1e-300", 2e-300), ("1e-6", 1.01e-6)]):
        yield put(f"box-{n}", at, f"lower = 0\nupper = {upper}")
        yield put(f"ball-{n}", [at, 0], f"set = {{ ball = {{ radius = {upper} }} }}")
        yield put(f"l1-{n}", [0.6 * at, 0.6 * at], f"set = {{ l1 = {{ radius = {upper} }} }}")
        yield put(f"simplex-{n}", [at, 0, 0], f"set = {{ simplex = {{ scale = {upper} }} }}")
        yield put(f"halfspace-{n}", [at, 0], f"set = {{ halfspace = {{ a = [1, 0], b = {upper} }} }}")
        yield put(f"polyhedron-{n}", [at, at], f"set = {{ polyhedron = {{ A = [[1, 1], [-1, 0]], b = [{upper}, 0] }} }}")
    yield put("box-below", -1e-8, "lower = -1e-9\nupper = 0")
    yield put("box-second-entry", [0.5, 3e-10], "lower = 0\nupper = [1, 1e-10]")
    yield put("box-point", 1e-8, "lower = 0\nupper = 0", "the set is one point")
    yield put("box-far-from-zero", 1e17 + 64, "lower = 1e17\nupper = 1e17", "the set is one point far from 0")
    for n, s in enumerate([6e307, 1e308]):
        yield put(f"simplex-sum-overflows-{n}", [s, s, s], f"set = {{ simplex = {{ scale = {s!r} }} }}", "the sum of the entries overflows")
    yield put("simplex-negative", [-1e-4, 0.5, 0.5001], 'set = "simplex"', "an entry is negative")
    yield put("simplex-sum", [0.5, 0.5, 1e-4], 'set = "simplex"', "the sum is not 1")
    yield put("simplex-cancelling", [1e17, 1, -1e17], 'set = "simplex"', "the exact sum is 1, but an entry is negative")
    yield put("simplex-lost", [1, 0, 1e-5], 'set = "simplex"')
    yield put("ball-overflow", [1e200, 1e200], "set = { ball = { radius = 1e200 } }", "the squares overflow")
    yield put("ball-underflow", [1e-200, 1e-200], "set = { ball = { radius = 1e-200 } }", "the squares underflow")
    yield put("ball-far-center", [1e17 + 64, 0], "set = { ball = { center = [1e17, 0], radius = 1 } }")
    yield put("l1-cancelling", [1, -1], "set = { l1 = { radius = 1 } }", "the entries cancel, their absolute values do not")
    yield put("l1-overflow", [1e308, 1e308], "set = { l1 = { radius = 1e308 } }", "the sum overflows")
    for n, e in enumerate([9, 12, 100, 300]):
        small, large = f"1e-{e}", f"1e{e}"
        yield put(f"affine-short-row-{n}", [2, 2], f"set = {{ affine = {{ A = [[{small}, {small}]], b = [{small}] }} }}",
                  "the residual is small because the row is short; the distance is 2")
        yield put(f"polyhedron-short-row-{n}", [2, 2], f"set = {{ polyhedron = {{ A = [[{small}, {small}]], b = [{small}] }} }}",
                  "the residual is small because the row is short; the distance is 2")
        yield put(f"halfspace-short-normal-{n}", [2, 2], f"set = {{ halfspace = {{ a = [{small}, {small}], b = {small} }} }}",
                  "the residual is small because the normal is short; the distance is 2")
        yield put(f"halfspace-large-{n}", [2.0, 0.0], f"set = {{ halfspace = {{ a = [{large}, 0], b = {large} }} }}")
    yield put("affine-sum", [0.5, 0.50001], "set = { affine = { A = [[1, 1]], b = [1] } }")
    yield put("affine-tiny", [1e-9, 0], "set = { affine = { A = [[1, 1]], b = [1e-10] } }")
    for n, d in enumerate([3e-11, 1e-12]):
        row = f"[[1, 1], [1, {1 + d!r}]]"
        yield put(f"affine-parallel-{n}", [1, -1], f"set = {{ affine = {{ A = {row}, b = 0 }} }}", "the only point is 0; the residual is tiny")
        row = f"[[1, 0], [-1, {d!r}]]"
        yield put(f"polyhedron-parallel-{n}", [0, 1], f"set = {{ polyhedron = {{ A = {row}, b = 0 }} }}",
                  "the residual is tiny; the set is far away")


ALL = [cancellation, saturation, kinks, scales, conditioning, outside]

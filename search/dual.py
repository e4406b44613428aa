"""Numbers with derivatives, in mpmath's precision: the reference values of formulas.

A `Dual` is a value with derivatives in several directions. At a kink the derivatives are one-sided: those of `f(z + t s)` for t > 0, which is
right for single directions; `Dual.kinks` counts the kinks met, so that a gradient is only used where there is none.
"""

from mpmath import mp, mpf

LARGEST = mpf(10) ** 5000


class Undefined(Exception):
    """The formula has no value or no derivative here."""


class TooLarge(Exception):
    """A number is too large to evaluate."""


class Dual:
    """A value and its derivatives."""

    kinks = 0
    __slots__ = ("v", "d")

    def __init__(self, v, d):
        if abs(v) > LARGEST:
            raise TooLarge
        self.v, self.d = v, d

    def map(self, value, slope):
        return Dual(value, [slope * d for d in self.d])


def constant(v, n):
    return Dual(mpf(v), [mpf(0)] * n)


def add(a, b):
    return Dual(a.v + b.v, [p + q for p, q in zip(a.d, b.d)])


def sub(a, b):
    return Dual(a.v - b.v, [p - q for p, q in zip(a.d, b.d)])


def mul(a, b):
    return Dual(a.v * b.v, [p * b.v + a.v * q for p, q in zip(a.d, b.d)])


def div(a, b):
    if b.v == 0:
        raise Undefined
    q = a.v / b.v
    return Dual(q, [(p - q * r) / b.v for p, r in zip(a.d, b.d)])


def larger(a, b):
    if a.v == b.v:
        Dual.kinks += a.d != b.d
        return Dual(a.v, [max(p, q) for p, q in zip(a.d, b.d)])
    return a if a.v > b.v else b


def negative(a):
    return Dual(-a.v, [-d for d in a.d])


def smaller(a, b):
    return negative(larger(negative(a), negative(b)))


def power(a, n):
    """a^n for a whole number n."""
    if n == 0:
        return a.map(mpf(1), mpf(0))
    if a.v == 0 and n < 0:
        raise Undefined
    return a.map(a.v**n, n * a.v ** (n - 1) if n != 1 else mpf(1))


def general_power(a, b):
    if a.v <= 0:
        raise Undefined
    value = a.v**b.v
    return Dual(value, [value * (q * mp.log(a.v) + b.v * p / a.v) for p, q in zip(a.d, b.d)])


def sigmoid(v):
    return 1 / (1 + mp.exp(-v)) if v >= 0 else mp.exp(v) / (1 + mp.exp(v))


def bounded(v):
    """The argument of exp, checked to be not too large."""
    if v > 10000:
        raise TooLarge
    return max(v, mpf(-(10**6)))


def log(a):
    if a.v <= 0:
        raise Undefined
    return a.map(mp.log(a.v), 1 / a.v)


def log1p(a):
    if a.v <= -1:
        raise Undefined
    return a.map(mp.log1p(a.v), 1 / (1 + a.v))


def sqrt(a):
    if a.v == 0 and not any(a.d):
        return a
    if a.v <= 0:
        raise Undefined
    root = mp.sqrt(a.v)
    return a.map(root, 1 / (2 * root))


def absolute(a):
    if a.v == 0:
        Dual.kinks += any(a.d)
        return Dual(a.v, [abs(d) for d in a.d])
    return a if a.v > 0 else negative(a)


def tanh(a):
    e = mp.exp(-2 * min(abs(a.v), mpf(10**5)))
    return a.map((1 - e) / (1 + e) * mp.sign(a.v), 4 * e / (1 + e) ** 2)


def softplus(a):
    small = mp.exp(-min(abs(a.v), mpf(10**5)))
    return a.map(max(a.v, mpf(0)) + mp.log1p(small), sigmoid(bounded_both(a.v)))


def bounded_both(v):
    return max(min(v, mpf(10**5)), mpf(-(10**5)))


def logistic(a):
    s = sigmoid(bounded_both(a.v))
    e = mp.exp(-abs(bounded_both(a.v)))
    return a.map(s, e / (1 + e) ** 2)


def exponential(a):
    e = mp.exp(bounded(a.v))
    return a.map(e, e)


def expm1(a):
    return a.map(mp.expm1(bounded(a.v)), mp.exp(bounded(a.v)))


def angle(v):
    """The angle, checked to be small enough for a sine with all digits."""
    if abs(v) > mpf(10) ** 100:
        raise TooLarge
    return v


def tangent(a):
    c = mp.cos(angle(a.v))
    if c == 0:
        raise Undefined
    return a.map(mp.tan(a.v), 1 / c**2)


UNARY = {
    "sin": lambda a: a.map(mp.sin(angle(a.v)), mp.cos(a.v)),
    "cos": lambda a: a.map(mp.cos(angle(a.v)), -mp.sin(a.v)),
    "tan": tangent,
    "exp": exponential,
    "log": log,
    "sqrt": sqrt,
    "abs": absolute,
    "tanh": tanh,
    "sigmoid": logistic,
    "softplus": softplus,
    "log1p": log1p,
    "expm1": expm1,
    "square": lambda a: a.map(a.v * a.v, 2 * a.v),
    "relu": lambda a: larger(a, constant(0, len(a.d))),
    "sinh": lambda a: a.map(mp.sinh(bounded_size(a.v)), mp.cosh(a.v)),
    "cosh": lambda a: a.map(mp.cosh(bounded_size(a.v)), mp.sinh(a.v)),
    "atan": lambda a: a.map(mp.atan(a.v), 1 / (1 + a.v**2)),
    "-": negative,
}
BINARY = {"+": add, "-": sub, "*": mul, "/": div, "max": larger, "min": smaller, "^": general_power}


def bounded_size(v):
    if abs(v) > 10000:
        raise TooLarge
    return v


def total(v):
    out = v[0]
    for a in v[1:]:
        out = add(out, a)
    return out


def norm(v):
    if all(a.v == 0 for a in v):
        Dual.kinks += any(any(a.d) for a in v)
        return Dual(mpf(0), [mp.sqrt(sum(a.d[k] ** 2 for a in v)) for k in range(len(v[0].d))])
    return sqrt(total([mul(a, a) for a in v]))


def logsumexp(v):
    top = max(a.v for a in v)
    shifted = [Dual(a.v - top, a.d) for a in v]
    sums = log(total([exponential(a) for a in shifted]))
    return Dual(sums.v + top, sums.d)


def largest(v):
    out = v[0]
    for a in v[1:]:
        out = larger(out, a)
    return out


def fold(name, v):
    n = len(v[0].d)
    return {
        "sum": lambda: total(v),
        "mean": lambda: div(total(v), constant(len(v), n)),
        "norm": lambda: norm(v),
        "logsumexp": lambda: logsumexp(v),
        "max": lambda: largest(v),
        "min": lambda: negative(largest([negative(a) for a in v])),
    }[name]()

"""Enclosures: intervals whose ends are whole numbers times a power of two, rounded outward, and the elementary functions.

An interval of one point is exact, and stays so while it has at most EXACT_BITS bits. Everything else is rounded outward to
`Enclosure.bits` bits. Series are summed in whole numbers ("units" of 2^-w); their errors are counted and added at the end.
"""

from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt

EXACT_BITS, LARGEST_EXPONENT = 6000, 1 << 4096

class Unreadable(Exception): """The file cannot be read: exit code 2."""
class Rejected(Exception): """The claim does not follow: exit code 1."""
class Undecided(Rejected): """The enclosures are too wide to decide; more bits may help."""

def rejected_if(condition, message, kind=Rejected):
    if condition:
        raise kind(message)
def unreadable_if(condition, message): rejected_if(condition, message, Unreadable)

class Enclosure:
    """The numbers from lo * 2^e to hi * 2^e."""
    __slots__ = ("lo", "hi", "e")
    bits = 256
    def __init__(self, lo, hi, e): self.lo, self.hi, self.e = lo, hi, e
    def __neg__(self): return Enclosure(-self.hi, -self.lo, self.e)
    def __sub__(self, other): return self + -other
    def is_zero(self): return not self.lo and not self.hi
    def lower(self): return Enclosure(self.lo, self.lo, self.e)
    def upper(self): return Enclosure(self.hi, self.hi, self.e)
    def __add__(self, other):
        if self.is_zero() or other.is_zero():
            return other if self.is_zero() else self
        a, b, c, d, e = aligned(self, other)
        return rounded(a + c, b + d, e)
    def __mul__(self, other):
        a, b, c, d = self.lo, self.hi, other.lo, other.hi
        if a == b and c == d:
            return rounded(a * c, a * c, self.e + other.e) if a and c else ZERO
        if a >= 0 and c >= 0:
            return rounded(a * c, b * d, self.e + other.e)
        products = (a * c, a * d, b * c, b * d)
        return rounded(min(products), max(products), self.e + other.e)
    def __truediv__(self, other):
        if other.hi < 0:
            self, other = -self, -other
        rejected_if(other.lo <= 0, "a division by zero, or by a number that is not known to differ from zero", Undecided)
        shift = max(0, Enclosure.bits + 2 + other.hi.bit_length() - max(self.lo.bit_length(), self.hi.bit_length()))
        low = (self.lo << shift) // (other.hi if self.lo >= 0 else other.lo)
        high = -((-self.hi << shift) // (other.lo if self.hi >= 0 else other.hi))
        return rounded(*without_zeros(low, high, self.e - other.e - shift))
    def top(self):
        """A t with |numbers| <= 2^t."""
        return -LARGEST_EXPONENT if self.is_zero() else max(self.lo.bit_length(), self.hi.bit_length()) + self.e
    def whole(self):
        """The whole number that this is, exactly; otherwise None."""
        lo, hi, e = without_zeros(self.lo, self.hi, self.e)
        return lo << e if lo == hi and 0 <= e < EXACT_BITS else None
    def __str__(self):
        """The upper end in 17 digits."""
        near = not self.hi or abs(self.upper().top()) < 1000
        return f"{float(self.hi * Fraction(2) ** self.e):.17g}" if near else f"about 2^{self.top()}"

def aligned(a, b):
    """The ends of both at one exponent; bits far below both are rounded outward."""
    e = max(min(a.e, b.e), max(a.top(), b.top()) - 2 * EXACT_BITS)
    ends = ((x.lo << (x.e - e), x.hi << (x.e - e)) if x.e >= e else (x.lo >> (e - x.e), -(-x.hi >> (e - x.e))) for x in (a, b))
    return *next(ends), *next(ends), e

def rounded(lo, hi, e):
    size = max(lo.bit_length(), hi.bit_length())
    if size <= (EXACT_BITS if lo == hi else Enclosure.bits):
        return Enclosure(lo, hi, e)
    excess = size - Enclosure.bits
    return Enclosure(lo >> excess, -(-hi >> excess), e + excess)

def without_zeros(lo, hi, e):
    """A point without the trailing zeros of its number; the number 0 has exponent 0."""
    zeros = (lo & -lo).bit_length() - 1 if lo == hi and lo else 0
    return lo >> zeros, hi >> zeros, e + zeros if lo or hi else 0

def exact(number):
    """The exact value of a float or a whole number."""
    numerator, denominator = number.as_integer_ratio()
    return Enclosure(numerator, numerator, 1 - denominator.bit_length())

def hull(low, high):
    """From the lower end of `low` to the upper end of `high`."""
    a, _, _, d, e = aligned(low, high)
    return rounded(a, d, e)

ZERO, ONE, TWO = Enclosure(0, 0, 0), Enclosure(1, 1, 0), Enclosure(1, 1, 1)
UNIT, SIGNED_UNIT = Enclosure(0, 1, 0), Enclosure(-1, 1, 0)

def largest(values):
    """The maximum; its ends are the largest ends."""
    low = high = values[0]
    for v in values[1:]:
        low = v if (v.lower() - low.lower()).lo > 0 else low
        high = v if (v.upper() - high.upper()).lo > 0 else high
    return low if low is high else hull(low, high)

def increasing(function):
    """A function of points, applied to the ends of an interval."""
    return lambda x, *more: function(x, *more) if x.lo == x.hi else hull(function(x.lower(), *more), function(x.upper(), *more))

def power(x, n):
    """x^n for a whole n >= 0."""
    if n % 2 == 0 and x.lo < 0:
        x = -x if x.hi <= 0 else Enclosure(0, max(-x.lo, x.hi), x.e)
    return whole_power(x, n)

@increasing
def whole_power(x, n):
    result = ONE
    for digit in bin(n)[2:]:
        result = result * result * (x if digit == "1" else ONE)
        rejected_if(abs(result.e) > LARGEST_EXPONENT, "a power is too large or too small to compute with")
    return result

def near_identity(x):
    """sin x or atan x for |x| <= 1: the second derivatives are at most 1, so the values are within x^2 of x."""
    return x + x * x * SIGNED_UNIT

def fixed(x, w):
    """The point x in units of 2^-w, rounded down."""
    return x.lo << (x.e + w) if x.e + w >= 0 else x.lo >> -(x.e + w)

def inverse_series(n, w, sign):
    """atanh(1/n) for sign = 1, atan(1/n) for sign = -1: every term is less than 2 units off, so the sum less than 2w units."""
    term, result, k = (1 << w) // n, 0, 1
    while term:
        result += term // k if sign > 0 or k % 4 == 1 else -(term // k)
        term, k = term // (n * n), k + 2
    return result

@lru_cache(maxsize=256)
def ln2(w):
    """Less than 2 units off; ln 2 = 2 atanh(1/3)."""
    return 2 * inverse_series(3, w + 64, 1) >> 64

@lru_cache(maxsize=256)
def half_pi(w):
    """Less than 2 units off; pi/4 = 4 atan(1/5) - atan(1/239)."""
    return 2 * (4 * inverse_series(5, w + 64, -1) - inverse_series(239, w + 64, -1)) >> 64

@increasing
def exp(x):
    """e^x = 2^k e^r with 0 <= r < 0.7. Every term of the series is less than 2 units off, as is the rest; r is 4 units off."""
    top = x.top()
    rejected_if(top > 4000 and x.lo > 0, "the value of exp is too large to compute with")
    if x.is_zero() or top > 4000:
        return ONE if x.is_zero() else Enclosure(0, 1, -LARGEST_EXPONENT // 2)
    w, guard = Enclosure.bits + 32, max(top, 0) + 4
    k, r = divmod(fixed(x, w + guard), ln2(w + guard))
    term, result, n, r = 1 << w, 1 << w, 0, r >> guard
    while term:
        n += 1
        term = (term * r >> w) // n
        result += term
    return Enclosure(result - 2 * n - 32, result + 2 * n + 32, k - w)

@increasing
def log(x):
    """log x = k log 2 + 2 atanh(q), |q| < 0.18. Every term of the series is less than 3 units off, as is the rest."""
    rejected_if(x.lo <= 0, "log of a number that is not known to be positive", Undecided)
    size = x.lo.bit_length()
    size -= x.lo * x.lo >> (2 * size - 1) == 0  # now x.lo / 2^size is between 0.7 and 1.42
    k, numerator, denominator = size + x.e, x.lo - (1 << size), x.lo + (1 << size)
    w, guard = Enclosure.bits + 32 + (0 if k else denominator.bit_length() - numerator.bit_length()), k.bit_length() + 2
    term = (abs(numerator) << w) // denominator
    square, result, n = term * term >> w, 0, 0
    while term:
        result += term // (2 * n + 1)
        term, n = term * square >> w, n + 1
    result = (2 * result if numerator > 0 else -2 * result) + (k * ln2(w + guard) >> guard)
    error = 6 * n + 16 if k or numerator else 0
    return Enclosure(result - error, result + error, -w)

def sin_cos(x):
    """Of a point: x = q pi/2 + r, |r| < 0.8. Every term of the series is less than 2 units off, as is the rest; r is 4 units off."""
    top = x.top()
    if top > 10000 or top < -Enclosure.bits:
        return (SIGNED_UNIT, SIGNED_UNIT) if top > 0 else (near_identity(x), ONE - x * x * UNIT)
    w, guard = Enclosure.bits + 32 + max(0, -top), max(top, 0) + 4
    q = (2 * fixed(x, w + guard) // half_pi(w + guard) + 1) // 2
    signed = (fixed(x, w + guard) - q * half_pi(w + guard)) >> guard
    square, sums = signed * signed >> w, []
    for term, n in ((abs(signed), 1), (1 << w, 0)):
        result = 0
        while term:
            result += term if n % 4 < 2 else -term
            term, n = (term * square >> w) // ((n + 1) * (n + 2)), n + 2
        sums.append(Enclosure(result - 2 * n - 16, result + 2 * n + 16, -w))
    sine, cosine = (-sums[0] if signed < 0 else sums[0]), sums[1]
    return ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[q % 4]

def around_middle(which, x):
    """sin or cos over an interval: the value at the middle, and half the width to either side."""
    return sin_cos(Enclosure(x.lo + x.hi, x.lo + x.hi, x.e - 1))[which] + Enclosure(x.lo - x.hi, x.hi - x.lo, x.e - 1)

sin, cos = partial(around_middle, 0), partial(around_middle, 1)

@increasing
def atan(x):
    """atan x = 8 atan(y), y < 0.15, by halving the angle three times; from 2 on, pi/2 - atan(1/x)."""
    if x.lo < 0 or x.top() < -Enclosure.bits:
        return -atan(-x) if x.lo < 0 else near_identity(x)
    w, large = Enclosure.bits + 32 + max(0, -x.top()), x.top() > 1
    y = fixed(x, w) if not large else (1 << (w - x.e)) // x.lo if x.e <= w else 0
    for _ in range(3):  # halves the error and adds less than 2 units: y stays less than 5 units off
        y = (y << w) // ((1 << w) + isqrt((1 << 2 * w) + y * y))
    square, term, result, n = y * y >> w, y, 0, 0
    while term:  # every term is less than 6 units off
        result += term // (2 * n + 1) if n % 2 == 0 else -(term // (2 * n + 1))
        term, n = term * square >> w, n + 1
    result, error = half_pi(w) - 8 * result if large else 8 * result, 48 * n + 128
    return Enclosure(result - error, result + error, -w)

@increasing
def sqrt(x):
    rejected_if(x.lo < 0, "sqrt of a number that is not known to be positive or 0", Undecided)
    shift = max(0, 2 * Enclosure.bits + 4 - x.lo.bit_length())
    shift += (x.e - shift) % 2
    root = isqrt(x.lo << shift)
    return rounded(*without_zeros(root, root + (root * root != x.lo << shift), (x.e - shift) // 2))

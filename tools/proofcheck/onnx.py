"""Reads an ONNX file as a list of operations with whole numbers as weights: see docs/proofs.md."""

import struct
from fractions import Fraction
from itertools import product
from math import isfinite, prod
from operator import mul

from proofcheck.enclosure import unreadable_if

UNIT = 100  # values are whole numbers of 2^-UNIT
FACTOR = 128  # factors of elementwise operations are whole numbers of 2^-FACTOR

def below(value, bits):
    """The largest whole number of 2^-bits that is not above a fraction."""
    value = Fraction(value)
    return (value.numerator << bits) // value.denominator

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        unreadable_if(shift > 70, "a number of the network is too long")
        if byte < 128:
            return value, at

def message(data):
    at, fields = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at : at + size], at + size
        unreadable_if(at > len(data), "the network is cut")
        fields.append((key >> 3, value))
    return fields

def ints(values):
    """Integers, packed or one at a time."""
    out = []
    for value in values:
        at = 0
        while isinstance(value, bytes) and at < len(value):
            number, at = varint(value, at)
            out.append(number)
        out += [value] if isinstance(value, int) else []
    return [v - (1 << 64) if v >> 63 else v for v in out]

def of(fields, number):
    return [value for n, value in fields if n == number]

def tensor(data):
    """Dimensions and entries."""
    fields = message(data)
    dims, kind, raw = ints(of(fields, 1)), of(fields, 2)[-1:], of(fields, 9)
    unreadable_if(kind not in ([1], [7]) or of(fields, 13) or any(d < 0 for d in dims), "a constant is not float32 or int64, or in another file")
    if kind == [7]:
        entries = list(struct.unpack(f"<{len(raw[-1]) // 8}q", raw[-1])) if raw else ints(of(fields, 7))
    else:
        content = raw[-1] if raw else b"".join(of(fields, 4))
        entries = list(struct.unpack(f"<{len(content) // 4}f", content))
        unreadable_if(not all(map(isfinite, entries)), "a weight is not finite")
    unreadable_if(len(entries) != prod(dims), "a constant has another length than its shape")
    return dims, entries

def attribute(data):
    fields = message(data)
    kind = of(fields, 20)[-1:]
    value = {(1,): lambda: struct.unpack("<f", of(fields, 2)[-1])[0] if of(fields, 2) else 0.0, (2,): lambda: (ints(of(fields, 3)) or [0])[-1], (7,): lambda: ints(of(fields, 8)),
             (4,): lambda: tensor(of(fields, 5)[-1]), (3,): lambda: of(fields, 4)[-1].decode()}.get(tuple(kind), lambda: None)()
    return of(fields, 1)[-1].decode(), value

class Operation:
    """kind: input, linear, affine (`factor x + shift` for each entry), add (`left + sign right`) or relu; `reads` are numbers of operations."""
    def __init__(self, kind, reads, dims):
        self.kind, self.reads, self.dims, self.size = kind, reads, dims, prod(dims)

def linear(source, reads, dims, rows, bias):
    """`rows` has, for every output, the places of its inputs (None for all) and the weights."""
    op = Operation("linear", [source], dims)
    ratios = [[w.as_integer_ratio() for w in weights] for _, weights in rows]
    op.scale = max((d.bit_length() - 1 for row in ratios for _, d in row), default=0)
    op.rows = [(places, [n << op.scale + 1 - d.bit_length() for n, d in row]) for (places, _), row in zip(rows, ratios)]
    op.absolute = [list(map(abs, weights)) for _, weights in op.rows]
    op.terms, op.bias, op.exact = max(len(weights) for _, weights in rows), [below(b, UNIT) for b in bias], [Fraction(b) for b in bias]
    if rows[0][0] is None:
        op.columns = [(None, list(column)) for column in zip(*(weights for _, weights in op.rows))]
    else:
        columns = [([], []) for _ in range(reads)]
        for i, (places, weights) in enumerate(op.rows):
            for j, w in zip(places, weights):
                columns[j][0].append(i), columns[j][1].append(w)
        op.columns = columns
    return op

def dot(places, weights, x):
    """The sum of products; `places` chooses the entries of x."""
    return sum(map(mul, weights, x if places is None else map(x.__getitem__, places)))

def affine(source, dims, factor, shift):
    op = Operation("affine", [source], dims)
    unreadable_if(any(abs(v) > 1 << 100 for v in factor + shift), "a constant is too large, or a divisor too small")
    op.exact_factor, op.exact = factor, shift
    op.factor, op.shift = [below(f, FACTOR) for f in factor], [below(g, UNIT) for g in shift]
    return op

def spread(dims, constant):
    """The entries of a constant, one for each entry of a value with these dimensions."""
    own, entries = constant
    unreadable_if(len(own) > len(dims), "a constant has more dimensions than the value beside it")
    own = [1] * (len(dims) - len(own)) + own
    unreadable_if(any(d not in (1, n) for d, n in zip(own, dims)), "a constant does not fit the value beside it")
    steps = [prod(own[i + 1 :]) * (d > 1) for i, d in enumerate(own)]
    return [Fraction(entries[sum(map(mul, steps, place))]) for place in product(*map(range, dims))]

def convolution(source, op, attributes, weight, bias):
    (out, depth, tall, wide), w = weight
    unreadable_if(len(op.dims) != 4 or op.dims[0] != 1 or attributes.get("auto_pad", "NOTSET") != "NOTSET", "a convolution of this form is not read")
    (_, channels, height, width), group = op.dims, attributes.get("group", 1)
    (sy, sx), (dy, dx) = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1])
    top, left, bottom, right = attributes.get("pads", [0] * 4)
    high, broad = (height + top + bottom - (tall - 1) * dy - 1) // sy + 1, (width + left + right - (wide - 1) * dx - 1) // sx + 1
    unreadable_if(min(group, high, broad, sy, sx, dy, dx) < 1 or min(top, left, bottom, right) < 0 or depth * group != channels or out % group, "a convolution does not fit")
    rows = []
    for o, y, x in product(range(out), range(high), range(broad)):
        first, places, weights = o // (out // group) * depth, [], []
        for d, i, j in product(range(depth), range(tall), range(wide)):
            r, c = y * sy + i * dy - top, x * sx + j * dx - left
            if 0 <= r < height and 0 <= c < width:
                places.append(((first + d) * height + r) * width + c), weights.append(w[((o * depth + d) * tall + i) * wide + j])
        rows.append((places, weights))
    return linear(source, op.size, [1, out, high, broad], rows, [bias[o] for o in range(out) for _ in range(high * broad)])

def reshaped(dims, kind, attributes, shape):
    if kind == "Flatten":
        axis = attributes.get("axis", 1)
        axis += len(dims) if axis < 0 else 0
        unreadable_if(not 0 <= axis <= len(dims), "an axis does not exist")
        return [prod(dims[:axis]), prod(dims[axis:])]
    unreadable_if(attributes.get("allowzero", 0), "allowzero is not read")
    new = [dims[i] if d == 0 else d for i, d in enumerate(shape)]
    unreadable_if(new.count(-1) > 1 or min(new) < -1, "a shape is not valid")
    return [prod(dims) // -prod(new) if d == -1 else d for d in new]

def read_network(content):
    """The operations, the first of which is the input, and the number of the output."""
    graph = message(of(message(content), 7)[-1])
    values, inputs = {}, [message(v) for v in of(graph, 11)]
    for data in of(graph, 5):
        name = of(message(data), 8)[-1]
        unreadable_if(name in values, "a name occurs twice")
        values[name] = tensor(data)
    inputs = [v for v in inputs if of(v, 1)[-1] not in values]
    unreadable_if(len(inputs) != 1 or len(of(graph, 12)) != 1, "the network has several inputs or outputs")
    kind = message(of(message(of(inputs[0], 2)[-1]), 1)[-1])
    unreadable_if(of(kind, 1)[-1:] not in ([], [1]), "the input is not of type float32")
    shape = of(message(of(kind, 2)[-1]), 1)
    dims = [(ints(of(message(d), 1)) or [0])[-1] for d in shape]
    dims = [d if d > 0 or i else 1 for i, d in enumerate(dims)]
    unreadable_if(min(dims, default=1) < 1, "a dimension of the input is not fixed")
    operations = [Operation("input", [], dims)]
    values[of(inputs[0], 1)[-1]] = 0
    for data in of(graph, 1):
        fields = message(data)
        kind, attributes = of(fields, 4)[-1].decode(), dict(map(attribute, of(fields, 5)))
        unreadable_if(of(fields, 7) and of(fields, 7)[-1] not in (b"", b"ai.onnx"), "an operator is of another domain")
        unreadable_if(of(fields, 2)[0] in values, "a name occurs twice")
        given = [values[name] if name else None for name in of(fields, 1)]
        values[of(fields, 2)[0]] = operation(operations, kind, attributes, given)
    output = values[of(message(of(graph, 12)[0]), 1)[-1]]
    unreadable_if(not isinstance(output, int), "the output does not depend on the input")
    return operations, output

def operation(operations, kind, attributes, given):
    """Adds an operation; returns its number, or a constant."""
    if kind == "Constant":
        return attributes["value"]
    if kind in ("Identity", "Dropout", "Reshape", "Flatten") and not isinstance(given[0], int):
        unreadable_if(kind not in ("Identity", "Dropout"), "a constant is reshaped")
        return given[0]
    source = next((v for v in given if isinstance(v, int)), None)
    unreadable_if(source is None, "an operator has constant inputs only")
    op, first = operations[source], isinstance(given[0], int)
    both = len(given) > 1 and first and isinstance(given[1], int)
    if kind in ("Identity", "Dropout", "Reshape", "Flatten"):
        unreadable_if(len(given) > 2 and kind == "Dropout", "a dropout of training is not read")
        new = Operation("add", [source], reshaped(op.dims, kind, attributes, given[1][1] if kind == "Reshape" else None) if kind in ("Reshape", "Flatten") else op.dims)
        unreadable_if(new.size != op.size, "a shape does not fit")
        new.signs = [1]
    elif kind in ("Relu", "LeakyRelu"):
        new = Operation("relu", [source], op.dims)
        new.leak = Fraction(attributes.get("alpha", struct.unpack("<f", struct.pack("<f", 0.01))[0]) if kind == "LeakyRelu" else 0)
        unreadable_if(not 0 <= new.leak <= 1, "a slope is outside of 0 to 1")
    elif kind in ("Add", "Sub") and both:
        unreadable_if(operations[given[1]].dims != op.dims, "two values of different shapes are added")
        new = Operation("add", given[:2], op.dims)
        new.signs = [1, 1 if kind == "Add" else -1]
    elif kind in ("Add", "Sub", "Mul", "Div") and not both:
        c, ones = spread(op.dims, given[first]), [Fraction(1)] * op.size
        if kind == "Div":
            unreadable_if(not first or 0 in c, "a division of this form is not read")
            new = affine(source, op.dims, [1 / v for v in c], [0] * op.size)
        elif kind == "Mul":
            new = affine(source, op.dims, c, [0] * op.size)
        elif kind == "Sub":
            new = affine(source, op.dims, ones if first else [-v for v in ones], [-v for v in c] if first else c)
        else:
            new = affine(source, op.dims, ones, c)
    elif kind in ("Gemm", "MatMul") and first and not both:
        (n, m), w = given[1]
        unreadable_if(attributes.get("transA", 0) or (attributes.get("alpha", 1.0), attributes.get("beta", 1.0)) != (1.0, 1.0), "a product of this form is not read")
        rows = [w[i * m : (i + 1) * m] for i in range(n)] if attributes.get("transB", 0) else [w[j::m] for j in range(m)]
        unreadable_if(op.size != len(rows[0]) or op.dims[-1] != op.size, "a product does not fit")
        bias = given[2][1] if len(given) > 2 and given[2] is not None else [0.0]
        unreadable_if(len(bias) not in (1, len(rows)), "an offset does not fit")
        new = linear(source, op.size, op.dims[:-1] + [len(rows)], [(None, row) for row in rows], bias * (len(rows) // len(bias)))
    else:
        unreadable_if(kind != "Conv" or not first or both, f"the operator {kind} is not read")
        bias = given[2][1] if len(given) > 2 and given[2] is not None else [0.0] * given[1][0][0]
        new = convolution(source, op, attributes, given[1], bias)
    operations.append(new)
    return len(operations) - 1

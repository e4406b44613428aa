"""Bounds of networks beside a dense reference in NumPy."""

import numpy as np
import pytest

import standoff as so


def field(number, data):
    size, n = b"", len(data)
    while n >= 128:
        size, n = size + bytes([n & 127 | 128]), n >> 7
    return bytes([number << 3 | 2]) + size + bytes([n]) + data


def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def onnx(layers):
    """Dense layers `(W, b)` with ReLUs between them, as an ONNX file written by hand."""

    def value(name, n):
        dims = b"".join(field(1, b"\x08" + varint(d)) for d in (1, n))
        return field(1, name) + field(2, field(1, b"\x08\x01" + field(2, dims)))

    def tensor(name, array):
        return field(5, b"".join(b"\x08" + varint(d) for d in array.shape) + b"\x10\x01" + field(8, name) + field(9, array.astype("<f4").tobytes()))

    def node(op, inputs, output):
        return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op))

    graph, at = b"", b"x"
    for i, (w, b) in enumerate(layers):
        names = [f"{part}{i}".encode() for part in "wbpzy"]
        graph += tensor(names[0], w.T) + tensor(names[1], b)
        graph += node(b"MatMul", [at, names[0]], names[2]) + node(b"Add", [names[2], names[1]], names[3])
        at = names[3]
        if i + 1 < len(layers):
            graph += node(b"Relu", [at], names[4])
            at = names[4]
    graph += field(11, value(b"x", layers[0][0].shape[1])) + field(12, value(at, len(layers[-1][1])))
    return field(7, graph) + field(8, b"\x10\x0d")


def interval(w, b, l, u):
    centre, radius = w @ ((l + u) / 2) + b, np.abs(w) @ ((u - l) / 2)
    return centre - radius, centre + radius


def crown(layers, l0, u0, tighten=True):
    """Bounds of the last layer: lines of slope 1 or 0 below and the chord above every ReLU, substituted backwards."""
    lines = []  # of every ReLU: lower slope, upper slope, upper offset
    before = []  # weights and offsets of the layers so far
    l, u = l0, u0
    for w, b in layers:
        before.append((w, b))
        low, high = interval(w, b, l, u)
        if tighten:
            found = backward(before, lines, l0, u0)
            free = (low < 0) & (high > 0) if len(before) < len(layers) else np.ones(len(b), bool)
            low, high = np.where(free, np.maximum(low, found[0]), low), np.where(free, np.minimum(high, found[1]), high)
        unstable = (low < 0) & (high > 0)
        width = np.where(unstable, high - low, 1)
        chord = np.where(unstable, high / width, high > 0)
        lines.append((np.where(unstable, high > -low, low >= 0).astype(float), chord, np.where(unstable, -chord * low, 0)))
        l, u = np.maximum(low, 0), np.maximum(high, 0)
    return low, high


def backward(before, lines, l0, u0):
    found = []
    for sign in (1.0, -1.0):  # lower bounds of z and of -z
        a, constant = sign * np.eye(len(before[-1][1])), 0
        for k in range(len(before) - 1, -1, -1):
            w, b = before[k]
            constant = constant + a @ b
            a = a @ w
            if k:
                low, high, offset = lines[k - 1]
                constant = constant + np.minimum(a, 0) @ offset
                a = np.maximum(a, 0) * low + np.minimum(a, 0) * high
        found.append(constant + np.maximum(a, 0) @ l0 + np.minimum(a, 0) @ u0)
    return found[0], -found[1]


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_those_of_a_dense_reference_and_never_inside_the_truth(seed):
    random = np.random.default_rng(seed)
    sizes = [int(random.integers(3, 30)), *random.integers(5, 60, random.integers(1, 5)).tolist(), int(random.integers(2, 8))]
    layers = [
        ((random.normal(size=(m, n)) * np.sqrt(2 / n)).astype(np.float32).astype(float), (0.1 * random.normal(size=m)).astype(np.float32).astype(float))
        for n, m in zip(sizes, sizes[1:], strict=False)
    ]
    network = so.Network.from_bytes(onnx(layers))
    centre = random.random(sizes[0])
    l, u = centre - 0.05, centre + 0.05
    points = l + (u - l) * random.random((2000, sizes[0]))
    values = points
    for i, (w, b) in enumerate(layers):
        values = values @ w.T + b
        values = np.maximum(values, 0) if i + 1 < len(layers) else values
    for method, want in [("interval", crown(layers, l, u, tighten=False)), ("crown", crown(layers, l, u))]:
        low, high = network.bounds(l, u, method, float32=False)
        scale = max(1.0, *np.abs(want[0]), *np.abs(want[1]))
        assert np.abs(low - want[0]).max() <= 1e-5 * scale and np.abs(high - want[1]).max() <= 1e-5 * scale, method
        assert (low <= want[0] + 1e-12 * scale).all() and (high >= want[1] - 1e-12 * scale).all()
        assert (low <= values.min(0)).all() and (high >= values.max(0)).all()
        paid = network.bounds(l, u, method)
        assert (paid[0] <= low).all() and (paid[1] >= high).all()
    alpha = network.bounds(l, u, "alpha", float32=False)
    assert (alpha[0] >= low).all() and (alpha[1] <= high).all()
    assert (alpha[0] <= values.min(0)).all() and (alpha[1] >= values.max(0)).all()


def test_a_wrong_box_or_method_is_refused():
    network = so.Network.from_bytes(onnx([(np.eye(2), np.zeros(2))]))
    for match, arguments in [("unknown method `ibp`", ([0, 0], [1, 1], "ibp")), ("the box has 1 and 2 entries", ([0], [1, 1])), ("order|lower|upper|above|box", ([1, 1], [0, 0]))]:
        with pytest.raises(ValueError, match=match):
            network.bounds(*arguments)
    low, high = network.bounds([0, -1], [1, 2])
    assert np.allclose(low, [0, -1], atol=1e-5) and np.allclose(high, [1, 2], atol=1e-5)

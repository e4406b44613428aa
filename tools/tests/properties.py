"""Small networks and properties as ONNX and VNN-LIB files, their proof files by the command, and a second evaluation in floating point."""

import base64
import hashlib
import itertools
import json
import os
import random
import struct
import subprocess
import tempfile

from writer import checked, digest


def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def onnx(layers):
    """Dense layers `(rows, offsets)` with ReLUs between them, by turns as Gemm and as MatMul with Add."""
    def value(name, n):
        dims = b"".join(field(1, b"\x08" + varint(d)) for d in (1, n))
        return field(1, name) + field(2, field(1, b"\x08\x01" + field(2, dims)))

    def tensor(name, dims, entries):
        return field(5, b"".join(b"\x08" + varint(d) for d in dims) + b"\x10\x01" + field(8, name) + field(9, struct.pack(f"<{len(entries)}f", *entries)))

    def node(op, inputs, output, attributes=b""):
        return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op) + attributes)

    turned = field(5, field(1, b"transB") + b"\x18\x01" + b"\xa0\x01\x02")
    graph, at = b"", b"x"
    for i, (rows, offsets) in enumerate(layers):
        w, b, p, z, y = (f"{part}{i}".encode() for part in "wbpzy")
        graph += tensor(b, [len(offsets)], offsets)
        if i % 2:
            graph += tensor(w, [len(rows), len(rows[0])], [v for row in rows for v in row]) + node(b"Gemm", [at, w, b], z, turned)
        else:
            graph += tensor(w, [len(rows[0]), len(rows)], [v for column in zip(*rows) for v in column])
            graph += node(b"MatMul", [at, w], p) + node(b"Add", [p, b], z)
        at = z
        if i + 1 < len(layers):
            graph, at = graph + node(b"Relu", [z], y), y
    graph += field(11, value(b"x", len(layers[0][0][0]))) + field(12, value(at, len(layers[-1][1])))
    return field(7, graph) + field(8, b"\x10\x0d")


def vnnlib(box, sets, outputs):
    """The unsafe sets are lists of rows `(coefficients, constant)`."""
    lines = [f"(declare-const X_{i} Real)" for i in range(len(box))] + [f"(declare-const Y_{j} Real)" for j in range(outputs)]
    lines += [f"(assert (>= X_{i} {l!r}))\n(assert (<= X_{i} {u!r}))" for i, (l, u) in enumerate(box)]
    def row(coefficients, constant):
        return "(<= (+ " + " ".join(f"(* {c!r} Y_{j})" for j, c in enumerate(coefficients)) + f" {constant!r}) 0.0)"
    lines.append("(assert (or " + " ".join("(and " + " ".join(row(*r) for r in rows) + ")" for rows in sets) + "))")
    return "\n".join(lines) + "\n"


def outputs_of(layers, x):
    for i, (rows, offsets) in enumerate(layers):
        x = [sum(w * v for w, v in zip(row, x)) + b for row, b in zip(rows, offsets)]
        x = [max(v, 0.0) for v in x] if i + 1 < len(layers) else x
    return x


def worst(layers, rows, x):
    """The largest left-hand side: the set is reached where it is not positive."""
    y = outputs_of(layers, x)
    return max(sum(c * v for c, v in zip(coefficients, y)) + constant for coefficients, constant in rows)


def least(layers, box, sets, tries=6):
    """The least value of `worst` that a search finds: below 0, the property surely fails."""
    found = float("inf")
    for rows in sets:
        starts = [[random.choice(end) for end in box] for _ in range(tries)] + [[0.5 * (l + u) for l, u in box]]
        if len(box) <= 2:
            starts += [list(p) for p in itertools.product(*([l + (u - l) * k / 12 for k in range(13)] for l, u in box))]
        for x in starts:
            value = worst(layers, rows, x)
            if len(box) > 2:
                for k, (l, u) in itertools.chain(enumerate(box), enumerate(box)):
                    for end in (l, u, 0.5 * (l + u)):
                        y = x[:k] + [end] + x[k + 1 :]
                        if (other := worst(layers, rows, y)) < value:
                            x, value = y, other
            found = min(found, value)
    return found


def single(v):
    return struct.unpack("<f", struct.pack("<f", v))[0]


def example(seed, inputs, hidden, outputs=3):
    """A random network, a box, and two unsafe sets that lie a little below the least value."""
    random.seed(seed)
    sizes = [inputs, *hidden, outputs]
    layers = [([[single(random.gauss(0, 1 / n**0.5)) for _ in range(n)] for _ in range(m)], [single(random.gauss(0, 0.3)) for _ in range(m)])
              for n, m in itertools.pairwise(sizes)]
    box = [(c - 0.5, c + 0.5) for c in (round(random.uniform(-1, 1), 3) for _ in range(inputs))]
    sets = []
    for count in (1, 2):
        rows = [([round(random.gauss(0, 1), 2) for _ in range(outputs)], 0.0) for _ in range(count)]
        room = least(layers, box, [rows], 40)
        sets.append([(c, round(d - room + 0.15, 3)) for c, d in rows])
    return layers, box, sets


def proof_of(standoff, content, text, options=()):
    """The proof file of the command, or None if the answer is unknown."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("network.onnx", "property.vnnlib", "proof.json")]
        for path, data in zip(paths, (content, text.encode())):
            with open(path, "wb") as file:
                file.write(data)
        command = [standoff, "verify-net", *paths[:2], "--proof-file", paths[2], "--branches", "3000", *options]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode not in (0, 1):
            raise RuntimeError(run.stderr)
        if not os.path.exists(paths[2]):
            return None
        with open(paths[2]) as file:
            return json.load(file)


def sealed_property(proof, content):
    proof["network"] = digest(content)
    words = [proof[name] for name in ("network", "property", "answer", "input")]
    for case in proof["cases"]:
        words += [case["split"], *(str(part[name]) for part in case["inside"] for name in ("layer", "rows", "slopes"))]
        words += [part[name] for part in case["sets"] for name in ("tree", "rows", "slopes", "multipliers")]
    proof["sha256"] = hashlib.sha256("\n".join(words).encode()).hexdigest()
    return proof


def unpacked(text, kind):
    content = base64.b64decode(text)
    return list(struct.unpack(f"<{len(content) // struct.calcsize(kind)}{kind}", content))


def packed(values, kind):
    return base64.b64encode(struct.pack(f"<{len(values)}{kind}", *values)).decode()


def verdict_of(proof, content):
    return checked(proof, "--leaves", "100000", "--seed", "1", model=content)[0]


# Changes.


def change_network(proof, layers, box, sets):
    layers = [([list(row) for row in rows], list(offsets)) for rows, offsets in layers]
    for _ in range(random.choice((1, 3, 10))):
        rows, offsets = random.choice(layers)
        row = random.choice([*rows, offsets])
        k = random.randrange(len(row))
        row[k] = single(random.choice([-row[k], row[k] * 2, row[k] + random.gauss(0, 0.3)]))
    return layers, box, sets


def change_property(proof, layers, box, sets):
    if random.random() < 0.5:
        k = random.randrange(len(box))
        l, u = box[k]
        wider = random.choice((0.01, 0.1, 1.0))
        box = [*box[:k], random.choice([(l - wider, u), (l, u + wider), (l + 0.1, u)]), *box[k + 1 :]]
    else:
        k = random.randrange(len(sets))
        rows = [([round(v + random.choice((0, 0, random.gauss(0, 0.3))), 3) for v in c], round(d - random.choice((0, 0.1, 0.16, 0.2, 1)), 3)) for c, d in sets[k]]
        sets = [*sets[:k], rows, *sets[k + 1 :]]
    return layers, box, sets


def change_entry(name, kind, change):
    def changed(proof, layers, box, sets):
        parts = [s for case in proof["cases"] for s in (*case["sets"], *case["inside"]) if s.get(name)]
        if parts:
            part = random.choice(parts)
            values = unpacked(part[name], kind)
            change(values)
            part[name] = packed(values, kind)
        return layers, box, sets
    return changed


def other_slope(values):
    for _ in range(random.choice((1, 5))):
        values[random.randrange(len(values))] = random.choice((0.0, 1.0, -1.0, 5.0, random.random()))


def other_multiplier(values):
    k = random.randrange(len(values))
    values[k] = random.choice((-values[k] - 1e-3, values[k] * 2, 0.0, 10.0, -1e6))


def other_split(values):
    k = random.randrange(len(values))
    values[k] = random.choice((-1, values[k] + 1, values[k] - 1, 0, 7, -2))


def less(values):
    k = random.randrange(len(values))
    del values[k : k + random.choice((1, 1, 2, len(values)))]


def change_answer(proof, layers, box, sets):
    proof["answer"] = random.choice(("proven", "falsified", "unknown"))
    proof["input"] = random.choice(("", packed([random.uniform(*end) for end in box], "d"), packed([u + 1e-9 for _, u in box], "d")))
    if random.random() < 0.5:
        proof["cases"] = random.choice(([], proof["cases"][:-1], proof["cases"] * 2))
    return layers, box, sets


CHANGES = {
    "network changed": change_network, "property changed": change_property, "slopes changed": change_entry("slopes", "f", other_slope),
    "multipliers changed": change_entry("multipliers", "d", other_multiplier), "splits changed": change_entry("tree", "i", other_split),
    "part of a tree left out": change_entry("tree", "i", less), "conditions changed": change_entry("rows", "i", other_split), "answer changed": change_answer,
}

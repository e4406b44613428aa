#!/usr/bin/env python3
"""Checks a proof file of Standoff with exact arithmetic (docs/proofs.md). Exit code 0: accepted, 1: rejected, 2: unreadable.

This file holds the command, the fields and digests of proof files, and the recursion for networks; games are in proofcheck/.
"""

import argparse, base64, gzip, hashlib, json, os, random, re, struct, sys, tomllib
from collections import Counter
from fractions import Fraction
from functools import reduce
from itertools import chain, product
from math import isfinite, ldexp, prod
from operator import mul, or_

from proofcheck.enclosure import ONE, TWO, Enclosure, Rejected, Unreadable, exact, exp, rejected_if, sqrt, unreadable_if
from proofcheck.game import Game
from proofcheck.onnx import read_network
from proofcheck.property import CaseProof, read_property, violated

MOST_BYTES = 1 << 28
UNIT = 96  # bounds of a network's values are whole numbers of 2^-96

def fields(table, names):
    unreadable_if(not isinstance(table, dict) or set(table) != set(names), f"these fields are expected, and no others: {', '.join(names)}")
    return [table[name] for name in names]

def number(value):
    unreadable_if(type(value) not in (int, float) or not isfinite(value), "a number is missing, or is not finite")
    return float(value)

def whole(value):
    unreadable_if(type(value) is not int or not 0 <= value < 1 << 31, "a whole number is missing, or is too large")
    return value

def same(digest, content, what):
    rejected_if(digest != hashlib.sha256(content).hexdigest(), f"the digest of the {what} is not that of its content")

def packed(numbers): return struct.pack(f"<{len(numbers)}d", *numbers)
def decoded(text): return base64.b64decode(text, validate=True)
def by_player(table, reader): return [[reader(entry) for entry in part] for part in fields(table, ("x", "y"))]

def read_multiplier(entry):
    key = "l" if "l" in entry else "n"
    return key, [0.0 if v is None else number(v) for v in fields(entry, (key,))[0]]

def read_slope(entry):
    kink, place, slope = fields(entry, ("kink", "entry", "slope"))
    return whole(kink), whole(place), [number(v) for v in slope]

def check_game(proof):
    _, _, _, game, radius, point, claim, multipliers, slopes, digests = fields(
        proof, ("format", "version", "kind", "game", "radius", "point", "claim", "multipliers", "slopes", "sha256"))
    text, files = fields(game, ("toml", "files"))
    files, radius, point = {name: decoded(files[name]) for name in sorted(files, key=str.encode)}, number(radius), by_player(point, number)
    *claims, outside = fields(claim, ("X", "Y", "outside"))
    claims, outside = [number(v) for v in claims], [number(v) for v in fields(outside, ("x", "y"))]
    multipliers, slopes = by_player(multipliers, read_multiplier), by_player(slopes, read_slope)
    game_digest, point_digest, multiplier_digest, claim_digest = fields(digests, ("game", "point", "multipliers", "claim"))
    same(game_digest, text.encode() + b"\0" + b"".join(k.encode() + b"\0" + v + b"\0" for k, v in files.items()), "game")
    same(point_digest, packed(point[0] + point[1]), "point")
    numbers = [v for part in multipliers for _, given in part for v in given]
    numbers += [v for part in slopes for kink, place, slope in part for v in (kink, place, *slope)]
    same(multiplier_digest, packed(numbers), "multipliers")
    same(claim_digest, packed([radius, *claims, *outside]), "claim")
    rejected_if(radius <= 0, "the radius is not positive")
    game, failures = Game(text, files), []
    game.place(point, multipliers, slopes)
    for name, claim, squared in zip("xy", outside, game.distances_squared()):
        print(f"outside {name}: distance {sqrt(exact(squared.numerator) / exact(squared.denominator))}, claimed {claim!r}")
        if claim < 0 or Fraction(claim) ** 2 < squared:
            failures.append(f"the point is further outside the set of {name} than claimed")
    for name, claim, found in zip("XY", claims, game.decided_bounds(radius, claims)):
        above = f"{(exact(claim) - found.upper()) / found.upper()} of E" if found.hi > 0 else exact(claim) - found.upper()
        print(f"{name}, steps of length at most {radius!r}: E = {found}, claimed {claim!r}, above E by", above)
        if (exact(claim) - found).lo < 0:
            failures.append(f"the claim {name} is below E")
    rejected_if(failures, "; ".join(failures))

class Layer:
    """A linear layer: weights and biases as whole numbers of 2^-scale; `kernel` is 0 for a dense layer."""
    def __init__(self, tensors, name, shape):
        flat, bias = tensors.pop((f"{name}.weight", shape), None), tensors.pop((f"{name}.bias", shape[:1]), None)
        unreadable_if(flat is None or bias is None or not all(map(isfinite, flat + bias)), f"the model has no finite {name} {shape}")
        unreadable_if(prod(shape[1:]) >= 1 << 23, f"{name} has too many products per sum")
        numbers = [int(ldexp(v, 149)) for v in flat + bias]
        common = reduce(or_, numbers, 1 << 149)
        zeros = (common & -common).bit_length() - 1
        numbers, self.k, self.scale, self.kernel = [v >> zeros for v in numbers], prod(shape[1:]), 149 - zeros, shape[-1] * (len(shape) == 4)
        self.rows, self.bias = [numbers[i : i + self.k] for i in range(0, len(flat), self.k)], numbers[len(flat) :]
        self.absolute = [[abs(v) for v in row] for row in self.rows]
    def gamma(self, value):
        """gamma_(k+1) times a number that is not negative, rounded up."""
        return -(-value * (self.k + 1) // ((1 << 24) - self.k - 1))
    def apply(self, bounds, shape):
        """New bounds, rounded outward, and their shape. Inside, values are in units of 2^-(UNIT + 1): c and r are twice as large there."""
        c, r = [a + b for a, b in bounds], [b - a for a, b in bounds]
        m = [abs(a) + b for a, b in zip(c, r)]
        r = [a + self.gamma(b) + 1 for a, b in zip(r, m)]  # 1 is more than 2^-126
        tiny = -(-(((self.k << UNIT + 1) + sum(m)) << self.scale) >> 120)
        channels, height, width = shape if self.kernel else (1, 1, len(c))
        tall, wide = (self.kernel, self.kernel) if self.kernel else (1, len(c))
        result, shape = [[] for _ in self.rows], (len(self.rows), height - tall + 1, width - wide + 1)
        for y, x in product(range(shape[1]), range(shape[2])):
            starts = [(i * height + y + j) * width + x for i in range(channels) for j in range(tall)]
            centres, radii = ([v for s in starts for v in values[s : s + wide]] for values in (c, r))
            for row, absolute, b, out in zip(self.rows, self.absolute, self.bias, result):
                centre = sum(map(mul, row, centres)) + (b << UNIT + 1)
                radius = sum(map(mul, absolute, radii)) + self.gamma(abs(b) << UNIT + 1) + tiny
                out.append(((centre - radius) >> self.scale + 1, -((-centre - radius) >> self.scale + 1)))
        return list(chain(*result)), shape if self.kernel else shape[:1]
    def margins(self, bounds, label):
        """The margins against a label, in units of 2^-(scale + UNIT + 1)."""
        c, r = [a + b for a, b in bounds], [b - a for a, b in bounds]
        m = [abs(a) + b for a, b in zip(c, r)]
        rest = [((self.k << self.scale) + sum(row) << UNIT + 1) + (sum(m) << self.scale) for row in self.absolute]
        error = [self.gamma(sum(map(mul, row, m)) + (abs(b) << UNIT + 1)) - (-v >> 120) for row, b, v in zip(self.absolute, self.bias, rest)]
        differences = [[a - b for a, b in zip(row, self.rows[label])] for row in self.rows]
        return [(b - self.bias[label] << UNIT + 1) + sum(map(mul, d, c)) + sum(map(mul, map(abs, d), r)) + e + error[label]
                for b, d, e in zip(self.bias, differences, error)]

def read_model(content):
    """The shape of the input, and the layers: (kind, layer or size)."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start], object_pairs_hook=unique)
    model, tensors = tomllib.loads(header.pop("__metadata__")["standoff.model"]), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        wrong = entry["dtype"] != "F32" or min(begin, *entry["shape"]) < 0 or end - begin != 4 * prod(entry["shape"])
        unreadable_if(wrong, "a tensor of the model is not of 32-bit numbers, or has another length than its shape")
        tensors[name, tuple(entry["shape"])] = list(struct.unpack(f"<{prod(entry['shape'])}f", content[start + begin : start + end]))
    shape, layers, counts = tuple(map(whole, model["input"])), [], Counter()
    for text in model["layers"]:
        kind, a, b = re.fullmatch(r"(relu|tanh|flatten|(?:maxpool|dense)(?=\(\d+\))|conv(?=.*,))(?:\((\d{1,9})(?:, *(\d{1,9}))?\))?", text).groups()
        a, b, part = int(a or 0), int(b or 0), None
        counts[kind] += 1
        if kind == "conv":
            part, shape = Layer(tensors, f"conv{counts[kind]}", (b, shape[0], a, a)), (b, shape[1] - a + 1, shape[2] - a + 1)
        elif kind == "dense" and len(shape) == 1:
            part, shape = Layer(tensors, f"fc{counts[kind]}", (a, *shape)), (a,)
        elif kind == "maxpool":
            part, shape = a, (shape[0], shape[1] // a, shape[2] // a)
        elif kind == "flatten":
            shape = (prod(shape),)
        unreadable_if(min(shape) < 1 or len(shape) not in (1, 3), f"the layer {text} does not fit")
        layers.append((kind, part))
    unreadable_if(tensors or kind != "dense" or part is None, "the model has a tensor too many, or does not end with a dense layer")
    return tuple(model["input"]), layers

def pooled(bounds, shape, size):
    channels, height, width = shape
    for i, y, x in product(range(channels), range(height // size), range(width // size)):
        square = [bounds[(i * height + y * size + j) * width + x * size + k] for j in range(size) for k in range(size)]
        yield max(a for a, _ in square), max(b for _, b in square)

def tanh_above(value):
    """tanh + 2^-20 |tanh| + 2^-126 of a value in units of 2^-UNIT, rounded up; tanh x = 1 - 2 / (1 + e^2x)."""
    t = (ONE - TWO / (ONE + exp(Enclosure(value, value, 1 - UNIT)))).upper()
    t = t + Enclosure(abs(t.hi), abs(t.hi), t.e - 20) + Enclosure(1, 1, -126)
    return -(-t.hi >> -t.e - UNIT) if t.e < -UNIT else t.hi << t.e + UNIT

def network_margins(model, pixels, limits, label):
    """The margins as enclosures of one point."""
    shape, layers = model
    eps, least, most = (int(ldexp(v, 200)) for v in limits)
    bounds = []
    for v in (int(ldexp(v, 200)) for v in pixels):
        reach = eps + (1 << 181) + (abs(v) + eps >> 22) + 1
        bounds.append((max(least, v - reach) >> 200 - UNIT, -(-min(most, v + reach) >> 200 - UNIT)))
    rejected_if(any(a > b for a, b in bounds), "a pixel is outside the limits")
    for kind, part in layers[:-1]:
        if kind in ("conv", "dense"):
            bounds, shape = part.apply(bounds, shape)
        elif kind == "relu":
            bounds = [(max(a, 0), max(b, 0)) for a, b in bounds]
        elif kind == "tanh":
            bounds = [(-tanh_above(-a), tanh_above(b)) for a, b in bounds]
        elif kind == "maxpool":
            bounds, shape = list(pooled(bounds, shape, part)), (shape[0], shape[1] // part, shape[2] // part)
        else:
            shape = (len(bounds),)
        unreadable_if(len(bounds) != prod(shape), f"a layer ({kind}) gives another number of values than it should")
    last = layers[-1][1]
    unreadable_if(len(bounds) != last.k, "the last layer does not fit the one before it")
    return [Enclosure(v, v, -last.scale - UNIT - 1) for v in last.margins(bounds, label)]

def read_image(entry):
    index, label, pixels, margins, digest = fields(entry, ("index", "label", "pixels", "margins", "sha256"))
    pixels, margins = decoded(pixels), [None if v is None else number(v) for v in margins]
    same(digest, pixels + struct.pack("<I", whole(label)) + packed([v or 0.0 for v in margins]), f"image {whole(index)}")
    return index, label, struct.unpack(f"<{len(pixels) // 4}f", pixels), margins, digest

def check_image(model, limits, index, label, pixels, claims, _):
    rejected_if(len(pixels) != prod(model[0]) or not all(map(isfinite, pixels)), "the pixels do not fit the network, or are not finite")
    lacking = [j for j, c in enumerate(claims) if c is None]
    rejected_if(len(claims) != len(model[1][-1][1].rows) or lacking != [label], "the margins do not fit the network and the label")
    rows = [(c, m) for c, m in zip(claims, network_margins(model, pixels, limits, label)) if c is not None]
    claim, worst = max(rows, key=lambda row: row[0])
    print(f"image {index}, label {label}: largest margin claimed {claim!r}, E = {worst}")
    rejected_if(claim >= 0, "a claimed margin is not negative")
    rejected_if(any((exact(c) - m).lo < 0 for c, m in rows), "a claimed margin is below its bound E")

def check_network(proof, model_file, most_images):
    _, _, _, model, *limits, images, digest = fields(proof, ("format", "version", "kind", "model", "eps", "least", "most", "images", "sha256"))
    unreadable_if(model_file is None, "a proof of a network needs --model FILE.safetensors")
    (model_digest,), content = fields(model, ("sha256",)), read(model_file)
    same(model_digest, content, "model")
    limits, images = struct.unpack("<3f", struct.pack("<3f", *map(number, limits))), [read_image(entry) for entry in images]
    same(digest, model_digest.encode() + struct.pack("<3f", *limits) + "".join(image[-1] for image in images).encode(), "file")
    rejected_if(not images or limits[0] < 0 or len({image[0] for image in images}) < len(images), "there is no image, one occurs twice, or eps is negative")
    print("claimed: no change of pixels by at most {!r}, inside of {!r} to {!r}, changes the class of these images".format(*limits))
    model, chosen, failures = read_model(content), images[:most_images], 0
    for image in chosen:
        try:
            check_image(model, limits, *image)
        except Rejected as error:
            failures += 1
            print(f"image {image[0]} rejected: {error}")
    print(f"{len(chosen) - failures} of {len(chosen)} images hold; {len(images) - len(chosen)} not checked")
    rejected_if(failures, f"{failures} images do not hold")

def numbers(text, kind):
    content = decoded(text)
    return struct.unpack(f"<{len(content) // struct.calcsize(kind)}{kind}", content)

def check_property(proof, network_file, most_leaves, seed):
    _, _, _, network, text, answer, point, cases, digest = fields(
        proof, ("format", "version", "kind", "network", "property", "answer", "input", "cases", "sha256"))
    unreadable_if(network_file is None, "a proof of a property needs --model FILE.onnx")
    content = read(network_file)
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    cases = [fields(case, ("split", "inside", "sets")) for case in cases]
    cases = [(split, [fields(i, ("layer", "rows", "slopes")) for i in inside],
              [fields(s, ("tree", "rows", "slopes", "multipliers")) for s in sets]) for split, inside, sets in cases]
    words = [network, text, answer, point]
    for split, inside, sets in cases:
        words += [split, *(str(whole(i[0])) if k == 0 else i[k] for i in inside for k in range(3)), *chain(*sets)]
    same(digest, "\n".join(words).encode(), "file")
    same(network, content, "network")
    operations, output = read_network(content)
    claimed = read_property(text, operations[0].size, operations[output].size)
    if answer == "falsified":
        x = numbers(point, "d")
        rejected_if(len(x) != operations[0].size or not all(map(isfinite, x)), "the counter-example does not fit the network")
        rejected_if(not violated(operations, output, claimed, x), "the counter-example does not violate the property")
        return print("the counter-example violates the property in exact arithmetic")
    rejected_if(answer != "proven" or point or len(cases) != len(claimed), "the proof has another number of cases than the property, or no answer")
    proofs = [CaseProof(operations, output, case, split, [(layer, numbers(r, "i"), numbers(s, "f")) for layer, r, s in inside],
                        [(numbers(t, "i"), numbers(r, "i"), numbers(s, "f"), numbers(m, "d")) for t, r, s, m in sets])
              for case, (split, inside, sets) in zip(claimed, cases)]
    leaves = [(proof, leaf) for proof in proofs for leaf in proof.leaves]
    linear, split = [leaf for leaf in leaves if not leaf[1][0]], [leaf for leaf in leaves if leaf[1][0]]
    chosen = linear + random.Random(seed).sample(split, min(most_leaves, len(split)))
    print(f"{len(claimed)} cases, {sum(len(p.sets) for p in proofs)} unsafe sets: the trees cover them. Seed {seed}")
    failures = sum(not proof.holds(*leaf) for proof, leaf in chosen)
    print(f"{len(chosen) - failures} of {len(chosen)} leaves hold; {len(leaves) - len(chosen)} not checked")
    rejected_if(failures, f"{failures} leaves do not hold")

def read(path):
    with open(path, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    unreadable_if(len(content) > MOST_BYTES, f"{path} has more than {MOST_BYTES} bytes")
    return content

def unique(pairs):
    unreadable_if(len(dict(pairs)) < len(pairs), "a field occurs twice")
    return dict(pairs)

def run(arguments):
    proof = json.loads(read(arguments.proof), object_pairs_hook=unique)
    known = proof.get("format") == "standoff-proof" and type(proof.get("version")) is int and proof["version"] == 1
    unreadable_if(not known or proof.get("kind") not in ("game", "network", "property"), "this is not a proof file of version 1, of a game, a network or a property")
    if proof["kind"] == "property":
        seed = int.from_bytes(os.urandom(4), "little") if arguments.seed is None else arguments.seed
        return check_property(proof, arguments.model, arguments.leaves, seed)
    check_game(proof) if proof["kind"] == "game" else check_network(proof, arguments.model, arguments.images)

def main(words=None):
    parser = argparse.ArgumentParser(description="Check a proof file of Standoff with exact arithmetic.")
    parser.add_argument("proof", help="the proof file")
    parser.add_argument("--model", help="the network: a safetensors file, or the ONNX file of a property")
    parser.add_argument("--images", type=int, help="check only the first so many images; all of them when absent")
    parser.add_argument("--leaves", type=int, default=20, help="check so many leaves of the trees of a property, drawn at random (20 when absent)")
    parser.add_argument("--seed", type=int, help="the seed of that choice")
    arguments = parser.parse_args(words)
    sys.setrecursionlimit(10000)
    try:
        unreadable_if(arguments.images is not None and arguments.images < 1, "--images needs a number from 1 on")
        run(arguments)
    except Rejected as error:
        print(f"rejected: {error}")
        return 1
    except (KeyboardInterrupt, Exception) as error:  # any other failure: nothing was proven
        reason = error if isinstance(error, Unreadable) else f"the file cannot be read ({type(error).__name__}: {str(error)[:200]})"
        print(f"error: {reason}", file=sys.stderr)
        return 2
    print("accepted")
    return 0

if __name__ == "__main__":
    sys.exit(main())

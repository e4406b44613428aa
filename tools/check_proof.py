#!/usr/bin/env python3
"""Checks a proof file of Standoff with exact arithmetic (docs/proofs.md). Exit code 0: accepted, 1: rejected, 2: unreadable.

This file holds the command, the fields and digests of proof files, and the recursion for networks; games are in proofcheck/.
"""

import argparse
import base64
import hashlib
import json
import re
import struct
import sys
import tomllib
from fractions import Fraction
from math import isfinite, ldexp, prod
from operator import mul

from proofcheck.enclosure import Enclosure, Rejected, Unreadable, exact, sqrt, tanh
from proofcheck.game import Game

MOST_BYTES = 1 << 28
UNIT = 96  # bounds of a network's values are whole numbers of 2^-96

def fields(table, names):
    if not isinstance(table, dict) or set(table) != set(names):
        raise Unreadable(f"these fields are expected, and no others: {', '.join(names)}")
    return [table[name] for name in names]

def number(value, whole=False):
    if type(value) not in ((int,) if whole else (int, float)) or not isfinite(value) or whole and not 0 <= value < 1 << 31:
        raise Unreadable("a number is missing, infinite or of the wrong kind")
    return value if whole else float(value)

def listed(values, reader):
    if not isinstance(values, list):
        raise Unreadable("a list is missing")
    return [reader(v) for v in values]

def text_or_bytes(value, encoded):
    if not isinstance(value, str):
        raise Unreadable("a text is missing")
    return base64.b64decode(value, validate=True) if encoded else value

def packed(numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)

def same(digest, content, what):
    if digest != hashlib.sha256(content).hexdigest():
        raise Rejected(f"the digest of the {what} is not that of its content")

def by_player(table, reader):
    return [listed(part, reader) for part in fields(table, ("x", "y"))]

def read_multiplier(entry):
    key = "l" if isinstance(entry, dict) and "l" in entry else "n"
    return key, listed(fields(entry, (key,))[0], lambda v: 0.0 if v is None else number(v))

def read_slope(entry):
    kink, place, slope = fields(entry, ("kink", "entry", "slope"))
    return number(kink, True), number(place, True), listed(slope, number)

def check_game(proof):
    _, _, _, game, radius, point, claim, multipliers, slopes, digests = fields(
        proof, ("format", "version", "kind", "game", "radius", "point", "claim", "multipliers", "slopes", "sha256"))
    text, files = fields(game, ("toml", "files"))
    text, radius = text_or_bytes(text, False), number(radius)
    files = {name: text_or_bytes(files[name], True) for name in sorted(files, key=str.encode)}
    point = by_player(point, number)
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
    if radius < 0:
        raise Rejected("the radius is negative")
    game, failures = Game(text, files), []
    game.place(point, multipliers, slopes)
    for name, claim, squared in zip("xy", outside, game.distances_squared()):
        print(f"outside {name}: distance {sqrt(exact(squared.numerator) / exact(squared.denominator))}, claimed {claim!r}")
        if claim < 0 or Fraction(claim) ** 2 < squared:
            failures.append(f"the point is further outside the set of {name} than claimed")
    for name, claim, found in zip("XY", claims, game.decided_bounds(radius, claims)):
        excess = (exact(claim) - found.upper()) / found.upper() if found.hi > 0 else "more than 1"
        print(f"{name}: E = {found}, claimed {claim!r}, above E by {excess} of E")
        if (exact(claim) - found).lo < 0:
            failures.append(f"the claim {name} is below E")
    if failures:
        raise Rejected("; ".join(failures))

class Layer:
    """A linear layer: weights and biases as whole numbers of 2^-scale; `size` is the kernel's, 0 for a dense layer."""

    def __init__(self, tensors, name, shape):
        flat, self.bias = tensors.pop((f"{name}.weight", shape), None), tensors.pop((f"{name}.bias", shape[:1]), None)
        if flat is None or self.bias is None or not all(map(isfinite, flat + self.bias)):
            raise Unreadable(f"the model has no finite {name} of the shape {shape}")
        whole, common = [int(ldexp(v, 149)) for v in flat + self.bias], 1 << 149
        for v in whole:
            common |= v
        zeros = (common & -common).bit_length() - 1
        whole, self.scale, self.products = [v >> zeros for v in whole], 149 - zeros, prod(shape[1:])
        self.rows = [whole[i : i + self.products] for i in range(0, len(flat), self.products)]
        self.sizes, self.bias, self.size = [[abs(v) for v in row] for row in self.rows], whole[len(flat) :], shape[-1] if len(shape) == 4 else 0

    def gamma(self, value):
        """gamma_(k+1) times a number that is not negative, rounded up."""
        return -(-value * (self.products + 1) // ((1 << 24) - self.products - 1))

    def inputs(self, lo, hi):
        """Twice the centres, twice the radii, and their sums in absolute value."""
        c, r = [a + b for a, b in zip(lo, hi)], [b - a for a, b in zip(lo, hi)]
        return c, r, [abs(a) + b for a, b in zip(c, r)]

    def apply(self, lo, hi, shape):
        """New bounds, rounded outward, and their shape."""
        c, r, m = self.inputs(lo, hi)
        r = [a + self.gamma(b) + 1 for a, b in zip(r, m)]  # 1 is more than 2^-126
        tiny = -(-(((self.products << UNIT + 1) + sum(m)) << self.scale) >> 120)
        channels, height, width = shape if self.size else (1, 1, len(c))
        size, span = (self.size, self.size) if self.size else (1, len(c))
        starts = [(y, x) for y in range(height - size + 1) for x in range(width - span + 1)]
        low, high = [[] for _ in self.rows], [[] for _ in self.rows]
        for y, x in starts:
            pieces = [slice(at, at + span) for i in range(channels) for j in range(size) for at in [(i * height + y + j) * width + x]]
            centres, radii = [v for p in pieces for v in c[p]], [v for p in pieces for v in r[p]]
            for j, (row, absolute, b) in enumerate(zip(self.rows, self.sizes, self.bias)):
                centre = sum(map(mul, row, centres)) + (b << UNIT + 1)
                radius = sum(map(mul, absolute, radii)) + self.gamma(abs(b) << UNIT + 1) + tiny
                low[j].append((centre - radius) >> self.scale + 1)
                high[j].append(-((-centre - radius) >> self.scale + 1))
        return sum(low, []), sum(high, []), (len(low), height - size + 1, width - span + 1) if self.size else (len(low),)

    def margins(self, lo, hi, label):
        """The margins against a label, as exact enclosures."""
        c, r, m = self.inputs(lo, hi)
        def error(j):
            rest = (self.products << self.scale + UNIT + 1) + (sum(self.sizes[j]) << UNIT + 1) + (sum(m) << self.scale)
            return self.gamma(sum(map(mul, self.sizes[j], m)) + (abs(self.bias[j]) << UNIT + 1)) - (-rest >> 120)
        result = []
        for j, row in enumerate(self.rows):
            d = [a - b for a, b in zip(row, self.rows[label])]
            value = (self.bias[j] - self.bias[label] << UNIT + 1) + sum(map(mul, d, c)) + sum(map(mul, map(abs, d), r)) + error(j) + error(label)
            result.append(Enclosure(value, value, -self.scale - UNIT - 1))
        return result

def read_model(content):
    """The shape of the input, and the layers: (kind, layer or size)."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size]) if size < 1 << 24 else {}
    model, tensors = tomllib.loads(header.pop("__metadata__")["standoff.model"]), {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        if entry["dtype"] != "F32" or end - start != 4 * prod(entry["shape"]):
            raise Unreadable("a tensor of the model is not of 32-bit numbers, or has another length than its shape")
        tensors[name, tuple(entry["shape"])] = list(struct.unpack(f"<{(end - start) // 4}f", content[8 + size + start : 8 + size + end]))
    shape, layers, counts = tuple(model["input"]), [], {"conv": 0, "dense": 0}
    given = shape
    for text in model["layers"]:
        kind, *sizes = re.fullmatch(r"(relu|tanh|flatten|(?:conv|maxpool|dense)(?=\())(?:\((\d+)(?:, *(\d+))?\))?", text).groups()
        a, b = (int(v) if v else None for v in sizes)
        if kind in counts:
            counts[kind] += 1
            name, new = (f"conv{counts[kind]}", (b, *(n - a + 1 for n in shape[1:]))) if kind == "conv" else (f"fc{counts[kind]}", (a,))
            layers.append((kind, Layer(tensors, name, (b, shape[0], a, a) if kind == "conv" else (a, *shape))))
            shape = new
        else:
            layers.append((kind, a))
            shape = {"flatten": (prod(shape),), "maxpool": (shape[0], *(n // a for n in shape[1:])) if a else ()}.get(kind, shape)
        if not shape or min(shape) < 1 or len(shape) not in (1, 3) or prod(shape) > 10**7:
            raise Unreadable(f"the layer {text} does not fit")
    if tensors or layers[-1][0] != "dense":
        raise Unreadable("the model has a tensor too many, or does not end with a dense layer")
    return given, layers

def pooled(values, shape, size):
    channels, height, width = shape
    return [max(values[(i * height + y + j) * width + x + k] for j in range(size) for k in range(size))
            for i in range(channels) for y in range(0, height - size + 1, size) for x in range(0, width - size + 1, size)]

def tanh_bound(value, sign):
    """tanh +- (2^-20 |tanh| + 2^-126), rounded outward; `sign` is -1 for lower and 1 for upper bounds."""
    Enclosure.bits = 128
    t = tanh(Enclosure(sign * value, sign * value, -UNIT)).upper()
    t = t + Enclosure(abs(t.hi), abs(t.hi), t.e - 20) + Enclosure(1, 1, -126)
    return sign * -(-t.hi >> -t.e - UNIT) if t.e < -UNIT else sign * (t.hi << t.e + UNIT)

def network_margins(model, pixels, limits, label):
    shape, layers = model
    eps, least, most = (int(ldexp(v, 200)) for v in limits)
    lo, hi = [], []
    for v in (int(ldexp(v, 200)) for v in pixels):
        reach = eps + (1 << 181) + (abs(v) + eps >> 22) + 1
        lo.append(max(least, v - reach) >> 200 - UNIT)
        hi.append(-(-min(most, v + reach) >> 200 - UNIT))
    if any(a > b for a, b in zip(lo, hi)):
        raise Rejected("a pixel is outside the limits")
    for kind, part in layers[:-1]:
        if kind in ("conv", "dense"):
            lo, hi, shape = part.apply(lo, hi, shape)
        elif kind == "relu":
            lo, hi = [max(v, 0) for v in lo], [max(v, 0) for v in hi]
        elif kind == "tanh":
            lo, hi = [tanh_bound(v, -1) for v in lo], [tanh_bound(v, 1) for v in hi]
        elif kind == "maxpool":
            lo, hi, shape = pooled(lo, shape, part), pooled(hi, shape, part), (shape[0], shape[1] // part, shape[2] // part)
        else:
            shape = (len(lo),)
    return layers[-1][1].margins(lo, hi, label)

def read_image(entry):
    index, label, pixels, margins, digest = fields(entry, ("index", "label", "pixels", "margins", "sha256"))
    pixels = text_or_bytes(pixels, True)
    margins = listed(margins, lambda v: None if v is None else number(v))
    label = number(label, True)
    same(digest, pixels + struct.pack("<I", label) + packed([v or 0.0 for v in margins]), f"image {number(index, True)}")
    return index, label, struct.unpack(f"<{len(pixels) // 4}f", pixels), margins, digest

def check_image(model, image, limits):
    index, label, pixels, claims, _ = image
    if len(pixels) != prod(model[0]) or not all(map(isfinite, pixels)):
        raise Rejected("the pixels do not fit the network, or are not finite")
    if len(claims) != len(model[1][-1][1].rows) or label >= len(claims) or [j for j, c in enumerate(claims) if c is None] != [label]:
        raise Rejected("the margins do not fit the network and the label")
    found = network_margins(model, pixels, limits, label)
    rows = [(c, m) for c, m in zip(claims, found) if c is not None]
    claim, worst = max(rows, key=lambda row: row[0])
    print(f"image {index}, label {label}: largest margin claimed {claim!r}, E = {worst}")
    if any(c >= 0 for c, _ in rows):
        raise Rejected("a claimed margin is not negative")
    if any((exact(c) - m).lo < 0 for c, m in rows):
        raise Rejected("a claimed margin is below its bound E")

def check_network(proof, model_file, most_images):
    names = ("format", "version", "kind", "model", "eps", "least", "most", "images", "sha256")
    _, _, _, model, *limits, images, digest = fields(proof, names)
    (model_digest,) = fields(model, ("sha256",))
    if model_file is None:
        raise Unreadable("a proof of a network needs --model FILE.safetensors")
    content = read(model_file)
    same(model_digest, content, "model")
    limits = struct.unpack("<3f", struct.pack("<3f", *map(number, limits)))
    images = listed(images, read_image)
    same(digest, model_digest.encode() + struct.pack("<3f", *limits) + "".join(image[-1] for image in images).encode(), "file")
    if not images or limits[0] < 0:
        raise Rejected("there is no image, or eps is negative")
    model, failures = read_model(content), 0
    chosen = images[:most_images]
    for image in chosen:
        try:
            check_image(model, image, limits)
        except Rejected as error:
            failures += 1
            print(f"image {image[0]} rejected: {error}")
    print(f"{len(chosen) - failures} of {len(chosen)} images hold" + (f"; {len(images) - len(chosen)} not looked at" if len(chosen) < len(images) else ""))
    if failures:
        raise Rejected(f"{failures} images do not hold")

def read(path):
    with open(path, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise Unreadable(f"{path} has more than {MOST_BYTES} bytes")
    return content

def unique(pairs):
    if len(dict(pairs)) < len(pairs):
        raise Unreadable("a field stands twice")
    return dict(pairs)

def run(arguments):
    proof = json.loads(read(arguments.proof), object_pairs_hook=unique)
    if not isinstance(proof, dict) or proof.get("format") != "standoff-proof" or type(proof.get("version")) is not int or proof["version"] != 1:
        raise Unreadable("this is not a proof file of version 1")
    if proof.get("kind") not in ("game", "network"):
        raise Unreadable("the kind of the proof is not known")
    check_game(proof) if proof["kind"] == "game" else check_network(proof, arguments.model, arguments.images)

def main(words=None):
    parser = argparse.ArgumentParser(description="Check a proof file of Standoff with exact arithmetic.")
    parser.add_argument("proof", help="the proof file")
    parser.add_argument("--model", help="the network, a safetensors file")
    parser.add_argument("--images", type=int, help="check only the first so many images")
    parser.add_argument("--all", action="store_const", const=None, dest="images", help="check all images (the default)")
    arguments = parser.parse_args(words)
    if arguments.images is not None and arguments.images < 1:
        parser.error("--images needs a number from 1 on")
    sys.setrecursionlimit(10000)
    try:
        run(arguments)
        print("accepted")
        return 0
    except Rejected as error:
        print(f"rejected: {error}")
        return 1
    except (KeyboardInterrupt, Exception) as error:  # whatever it is: nothing was proven
        print(f"error: {error if isinstance(error, Unreadable) else f'the file cannot be read ({type(error).__name__}: {str(error)[:200]})'}", file=sys.stderr)
        return 2

if __name__ == "__main__":
    sys.exit(main())

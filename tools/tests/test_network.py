"""Proofs of networks: a small network against the recursion in fractions, the shipped ones, hostile files."""

import json
import math
import os
import random
import struct
import unittest
from fractions import Fraction as F

from writer import checked, network_proof, safetensors, sealed_network

CONV = 'input = [2, 5, 5]\nlayers = ["conv(2, 3)", "relu", "maxpool(2)", "flatten", "dense(4)", "relu", "dense(3)"]\n'
TABLE = 'input = [3]\nlayers = ["dense(4)", "tanh", "dense(2)"]\n'


def f32(v):
    return struct.unpack("<f", struct.pack("<f", v))[0]


def numbers(count, scale=0.5):
    return [f32(random.uniform(-scale, scale)) for _ in range(count)]


def conv_network(seed):
    random.seed(seed)
    return {"conv1.weight": ([3, 2, 2, 2], numbers(24)), "conv1.bias": ([3], numbers(3)), "fc1.weight": ([4, 12], numbers(48)),
            "fc1.bias": ([4], numbers(4)), "fc2.weight": ([3, 4], numbers(12)), "fc2.bias": ([3], [2.0, 0.5, -4.0])}


def linear_bounds(rows, bias, lo, hi, everything):
    """Rows of (weight, place) pairs; the formulas of docs/proofs.md in fractions. `everything` is the sum of all m."""
    result = []
    for row, b in zip(rows, bias):
        k = len(row)
        gamma = F(k + 1, 2**24) / (1 - F(k + 1, 2**24))
        centre = F(b) + sum(F(w) * (lo[i] + hi[i]) / 2 for w, i in row)
        radius = gamma * abs(F(b)) + F(1, 2**120) * (k + everything)
        for w, i in row:
            c, r = (lo[i] + hi[i]) / 2, (hi[i] - lo[i]) / 2
            radius += abs(F(w)) * (r + gamma * (abs(c) + r) + F(1, 2**126))
        result.append((centre - radius, centre + radius))
    return [a for a, _ in result], [b for _, b in result]


def magnitude(lo, hi):
    return sum(abs(a + b) / 2 + (b - a) / 2 for a, b in zip(lo, hi))


def reference_margins(tensors, pixels, eps, label):
    """The recursion for CONV, written out."""
    eps = F(f32(eps))
    reach = [eps + F(1, 2**19) + F(1, 2**22) * (abs(F(v)) + eps) for v in pixels]
    lo, hi = [max(F(0), F(v) - r) for v, r in zip(pixels, reach)], [min(F(1), F(v) + r) for v, r in zip(pixels, reach)]
    w, rows, bias = tensors["conv1.weight"][1], [], []
    for o in range(3):
        for y in range(4):
            for x in range(4):
                rows.append([(w[((o * 2 + i) * 2 + p) * 2 + q], i * 25 + (y + p) * 5 + x + q) for i in range(2) for p in range(2) for q in range(2)])
                bias.append(tensors["conv1.bias"][1][o])
    lo, hi = linear_bounds(rows, bias, lo, hi, magnitude(lo, hi))
    lo, hi = [max(F(0), v) for v in lo], [max(F(0), v) for v in hi]
    pool = [[o * 16 + (2 * y + p) * 4 + 2 * x + q for p in range(2) for q in range(2)] for o in range(3) for y in range(2) for x in range(2)]
    lo, hi = [max(lo[i] for i in group) for group in pool], [max(hi[i] for i in group) for group in pool]
    w = tensors["fc1.weight"][1]
    lo, hi = linear_bounds([[(w[j * 12 + i], i) for i in range(12)] for j in range(4)], tensors["fc1.bias"][1], lo, hi, magnitude(lo, hi))
    lo, hi = [max(F(0), v) for v in lo], [max(F(0), v) for v in hi]
    c, r = [(a + b) / 2 for a, b in zip(lo, hi)], [(b - a) / 2 for a, b in zip(lo, hi)]
    m = [abs(a) + b for a, b in zip(c, r)]
    w, b = [[F(v) for v in tensors["fc2.weight"][1][j * 4 : j * 4 + 4]] for j in range(3)], [F(v) for v in tensors["fc2.bias"][1]]
    gamma = F(5, 2**24) / (1 - F(5, 2**24))
    errors = [gamma * (sum(abs(w[j][i]) * m[i] for i in range(4)) + abs(b[j])) + F(1, 2**120) * (4 + sum(abs(w[j][i]) + m[i] for i in range(4))) for j in range(3)]
    margins = []
    for j in range(3):
        d = [w[j][i] - w[label][i] for i in range(4)]
        margins.append(b[j] - b[label] + sum(d[i] * c[i] + abs(d[i]) * r[i] for i in range(4)) + errors[j] + errors[label])
    return margins


def above(v):
    """The smallest float that is clearly not below a fraction."""
    guess = float(v)
    while F(guess) < v + F(1, 2**80):
        guess = math.nextafter(guess, math.inf)
    return guess


class Networks(unittest.TestCase):
    def setUp(self):
        self.tensors = conv_network(5)
        self.model = safetensors(CONV, self.tensors)
        random.seed(11)
        self.pixels = [f32(random.uniform(0, 1)) for _ in range(50)]
        self.margins = reference_margins(self.tensors, self.pixels, 0.05, 0)
        self.claims = [None] + [above(v) for v in self.margins[1:]]

    def check(self, claims, code, eps=0.05, model=None, options=()):
        proof = network_proof(model or self.model, [(self.pixels, 0, claims)], eps)
        got, output = checked(proof, *options, model=model or self.model)
        self.assertEqual(got, code, output)
        return output

    def test_claims_are_accepted_at_the_bound_and_rejected_below_it(self):
        self.assertLess(max(self.margins[1:]), 0)
        self.check(self.claims, 0)
        for j in (1, 2):
            lower = list(self.claims)
            lower[j] = math.nextafter(math.nextafter(lower[j], -math.inf), -math.inf)
            self.check(lower, 1)
            self.assertLess(F(lower[j]), self.margins[j])

    def test_a_margin_that_is_not_negative_is_no_certificate(self):
        self.check([None, self.claims[1], 0.0], 1)
        self.check([None, 1.0, -1e-9], 1)

    def test_a_larger_eps_is_rejected(self):
        self.check(self.claims, 1, eps=0.0500001)

    def test_tanh_and_tables_are_understood(self):
        tensors = {"fc1.weight": ([4, 3], [1.0] * 12), "fc1.bias": ([4], [0.0] * 4), "fc2.weight": ([2, 4], [1.0] * 4 + [-1.0] * 4), "fc2.bias": ([2], [0.0, 0.0])}
        model = safetensors(TABLE, tensors)
        self.pixels = [0.5, 0.5, 0.5]
        bound = -8 * math.tanh(1.2)  # every pixel at least 0.4, less the errors
        self.check([None, bound + 1e-4], 0, eps=0.1, model=model)
        self.check([None, bound], 1, eps=0.1, model=model)

    def test_odd_sizes_are_cut_by_pooling(self):
        text = 'input = [1, 3, 3]\nlayers = ["maxpool(2)", "flatten", "dense(2)"]\n'
        model = safetensors(text, {"fc1.weight": ([2, 1], [1.0, -1.0]), "fc1.bias": ([2], [0.0, 0.0])})
        self.pixels = [0.1, 0.2, 1.0, 0.3, 0.5, 1.0, 1.0, 1.0, 1.0]
        self.check([None, -0.999], 0, eps=0.0, model=model)
        self.check([None, -1.001], 1, eps=0.0, model=model)

    def test_the_smallest_terms_of_the_recursion_count(self):
        model = safetensors('input = [1]\nlayers = ["dense(2)"]\n', {"fc1.weight": ([2, 1], [0.0, 0.0]), "fc1.bias": ([2], [2.0**-100, 0.0])})
        self.pixels = [1.0]
        least = 1 - F(1, 2**19) - F(1, 2**22)
        m = (1 + least) / 2 + (1 - least) / 2
        margin = -F(1, 2**100) * (1 - F(2, 2**24 - 2)) + 2 * F(1, 2**120) * (1 + m)
        self.check([None, math.nextafter(float(margin), 0)], 0, eps=0.0, model=model)
        self.check([None, math.nextafter(float(margin), -1)], 1, eps=0.0, model=model)

    def test_a_part_of_the_images_can_be_checked(self):
        proof = network_proof(self.model, [(self.pixels, 0, self.claims), (self.pixels, 0, [None, -99.0, -99.0])], 0.05)
        self.assertEqual(checked(proof, model=self.model)[0], 1)
        self.assertEqual(checked(proof, model=self.model)[0], 1)
        code, output = checked(proof, "--images", "1", model=self.model)
        self.assertEqual(code, 0)
        self.assertIn("1 not checked", output)

    def test_stale_digests_are_rejected(self):
        good = network_proof(self.model, [(self.pixels, 0, self.claims)], 0.05)
        self.assertEqual(checked(good, model=self.model)[0], 0)
        for change in (lambda p: p["images"][0].update(label=1), lambda p: p["images"][0]["margins"].__setitem__(1, -0.001), lambda p: p.update(eps=0.01),
                       lambda p: p.update(most=0.9), lambda p: p["model"].update(sha256="0" * 64), lambda p: p.update(images=p["images"] * 2)):
            proof = json.loads(json.dumps(good))
            change(proof)
            self.assertEqual(checked(proof, model=self.model)[0], 1)
        other = self.model[:-1] + bytes([self.model[-1] ^ 1])
        self.assertEqual(checked(good, model=other)[0], 1)

    def test_files_that_do_not_fit_are_refused(self):
        good = network_proof(self.model, [(self.pixels, 0, self.claims)], 0.05)
        self.assertEqual(checked(good)[0], 2, "no model")
        for code, change in [(1, {"margins": [None, -1.0]}), (1, {"margins": [-1.0, None, -1.0]}), (1, {"margins": [None, None, -1.0]}), (1, {"label": 7}),
                             (1, {"pixels": ""}), (2, {"pixels": "!"}), (2, {"label": -1}), (2, {"margins": [None, math.nan, -1.0]}), (2, {"index": 1.5})]:
            proof = json.loads(json.dumps(good))
            proof["images"][0].update(change)
            try:
                proof = sealed_network(proof)
            except Exception:
                pass
            self.assertEqual(checked(proof, model=self.model)[0], code, change)

    def test_networks_that_cannot_be_read_are_refused(self):
        bad = [b"", b"\xff" * 8, struct.pack("<Q", 2) + b"{}", self.model[:-4], safetensors(CONV.replace("conv(2, 3)", "conv(9, 3)"), self.tensors),
               safetensors(CONV.replace('"relu", "dense(3)"', '"relu"'), self.tensors), safetensors(CONV, {**self.tensors, "more": ([1], [0.0])}),
               safetensors(CONV.replace("dense(3)", "dense(1000000000)"), self.tensors), safetensors("input = 3", self.tensors),
               safetensors(CONV, {**self.tensors, "fc2.bias": ([3], [0.0, math.inf, 0.0])}), safetensors(CONV.replace("relu", "softmax"), self.tensors)]
        for model in bad:
            proof = network_proof(model, [(self.pixels, 0, self.claims)], 0.05)
            self.assertEqual(checked(proof, model=model)[0], 2)

    def test_the_shipped_networks_are_read(self):
        import check_proof
        folder = os.path.join(os.path.dirname(__file__), "..", "..", "models")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".safetensors"):
                shape, layers = check_proof.read_model(check_proof.read(os.path.join(folder, name)))
                self.assertEqual((shape, len(layers[-1][1].rows)), ((1, 28, 28), 10))


if __name__ == "__main__":
    unittest.main()

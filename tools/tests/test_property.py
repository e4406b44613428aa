"""Proofs of properties of networks: made-up proofs with splits of inputs, counter-examples, and files that must be rejected."""

import copy
import unittest
from fractions import Fraction

import properties
from writer import checked

from proofcheck.onnx import read_network
from proofcheck.property import Bounds, read_property, violated


def halved(operations, output, box, row, depth=0):
    """A tree that proves a row by splits of the wider input."""
    lower, upper = [l for l, _ in box], [u for _, u in box]
    if Bounds(operations, lower, upper).proves(output, row) > 0:
        return [-1]
    assert depth < 12
    k = max(range(len(box)), key=lambda k: upper[k] - lower[k])
    middle = 0.5 * (lower[k] + upper[k])
    halves = [[(middle, u) if i == k else (l, u) for i, (l, u) in enumerate(box)], [(l, middle) if i == k else (l, u) for i, (l, u) in enumerate(box)]]
    return [k] + [n for half in halves for n in halved(operations, output, half, row, depth + 1)]


class Properties(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layers, cls.box, sets = properties.example(0, 2, (8, 8))
        cls.sets = sets[:1]
        cls.content, text = properties.onnx(cls.layers), properties.vnnlib(cls.box, cls.sets, 3)
        operations, output = read_network(cls.content)
        tree = halved(operations, output, cls.box, read_property(text, 2, 3)[0][2][0][0])
        part = {"tree": properties.packed(tree, "i"), "rows": properties.packed([0] * tree.count(-1), "i"), "slopes": "", "multipliers": ""}
        cls.proof = properties.sealed_property({
            "format": "standoff-proof", "version": 1, "kind": "property", "property": text, "answer": "proven", "input": "",
            "cases": [{"split": "inputs", "inside": [], "sets": [part]}]}, cls.content)
        cls.tree = tree

    def code(self, change, content=None):
        proof = copy.deepcopy(self.proof)
        change(proof)
        return properties.verdict_of(properties.sealed_property(proof, content or self.content), content or self.content)

    def test_a_proof_is_accepted_and_says_what_was_not_checked(self):
        self.assertGreater(len(self.tree), 1)
        code, output = checked(self.proof, "--leaves", "1", model=self.content)
        self.assertEqual(code, 0, output)
        self.assertIn(f"1 of 1 leaves hold; {self.tree.count(-1) - 1} not checked", output)

    def test_a_tree_with_a_gap_is_rejected(self):
        for tree in (self.tree[:-1], [], [0, -1], self.tree + [-1], [9, -1, -1]):
            self.assertEqual(self.code(lambda p: p["cases"][0]["sets"][0].update(tree=properties.packed(tree, "i"))), 1)

    def test_a_tree_that_is_too_small_is_rejected(self):
        def cut(proof):
            proof["cases"][0]["sets"][0].update(tree=properties.packed([-1], "i"), rows=properties.packed([0], "i"))
        self.assertEqual(self.code(cut), 1)

    def test_a_case_or_a_set_that_is_missing_is_rejected(self):
        self.assertEqual(self.code(lambda p: p.update(cases=[])), 1)
        self.assertEqual(self.code(lambda p: p["cases"][0].update(sets=[])), 1)

    def test_a_false_claim_is_rejected(self):
        rows = [(c, d - 0.3) for c, d in self.sets[0]]
        self.assertEqual(self.code(lambda p: p.update(property=properties.vnnlib(self.box, [rows], 3))), 1)

    def test_another_network_is_rejected(self):
        other = properties.onnx([([[2 * w for w in row] for row in rows], b) for rows, b in self.layers])
        self.assertEqual(properties.verdict_of(self.proof, other), 1)
        self.assertEqual(self.code(lambda p: None, other), 1)

    def test_bounds_contain_every_value(self):
        operations, output = read_network(self.content)
        bounds = Bounds(operations, [l for l, _ in self.box], [u for _, u in self.box])
        for s in range(9):
            for t in range(9):
                x = [l + (u - l) * v / 8 for (l, u), v in zip(self.box, (s, t))]
                for low, high, y in zip(bounds.low[output], bounds.high[output], properties.outputs_of(self.layers, x)):
                    self.assertTrue(low / 2**100 <= y <= high / 2**100)

    def test_a_counter_example_is_confirmed_exactly(self):
        operations, output = read_network(self.content)
        rows = [(c, d - 0.3) for c, d in self.sets[0]]
        x = min(([l + (u - l) * s / 40, m + (v - m) * t / 40] for (l, u), (m, v) in [self.box] for s in range(41) for t in range(41)),
                key=lambda x: properties.worst(self.layers, rows, x))
        text = properties.vnnlib(self.box, [rows], 3)
        self.assertTrue(violated(operations, output, read_property(text, 2, 3), x))
        def answer(point):
            return lambda p: p.update(property=text, answer="falsified", cases=[], input=properties.packed(point, "d"))
        self.assertEqual(self.code(answer(x)), 0)
        self.assertEqual(self.code(answer([5.0, x[1]])), 1)
        self.assertEqual(self.code(answer(x[:1])), 1)
        self.assertEqual(self.code(lambda p: (answer(x)(p), p.update(property=self.proof["property"]))), 1)

    def test_a_property_is_read(self):
        text = "(declare-const X_0 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)(assert (>= X_0 0.25)) ; a comment\n(assert (<= X_0 1e0))" \
               "(assert (or (and (>= Y_0 Y_1) (<= Y_0 -2.5)) (and (<= (- Y_1) (* 2.0 Y_0)))))"
        ((lower, upper, sets),) = read_property(text, 1, 2)
        self.assertEqual((lower, upper), ([0.25], [1.0]))
        self.assertEqual(sets, [[([-1, 1], 0), ([1, 0], Fraction(5, 2))], [([-2, -1], 0)]])


if __name__ == "__main__":
    unittest.main()

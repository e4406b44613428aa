"""Proofs of games: every set accepted at E and rejected just below it; kinks; hostile files."""

import json
import math
import struct
import unittest

from writer import checked, game_proof, sealed


def toml(objective, x="", y="", more=""):
    return f"objective = '{objective}'\n[min.x]\n{x}\n[max.y]\n{y}\n{more}\n"


def below(v):
    return math.nextafter(v, -math.inf)


class Sets(unittest.TestCase):
    def tight(self, text, x, y, bound, **rest):
        """X = bound is accepted, the next smaller number is not."""
        code, output = checked(game_proof(text, x, y, (bound, 100.0), **rest))
        self.assertEqual(code, 0, output)
        code, output = checked(game_proof(text, x, y, (below(bound), 100.0), **rest))
        self.assertEqual(code, 1, output)
        self.assertIn("X is below E", output)

    def outside(self, text, x, **rest):
        code, output = checked(game_proof(text, x, [0.0], (1e9, 1e9), **rest))
        self.assertEqual(code, 1, output)
        self.assertIn("outside", output)

    def entry(self, key, numbers):
        return [{key: numbers}], [{"n": [0.0]}]

    def test_free_variables_have_the_norm_of_the_gradient(self):
        self.tight(toml("3*x[0] + 4*x[1] + y", "dim = 2"), [7.0, 8.0], [0.0], 5.0)
        self.tight(toml("3*x[0] + 4*x[1] + y", "dim = 2"), [7.0, 8.0], [0.0], 2.5, radius=0.5)
        code, output = checked(game_proof(toml("x + y"), [0.0], [0.0], (9.0, 9.0), ([{"n": [0.5]}], [{"n": [0.0]}])))
        self.assertEqual(code, 1, output)

    def test_the_other_player_is_bounded_likewise(self):
        for claim, code in [(5.0, 0), (below(5.0), 1)]:
            self.assertEqual(checked(game_proof(toml("x + 3*y[0] - 4*y[1]", "", "dim = 2"), [0.0], [0.0, 0.0], (1.0, claim)))[0], code)
        text = toml("x + 3*y", "", "lower = 0\nupper = 2")
        for claim, code in [(6.0, 0), (below(6.0), 1)]:
            self.assertEqual(checked(game_proof(text, [0.0], [0.0], (1.0, claim), ([{"n": [0.0]}], [{"n": [3.0]}])))[0], code)

    def test_boxes(self):
        text = toml("3*x[0] - 4*x[1] + y", "dim = 2\nlower = [0, -inf]\nupper = 1")
        self.tight(text, [0.0, 1.0], [0.0], 0.0, multipliers=self.entry("n", [-3.0, 4.0]))
        self.tight(text, [0.5, 0.75], [0.0], 2.5, multipliers=self.entry("n", [-3.0, 4.0]))
        code, _ = checked(game_proof(text, [0.5, 0.5], [0.0], (90.0, 90.0), self.entry("n", [0.0, -1.0])))
        self.assertEqual(code, 1, "no bound on that side")
        self.outside(text, [-1e-300, 0.0], multipliers=self.entry("n", [0.0, 0.0]))

    def test_balls(self):
        text = toml("-3*x[0] - 4*x[1] + y", "dim = 2\nset = { ball = { center = [1, 0], radius = 5 } }")
        self.tight(text, [4.0, 4.0], [0.0], 0.0, multipliers=self.entry("n", [3.0, 4.0]))
        self.tight(text, [1.0, 0.0], [0.0], 25.0, multipliers=self.entry("n", [3.0, 4.0]))
        self.outside(text, [4.0, 4.000000000000001], multipliers=self.entry("n", [3.0, 4.0]))

    def test_l1_balls(self):
        text = toml("-3*x[0] + 4*x[1] + y", "dim = 2\nset = { l1 = { radius = 2 } }")
        self.tight(text, [0.0, -2.0], [0.0], 0.0, multipliers=self.entry("n", [3.0, -4.0]))
        self.tight(text, [0.5, -1.5], [0.0], 0.5, multipliers=self.entry("n", [3.0, -4.0]))
        self.outside(text, [0.5, -1.5000000000000002], multipliers=self.entry("n", [0.0, 0.0]))

    def test_simplices(self):
        text = toml("3*x[0] + 4*x[1] + y", "dim = 2\nset = { simplex = { scale = 2 } }")
        self.tight(text, [2.0, 0.0], [0.0], 0.0, multipliers=self.entry("n", [-3.0, -4.0]))
        self.tight(text, [1.5, 0.5], [0.0], 0.5, multipliers=self.entry("n", [-3.0, -4.0]))
        self.outside(text, [2.1, -0.1], multipliers=self.entry("n", [0.0, 0.0]), outside=(10.0, 0.0))

    def test_the_distance_to_a_simplex_is_claimed_from_above(self):
        text = toml("x @ x + y", "dim = 2\nset = 'simplex'")
        far = 0.25 / math.sqrt(2)
        for claim, code in [(far + 1e-15, 0), (far - 1e-15, 1), (-1.0, 1)]:
            proof = game_proof(text, [0.5, 0.75], [0.0], (90.0, 90.0), outside=(claim, 0.0))
            self.assertEqual(checked(proof)[0], code, claim)
        for claim, code in [(0.5, 0), (below(0.5), 1)]:  # the nearest point is a corner
            self.assertEqual(checked(game_proof(text, [1.5, 0.0], [0.0], (90.0, 90.0), outside=(claim, 0.0)))[0], code, claim)

    def test_half_spaces(self):
        text = toml("-3*x[0] - 4*x[1] + y", "dim = 2\nset = { halfspace = { a = [3, 4], b = 8 } }")
        self.tight(text, [0.0, 2.0], [0.0], 0.0, multipliers=self.entry("l", [1.0]))
        self.tight(text, [0.0, 1.5], [0.0], 2.0, multipliers=self.entry("l", [1.0]))
        self.tight(text, [0.0, 1.5], [0.0], 3.5, multipliers=self.entry("l", [0.5]))
        self.assertEqual(checked(game_proof(text, [0.0, 0.0], [0.0], (90.0, 90.0), self.entry("l", [-1.0])))[0], 1)
        self.outside(text, [0.0, 2.0000000000000004], multipliers=self.entry("l", [0.0]))

    def test_affine_sets(self):
        text = toml("3*x[0] + 3*x[1] + y", "dim = 2\nset = { affine = { A = [[1, 1], [2, 2]], b = [1, 2] } }")
        self.tight(text, [0.25, 0.75], [0.0], 0.0, multipliers=self.entry("l", [-1.0, -1.0]))
        for claim, code in [(0.25 / math.sqrt(2) + 1e-15, 0), (0.25 / math.sqrt(2) - 1e-15, 1)]:
            proof = game_proof(text, [0.5, 0.75], [0.0], (90.0, 90.0), self.entry("l", [0.0, 0.0]), outside=(claim, 0.0))
            self.assertEqual(checked(proof)[0], code, claim)
        empty = toml("x[0] + y", "dim = 2\nset = { affine = { A = [[1, 1], [2, 2]], b = [1, 3] } }")
        self.assertEqual(checked(game_proof(empty, [0.5, 0.5], [0.0], (9.0, 9.0), self.entry("l", [0.0, 0.0]), outside=(9.0, 0.0)))[0], 1)

    def test_polyhedra(self):
        text = toml("-3*x[0] - 4*x[1] + y", "dim = 2\nset = { polyhedron = { A = 'G', b = 1 } }", more="[data]\nG = [[1, 0], [0, 1], [1, 1]]")
        self.tight(text, [0.0, 1.0], [0.0], 0.0, multipliers=self.entry("l", [0.0, 1.0, 3.0]))
        self.tight(text, [0.25, 0.5], [0.0], 1.25, multipliers=self.entry("l", [0.0, 1.0, 3.0]))
        self.assertEqual(checked(game_proof(text, [0.0, 0.0], [0.0], (90.0, 90.0), self.entry("l", [0.0, -1.0, 0.0])))[0], 1)
        self.outside(text, [0.0, 1.5], multipliers=self.entry("l", [0.0, 0.0, 0.0]))

    def test_several_variables_share_one_norm_and_add_their_suprema(self):
        text = "objective = '3*a + 4*b - 2*c - 8*d + y'\n[min.a]\n[min.b]\n[min.c]\nupper = 1\n[min.d]\nupper = 1\n[max.y]\n"
        given = ([{"n": [0.0]}, {"n": [0.0]}, {"n": [2.0]}, {"n": [8.0]}], [{"n": [None]}])
        self.tight(text, [0.0, 0.0, 0.5, 0.25], [0.0], 12.0, multipliers=given)

    def test_more_bits_are_used_where_they_are_needed(self):
        text = toml("log(softplus(-800*x)) + y")  # softplus is e^-800: 1 + e^-800 needs more than 1,154 bits
        for claim, code in [(800.000001, 0), (799.999999, 1)]:
            self.assertEqual(checked(game_proof(text, [1.0], [0.0], (claim, 1.0)))[0], code)

    def test_data_is_read_from_files(self):
        npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", 70) + b"{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }".ljust(70)
        npy += struct.pack("<4d", 3.0, 0.0, 4.0, 0.0)
        self.tight(toml("(A @ x)[0] + y", "dim = 2", more="[data]\nA = { file = 'A.npy' }"), [0.0, 0.0], [0.0], 5.0, files={"A.npy": npy})
        for content in (b"a,b\n3,4\n", b"# c\n3 4\n", b"\xef\xbb\xbf3;4", b"3\n4\n", b'"3"\t4'):
            self.tight(toml("a @ x + y", "dim = 2", more="[data]\na = 'a.csv'"), [0.0, 0.0], [0.0], 5.0, files={"a.csv": content})
        for content in (b"", b"3,x\n", b"3,4\n5\n", b"nan,1\n", b"3,,4"):
            proof = game_proof(toml("sum(a) * x + y", more="[data]\na = 'a.csv'"), [0.0], [0.0], (90.0, 90.0), files={"a.csv": content})
            self.assertEqual(checked(proof)[0], 2, content)


class Kinks(unittest.TestCase):
    def bound(self, objective, claims, slopes=((), ()), x=(0.0,), y=(0.0,), code=0):
        text = toml(objective, f"dim = {len(x)}" if len(x) > 1 else "", f"dim = {len(y)}" if len(y) > 1 else "")
        got, output = checked(game_proof(text, x, y, claims, slopes=slopes))
        self.assertEqual(got, code, output)

    def test_a_harmless_kink_takes_the_slope_of_the_file_or_the_default(self):
        self.bound("abs(x) + 0.5*x + y", (0.0, 1.0), (((0, 0, [-0.5]),), ()))
        self.bound("abs(x) + 0.5*x + y", (0.5, 1.0))
        self.bound("abs(x) + 0.5*x + y", (below(0.5), 1.0), code=1)
        self.bound("relu(x) - 0.25*x + y", (0.0, 1.0), (((0, 0, [0.25]),), ()))
        self.bound("x - abs(y) + 0.5*y", (1.0, 0.0), ((), ((0, 0, [0.5]),)))
        self.bound("norm(x) + 0.6*x[0] + 0.8*x[1] + y", (0.0, 1.0), (((0, 0, [-0.6, -0.75]),), ()), x=(0.0, 0.0), code=1)
        self.bound("norm(x) + 0.5*x[0] + 0.75*x[1] + y", (0.0, 1.0), (((0, 0, [-0.5, -0.75]),), ()), x=(0.0, 0.0))

    def test_ties_of_max_and_min_are_weighted(self):
        self.bound("max(x, -x) + y", (0.0, 1.0), (((0, 0, [0.5]),), ()))
        self.bound("max(x, -x) + y", (1.0, 1.0))
        self.bound("max(x, -x) + y", (below(1.0), 1.0), code=1)
        self.bound("x + min(y, -3*y)", (1.0, 0.0), ((), ((0, 0, [0.75]),)))
        self.bound("max(x) - (x[0] + x[1])/2 + y", (0.0, 1.0), (((0, 0, [0.5, 0.5, 0.0]),), ()), x=(1.0, 1.0, 0.0))
        self.bound("max(x) - (x[0] + x[1])/2 + y", (0.0, 1.0), (((0, 0, [0.25, 0.25, 0.0]),), ()), x=(1.0, 1.0, 0.0))
        self.bound("max(x) + y", (9.0, 1.0), (((0, 0, [0.5, 0.25, 0.25]),), ()), x=(1.0, 1.0, 0.0), code=1)

    def test_a_harmful_kink_covers_all_slopes(self):
        for slopes in ((), (((0, 0, [0.0]),), ())):
            slopes = slopes or ((), ())
            self.bound("0.5*x - abs(x) + y", (1.5, 1.0), slopes)
            self.bound("0.5*x - abs(x) + y", (below(1.5), 1.0), slopes, code=1)
        self.bound("x + abs(y)", (1.0, 1.0))
        self.bound("x + abs(y)", (1.0, below(1.0)), ((), ((0, 0, [0.0]),)), code=1)
        self.bound("x + relu(y) - 0.25*y", (1.0, 0.75))
        self.bound("x + relu(y) - 0.25*y", (1.0, below(0.75)), ((), ((0, 0, [0.25]),)), code=1)
        self.bound("min(x, -x) + y", (2.0, 1.0))
        self.bound("min(x, -x) + y", (0.5, 1.0), (((0, 0, [0.5]),), ()), code=1)
        self.bound("x + norm(y)", (1.0, 0.5), ((), ((0, 0, [0.0, 0.0]),)), y=(0.0, 0.0), code=1)

    def test_one_kink_may_be_harmless_for_one_player_only(self):
        self.bound("abs(x - y)", (0.0, 1.0))
        self.bound("abs(x - y)", (0.0, below(1.0)), code=1)

    def test_the_sign_of_the_adjoint_decides(self):
        self.bound("-2*min(x, -x) + y", (0.0, 1.0), (((0, 0, [0.5]),), ()))
        self.bound("exp(abs(x)) + y", (0.0, 1.0))
        self.bound("exp(-abs(x)) + y", (0.5, 1.0), code=1)

    def test_an_argument_that_is_not_known_exactly_covers_all_slopes(self):
        self.bound("abs(sin(x)^2 + cos(x)^2 - 1) + x + y", (2.2, 1.0), x=(0.3,), code=0)
        self.bound("abs(sin(x)^2 + cos(x)^2 - 1 + 0*x) + x + y", (0.9, 1.0), x=(0.3,), code=1)

    def test_the_next_kink_after_a_choice_sees_the_slopes_chosen_so_far(self):
        # d/dx of relu(abs(x) * -1 + 0): the outer slope 1 makes the inner kink harmful, the outer slope 0 makes it harmless.
        self.bound("relu(-abs(x)) + 0.5*x + y", (0.5, 1.0), (((1, 0, [0.0]),), ()))
        self.bound("relu(-abs(x)) + 0.5*x + y", (1.4, 1.0), (((1, 0, [1.0]),), ()), code=1)
        self.bound("relu(-abs(x)) + 0.5*x + y", (1.5, 1.0), (((1, 0, [1.0]),), ()))

    def test_slopes_outside_the_hull_are_rejected(self):
        for objective, slope in [("abs(x)+y", [1.5]), ("relu(x)+y", [-0.1]), ("max(x, -x)+y", [1.1]), ("abs(x)+y", []), ("abs(x)+y", [0.0, 0.0])]:
            self.bound(objective, (9.0, 9.0), (((0, 0, slope),), ()), code=1)
        for place in ((1, 0), (0, 1)):
            self.bound("abs(x) + y", (9.0, 9.0), (((*place, [0.0]),), ()), code=1)
        self.bound("abs(x) + y", (9.0, 9.0), (((0, 0, [0.0]), (0, 0, [0.5])), ()), code=1)
        self.bound("max(x) + y", (9.0, 9.0), (((0, 0, [0.0, 0.0]),), ()), x=(0.0, 0.0), code=1)
        self.bound("norm(x) + y", (9.0, 9.0), (((0, 0, [0.75, 0.75]),), ()), x=(0.0, 0.0), code=1)
        self.bound("norm(x) + y", (9.0, 9.0), (((0, 0, [0.5, 0.75]),), ()), x=(0.0, 0.0))


GOOD = game_proof(toml("x^2/2 + x*y - y^2", "lower = -1\nupper = 1"), [0.5], [0.25], (0.76, 0.5), ([{"n": [-0.0]}], [{"n": [0.0]}]))


class Hostile(unittest.TestCase):
    def changed(self, code, **changes):
        """Changes by path, as in point__x=[...], with new digests."""
        proof = json.loads(json.dumps(GOOD))
        for path, value in changes.items():
            *way, last = path.split("__")
            part = proof
            for step in way:
                part = part[step]
            part[last] = value
        try:
            proof = sealed(proof)
        except Exception:  # a proof that cannot be sealed stays unchanged
            pass
        got, output = checked(proof)
        self.assertEqual(got, code, (changes, output))
        self.assertNotIn("Traceback", output)

    def test_the_example_is_accepted(self):
        self.assertEqual(checked(GOOD)[0], 0)

    def test_every_truncated_file_is_unreadable(self):
        text = json.dumps(GOOD).encode()
        for end in range(0, len(text) - 1, 37):
            self.assertEqual(checked(text[:end])[0], 2)

    def test_deep_nesting_and_bytes_that_are_no_text_are_unreadable(self):
        for content in (b"[" * 10**6, b'{"a":' * 10**5, b"\xff\xfe\x00", b"", b"null", b"3", b'"x"', b"[]", b"{}"):
            self.assertEqual(checked(content)[0], 2, content[:20])

    def test_stale_digests_are_rejected(self):
        for part, path, value in [("game", ("game", "toml"), GOOD["game"]["toml"] + " "), ("point", ("point", "x"), [0.25]),
                                  ("multipliers", ("multipliers", "x"), [{"n": [0.125]}]), ("claim", ("claim", "X"), 5.0), ("claim", ("radius",), 0.5)]:
            proof = json.loads(json.dumps(GOOD))
            target = proof
            for step in path[:-1]:
                target = target[step]
            target[path[-1]] = value
            code, output = checked(proof)
            self.assertEqual(code, 1)
            self.assertIn(f"digest of the {part}", output)

    def test_numbers_that_are_not_finite_are_unreadable(self):
        for value in (math.nan, math.inf, -math.inf, True, "1", None, [1.0], 10**400):
            for path in ("radius", "claim__X", "claim__outside__y"):
                self.changed(2, **{path: value})
            self.changed(2, point__x=[value])
            if value is not None:
                self.changed(2, multipliers__x=[{"n": [value]}])

    def test_wrong_lengths_are_rejected(self):
        self.changed(1, point__x=[0.5, 0.5])
        self.changed(1, point__y=[])
        self.changed(1, multipliers__x=[])
        self.changed(1, multipliers__x=[{"n": [0.0, 0.0]}])
        self.changed(1, multipliers__x=[{"l": [0.0]}])
        self.changed(2, multipliers__x=[{"n": [0.0], "l": []}])
        self.changed(2, multipliers__x=[[0.0]])
        self.changed(1, multipliers__y=[{"n": [0.0]}, {"n": [0.0]}])

    def test_unknown_versions_and_fields_are_unreadable(self):
        self.changed(2, program="standoff 0.1.0")
        self.changed(2, version=2)
        self.changed(2, version=1.5)
        self.changed(2, version=True)
        self.changed(2, format="other")
        self.changed(2, kind="other")
        self.changed(2, more=1)
        self.changed(2, claim__Z=1.0)
        self.changed(2, slopes__z=[])
        for field in list(GOOD):
            proof = {key: value for key, value in GOOD.items() if key != field}
            self.assertEqual(checked(proof)[0], 2, field)
        self.assertEqual(checked(json.dumps(GOOD).replace('"radius"', '"radius": 9.0, "radius"', 1).encode())[0], 2)

    def test_games_that_cannot_be_read_are_unreadable(self):
        nested = "(" * 10**6
        for text in ["", "objective = ", "objective = 'x'", toml("x*z"), toml(nested), toml("x*y", "dim = 1000000000"), toml("x*y", "set = 'other'"),
                     toml("x*y", "lower = nan"), toml("x*y", "other = 1"), toml("x*y") + "[other]\na = 1", toml("x*y", more="[data]\nx = 1"),
                     toml("x*y*sin", more="[data]\nsin = 1"), toml("sum(A)*x*y", more="[data]\nA = 'A.npy'"), toml("sum(A)*x", more="[data]\nA = [[1], [2, 3]]"),
                     "a = " + "[" * 10**5, toml("sum(D @ D.T)*x*y", more=f"[data]\nD = [{'[1],' * 20000}]"), toml("D*x*y", more="[data]\nD = inf"),
                     toml("x^" * 20000 + "x + y"), toml("x*y", "set = { ball = {} }"), toml("x*y", "set = { ball = { radius = inf } }")]:
            self.changed(2, game__toml=text)

    def test_a_point_outside_the_domain_or_the_set_is_rejected(self):
        self.changed(1, game__toml=toml("log(x - 1) + y"))
        self.changed(1, game__toml=toml("exp(exp(exp(exp(exp(x + 9))))) + y"))
        self.changed(1, point__x=[1.5])
        self.changed(1, radius=-1.0)

    def test_the_command_line_needs_a_file_that_exists(self):
        import check_proof
        with self.assertRaises(SystemExit) as stopped:
            with open("/dev/null", "w") as nowhere:
                import contextlib
                with contextlib.redirect_stderr(nowhere):
                    check_proof.main([])
        self.assertEqual(stopped.exception.code, 2)


if __name__ == "__main__":
    unittest.main()

"""The meaning of expressions, and their derivatives."""

import unittest
from fractions import Fraction

import writer  # noqa: F401
from proofcheck.enclosure import Rejected, Undecided, Unreadable
from proofcheck.game import Game

AROUND = """
objective = '''{}'''
[min.s]
[min.u]
dim = 3
[max.t]
[max.v]
dim = 3
[data]
c = [1, -1, 0.5]
A = [[1, 2, 3], [4, 5, 6]]
B = [[1, 0, 0], [-1, 9, 0], [0.5, 0, 0]]
k = 2
"""
POINT = {"s": [0.5], "u": [1.0, 2.0, 3.0], "t": [-2.0], "v": [0.25, 0.5, -1.0]}


def middle(x):
    return Fraction(x.lo + x.hi, 2) * Fraction(2) ** x.e


def evaluated(objective):
    game = Game(AROUND.format(objective), {})
    game.evaluation.run(POINT)
    return game.evaluation


def value(objective):
    evaluation = evaluated(objective)
    return middle(evaluation.values[evaluation.result][0])


def gradient(objective, player):
    return {name: [middle(v) for v in part] for name, part in evaluated(objective).gradient(player, {}).items()}


class Language(unittest.TestCase):
    def means(self, objective, expected):
        self.assertAlmostEqual(float(value(objective)), expected, 13, objective)

    def test_precedence_is_that_of_python(self):
        for text, expected in [("-2^2", -4), ("2^-1", 0.5), ("2^3^2", 512), ("2**3**2", 512), ("(-2)^2", 4), ("(-2)^3", -8), ("7-2-1", 4),
                               ("8/4/2", 1), ("8/4*2", 4), ("1 + 2*3^2", 19), ("--1 + +1 - -1", 3), ("2 * -3", -6), ("2*u @ c", 1),
                               ("-u @ c", -0.5), ("1e-3 + .5 + 5.", 5.501), ("-2^-2", -0.25), ("2*s^2", 0.5)]:
            self.means(text, expected)

    def test_functions_have_their_values(self):
        self.means("log(e) + sin(pi/2) + cos(0) + tan(0) + exp(0) + sqrt(4) + abs(-3)", 9)
        self.means("sigmoid(0) + tanh(0) + relu(-1) + relu(2) + square(3) + atan(0) + sinh(0) + cosh(0)", 12.5)
        self.means("softplus(0) - log(2) + log1p(0) + expm1(0)", 0)
        self.means("sum(u) + mean(u) + dot(u, c)", 6 + 2 + 0.5)
        self.means("max(u) + min(u) + max(1, 5, 3) + min(4, 2) + max(s)", 11.5)
        self.means("sum(max(u, 2)) + sum(min(u, 2))", 12)
        self.means("logsumexp(0*u) - log(3)", 0)
        self.means("sum(A) + mean(A) + max(A) + norm(-3)", 33.5)
        self.means("norm(A[0, 0:2]*0 + 1)", 2**0.5)

    def test_products_and_entries_follow_the_shapes(self):
        self.means("sum(A @ u) + (A @ u)[1]", 14 + 32 + 32)
        self.means("u @ B @ v", 0.25 * (1 - 2 + 1.5) + 0.5 * 18)
        self.means("(A @ A.T)[0, 1] + (transpose(A) @ A)[2, 0] + A.T[2, 1]", 32 + 27 + 6)
        self.means("u[0] + 10*u[-1] + 100*u[1]", 231)
        self.means("sum(A[1]) + sum(A[:, 1]) + sum(u[1:]) + sum(u[:-1]) + sum(A[0:1, 1:] * 10)", 15 + 7 + 5 + 3 + 50)

    def test_mistakes_are_refused(self):
        for text in ["", "s +", "(s", "s)", "u", "A", "u + A", "A @ s", "ww", "sin", "sin(s, t)", "max()", "u[3]", "u[-4]", "u[s]", "u[0.5]", "u[]",
                     "s[0]", "u[0, 0]", "u[::2]", "sum(u[2:1])", "sum(u[0:9])", "A.X", "2 s", "s ? t", "1e999", "(" * 257 + "s" + ")" * 257, "dot(u)"]:
            with self.assertRaises(Unreadable, msg=text):
                value(text)
        self.means("(" * 256 + "s" + ")" * 256, 0.5)

    def test_equal_parts_are_one_kink_and_only_needed_ones_count(self):
        for text, kinks in [("abs(s) + abs(s)", 1), ("abs(s) + abs(t)", 2), ("abs(-3)*s", 0), ("max(s, t, 0)", 2), ("norm(u) + max(u) + relu(s)", 3),
                            ("max(-s, -t) + min(s, t)", 2), ("min(s, t, 0) + min(u)", 3), ("tanh(abs(s)) + sigmoid(abs(s))", 1)]:
            self.assertEqual(len(evaluated(text).kinks), kinks, text)

    def test_points_outside_the_domain_are_rejected(self):
        for text in ["log(t)", "sqrt(t)", "t^0.5", "1/(s - 0.5)", "(s-0.5)^-1", "(s-0.5)^0.5", "t^s", "sqrt(s - 0.5)^2"]:
            with self.assertRaises(Rejected, msg=text):
                value(text)


class Derivatives(unittest.TestCase):
    def test_polynomials_have_exact_gradients(self):
        self.assertEqual(gradient("s^3/4 - s + 2*s*t - t^2", 1)["s"], [Fraction(3, 16) - 1 - 4])
        self.assertEqual(gradient("s^3/4 - s + 2*s*t - t^2", 2)["t"], [1 + 4])
        self.assertEqual(gradient("u @ B @ v", 1)["u"], [Fraction(1, 4), Fraction(17, 4), Fraction(1, 8)])
        self.assertEqual(gradient("sum(A @ u * (A @ v))", 2)["v"], [14 + 128, 28 + 160, 42 + 192])
        self.assertEqual(gradient("sum((A.T @ A)[1:, 0] * u[1:]) + u[0]*s", 1)["u"], [Fraction(1, 2), 22, 27])
        self.assertEqual(gradient("t^-2 + (t-t)^1 + (t+2)^0 + square(t)", 2)["t"], [Fraction(1, 4) - 4])
        self.assertEqual(gradient("s*sum(u) + mean(s*u) - s/4", 1)["s"], [Fraction(31, 4)])

    def test_smooth_functions_agree_with_differences(self):
        texts = ["sin(s)*cos(s)", "tan(s)", "exp(s*t)", "log(s + 1)", "sqrt(s)", "tanh(3*s)", "sigmoid(2*s)", "softplus(s*t)", "log1p(s)", "expm1(s)",
                 "sinh(s)", "cosh(2*s)", "atan(s*3)", "s^0.3", "2^s", "(s+1)^(s*2)", "norm(s*u)", "logsumexp(s*u)", "1/(1+s^2)", "s^7", "max(s*u)",
                 "relu(s)", "abs(s*t)", "sum(max(s*u, 1.2))", "min(s*v)", "dot(s*u, s*v)", "(s*u) @ B @ (s^2*v)", "s^-3", "mean(s^k)"]
        for text in texts:
            (slope,) = gradient(text, 1)["s"]
            step = 2.0**-30
            sides = []
            for moved in (0.5 + step, 0.5 - step):
                game = Game(AROUND.format(text), {})
                game.evaluation.run(POINT | {"s": [moved]})
                sides.append(middle(game.evaluation.values[game.evaluation.result][0]))
            difference = (sides[0] - sides[1]) / Fraction(2 * step)
            self.assertLess(abs(slope - difference), (1 + abs(slope)) * Fraction(1, 10**13), text)

    def test_derivatives_keep_their_digits_where_functions_are_flat(self):
        for text, logarithm in [("sigmoid(1e11*s)", -5e10), ("tanh(1e8*s)", -1e8), ("softplus(-1e9*s)", -5e8)]:
            evaluation = evaluated(text)
            (slope,) = evaluation.gradient(1, {})["s"]
            self.assertTrue(slope.lo > 0 or slope.hi < 0, text)
            self.assertLess(slope.hi - slope.lo, abs(slope.hi) >> 150, text)
            self.assertAlmostEqual(slope.top() * 0.6931471805599453 / logarithm, 1, 6, text)

    def test_an_exponent_is_whole_only_when_it_is_exactly_whole(self):
        self.assertEqual(gradient("t^(2 + 1)", 2)["t"], [12])
        self.assertEqual(gradient("t^sqrt(4)", 2)["t"], [-4])
        for text in ["t^3.0000000000000004", "t^(0.1 + 0.2 + 0.7)", "t^log(e)", "t^(k*s*4)"]:
            with self.assertRaises(Undecided, msg=text):
                value(text)


if __name__ == "__main__":
    unittest.main()

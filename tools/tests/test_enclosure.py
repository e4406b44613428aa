"""The elementary functions against digits computed with another program, and the arithmetic of enclosures."""

import random
import unittest
from fractions import Fraction

import writer  # noqa: F401  (puts tools/ on the path)
from proofcheck import enclosure as num
from proofcheck.expression import Evaluation, Graph, Parser

# function, argument (a float, taken exactly), 60 digits of the value
DIGITS = [
    ("exp", 1.0, "2.71828182845904523536028747135266249775724709369995957496697"),
    ("exp", -0.1, "0.904837418035959568141392384216935595309064653757377126020805"),
    ("exp", 700.5, "1.67218596206749855724103607930212031114494226137130413524964e+304"),
    ("exp", -700.5, "5.98019611863979120641210733049510004798077289264143028991014e-305"),
    ("exp", 1e-200, "1.0"),
    ("log", 2.0, "0.69314718055994530941723212145817656807550013436025525412068"),
    ("log", 0.1, "-2.3025850929940456285068402234265387271634735938763827768352"),
    ("log", 1.0000000000000002, "0.000000000000000222044604925031283432823045461548792598233180790111470255693"),
    ("log", 0.9999999999999999, "-0.000000000000000111022302462515660205338988848237217180973272006529009577799"),
    ("log", 1e+300, "690.775527898213705257902196660513681150659990441493231550394"),
    ("log", 5e-324, "-744.44007192138126231410729844608163411308714430291414292561"),
    ("sin", 1.0, "0.841470984807896506652502321630298999622563060798371065672752"),
    ("sin", 1e+22, "-0.852200849767188801772705893753029368261762150410043656256509"),
    ("sin", 3.141592653589793, "0.000000000000000122464679914735317722606593227499799708305390129979194948826"),
    ("sin", -1e-200, "-9.99999999999999982100262399082759596054411789289747099615054e-201"),
    ("sin", -2.5, "-0.598472144103956494051854702186162271703597171577223573302627"),
    ("cos", 1.0, "0.540302305868139717400936607442976603732310420617922227670097"),
    ("cos", 1e+22, "0.523214785395138945497594473384709492140919972439387953527211"),
    ("cos", 1.5707963267948966, "0.0000000000000000612323399573676588613032966137500146464037779883628305209605"),
    ("cos", -2.5, "-0.801143615546933714833502790467351664428567848767820135074598"),
    ("tan", 1.0, "1.55740772465490223050697480745836017308725077238152003838395"),
    ("tan", 1.5707963267948966, "16331239353195369.7559677370415289165308640681049103028975845"),
    ("sqrt", 2.0, "1.41421356237309504880168872420969807856967187537694807317668"),
    ("sqrt", 1e-300, "1.00000000000000001252954591760437976435331295317356317150956e-150"),
    ("tanh", 0.5, "0.462117157260009758502318483643672548730289280330113038552732"),
    ("tanh", -20.0, "-0.999999999999999991503291489416822045438558191190987257130475"),
    ("tanh", 1e-200, "9.99999999999999982100262399082759596054411789289747099615054e-201"),
    ("tanh", 3e-20, "3.00000000000000028684964507838711801518244140170451762343256e-20"),
    ("sigmoid", 0.3, "0.574442516811658984438038803234060322939637481720167022750864"),
    ("sigmoid", -700.0, "9.85967654375977085670537294784946510511560018140094171058647e-305"),
    ("sigmoid", 40.0, "0.999999999999999995751645744708411022719279095595493628565237"),
    ("softplus", 0.5, "0.974076984180106680872997355081170749755596194667862841200815"),
    ("softplus", -800.0, "3.66787458417768721345549565426079821546963422661264070506915e-348"),
    ("softplus", 50.0, "50.0000000000000000000001928749847963917783017156812728211533"),
    ("log1p", 1e-300, "1.00000000000000002505909183520875968569614680770370524992534e-300"),
    ("log1p", 0.5, "0.405465108108164381978013115464349136571990423462494197614014"),
    ("log1p", -0.9, "-2.30258509299404590606259637971569694423072326341540380730184"),
    ("expm1", 1e-300, "1.00000000000000002505909183520875968569614680770370524992534e-300"),
    ("expm1", 0.5, "0.648721270700128146848650787814163571653776100710148011575079"),
    ("expm1", -3.0, "-0.950212931632136057020657584349938223368300407811576784432372"),
    ("sinh", 1e-20, "9.9999999999999994515327145420957165172952036945405911377164e-21"),
    ("sinh", 2.0, "3.62686040784701876766821398280126170488634201232113572130948"),
    ("sinh", -3.0, "-10.0178749274099018989745936194658280601781041231828634644057"),
    ("cosh", 2.0, "3.76219569108363145956221347777374610829397355823071160277764"),
    ("cosh", -0.25, "1.03141309987957317615929541752037855281652657785380228172941"),
    ("atan", 0.5, "0.463647609000806116214256231461214402028537054286120263810933"),
    ("atan", -3.0, "-1.24904577239825442582991707728109012307782940412989671905467"),
    ("atan", 1e+300, "1.57079632679489661923132169163975144209858469968755291048747"),
    ("atan", 1e-30, "1.00000000000000008333642060758598535093133602686865450236451e-30"),
    ("atan", 1.5, "0.982793723247329067985710611014666014496877453631628556761425"),
    ("sech_squared", 30.0, "3.50260430507860813539549305895448182484684593323903736591818e-26"),
]


def function(name):
    """A function of enclosures; those that the checker writes in terms of others are evaluated as expressions."""
    if hasattr(num, name):
        return getattr(num, name)

    def evaluated(x):
        graph = Graph()
        text = "1/cosh(x)^2" if name == "sech_squared" else f"{name}(x)"
        evaluation = Evaluation(graph, Parser(text, graph, {"x": graph.add("variable", (), "x")}).whole())
        for i in evaluation.order:
            node = graph.nodes[i]
            numbers = [x] if node.op == "variable" else [num.exact(v) for v in graph.constants[node.extra]] if node.op == "constant" else None
            evaluation.values[i] = numbers or evaluation.value(node, [evaluation.values[a] for a in node.args])
        return evaluation.values[evaluation.result][0]

    return evaluated


def ends(x):
    return x.lo * Fraction(2) ** x.e, x.hi * Fraction(2) ** x.e


class Functions(unittest.TestCase):
    def setUp(self):
        num.Enclosure.bits = 2500  # enough for 1 + e^-800

    def tearDown(self):
        num.Enclosure.bits = 256

    def test_every_function_has_its_known_digits(self):
        for name, argument, digits in DIGITS:
            with self.subTest(name=name, argument=argument):
                found = function(name)(num.exact(argument))
                mantissa, _, exponent = digits.partition("e")
                value = Fraction(mantissa) * Fraction(10) ** int(exponent or 0)
                low, high = ends(found)
                slack = abs(value) * Fraction(1, 10**59)
                self.assertTrue(low <= value + slack and value - slack <= high, f"{name}({argument})")
                self.assertLess(high - low, abs(value) * Fraction(1, 2**180), f"{name}({argument}) is not sharp")

    def test_exponents_far_outside_those_of_floats_are_kept(self):
        low, high = ends(num.log(num.exp(num.exact(-1e11))))
        self.assertTrue(low <= -(10**11) <= high and high - low < Fraction(1, 2**200))
        low, high = ends(num.log(function("sigmoid")(num.exact(-1e11))))
        self.assertTrue(low <= -(10**11) <= high and high - low < Fraction(1, 2**200))

    def test_more_bits_give_enclosures_inside_those_of_fewer_bits(self):
        random.seed(7)
        names = ["exp", "sin", "cos", "tanh", "sigmoid", "softplus", "expm1", "sinh", "cosh", "atan", "log1p", "sqrt", "log"]
        for _ in range(300):
            name, argument = random.choice(names), num.exact(10 ** random.uniform(-12, 2))
            num.Enclosure.bits = 300
            low, high = ends(function(name)(argument))
            num.Enclosure.bits = 64
            wide_low, wide_high = ends(function(name)(argument))
            self.assertTrue(wide_low <= low <= high <= wide_high, name)

    def test_special_values_are_exact(self):
        for name, argument, value in [("exp", 0, 1), ("log", 1, 0), ("sin", 0, 0), ("cos", 0, 1), ("tanh", 0, 0), ("sqrt", 2.25, 1.5),
                                      ("expm1", 0, 0), ("log1p", 0, 0), ("atan", 0, 0), ("sigmoid", 0, 0.5), ("cosh", 0, 1), ("sinh", 0, 0)]:
            self.assertEqual(ends(function(name)(num.exact(argument))), (Fraction(value), Fraction(value)), name)

    def test_an_interval_contains_the_values_of_its_points(self):
        for name in ["exp", "tanh", "sigmoid", "atan", "sinh", "sin", "cos", "cosh"]:
            wide = num.hull(num.exact(-0.25), num.exact(0.5))
            low, high = ends(function(name)(wide))
            for point in (-0.25, -0.1, 0.0, 0.3, 0.5):
                a, b = ends(function(name)(num.exact(point)))
                self.assertTrue(low <= a and b <= high, name)

    def test_log_and_sqrt_outside_their_domain_are_refused(self):
        for name, argument in [("log", 0), ("log", -1), ("sqrt", -1), ("log1p", -1)]:
            with self.assertRaises(num.Rejected):
                function(name)(num.exact(argument))


class Arithmetic(unittest.TestCase):
    def setUp(self):
        num.Enclosure.bits = 64

    def test_operations_enclose_exact_results(self):
        random.seed(3)
        for _ in range(2000):
            (a, b), (c, d) = (sorted(random.uniform(-1, 1) * 10 ** random.randint(-30, 30) for _ in range(2)) for _ in range(2))
            x, y = num.hull(num.exact(a), num.exact(b)), num.hull(num.exact(c), num.exact(d))
            p, q = Fraction(random.choice([a, b])), Fraction(random.choice([c, d]))
            results = [(x + y, p + q), (x - y, p - q), (x * y, p * q), (num.power(x, 2), p**2), (num.power(x, 3), p**3)]
            if c > 1e-10 * d > 0 or d < 1e-10 * c < 0:
                results.append((x / y, p / q))
            for found, value in results:
                low, high = ends(found)
                self.assertTrue(low <= value <= high)

    def test_exact_numbers_stay_exact(self):
        third = num.exact(1.0) / num.exact(3.0)
        self.assertLess(third.lo, third.hi)
        self.assertEqual(ends(num.exact(0.1) * num.exact(0.3) - num.exact(0.1) * num.exact(0.3)), (0, 0))
        self.assertEqual(ends(num.exact(3.0) / num.exact(8.0)), (Fraction(3, 8), Fraction(3, 8)))
        self.assertEqual((num.exact(1e300) + num.exact(1e-300) - num.exact(1e300)).lo, num.exact(1e-300).lo)

    def test_far_apart_numbers_do_not_fill_the_memory(self):
        tiny = num.exp(num.exact(-1e30))
        low, high = ends(num.exact(1.0) + tiny)
        self.assertTrue(low <= 1 < high < 1 + Fraction(1, 2**60))

    def test_division_by_an_interval_around_zero_is_refused(self):
        with self.assertRaises(num.Rejected):
            num.ONE / num.SIGNED_UNIT
        with self.assertRaises(num.Rejected):
            num.ONE / num.ZERO

    def test_whole_numbers_are_recognised(self):
        self.assertEqual([num.exact(v).whole() for v in (0.0, 3.0, -4.0, 0.5, 1e300)], [0, 3, -4, None, int(1e300)])


if __name__ == "__main__":
    unittest.main()

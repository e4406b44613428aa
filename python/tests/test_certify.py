"""Certificates and verdicts of any point: nothing false is certified, and results name the kind of their proof."""

import math

import numpy as np
import pytest

import standoff as so

BOX = so.Box(-1, 1)
PRODUCT = dict(grad_x=lambda x, y: y, grad_y=lambda x, y: x)


def product(x, y):
    return float(x[0] * y[0])


def formula(objective, x="lower = -2\nupper = 2", start=0.0, data=""):
    start = f"start = {start}" if start is not None else ""
    return so.Game.from_toml(f'objective = "{objective}"\n{data}\n[min.x]\n{x}\n{start}\n[max.y]\nlower = -1\nupper = 1\nstart = 0.0\n')


# Games that look solved when they are computed in float64, and a lower bound of the true X at the point.
FALSE_FRIENDS = {
    "cancellation": (lambda: formula("sum(c)*x - y^2", data="[data]\nc = [1e17, 1, -1e17]"), [0.0], 1.0),
    "sigmoid": (lambda: formula("1e3*sigmoid(1e11*x) - y^2", start=3.8e-10), [3.8e-10], 3.1e-3),
    "tanh": (lambda: formula("1e15*tanh(20 + x) - y^2"), [0.0], 1.6e-2),
    "kink": (lambda: formula("-abs(x) - y^2"), [0.0], 1.0),
    "huge-simplex": (
        lambda: formula("1e-290*(2*x[0] + x[1] - x[2]) - y^2", "dim = 3\nset = { simplex = { scale = 6e307 } }", None),
        [0.0, 6e307, 0.0],
        1e-290,
    ),
}


@pytest.mark.parametrize("name", FALSE_FRIENDS)
def test_no_bound_is_below_the_truth_and_the_point_is_refused(name):
    make, x, truth = FALSE_FRIENDS[name]
    game = make()
    r = game.certify(x, [0.0])
    assert not r.gap.x_upper < truth
    verdict = game.verify(x, [0.0], eps=0.5 * truth)
    assert not verdict.verified and verdict.reasons


@pytest.mark.parametrize("name", FALSE_FRIENDS)
def test_a_run_does_not_converge_with_a_bound_below_the_truth(name):
    make, x, truth = FALSE_FRIENDS[name]
    game = make()
    r = game.solve(x, [0.0], eps=0.5 * truth, max_grads=10_000)
    if r.success:  # it moved away from the point
        assert r.proof == "rigorous" and game.verify(r.x, r.y, eps=0.5 * truth).verified
        assert list(r.x) != x
    else:
        assert r.status in {"rounding-limit", "at-kink", "not-inside", "stalled", "oracle-limit", "non-finite"}


def test_a_run_that_starts_at_a_kink_of_the_wrong_kind_says_so():
    r = formula("-abs(x) - y^2").solve([0.0], [0.0], eps=1e-3)
    assert r.status == "at-kink" and not r.success and "kink" in r.message
    assert formula("-abs(x) - y^2").verify([0.0], [0.0], eps=1e-3).at_kink


def test_a_run_ends_where_rounding_hides_the_gap():
    r = formula("1e15*tanh(20 + x) - y^2", "lower = -1e-3\nupper = 1e-3").solve(eps=1e-9)
    assert r.proof == "rigorous"
    assert r.success or r.status == "rounding-limit"


def test_a_point_a_little_outside_a_small_set_is_outside():
    game = formula("x + x^2 - y^2", "lower = 0\nupper = 1e-9")
    with pytest.warns(UserWarning, match="outside"):
        r = game.certify([9e-9], [0.0])
    assert math.isnan(r.gap.x_upper) and r.outside[0] == pytest.approx(8e-9) and r.gap.outside == r.outside
    assert not game.verify([9e-9], [0.0], eps=10.0).verified
    small = so.Box(0, 1e-9)
    functions = dict(grad_x=lambda x, y: 1 + 2 * x, grad_y=lambda x, y: -2 * y)
    verdict = so.verify(lambda x, y: float(x[0] + x[0] ** 2 - y[0] ** 2), [9e-9], [0.0], small, BOX, **functions, eps=10.0)
    assert not verdict.verified and "outside" in verdict.reasons[0]


def test_a_formula_is_proven_and_functions_are_taken_as_computed():
    game = formula("x*y")
    proven = game.certify([0.25], [0.0])
    assert proven.proof == proven.gap.proof == "rigorous" and proven.gap.y_upper == pytest.approx(0.25)
    assert game.solve(eps=1e-6).proof == "rigorous"
    r = so.certify(product, [0.25], [0.0], BOX, BOX, **PRODUCT)
    assert r.proof == r.gap.proof == "as-computed" and r.outside == (0.0, 0.0) and r.warnings == []
    assert so.solve(product, [0.25], [0.5], BOX, BOX, **PRODUCT).proof == "as-computed"
    assert so.zoo["kink"].certify([0.5], [0.75 * math.sin(1.5)]).proof == "as-computed"


def test_an_old_constructor_call_still_makes_a_certificate():
    c = so.Certificate(0.0, 1e-4, 0.0, 2e-4, 1.0)
    assert c.proof == "as-computed" and all(math.isnan(v) for v in c.outside) and c.proves(1e-3)


def test_gap_is_certify():
    ours, theirs = (named(product, [0.25], [-0.5], BOX, BOX, **PRODUCT) for named in (so.gap, so.certify))
    assert ours == theirs


@pytest.mark.parametrize("kind", ["functions", "formula", "zoo"])
def test_every_kind_of_game_is_verified_and_refused(kind):
    made = {
        "functions": (so.solve(product, [0.25], [0.5], BOX, BOX, **PRODUCT, eps=1e-6), (product, BOX, BOX), PRODUCT),
        "formula": (formula("x*y").solve(eps=1e-6), (formula("x*y"),), {}),
        "zoo": (so.zoo["bilinear"].solve(eps=1e-6), (so.zoo["bilinear"],), {}),
    }
    r, (f, *sets), gradients = made[kind]
    good = so.verify(f, r.x, r.y, *sets, **gradients, eps=1e-6, fun=r.fun, gap=r.gap)
    assert good.verified and good.reasons == [] and good.proof == r.proof
    bad = so.verify(f, [0.5], [0.5], *sets, **gradients, eps=1e-6)
    assert not bad.verified and any(reason.startswith("X is") for reason in bad.reasons)
    wrong_value = so.verify(f, r.x, r.y, *sets, **gradients, eps=1e-6, fun=r.fun + 1)
    assert not wrong_value.verified and "value" in wrong_value.reasons[0]


def test_verify_compares_the_gradients_with_differences():
    r = so.verify(product, [0.0], [0.0], BOX, BOX, grad_x=lambda x, y: 2 * y + 0.5 * (x == 0), grad_y=lambda x, y: x, eps=1.0)
    assert not r.verified and "central differences" in r.reasons[-1] and r.disagreement[0] > 0.1


@pytest.mark.parametrize(
    ("options", "said"),
    [({"radius": 0.0}, "radius = 0"), ({"grad_error": -1.0}, "grad_error = -1"), ({"grad_error": math.nan}, "grad_error = nan")],
)
def test_bad_options_are_value_errors(options, said):
    for function in (so.certify, so.verify, so.gap):
        with pytest.raises(ValueError, match=said):
            function(product, [0.0], [0.0], BOX, BOX, **PRODUCT, **options)
    if "grad_error" in options:
        with pytest.raises(ValueError, match=said):
            so.solve(product, [0.0], [0.0], BOX, BOX, **PRODUCT, **options)
    with pytest.raises(ValueError, match="eps = 0"):
        so.verify(product, [0.0], [0.0], BOX, BOX, **PRODUCT, eps=0.0)


def test_a_stated_error_is_added_to_the_bounds():
    plain = so.certify(product, [0.25], [0.0], BOX, BOX, **PRODUCT, radius=0.5)
    stated = so.certify(product, [0.25], [0.0], BOX, BOX, **PRODUCT, radius=0.5, grad_error=1e-3)
    assert stated.gap.x_upper == pytest.approx(plain.gap.x_upper + 0.5e-3)
    assert stated.gap.y_upper == pytest.approx(plain.gap.y_upper + 0.5e-3)
    assert stated.gap.y_lower == pytest.approx(plain.gap.y_lower - 0.5e-3)
    assert not so.verify(product, [0.0], [0.0], BOX, BOX, **PRODUCT, eps=1e-4, grad_error=1e-3).verified
    assert so.verify(product, [0.0], [0.0], BOX, BOX, **PRODUCT, eps=1e-2, grad_error=1e-3).verified
    assert so.zoo["bilinear"].certify([0.0], [0.0], grad_error=1e-3).gap.x_upper == pytest.approx(1e-3)


def test_a_stated_error_above_eps_ends_the_run_at_the_rounding_limit():
    def run(**options):
        return so.solve(product, [0.25], [0.5], BOX, BOX, **PRODUCT, **options)

    assert run(eps=1e-3, grad_error=1e-4).success
    r = run(eps=1e-6, grad_error=1e-4)
    assert r.status == "rounding-limit" and not r.success and 1e-4 <= r.gap.epsilon <= 4e-4
    assert "smallest eps" in r.message
    none, zero = run(eps=1e-9), run(eps=1e-9, grad_error=0.0)
    assert none.x == zero.x and none.y == zero.y and none.gap == zero.gap and none.njev_x == zero.njev_x


def test_a_formula_does_not_need_a_stated_error():
    r = formula("x*y").certify([0.0], [0.0], grad_error=1.0)
    assert r.proof == "rigorous" and r.gap.epsilon < 1e-9 and "not used" in r.warnings[0]


def test_the_warnings_of_a_formula_are_in_the_result():
    game = formula("abs(x)*y - y^2")
    for r in (game.solve(eps=1e-3), game.certify([1.0], [0.0]), game.verify([1.0], [0.0])):
        assert r.warnings == game.warnings
    assert game.warnings, "a kink is worth a warning"


def clip_and_normalise(v):
    clipped = np.maximum(v, 0) + 1e-300
    return clipped / clipped.sum()


def test_what_is_no_projection_is_refused():
    A = np.array([[1.0, 3.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 2.0]])
    game = (lambda x, y: float(y @ A @ x), [0.2, 0.3, 0.5], [1 / 3] * 3, so.Projected(3, clip_and_normalise), so.Simplex(3))
    gradients = dict(grad_x=lambda x, y: A.T @ y, grad_y=lambda x, y: A @ x)
    for attempt in (so.solve, so.certify, so.gap, so.verify):
        with pytest.raises(ValueError, match="the projection onto the set of x is wrong"):
            attempt(*game, **gradients)


def rough(v, error=1e-5):
    """The projection onto [-1, 1], off by up to ``error``."""
    return np.clip(v, -1, 1) - error * np.sin(1e4 * np.asarray(v)) ** 2


def test_a_projection_that_is_not_exact_states_its_accuracy():
    gradients = dict(grad_x=lambda x, y: 2 * (x - 2), grad_y=lambda x, y: -2 * y)

    def run(s, eps):
        return so.solve(lambda x, y: float((x - 2) @ (x - 2) - y @ y), [0.0], [0.0], s, BOX, **gradients, eps=eps)

    with pytest.raises(ValueError, match="is wrong"):
        run(so.Projected(1, rough), 1e-2)
    stated = run(so.Projected(1, rough, accuracy=2e-5), 1e-2)
    assert stated.success
    # The truth: x in [-1, 1 - 1e-5] at least, so the gap of the point is at least 2*(1 - 1e-5 - x).
    assert stated.gap.x_upper >= 2 * (1 - 1e-5 - stated.x[0])
    with pytest.raises(ValueError, match="accuracy = -1"):
        so.Projected(1, rough, accuracy=-1.0)

    def told(v):
        return rough(v)

    told.accuracy = 2e-5
    assert run(so.Projected(1, told), 1e-2).success

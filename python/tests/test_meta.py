"""FairMeta: any estimator against the group weights."""

import gzip
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from standoff import FairMeta
from standoff._weights_game import matrix_game

ADULT = Path(__file__).resolve().parents[2] / "data" / "adult" / "adult.csv.gz"


@parametrize_with_checks([FairMeta(), FairMeta(Ridge())])
def test_sklearn_accepts_it(estimator, check):
    check(estimator)


def adult(step: int):
    """Every ``step``-th row of Adult: features as numbers, label, sex."""
    with gzip.open(ADULT, "rt") as file:
        rows = [line.rstrip("\n").split(",") for line in file][1::step]
    columns = np.array(rows).T
    coded = [c.astype(float) if i in (0, 2, 4, 10, 11, 12) else np.unique(c, return_inverse=True)[1] for i, c in enumerate(columns[:14])]
    return np.array(coded, dtype=float).T, (columns[14] == ">50K").astype(int), columns[9]


def worst(model, X, y, sex):
    """The least accuracy over sex x label."""
    right = model.predict(X) == y
    return min(right[(sex == s) & (y == label)].mean() for s in np.unique(sex) for label in (0, 1))


def test_trees_on_adult_gain_ten_points_for_their_worst_group():
    X, y, sex = adult(4)
    test = np.arange(len(y)) % 3 == 0
    parts = X[~test], y[~test]
    trees = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    plain = worst(trees.fit(*parts), X[test], y[test], sex[test])
    fair = FairMeta(trees, by_label=True, max_iter=6, random_state=0).fit(*parts, sensitive_features=sex[~test])
    assert worst(fair, X[test], y[test], sex[test]) >= plain + 0.10
    assert fair.groups_.tolist() == ["Female, 0", "Female, 1", "Male, 0", "Male, 1"]
    assert fair.worst_loss_ == fair.group_losses_.max()


def two_lines():
    """One feature, two groups whose best lines are y = x and y = -x, with the first three times as frequent."""
    x = np.linspace(-1, 1, 41)
    group = np.repeat([0, 0, 0, 1], len(x))
    return np.tile(x, 4)[:, None], np.where(group == 0, np.tile(x, 4), -np.tile(x, 4)), group


def test_a_regression_with_a_known_solution_is_solved():
    # A slope b has the losses (b - 1)^2 m and (b + 1)^2 m with m the mean of x^2: at b = 0 they are equal, and least at worst.
    X, y, group = two_lines()
    fair = FairMeta(LinearRegression(), tol=1e-4, max_iter=40).fit(X, y, sensitive_features=group)
    known = float(np.mean(np.linspace(-1, 1, 41) ** 2))
    assert fair.reached_ <= known + 1e-9  # the learner is exact, so here it is a bound
    assert known - 1e-9 <= fair.worst_loss_ <= fair.reached_ + 1e-4
    assert np.allclose(fair.group_weights_, 0.5, atol=1e-3)
    last = FairMeta(LinearRegression(), tol=1e-4, max_iter=40, keep="last").fit(X, y, sensitive_features=group)
    assert len(last.estimators_) == 1 and abs(last.estimators_[0].coef_[0]) < 1e-2


def test_averaging_is_at_most_as_bad_as_the_mixture():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    group = rng.integers(0, 3, 300)
    y = (X[:, 0] * (group - 1) + 0.5 * X[:, 1] + rng.normal(size=300) > 0).astype(int)
    fair = FairMeta(HistGradientBoostingClassifier(max_iter=5, random_state=0), max_iter=8).fit(X, y, sensitive_features=group)
    losses = -np.log(fair.predict_proba(X)[np.arange(300), y])
    assert max(losses[group == g].mean() for g in range(3)) <= fair.worst_loss_ + 1e-12
    assert len(fair.estimators_) == len(fair.mixture_) and np.isclose(fair.mixture_.sum(), 1)


def test_matrix_games_have_the_value_of_linear_programming():
    from scipy.optimize import linprog

    rng = np.random.default_rng(1)
    for models, groups in [(2, 2), (5, 4), (20, 12)]:
        losses = rng.random((models, groups))
        q, _ = matrix_game(losses, np.full(groups, 1 / groups), 0.0)
        program = linprog(
            np.r_[np.zeros(models), 1], np.c_[losses.T, -np.ones(groups)], np.zeros(groups), [np.r_[np.ones(models), 0]], [1],
            [(0, None)] * models + [(None, None)],
        )  # fmt: skip
        assert program.fun - 1e-9 <= (q @ losses).max() <= program.fun + 1e-3


def test_what_does_not_fit_is_refused():
    X, y = np.arange(8.0)[:, None], np.array([0, 1] * 4)
    from sklearn.neighbors import KNeighborsClassifier

    cases = [
        (FairMeta(KNeighborsClassifier()), TypeError, "does not take sample_weight"),
        (FairMeta(LinearSVC()), TypeError, "has no predict_proba"),
        (FairMeta(loss="hinge"), ValueError, "log_loss, brier, zero_one"),
        (FairMeta(Ridge(), by_label=True), ValueError, "a regressor has none"),
        (FairMeta(keep="best"), ValueError, "'mixture' or 'last'"),
        (FairMeta(max_iter=0), ValueError, "at least 1"),
        (FairMeta(tol=float("nan")), ValueError, "tol = nan"),
    ]
    for estimator, kind, message in cases:
        with pytest.raises(kind, match=message):
            estimator.fit(X, y)
    with pytest.raises(ValueError, match="missing values"):
        FairMeta().fit(X, y, sensitive_features=[0.0, np.nan] * 4)
    assert FairMeta(LinearSVC(), loss="zero_one", max_iter=3).fit(X, y).predict(X).shape == (8,)


def test_the_same_seed_gives_the_same_model():
    X, y, sex = adult(100)
    trees = HistGradientBoostingClassifier(max_iter=5)
    a, b = (FairMeta(trees, max_iter=4, random_state=3).fit(X, y, sensitive_features=sex).predict_proba(X) for _ in range(2))
    assert (a == b).all()

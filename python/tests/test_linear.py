"""Fair linear models: scikit-learn's checks, its own solvers on the same objective, and SciPy on the min-max problem."""

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from scipy import optimize, sparse  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import standoff as so  # noqa: E402

ADULT = Path(__file__).resolve().parents[2] / "data" / "adult" / "adult.csv.gz"


@parametrize_with_checks([so.FairRegressor()])
def test_scikit_learn_accepts_the_regressor(estimator, check):
    check(estimator)


def table(n=400, width=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    group = rng.integers(0, 3, n)
    scores = X @ rng.normal(size=(width, classes)) + (group[:, None] == 1) * rng.normal(size=classes) + rng.gumbel(size=(n, classes))
    return X, scores.argmax(axis=1), group


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_mean_is_scikit_learns_logistic_regression(classes, weighted, C):
    X, y, group = table(classes=classes)
    weights = np.linspace(0.5, 2, len(y)) if weighted else None
    ours = so.FairClassifier(method="normal", C=C, class_weight="balanced" if weighted else None, tol=1e-10)
    ours.fit(X, y, sensitive_features=group, sample_weight=weights)
    theirs = LogisticRegression(C=C, class_weight="balanced" if weighted else None, tol=1e-10, max_iter=1000)
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert ours.optimality_gap_ <= 1e-10


def losses_of(loss, z, y):
    if loss == "logistic":
        return np.logaddexp(0, -(2 * y - 1) * z)
    r = np.abs(z - y)
    return {"squared": r**2 / 2, "huber": np.where(r <= 0.5, r**2 / 2, 0.5 * (r - 0.25)), "absolute": r}[loss]


def by_scipy(loss, X, y, members, mu):
    """min t + mu/2 |w|^2 with t at least the loss of each group."""

    def means(v):
        z = X @ v[1:-1] + v[-1]
        return np.array([losses_of(loss, z[rows], y[rows]).mean() for rows in members])

    start = np.concatenate([[means(np.zeros(X.shape[1] + 2)).max()], np.zeros(X.shape[1] + 1)])
    found = optimize.minimize(
        lambda v: v[0] + mu / 2 * v[1:-1] @ v[1:-1],
        start,
        constraints={"type": "ineq", "fun": lambda v: v[0] - means(v)},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    return found.fun, found.x[1:-1], found.x[-1]


@pytest.mark.parametrize("loss", ["logistic", "squared", "huber"])
@pytest.mark.parametrize("overlap", [False, True])
def test_the_worst_group_is_that_of_an_independent_solver(loss, overlap):
    X, y, group = table()
    y = y.astype(float) if loss == "logistic" else X[:, 0] * (group - 1) + np.random.default_rng(1).normal(size=len(y))
    other = (X[:, 1] > 0).astype(int)
    sensitive = np.stack([group, other], axis=1) if overlap else group
    members = [np.flatnonzero(group == g) for g in range(3)]
    members += [np.flatnonzero(other == g) for g in range(2)] if overlap else []
    C = 0.5
    objective, coef, intercept = by_scipy(loss, X, y, members, 1 / (C * len(y)))
    options = {"method": "minmax", "C": C, "tol": 1e-9, "overlap": overlap}
    made = so.FairClassifier(**options) if loss == "logistic" else so.FairRegressor(loss, delta=0.5, **options)
    made.fit(X, y, sensitive_features=sensitive)
    np.testing.assert_allclose(np.ravel(made.coef_), coef, atol=2e-4)
    np.testing.assert_allclose(made.intercept_, intercept, atol=2e-4)
    ours = made.group_losses_.max() + np.sum(made.coef_**2) / (2 * C * len(y))
    assert ours <= objective + 1e-7 and made.optimality_gap_ <= 1e-8
    assert len(made.groups_) == len(members) and made.certificate_.proves(1e-8)


def test_the_absolute_loss_is_solved_within_its_gap():
    X, _, group = table(200)
    y = X[:, 0] * (group - 1) + np.random.default_rng(1).standard_t(2, size=len(group))
    made = so.FairRegressor("absolute").fit(X, y, sensitive_features=group)
    # A linear program: t and the residuals e are the variables besides w and b.
    n, d = X.shape
    G = np.zeros((3, n))
    for g in range(3):
        G[g, group == g] = 1 / (group == g).sum()
    design = np.hstack([X, np.ones((n, 1)), np.zeros((n, 1))])
    A = np.block([[design, -np.eye(n)], [-design, -np.eye(n)], [np.zeros((3, d + 1)), -np.ones((3, 1)), G]])
    cost = np.concatenate([np.zeros(d + 1), [1.0], np.zeros(n)])
    bounds = [(None, None)] * (d + 2) + [(0, None)] * n
    best = optimize.linprog(cost, A, np.concatenate([y, -y, np.zeros(3)]), bounds=bounds).fun
    free = so.FairRegressor("absolute", C=np.inf).fit(X, y, sensitive_features=group)
    assert best - 1e-9 <= free.group_losses_.max() <= best + 2e-4 * y.std()
    assert free.optimality_gap_ is None and made.optimality_gap_ <= 2e-4 * y.std()


def test_the_mean_of_squares_is_ridge_also_for_large_targets():
    X, y, group = table()
    y = 1e5 + 3e4 * (X[:, 0] + y)
    ours = so.FairRegressor(method="normal", C=0.2, tol=1e-12).fit(X, y, sensitive_features=group)
    theirs = Ridge(alpha=5).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sparse_rows_threads_and_precision_change_nothing_that_matters(kind):
    X, y, group = table(5000)
    X[np.abs(X) < 0.5] = 0
    X = X.astype(kind)
    one = so.FairClassifier().fit(X, y, sensitive_features=group)
    two = so.FairClassifier(n_jobs=2).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    thin = so.FairClassifier().fit(sparse.csr_matrix(X), y, sensitive_features=group)
    np.testing.assert_allclose(thin.coef_, one.coef_, atol=1e-8)
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_matrix(X)), one.predict_proba(X), atol=1e-7)
    squared = so.FairRegressor().fit(sparse.csr_matrix(X), y, sensitive_features=group)
    np.testing.assert_allclose(squared.predict(X), so.FairRegressor().fit(X, y, sensitive_features=group).predict(X), atol=1e-6)


def test_many_features_are_solved_too():
    rng = np.random.default_rng(0)
    X = sparse.random(2000, 1500, density=0.01, random_state=0, format="csr")
    group = rng.integers(0, 3, 2000)
    y = (X @ rng.normal(size=1500) + 0.3 * (group == 1) > 0).astype(int)
    made = so.FairClassifier(method="minmax", tol=1e-4).fit(X, y, sensitive_features=group)
    assert made.optimality_gap_ <= 1e-4 and made.certificate_.proves(1e-4)


def test_weights_are_repetitions_and_a_warm_start_is_quick():
    X, y, group = table()
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = so.FairClassifier().fit(X, y, sensitive_features=group, sample_weight=times)
    again = np.repeat(np.arange(len(y)), times)
    repeated = so.FairClassifier().fit(X[again], y[again], sensitive_features=group[again])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    cold = so.FairClassifier(method="minmax", warm_start=True).fit(X, y, sensitive_features=group)
    assert cold.n_iter_ >= 3 and cold.fit(X, y, sensitive_features=group).n_iter_ <= 2


@pytest.mark.parametrize("labels", [None, ["no", "yes"]])
def test_models_are_saved_exactly_and_a_later_version_is_refused(tmp_path, labels):
    X, y, group = table()
    y = y if labels is None else np.array(labels)[y]
    made = so.FairClassifier().fit(X, y, sensitive_features=group)
    made.save(tmp_path / "model.safetensors")
    back = so.FairClassifier.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(back.coef_, made.coef_)
    np.testing.assert_array_equal(back.predict(X), made.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).decision_function(X), made.decision_function(X))
    number = so.FairRegressor().fit(X, X[:, 0], sensitive_features=group)
    number.save(tmp_path / "model.json")
    np.testing.assert_array_equal(so.FairRegressor.load(tmp_path / "model.json").predict(X), number.predict(X))
    document = json.loads((tmp_path / "model.json").read_text()) | {"version": 99}
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="version 99"):
        so.FairRegressor.load(tmp_path / "model.json")
    with pytest.raises(ValueError, match="is not a FairRegressor"):
        so.FairRegressor.load(tmp_path / "model.safetensors")


def test_separable_classes_without_a_penalty_end_with_x_and_y_only():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    made = so.FairClassifier(method="minmax", C=np.inf, tol=1e-4).fit(X, [0, 0, 1, 1], sensitive_features=[0, 1, 0, 1])
    assert made.optimality_gap_ is None and made.certificate_.proves(1e-4) and (made.predict(X) == [0, 0, 1, 1]).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"C": 0.0}, "C = 0.0 is not allowed"),
        ({"C": float("nan")}, "C = nan is not allowed"),
        ({"tol": 0.0}, "tol = 0.0"),
        ({"solver": "magic"}, "solver is 'magic'"),
        ({"solver": "certificate", "model": "mlp"}, "needs model='logistic'"),
        ({"model": "mlp", "C": 2.0}, "C needs solver='certificate'"),
        ({"overlap": True}, "overlap=True needs sensitive_features with several columns"),
    ],
)
def test_bad_options_of_linear_models_are_refused(changed, said):
    X, y, group = table(50)
    with pytest.raises(ValueError, match=said):
        so.FairClassifier(**changed).fit(X, y, sensitive_features=group)


def test_a_target_whose_variance_is_no_number_is_refused():
    X, _, group = table(50)
    with pytest.raises(ValueError, match="standard deviation of y is .* change its unit"):
        so.FairRegressor().fit(X, X[:, 0] * 1e300, sensitive_features=group)


def test_too_few_steps_are_reported():
    X, y, group = table()
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="not solved to tol"):
        so.FairClassifier(max_iter=1, tol=1e-8).fit(X, y, sensitive_features=group)


def test_groups_by_label_are_the_combinations_and_make_the_errors_of_both_classes_alike():
    X, y, group = table(n=600)
    by_label = so.FairClassifier(method="minmax", by_label=True, tol=1e-8).fit(X, y, sensitive_features=group)
    crossed = so.FairClassifier(method="minmax", tol=1e-8).fit(X, y, sensitive_features=[f"{g}{label}" for g, label in zip(group, y)])
    assert by_label.groups_.tolist() == [[str(g), str(label)] for g in range(3) for label in range(2)]
    np.testing.assert_allclose(by_label.coef_, crossed.coef_, atol=1e-6)
    np.testing.assert_allclose(by_label.group_losses_, crossed.group_losses_, atol=1e-6)
    both = so.FairClassifier(by_label=True, overlap=True).fit(X, y, sensitive_features=np.stack([group, X[:, 0] > 0], axis=1))
    assert len(both.groups_) == 10 and both.groups_[0] == "s0=0, 0"
    steps = so.FairClassifier(by_label=True, solver="steps", max_iter=20, random_state=0).fit(X, y, sensitive_features=group)
    assert steps.groups_.tolist() == by_label.groups_.tolist()


@pytest.mark.parametrize("solver", ["certificate", "steps"])
def test_groups_that_nothing_names_and_groups_of_one_sample_warn(solver):
    X, y, group = table(n=50)
    make = lambda **more: so.FairClassifier(solver=solver, max_iter=50, random_state=0, **more)
    with pytest.warns(UserWarning, match="classes are the groups"):
        make().fit(X, y)
    with pytest.warns(UserWarning, match="groups of one sample: 9;"):
        make().fit(X, y, sensitive_features=[9, *group[1:]])
    with pytest.warns(UserWarning, match="classes are the groups"):
        so.FairMeta(LogisticRegression(), max_iter=2).fit(X, y)
    if solver == "certificate":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make(by_label=True).fit(X, y)
            make(method="normal").fit(X, y)


@pytest.mark.parametrize("method", ["minmax", "minmax-reg"])
def test_adult_is_solved_to_the_gap_for_every_choice_of_groups(method):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(ADULT).iloc[::5]
    y = (frame["income"] == ">50K").to_numpy()
    X = pandas.get_dummies(frame.drop(columns="income")).to_numpy(dtype=float)  # unscaled, collinear
    scaled = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    for columns, by_label in ((["sex"], False), (["sex"], True), (["sex", "race"], False)):
        for rows in (X, scaled):
            for C in (0.01, 100.0):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    model = so.FairClassifier(method=method, C=C, by_label=by_label, tol=1e-4)
                    model.fit(rows, y, sensitive_features=frame[columns])
                assert model.optimality_gap_ <= 1e-4


def regrets(X, y, group, C):
    """What each group loses alone, with the penalty of the whole."""
    alone = []
    for g in np.unique(group):
        own = group == g
        made = LogisticRegression(C=C * len(y) / own.sum(), tol=1e-10, max_iter=10_000).fit(X[own], y[own])
        alone.append(losses_of("logistic", made.decision_function(X[own]), y[own]).mean())
    return np.array(alone)


def test_excess_losses_are_those_above_the_losses_of_the_groups_alone():
    X, y, group = table()
    made = so.FairClassifier(method="minmax", equalise="excess", tol=1e-8).fit(X, y, sensitive_features=group)
    losses = [losses_of("logistic", made.decision_function(X[group == g]), y[group == g]).mean() for g in range(3)]
    np.testing.assert_allclose(made.group_losses_, losses - regrets(X, y, group, 1.0), atol=1e-5)
    raw = so.FairClassifier(method="minmax", tol=1e-8).fit(X, y, sensitive_features=group)
    assert made.group_losses_.max() < (raw.group_losses_ - regrets(X, y, group, 1.0)).max() - 1e-3
    assert made.optimality_gap_ <= 1e-8
    weights = np.linspace(0.5, 2, len(y))
    heavy = so.FairClassifier(method="minmax", equalise="excess").fit(X, y, sensitive_features=group, sample_weight=weights)
    assert heavy.optimality_gap_ <= 1e-6 and (heavy.group_losses_ > 0).all()


@pytest.mark.parametrize("equalise", ["fpr", "fnr"])
def test_errors_of_one_kind_are_the_losses_on_rows_of_one_class_beside_the_mean(equalise):
    X, y, group = table(n=600)
    made = so.FairClassifier(method="minmax", equalise=equalise, tol=1e-8).fit(X, y, sensitive_features=group)
    kind = y == (1 if equalise == "fnr" else 0)
    losses = losses_of("logistic", made.decision_function(X), y)
    np.testing.assert_allclose(made.group_losses_, [losses[kind & (group == g)].mean() for g in range(3)], atol=1e-12)
    members = [np.flatnonzero(kind & (group == g)) for g in range(3)] + [np.arange(len(y))]
    objective = max(losses[m].mean() for m in members) + (made.coef_**2).sum() / (2 * len(y))
    assert objective <= by_scipy("logistic", X, y, members, 1 / len(y))[0] + 1e-6 and made.optimality_gap_ <= 1e-8
    assert len(made.group_weights_) == 3 and made.group_weights_.sum() < 1
    wrong = [(made.predict(X) != y)[m].mean() for m in members[:3]]
    assert (np.array(wrong) <= made.group_losses_ / np.log(2)).all()
    steps = so.FairClassifier(method="minmax", equalise=equalise, solver="steps", random_state=0).fit(X, y, sensitive_features=group)
    assert len(steps.group_losses_) == 3 and abs(steps.group_losses_.max() - made.group_losses_.max()) < 0.05


def test_errors_are_trained_by_steps():
    X, y, group = table()
    made = so.FairClassifier(method="minmax", equalise="error", random_state=0, max_iter=200).fit(X, y, sensitive_features=group)
    p = made.predict_proba(X)[np.arange(len(y)), y]
    np.testing.assert_allclose(made.group_losses_, [1 - p[group == g].mean() for g in range(3)], atol=1e-4)
    assert made.optimality_gap_ is None and "optimality gap" not in made.summary() and "X <= " in made.summary()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"equalise": "rates"}, "equalise is 'rates'; give one of loss, excess"),
        ({"equalise": "excess", "method": "normal"}, "needs a method that chooses the weights of the groups"),
        ({"equalise": "error", "solver": "certificate"}, "'error' is not convex"),
        ({"equalise": "error", "C": 2.0}, "C needs solver='certificate': .* equalise other than 'error'"),
        ({"equalise": "fnr", "by_label": True}, "group 0, 0 has no sample of class 1"),
        ({"equalise": "fnr", "by_label": True, "solver": "steps"}, "group 0, 0 has no training row of class 1"),
    ],
)
def test_what_cannot_be_made_equal_is_refused(changed, said):
    X, y, group = table(50)
    with pytest.raises(ValueError, match=said):
        so.FairClassifier(**changed).fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("solver", ["certificate", "steps"])
def test_rates_need_two_classes(solver):
    X, y, group = table(n=100, classes=3)
    with pytest.raises(ValueError, match="'fpr' needs two classes, the second is the positive one; y has 3"):
        so.FairClassifier(equalise="fpr", solver=solver).fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("make", [so.FairClassifier, so.FairRegressor])
def test_the_summary_and_a_verbose_fit_show_the_optimality_gap(make, capsys):
    X, y, group = table()
    model = make(method="minmax", verbose=True).fit(X, y, sensitive_features=group)
    gap = f"optimality gap {model.optimality_gap_:.3g}: the objective is at most this above its minimum over all models"
    lines = model.summary().splitlines()
    assert lines[0] == f"{make.__name__}, method minmax, {model.n_iter_} steps" and lines[1] == gap
    assert lines[2].startswith("X <= ") and lines[3].split() == ["group", "loss", "weight"]
    assert lines[5].split() == ["1", f"{model.group_losses_[1]:.6g}", f"{model.group_weights_[1]:.4f}"]
    assert gap in capsys.readouterr().err.splitlines()
    free = make(method="minmax", C=np.inf, tol=1e-4).fit(X, y, sensitive_features=group)
    assert "optimality gap" not in free.summary() and "X <= " in free.summary()
    with pytest.raises(sklearn.exceptions.NotFittedError):
        make().summary()

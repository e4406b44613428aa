"""The estimator: scikit-learn's own checks, and what it is for."""

import pickle

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import standoff as so  # noqa: E402


@parametrize_with_checks([so.FairClassifier()])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def two_groups(n=600, seed=0):
    """Nine in ten belong to group 0, and the groups disagree on what the first feature says."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    group = (rng.random(n) < 0.1).astype(int)
    y = (np.where(group == 0, X[:, 0], X[:, 1]) + 0.3 * rng.normal(size=n) > 0).astype(int)
    return X, y, group


def test_the_worst_group_fares_better_than_by_the_mean():
    X, y, group = two_groups()
    fair = so.FairClassifier(method="minmax-reg", lam=0.01, random_state=0).fit(X, y, sensitive_features=group)
    mean = so.FairClassifier(method="normal", random_state=0).fit(X, y, sensitive_features=group)
    assert fair.group_losses_.max() < mean.group_losses_.max() - 0.05
    assert fair.group_weights_.sum() == pytest.approx(1) and fair.group_weights_[1] > mean.group_weights_[1]


@pytest.mark.parametrize("method", ["minmax-reg", "cvar"])
def test_what_it_reports_is_so(method):
    X, y, group = two_groups()
    fair = so.FairClassifier(method=method, random_state=1).fit(X, y, sensitive_features=group)
    right = fair.predict_proba(X)[np.arange(len(y)), y]
    losses = [-np.log(right[group == g]).mean() for g in (0, 1)]
    np.testing.assert_allclose(fair.group_losses_, losses, rtol=1e-5)
    assert fair.certificate_.x_upper >= 0 and (fair.n_iter_ == 800 if method == "cvar" else fair.n_iter_ < 50)
    state = fair.state_dict()
    assert [v.shape for v in state.values()] == [(2, 2), (2,)]
    logits = X @ list(state.values())[0].T + list(state.values())[1]
    np.testing.assert_array_equal(fair.predict(X), logits.argmax(axis=1))


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads():
    X, y, group = two_groups()
    one = so.FairClassifier("mlp", max_iter=50, random_state=3).fit(X, y, sensitive_features=group)
    two = clone(one).set_params(n_jobs=2).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(one.parameters_, two.parameters_)
    other = clone(one).set_params(random_state=4).fit(X, y, sensitive_features=group)
    assert (one.parameters_ != other.parameters_).any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict_proba(X), one.predict_proba(X))


def test_it_works_in_pipelines_and_searches():
    X, y, group = two_groups(300)
    with sklearn.config_context(enable_metadata_routing=True):
        fair = so.FairClassifier(max_iter=50, random_state=0).set_fit_request(sensitive_features=True)
        piped = make_pipeline(StandardScaler(), fair)
        search = GridSearchCV(piped, {"fairclassifier__lam": [0.01, 1.0]}, cv=2).fit(X, y, sensitive_features=group)
    assert search.best_score_ > 0.6


def test_tables_bring_their_names():
    pandas = pytest.importorskip("pandas")
    X, y, group = two_groups(100)
    frame = pandas.DataFrame(X, columns=["age", "pay"])
    groups = pandas.DataFrame({"sex": group, "old": X[:, 0] > 0})
    fair = so.FairClassifier(max_iter=20, random_state=0).fit(frame, y, sensitive_features=groups)
    assert list(fair.feature_names_in_) == ["age", "pay"] and len(fair.groups_) == 4


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "forest"}, "give 'logistic', 'mlp' or the file of a model"),
        ({"method": "magic"}, "unknown method `magic`"),
        ({"max_iter": 0}, "max_iter = 0 is not allowed"),
        ({"lam": -1.0}, "lambda is -1"),
        ({"batch_size": 7}, "multiple of 2"),
        ({"method": "cvar", "share": 2.0}, "share of samples"),
        ({"random_state": -3}, "random_state = -3"),
        ({"n_jobs": 0}, "n_jobs = 0"),
    ],
)
def test_bad_options_are_refused_with_the_reason(changed, said):
    X, y, group = two_groups(50)
    with pytest.raises(ValueError, match=said):
        so.FairClassifier(**changed).fit(X, y, sensitive_features=group)


def test_ctrl_c_ends_a_training_within_a_second():
    import os
    import signal
    import threading
    import time

    X, y, group = two_groups(20_000)
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        so.FairClassifier(max_iter=10**7, solver="steps").fit(X, y, sensitive_features=group)
    late = time.monotonic() - sent[0]
    timer.join()
    assert late < 1


def test_a_group_that_is_not_a_number_is_refused():
    X, y, group = two_groups(50)
    group = group.astype(float)
    group[3] = np.nan
    with pytest.raises(ValueError, match="sensitive_features has missing values"):
        so.FairClassifier().fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("nothing", [None, float("nan"), "pandas.NA"])
def test_a_missing_name_of_a_group_is_refused_and_not_called_nan(nothing):
    if nothing == "pandas.NA":
        nothing = pytest.importorskip("pandas").NA
    X, y, group = two_groups(50)
    names = np.where(group == 0, "north", "south").astype(object)
    names[7] = nothing
    with pytest.raises(ValueError, match="sensitive_features has missing values"):
        so.FairClassifier().fit(X, y, sensitive_features=names)

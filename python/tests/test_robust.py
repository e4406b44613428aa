"""Networks of images: trained, attacked, certified, cloned, saved."""

import pickle
import warnings

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402

import standoff as so  # noqa: E402


def stripes(n=120, seed=0):
    """8 x 8 images: the bright half is on the left or on the right."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.uniform(0, 0.3, size=(n, 8, 8)).astype(np.float32)
    X[y == 0, :, :4] += 0.6
    X[y == 1, :, 4:] += 0.6
    return X, np.where(y == 0, "left", "right")


@pytest.fixture(scope="module")
def trained():
    X, y = stripes()
    options = dict(eps=0.15, epochs=30, learning_rate=0.02, batch_size=40, ramp=10, random_state=1)
    return so.RobustClassifier("mlp", "ibp", **options).fit(X, y)


def test_between_proof_and_attack_lies_the_truth(trained):
    X, y = stripes(60, seed=5)
    assert trained.score(X.reshape(60, -1), y) == 1.0 and list(trained.classes_) == ["left", "right"]
    proven = trained.certify(X, y, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so easy a network is sure of itself, and its gradients are small
        found = trained.attack(X, y, 0.1, ["pgd20", "apgd-ce20", "square50"])
    assert 0.5 < proven.accuracy <= found.accuracy <= found.natural_accuracy == 1.0
    assert not (proven.certified & ~found.survives).any(), "no attack turns what is proven"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chained = trained.attack(X, y, 0.1, ["pgd20", "apgd-ce20", "square50"], chain=True)
    np.testing.assert_array_equal(chained.survives, found.survives)
    assert chained.attacks[0]["tried"] == 60 - proven.certified.sum(), "what is proven is not tried"
    assert trained.certify(X, eps=0.1).accuracy == proven.accuracy, "without y the network's own answers are proven"
    np.testing.assert_array_equal(np.sign(proven.margins).max(axis=1) <= 0, proven.certified)


def test_broken_images_are_misclassified_and_inside_the_ball(trained):
    X, y = stripes(60, seed=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = trained.attack(X, y, 0.9, ["pgd20"])
    broken = found.broken_by != None  # noqa: E711
    assert broken.any() and found.images.shape == X.shape and found.attacks[0]["name"] == "pgd20"
    assert (trained.predict(found.images)[broken] != y[broken]).all()
    assert np.abs(found.images - X).max() <= 0.9 + 1e-6 and found.images.min() >= 0 and found.images.max() <= 1
    assert found.accuracy == 1 - broken.mean() == found.attacks[0]["accuracy"]


def test_the_names_of_version_0_1_work_with_a_warning(trained):
    X, y = stripes(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = trained.attack(X, y, 0.1, ["pgd5"])
    for old, new in [("stands", "survives"), ("fallen_to", "broken_by")]:
        with pytest.warns(FutureWarning, match=f"`{old}` is now `{new}`"):
            np.testing.assert_array_equal(found[old], found[new])
        with pytest.warns(FutureWarning):
            np.testing.assert_array_equal(getattr(found, old), found[new])
    with pytest.warns(FutureWarning, match="`broken`"):
        assert found.attacks[0]["fallen"] == found.attacks[0]["broken"]
    with pytest.raises(AttributeError):
        found.nothing


def test_the_published_protocol(trained):
    X, y = stripes(20)
    X = np.round(X * 255).astype(np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = trained.attack(X, y, 0.1, protocol="paper")
    assert [row["name"] for row in found.attacks] == ["fgsm", "pgd40:step=0.01,start=clean"]
    assert found.images.dtype == np.float32


def test_shapes_and_bytes_are_the_same_images(trained):
    X, _ = stripes(30, seed=2)
    bytes_ = np.round(X * 255).astype(np.uint8)
    want = trained.predict_proba(bytes_)
    for same in (bytes_.reshape(30, 64), bytes_[:, None], bytes_.astype(np.float32) / np.float32(255), np.asfortranarray(bytes_)):
        np.testing.assert_array_equal(trained.predict_proba(same), want)
    np.testing.assert_allclose(want.sum(axis=1), 1)


def test_convolutions_take_images_of_their_size():
    rng = np.random.default_rng(0)
    X, y = rng.random((24, 1, 28, 28)), np.arange(24) % 3
    made = so.RobustClassifier("lenet", "paper", eps=0.1, attack_steps=1, epochs=1, batch_size=12, random_state=0, n_jobs=2).fit(X, y)
    assert made.n_features_in_ == 784 and made.n_iter_ == 2 and made.predict(X.reshape(24, 784)).shape == (24,)
    assert {name: v.shape for name, v in made.state_dict().items()}["conv1.weight"] == (20, 1, 5, 5)
    assert made.standing_[1] == 24 and np.isfinite(made.certificate_.epsilon)


def test_clones_pickles_and_searches(trained):
    X, y = stripes(60, seed=3)
    again = clone(trained).set_params(n_jobs=2).fit(*stripes())
    np.testing.assert_array_equal(again.parameters_, trained.parameters_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(trained)).predict(X), trained.predict(X))
    plain = so.RobustClassifier("logistic", "natural", epochs=5, batch_size=20, learning_rate=0.02, random_state=0)
    search = GridSearchCV(plain, {"method": ["natural", "madry"]}, cv=2).fit(X.reshape(60, -1), y)
    assert search.best_score_ > 0.9


def test_weights_go_to_torch_and_come_back(trained, tmp_path):
    X, _ = stripes(10)
    state = trained.state_dict()
    assert list(state) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    hidden = np.tanh(X.reshape(10, -1) @ state["fc1.weight"].T + state["fc1.bias"])
    logits = hidden @ state["fc2.weight"].T + state["fc2.bias"]
    np.testing.assert_array_equal(trained.classes_[logits.argmax(axis=1)], trained.predict(X))
    other = so.RobustClassifier.from_state_dict(state, classes=trained.classes_, shape=(1, 8, 8))
    np.testing.assert_array_equal(other.predict_proba(X), trained.predict_proba(X))
    numbered = {f"module.{k.replace('fc1', '1').replace('fc2', '3')}": v for k, v in state.items()}
    np.testing.assert_array_equal(clone_of(trained).load_state_dict(numbered).parameters_, trained.parameters_)
    trained.save(tmp_path / "a.safetensors")
    back = so.RobustClassifier.load(tmp_path / "a.safetensors", shape=(1, 8, 8))
    assert list(back.classes_) == ["left", "right"] and back.model == "mlp"
    np.testing.assert_array_equal(back.predict_proba(X), trained.predict_proba(X))
    so.save_safetensors(state, tmp_path / "bare.safetensors")
    bare = so.RobustClassifier.load(tmp_path / "bare.safetensors", shape=(1, 8, 8))
    np.testing.assert_array_equal(bare.parameters_, trained.parameters_)


def clone_of(estimator):
    copy = pickle.loads(pickle.dumps(estimator))
    copy.parameters_ = np.zeros_like(copy.parameters_)
    return copy


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "lent"}, "did you mean `lenet`"),
        ({"method": "magic"}, "unknown method `magic`"),
        ({"eps": 8.0}, "eps is 8"),
        ({"targets": "some"}, "targets is `some`"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"random_state": -1}, "random_state = -1"),
        ({"learning_rate": -1.0}, "rate"),
    ],
)
def test_bad_options_are_refused_with_the_reason(changed, said):
    X, y = stripes(20)
    with pytest.raises(ValueError, match=said):
        so.RobustClassifier(**({"model": "mlp"} | changed)).fit(X, y)


def test_bad_images_are_refused_with_the_reason(trained):
    X, y = stripes(20)
    with pytest.raises(ValueError, match="want 0 to 1: divide by 255"):
        so.RobustClassifier("mlp").fit(X * 255, y)
    for ask in (trained.predict, trained.predict_proba, lambda X: trained.score(X, y)):
        with pytest.raises(ValueError, match="want 0 to 1: divide by 255"):
            ask(X * 255)
    with pytest.raises(ValueError, match=r"X has shape \(64,\)"):
        trained.predict(X[0].reshape(-1))
    with pytest.raises(ValueError, match="25 features"):
        trained.predict(X[:, :5, :5])
    with pytest.raises(ValueError, match="the classifier knows"):
        trained.attack(X, np.full(20, "up"), 0.1)
    with pytest.raises(ValueError, match=r"20 images, y has shape \(19,\)"):
        trained.attack(X, y[:19], 0.1)
    with pytest.raises(ValueError, match="did you mean `pgd`"):
        trained.attack(X, y, 0.1, ["pdg40"])
    with pytest.raises(ValueError, match="has no norm l2"):
        trained.attack(X, y, 0.1, protocol="paper", norm="l2")
    with pytest.raises(NotFittedError):
        so.RobustClassifier().attack(X, y)
    with pytest.raises(ValueError, match="fit none of the networks"):
        so.RobustClassifier.from_state_dict({"w": np.zeros((3, 3)), "b": np.zeros(3)})


def test_the_file_of_a_model_is_a_model(tmp_path):
    X, y = stripes()
    path = tmp_path / "net.toml"
    path.write_text('input = [1, 8, 8]\nlayers = ["conv(3, 4)", "relu", "flatten", "dense(2)"]\n')
    options = dict(eps=0.05, epochs=20, learning_rate=0.02, batch_size=40, random_state=1)
    network = so.RobustClassifier(path, "madry", ramp_from=0.02, **options).fit(X, y)
    assert network.score(X.reshape(120, -1), y) == 1.0 and "conv(3, 4)" in network.network_
    fair = so.FairClassifier(model=str(path), max_iter=60, random_state=1).fit(X.reshape(120, -1), y)
    assert fair.score(X.reshape(120, -1), y) == 1.0 and "conv(3, 4)" in fair.network_
    with pytest.raises(ValueError, match=r"no file .*none\.toml"):
        so.RobustClassifier(model=str(tmp_path / "none.toml")).fit(X, y)
    with pytest.raises(ValueError, match="ramp_from is 0.2: want a number from 0 to eps, which is 0.1"):
        so.RobustClassifier(eps=0.1, ramp_from=0.2, batch_size=40).fit(X, y)

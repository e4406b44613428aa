"""Safetensors and PyTorch's state dictionaries."""

import numpy as np
import pytest

import standoff as so


def test_tensors_come_back_as_they_went(tmp_path):
    path = tmp_path / "a.safetensors"
    state = {"b": np.arange(6, dtype=np.float64).reshape(2, 3)[:, ::-1], "a": np.float32(7.5), "c": np.zeros((0, 2))}
    so.save_safetensors(state, path, metadata={"who": "me"})
    back = so.load_safetensors(path)
    assert sorted(back) == ["a", "b", "c"] and back["a"].shape == () and back["c"].shape == (0, 2)
    np.testing.assert_array_equal(back["b"], state["b"])
    assert back["b"].dtype == np.float32


def test_a_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "no.safetensors").write_bytes(b"PK")
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        so.load_safetensors(tmp_path / "no.safetensors")
    with pytest.raises(FileNotFoundError):
        so.load_safetensors(tmp_path / "nowhere.safetensors")
    with pytest.raises(TypeError, match="a dictionary of arrays"):
        so.save_safetensors([1.0], tmp_path / "no.safetensors")


def fitted():
    pytest.importorskip("sklearn")
    X = np.random.default_rng(0).normal(size=(80, 3))
    return so.FairClassifier("mlp", max_iter=30, random_state=0).fit(X, np.where(X[:, 0] > 0, "yes", "no")), X


def test_a_classifier_is_saved_and_loaded(tmp_path):
    fair, X = fitted()
    fair.save(tmp_path / "fair.safetensors")
    back = so.FairClassifier.load(tmp_path / "fair.safetensors")
    assert back.model == "mlp" and list(back.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(back.predict_proba(X), fair.predict_proba(X))
    with pytest.raises(ValueError, match="it is for tables"):
        so.RobustClassifier.load(tmp_path / "fair.safetensors")


def test_a_state_dictionary_goes_in_and_out():
    fair, X = fitted()
    state = fair.state_dict()
    again = so.FairClassifier.from_state_dict(state, classes=fair.classes_)
    np.testing.assert_array_equal(again.predict_proba(X), fair.predict_proba(X))
    doubled = fair.load_state_dict({name: 2 * v for name, v in state.items()})
    np.testing.assert_array_equal(doubled.parameters_, 2 * again.parameters_)
    with pytest.raises(ValueError, match="fc1.bias"):
        fair.load_state_dict({name: v for name, v in state.items() if name != "fc1.bias"})
    with pytest.raises(ValueError, match="NaN"):
        fair.load_state_dict({name: v * np.nan for name, v in state.items()})


def test_torch_reads_and_writes_the_same():
    torch = pytest.importorskip("torch")
    fair, X = fitted()
    net = torch.nn.Sequential(torch.nn.Linear(3, 100), torch.nn.Tanh(), torch.nn.Linear(100, 2))
    names = dict(zip(fair.state_dict(), net.state_dict(), strict=True))
    net.load_state_dict({names[k]: torch.from_numpy(v.copy()) for k, v in fair.state_dict().items()})
    with torch.no_grad():
        want = torch.softmax(net(torch.from_numpy(X).float()), 1).numpy()
    np.testing.assert_allclose(fair.predict_proba(X), want, atol=1e-6)
    fresh = torch.nn.Sequential(torch.nn.Linear(3, 100), torch.nn.Tanh(), torch.nn.Linear(100, 2))
    taken = so.FairClassifier.from_state_dict(fresh.state_dict())
    with torch.no_grad():
        np.testing.assert_array_equal(taken.predict(X), fresh(torch.from_numpy(X).float()).argmax(1).numpy())

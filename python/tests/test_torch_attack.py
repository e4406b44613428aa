"""`standoff.attack` on modules of PyTorch and functions of JAX. Skipped without PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import standoff as so  # noqa: E402

torch.set_num_threads(1)


class LeNet(torch.nn.Module):
    """The preset `lenet`."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(1, 20, 5), torch.nn.Conv2d(20, 50, 5)
        self.fc1, self.fc2 = torch.nn.Linear(800, 500), torch.nn.Linear(500, 10)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


@pytest.fixture(scope="module")
def madry(root):
    model = LeNet()
    model.load_state_dict({k: torch.from_numpy(v) for k, v in so.RobustClassifier.load(root / "models/madry.safetensors").state_dict().items()})
    return model.eval()


@pytest.fixture(scope="module")
def digits(root):
    folder = root / "data/mnist"
    x, y = so.read_images(folder / "t10k-images-idx3-ubyte.gz", folder / "t10k-labels-idx1-ubyte.gz")
    return (x[:50, None] / np.float32(255)), y[:50].astype(np.int64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_module_has_the_outcomes_of_the_built_in_network(root, madry, digits, dtype):
    x, y = digits
    names = ["apgd-margin20", "apgd-t10x3", "fab10x3", "square100"]
    built_in = so.evaluate(root / "models/madry.safetensors", x, y, eps=0.4, attacks=names, chain=True)
    model = madry.to(dtype)
    ours = so.attack(model, torch.from_numpy(x).to(dtype), torch.from_numpy(y), eps=0.4, attacks=names)
    madry.float()
    assert 0 < ours.upper < 1 and (ours.survives == built_in.survives).all()
    assert ours.masking["images"] == built_in.masking["images"] and ours.images.shape == x.shape


def test_gradients_of_parameters_are_neither_computed_nor_left(madry, digits):
    so.attack(madry, *digits, eps=0.1, attacks="pgd3")
    assert all(p.grad is None for p in madry.parameters())
    assert torch.is_grad_enabled()


def test_a_module_in_training_mode_that_depends_on_the_batch_or_on_chance_is_refused(digits):
    x, y = digits
    for layer, match in [(torch.nn.BatchNorm1d(784), "another batch"), (torch.nn.Dropout(), "same inputs")]:
        model = torch.nn.Sequential(torch.nn.Flatten(), layer, torch.nn.Linear(784, 10))
        with pytest.raises(ValueError, match=match):
            so.attack(model, x, y, eps=0.1, attacks="fgsm")
        r = so.attack(model.eval(), x, None, eps=0.1, attacks="fgsm")
        assert r.natural_accuracy == 1


def test_a_function_that_stops_gradients_is_attacked_by_queries_with_a_warning(madry, digits):
    x, y = digits
    with pytest.warns(UserWarning, match="logits of f have no gradients"):
        r = so.attack(lambda t: madry(t).detach(), torch.from_numpy(x[:5]), y[:5], eps=0.4, attacks="standard")
    assert [row["name"] for row in r.attacks] == ["square5000", "random100"]


def test_masked_gradients_get_a_warning(madry, digits):
    x, y = digits
    with pytest.warns(UserWarning, match="gradient"):
        r = so.attack(lambda t: 1e4 * madry((t * 16).round() / 16 + 0 * t), torch.from_numpy(x), y, eps=0.3, attacks=["fgsm", "square500"], chain=False)
    assert any("gradient" in text for text in r.warnings)


def test_half_precision_and_modules_that_return_nan(madry, digits):
    x, y = digits
    r = so.attack(madry.to(torch.bfloat16), x[:10], y[:10], eps=0.3, attacks="pgd5")
    madry.float()
    assert r.images.dtype == np.float32
    with pytest.raises(ValueError, match="attacking image 0: logit"):
        so.attack(lambda t: madry(t) / 0, torch.from_numpy(x), y, eps=0.1, attacks="fgsm")

    def root_of_zero(t):
        return madry(t) + (t - t).sqrt().sum((1, 2, 3))[:, None]

    with pytest.raises(ValueError, match="image 0.*gradient"):
        so.attack(root_of_zero, torch.from_numpy(x), y, eps=0.1, attacks="fgsm")


def test_a_converted_module_gives_the_same_logits(madry, digits):
    pytest.importorskip("onnx")
    x, _ = digits
    network = so.Network.from_torch(madry, torch.from_numpy(x[:1]))
    with torch.no_grad():
        want = madry(torch.from_numpy(x)).numpy()
    assert np.allclose(network(x), want, atol=1e-4)
    with pytest.raises(ValueError, match="training mode"):
        so.Network.from_torch(LeNet(), x[:1])


def test_a_function_of_jax_has_the_outcomes_of_the_module(madry, digits):
    jax = pytest.importorskip("jax")
    x, y = digits
    w = {k: jax.numpy.asarray(v.detach().numpy()) for k, v in madry.state_dict().items()}

    def logits(t):
        for name in ("conv1", "conv2"):
            t = jax.lax.conv(t, w[f"{name}.weight"], (1, 1), "VALID") + w[f"{name}.bias"][None, :, None, None]
            t = jax.lax.reduce_window(jax.nn.relu(t), -jax.numpy.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        t = jax.nn.relu(t.reshape(len(t), -1) @ w["fc1.weight"].T + w["fc1.bias"])
        return t @ w["fc2.weight"].T + w["fc2.bias"]

    names = ["apgd-margin10", "square50"]
    want = so.attack(madry, x[:20], y[:20], eps=0.4, attacks=names)
    for given in (x[:20], jax.numpy.asarray(x[:20])):
        r = so.attack(logits, given, y[:20], eps=0.4, attacks=names)
        assert (r.survives == want.survives).all() and r.attacks[0]["gradients"] > 0
    # Channels last.
    last = so.attack(lambda t: logits(t.transpose(0, 3, 1, 2)), jax.numpy.asarray(x[:20].transpose(0, 2, 3, 1)), y[:20], eps=0.4, attacks=names)
    assert (last.survives == want.survives).all() and last.images.shape == (20, 28, 28, 1)
    # A function that cannot be compiled.
    with pytest.warns(UserWarning, match="JAX cannot differentiate f"):
        r = so.attack(lambda t: logits(t) * (1.0 if float(t.min()) >= 0 else 1.0), jax.numpy.asarray(x[:4]), y[:4], eps=0.1, attacks="square20")
    assert r.natural_accuracy == 1


def small_network():
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5)).eval()
    x = torch.rand(8, 1, 8, 8)
    return network, x, network(x).argmax(1)


def test_a_function_that_changes_its_input_does_not_change_the_inputs_that_are_attacked():
    network, x, y = small_network()

    def clamp(t):
        t.data.clamp_(0.4, 0.6)
        return network(t)

    want = so.attack(lambda t: network(t.detach().clamp(0.4, 0.6) + 0 * t), x, y, eps=0, attacks="random2")
    r = so.attack(clamp, x, y, eps=0, attacks="random2")
    assert r.natural_accuracy == want.natural_accuracy and (r.images == x.numpy()).all()

    def halve(a):
        a *= 0.5
        return network(torch.from_numpy(a)).detach().numpy()

    rows = x.numpy().copy()
    half = so.attack(halve, rows, y.numpy(), eps=0, attacks="random2")
    with torch.no_grad():
        assert half.natural_accuracy == float((network(x / 2).argmax(1) == y).float().mean())
    assert (rows == x.numpy()).all()


def test_probabilities_get_a_warning_and_chance_after_the_first_calls_no_image_that_does_not_verify():
    network, x, y = small_network()
    with pytest.warns(UserWarning, match="returns probabilities"):
        so.attack(lambda t: torch.softmax(network(t), 1), x, y, eps=0.01, attacks="fgsm")
    calls = []

    def later(t):
        calls.append(1)
        noise = torch.randn(len(t), 5) if len(calls) > 5 else 0
        return network(t) + noise

    with pytest.warns(UserWarning, match="failed verification"):
        so.attack(later, x, y, eps=0.01, attacks="apgd-ce5")


def test_arguments_that_mean_nothing_are_refused_with_what_to_give():
    network, x, y = small_network()
    nan = float("nan")
    for options, match in [
        ({"eps": -0.1}, "eps = -0.1"),
        ({"eps": nan}, "eps = nan"),
        ({"eps": []}, "list of them"),
        ({"attacks": []}, "no names"),
        ({"batch_size": 2.5}, "batch_size = 2.5"),
        ({"seed": -1}, "seed = -1"),
        ({"bounds": (0, 1, 2)}, "two numbers"),
        ({"eps": -1, "minimal": True}, "eps = -1"),
    ]:
        with pytest.raises(ValueError, match=match):
            so.attack(network, x, y, **{"eps": 0.1, "attacks": "fgsm", **options})
    for given, labels, match in [
        (x * nan, y, "entry 0 of input 0 of X is nan"),
        (x, np.array(["a"] * 8), "labels are the numbers of logits"),
        (x, y + 5, "label 5"),
        (x, y[:3], "one label for each"),
        (x * 2, y, "scale X"),
    ]:
        with pytest.raises(ValueError, match=match):
            so.attack(network, given, labels, eps=0.1, bounds=(0, 1), attacks="fgsm")
    with pytest.raises(ValueError, match="complex64"):
        so.attack(lambda t: network(t).to(torch.complex64), x, y, eps=0.1)
    with pytest.raises(ValueError, match="f gives 1 logit"):
        so.attack(lambda t: network(t)[:, :1], x, y, eps=0.1)
    assert so.attack(network, x, y, eps=np.float32(0.1), attacks="fgsm").upper <= 1

"""ONNX files: those of `standoff model convert` in onnxruntime, those of PyTorch's exporters here. Skipped without onnxruntime."""

import importlib.util
import json

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")

import standoff as so  # noqa: E402


@pytest.mark.parametrize("name", ["ibp-lenet", "paper"])
def test_onnxruntime_computes_the_probabilities_of_the_engine(root, standoff, tmp_path, name):
    model = root / f"models/{name}.safetensors"
    standoff("model", "convert", model, tmp_path / "network.onnx", "-q")
    images, _ = so.read_images(root / "data/mnist/t10k-images-idx3-ubyte.gz", root / "data/mnist/t10k-labels-idx1-ubyte.gz")
    x = images[:20].astype(np.float32) / 255
    session = onnxruntime.InferenceSession(str(tmp_path / "network.onnx"), providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    if isinstance(given.shape[0], str) or given.shape[0] is None:
        logits = session.run(None, {given.name: x[:, None]})[0]
    else:
        logits = np.concatenate([session.run(None, {given.name: image[None, None]})[0] for image in x])
    powers = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    np.testing.assert_allclose(powers / powers.sum(1, keepdims=True), so.RobustClassifier.load(model).predict_proba(x), atol=1e-5)


def residual(torch):
    """A residual network for colour images, with normalised pixels, strides, padding and batch normalisation."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, a, b, stride):
            super().__init__()
            self.first, self.first_norm = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
            self.second, self.second_norm = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
            self.short = nn.Identity() if a == b else nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

        def forward(self, x):
            y = torch.relu(self.first_norm(self.first(x)))
            return torch.relu(self.second_norm(self.second(y)) + self.short(x))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.tensor([0.49, 0.48, 0.45]).view(1, 3, 1, 1))
            self.stem, self.norm = nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8)
            self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), Block(16, 32, 2))
            self.end = nn.Linear(32, 10)

        def forward(self, x):
            x = torch.relu(self.norm(self.stem((x - self.mean) / 0.25)))
            return self.end(self.blocks(x).mean([2, 3]))

    return Network(), (3, 16, 16)


def small(torch):
    """A multilayer perceptron with a softmax."""
    nn = torch.nn
    layers = [nn.Flatten(), nn.Linear(784, 30), nn.BatchNorm1d(30), nn.ReLU(), nn.Linear(30, 10), nn.LogSoftmax(1)]
    return nn.Sequential(*layers), (1, 28, 28)


def lenet(torch):
    """Convolutions, pooling, and a shape that is computed from the input."""

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.end = torch.nn.Conv2d(1, 6, 5, 2, 2), torch.nn.Linear(6 * 49, 10)

        def forward(self, x):
            x = torch.nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
            return self.end(x.view(x.size(0), -1))

    return Network(), (1, 28, 28)


def export(torch, make, path, **options):
    """Exports a network with statistics that are not those of the start; returns inputs."""
    torch.manual_seed(0)
    network, shape = make(torch)
    for module in network.modules():
        if isinstance(module, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
    x = torch.rand(4, *shape)
    torch.onnx.export(network.eval(), (x[:1],), str(path), **options)
    return x.numpy()


@pytest.mark.parametrize("make", [small, lenet, residual])
@pytest.mark.parametrize("options", [{"dynamo": False}, {"dynamo": False, "input_names": ["x"], "dynamic_axes": {"x": {0: "n"}}}, {"dynamo": True}])
def test_exports_of_pytorch_have_the_logits_of_onnxruntime_here_and_after_they_are_written_again(tmp_path, make, options):
    torch = pytest.importorskip("torch")
    if options["dynamo"]:
        if importlib.util.find_spec("onnxscript") is None:
            pytest.skip("the exporter of PyTorch needs onnxscript")
        options = {**options, "external_data": False}
    x = export(torch, make, tmp_path / "a.onnx", **options)
    network = so.Network.load(tmp_path / "a.onnx")
    network.save(tmp_path / "b.onnx")
    for file in ("a.onnx", "b.onnx"):
        session = onnxruntime.InferenceSession(str(tmp_path / file), providers=["CPUExecutionProvider"])
        want = np.concatenate([session.run(None, {session.get_inputs()[0].name: row[None]})[0] for row in x]).astype(float)
        got = network(x)
        if network.softmax_left_out:
            got, want = got - got[:, :1], want - want[:, :1]
        assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def test_the_exporter_of_pytorch_writes_external_data_and_the_refusal_says_how_to_export_one_file(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    export(torch, small, tmp_path / "a.onnx", dynamo=True)
    with pytest.raises(ValueError, match=r"onnx.save\(onnx.load\(.*external_data=False"):
        so.Network.load(tmp_path / "a.onnx")


@pytest.mark.parametrize("make", [small, lenet])
def test_the_command_attacks_an_onnx_file_as_the_function_does(standoff, root, tmp_path, make):
    torch = pytest.importorskip("torch")
    export(torch, make, tmp_path / "a.onnx", dynamo=False)
    shown = standoff("attack", tmp_path / "a.onnx", "--limit", 30, "--eps", 0.05, "--attacks", "apgd-ce10,square50", "--json")
    budget = json.loads(shown)["budgets"][0]
    natural, worst, proven = (budget[part]["all"]["correct"] for part in ("natural", "worst_case", "certified"))
    files = root / "data/mnist/t10k-images-idx3-ubyte.gz", root / "data/mnist/t10k-labels-idx1-ubyte.gz"
    x, y = so.read_images(*files)
    x, y = x[:30, None] / np.float32(255), y[:30].astype(int)
    r = so.attack(str(tmp_path / "a.onnx"), x, y, eps=0.05, attacks="apgd-ce10,square50")
    # Sums in another order: an image at the boundary may differ.
    assert abs(natural - int(r.natural.sum())) <= 1 and abs(worst - int(r.survives.sum())) <= 1
    assert proven <= worst <= natural

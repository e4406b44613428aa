"""The same data, model and start in `standoff.torch` and in the built-in engine: the same losses. Skipped without PyTorch."""

import json
import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import standoff as so  # noqa: E402
from standoff.torch import GroupMinMax  # noqa: E402

torch.set_num_threads(1)
CLASSES = (0, 4, 6)


def write_images(root, folder, part, count):
    """The first `count` images of each class as IDX files."""
    source = root / "data/fashion-tops"
    x, y = so.read_images(source / f"{part}-images-idx3-ubyte.gz", source / f"{part}-labels-idx1-ubyte.gz")
    rows = np.sort(np.concatenate([np.flatnonzero(y == k)[:count] for k in CLASSES]))
    x, y = x[rows], y[rows]
    (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, len(x), 28, 28) + x.tobytes())
    (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, len(y)) + y.tobytes())
    return torch.tensor(x).float().div(255).unsqueeze(1), torch.searchsorted(torch.tensor(CLASSES), torch.tensor(y).long())


class FairCnn(torch.nn.Module):
    """The preset `fair-cnn`."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(1, 5, 3), torch.nn.Conv2d(5, 10, 3)
        self.fc1, self.fc2 = torch.nn.Linear(250, 100), torch.nn.Linear(100, 3)

    def forward(self, x):
        for layer in (self.conv1, self.conv2):
            x = torch.nn.functional.max_pool2d(torch.tanh(layer(x)), 2)
        return self.fc2(torch.tanh(self.fc1(x.flatten(1))))


# Larger steps of gd with minmax-reg amplify rounding errors: the weights answer a difference of the losses times 1 / lam = 10.
CASES = [("adam", 0.001, "minmax-reg"), ("gd", 0.02, "minmax-reg"), ("gd", 0.05, "tilted"), ("gd", 0.05, "cvar")]


@pytest.mark.parametrize(("optimizer", "rate", "method"), CASES)
def test_twenty_steps_are_those_of_the_engine(root, standoff, tmp_path, optimizer, rate, method):
    torch.manual_seed(0)
    model, folder = FairCnn(), tmp_path / "data"
    folder.mkdir()
    x, y = write_images(root, folder, "train", 100)
    write_images(root, folder, "t10k", 5)
    so.save_safetensors({name: value.numpy() for name, value in model.state_dict().items()}, tmp_path / "start.safetensors")
    standoff(
        "fair", "--data", folder, "--classes", "0,4,6", "--model", "fair-cnn", "--init", tmp_path / "start.safetensors", "--method", method,
        "--optimizer", optimizer, "--lr", rate, "--batch", 0, "--iterations", 20, "--measure-every", 1, "--seeds", 1, "--threads", 1,
        "--out", tmp_path / "run", "-q", cwd=tmp_path,
    )  # fmt: skip
    (metrics,) = (tmp_path / "run").glob("*/metrics.jsonl")
    theirs = [json.loads(line)["losses"] for line in metrics.read_text().splitlines()]
    objective = GroupMinMax(3, lam=0.1, method=method)
    kinds = {"adam": torch.optim.Adam, "gd": torch.optim.SGD}
    steps, ours = kinds[optimizer](model.parameters(), lr=rate), []
    for _ in range(21):
        losses = torch.nn.functional.cross_entropy(model(x), y, reduction="none")
        ours.append([float(losses[y == k].mean().detach()) for k in range(3)])
        value = objective(losses, y)
        steps.zero_grad()
        value.backward()
        steps.step()
    assert len(theirs) == 21
    print(f"{optimizer} {method}: largest difference {np.abs(np.array(ours) - theirs).max():.2g}")
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)
    assert max(abs(np.array(ours[20]) - ours[0])) > 0.01, "the losses have moved"

"""Writes onnx/*.onnx, small networks exported by PyTorch, and onnx/logits.txt, the logits of onnxruntime for one input each.

    pip install torch onnx onnxruntime && python make_onnx.py

Input i of every network is (37 i mod 101) / 101, as float32.
"""

import pathlib

import numpy as np
import onnxruntime
import torch
from torch import nn

torch.manual_seed(0)
here = pathlib.Path(__file__).parent / "onnx"
here.mkdir(exist_ok=True)


class Block(nn.Module):
    """Two convolutions with normalisation and a shortcut."""

    def __init__(self, a, b, stride):
        super().__init__()
        self.first, self.first_norm = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
        self.second, self.second_norm = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
        self.short = nn.Conv2d(a, b, 1, stride, bias=False) if a != b else nn.Identity()

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.short(x))


class Normalised(nn.Module):
    """Pixels minus a mean, divided by a deviation, then a network."""

    def __init__(self, network):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.4914, 0.4822, 0.4465]).reshape(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor([0.2471, 0.2435, 0.2616]).reshape(1, 3, 1, 1))
        self.network = network

    def forward(self, x):
        return self.network((x - self.mean) / self.deviation)


networks = {
    "mlp": ((1, 1, 4, 5), nn.Sequential(nn.Flatten(), nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 4))),
    "lenet": (
        (1, 1, 16, 16),
        nn.Sequential(
            nn.Conv2d(1, 4, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 10),
        ),
    ),
    "conv-bn": (
        (1, 3, 9, 9),
        nn.Sequential(
            nn.Conv2d(3, 6, 3, stride=2, padding=1), nn.BatchNorm2d(6), nn.LeakyReLU(0.1), nn.AvgPool2d(2),
            nn.Conv2d(6, 8, 2, padding=1), nn.BatchNorm2d(8), nn.Sigmoid(), nn.Dropout(), nn.Flatten(), nn.Linear(72, 5),
        ),
    ),
    "resnet8": (
        (1, 3, 12, 12),
        nn.Sequential(
            nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), Block(4, 4, 1), Block(4, 8, 2),
            Block(8, 12, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 10),
        ),
    ),
    "normalised": (
        (1, 3, 6, 6),
        Normalised(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU6(), nn.Flatten(), nn.Linear(64, 3), nn.Softmax(1))),
    ),
}
lines = []
for name, (shape, network) in networks.items():
    for layer in network.modules():  # statistics that matter
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.running_mean, -0.5, 0.5)
            nn.init.uniform_(layer.running_var, 0.5, 2.0)
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.uniform_(layer.bias, -0.5, 0.5)
    network.eval()
    count = int(np.prod(shape))
    x = ((37 * np.arange(count) % 101) / 101).astype(np.float32).reshape(shape)
    path = here / f"{name}.onnx"
    torch.onnx.export(network, (torch.from_numpy(x),), path, dynamo=False)
    session = onnxruntime.InferenceSession(path)
    (y,) = session.run(None, {session.get_inputs()[0].name: x})
    if name == "normalised":  # standoff leaves a softmax at the end out
        (y,) = (np.log(y),)
    lines.append(name + " " + " ".join(repr(float(v)) for v in y.reshape(-1)) + "\n")
(here / "logits.txt").write_text("".join(lines))

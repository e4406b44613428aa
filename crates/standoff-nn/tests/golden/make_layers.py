"""Writes layers/*.safetensors: what PyTorch computes for small networks that together have every layer, to compare the engine with.

    bench/.venv/bin/python crates/standoff-nn/tests/golden/make_layers.py       (bench/setup.sh makes that environment)

Everything was computed in float64 and rounded to float32 at the end. The metadata has `input` and `layers` of the model file, the rate `sgd`, and
the version of torch. Tensors, for n images:

    parameters [size]          in the order of the model file: of batch normalisation weight, bias, running mean, running variance; of ramp caps and slope
    images [n, entries]        numbers from 0 to 1
    labels [n] (u8)
    MODE.logits, MODE.loss     of each image (cross-entropy), for MODE in `eval` (population statistics) and, with batch normalisation, `train`
                               (statistics of the n images)
    MODE.gradient [size]       of the mean loss; zero for what is not trained (running statistics, slopes)
    MODE.input [n, entries]    the gradient of each image's loss in the image (`eval` only)
    MODE.steps [size]          the parameters after 10 steps on all images, v = 0.9 v + g, x -= rate v
"""

import pathlib
import sys

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from make import write  # noqa: E402

HERE = pathlib.Path(__file__).parent / "layers"
IMAGES = 14

# The seeds were looked for: with others, a unit of float32's rounding can tip a kink the other way during training.
CASES = {
    "strides": (1, (3, 8, 7), ["normalise(0.4, 0.5, 0.3, 0.2, 0.25, 0.3)", "conv(3x2, 5, stride=2x1, pad=1x0)", "leaky_relu(0.1)",
                               "conv(3, 6, stride=2, pad=1)", "gelu", "flatten", "dense(3)"]),
    "groups": (1, (4, 7, 6), ["conv(3, 8, pad=1, groups=4)", "sigmoid", "conv(2, 8, groups=8)", "hardtanh(-0.3, 0.4)",
                              "maxpool(3, stride=2, pad=1)", "conv(1, 3)", "flatten", "dense(5)"]),
    "depthwise": (1, (3, 9, 8), ["conv(3, 3, stride=2, pad=1, groups=3)", "conv(1, 6)", "relu", "conv(1x3, 6, pad=0x1, groups=6)", "tanh",
                                 "maxpool(2x1, stride=1)", "flatten", "dense(4)"]),
    "residual": (1, (3, 8, 8), ["conv(3, 6, pad=1)", "batchnorm", "start: relu", "conv(3, 6, pad=1)", "batchnorm", "relu", "conv(3, 6, pad=1)",
                                "batchnorm", "add(start)", "second: relu", "conv(3, 8, stride=2, pad=1)", "body: batchnorm", "from(second)",
                                "conv(1, 8, stride=2)", "batchnorm", "add(body)", "relu", "globalavgpool", "dense(4)"]),
    "ramps": (1, (1, 9, 8), ["conv(1, 4)", "ramp", "conv(4, 5, stride=2, pad=1)", "ramp", "avgpool(2x3, stride=1x2)", "flatten", "dense(6)",
                             "ramp", "dense(3)"]),
    "table": (1, (6,), ["dense(7)", "batchnorm", "tanh", "dense(7)", "add(3)", "gelu", "batchnorm", "dense(2)"]),
    "first": (1, (2, 6, 5), ["batchnorm", "conv(3, 5, pad=1)", "batchnorm", "hardtanh", "avgpool(2)", "flatten", "dense(4)", "batchnorm",
                             "leaky_relu(0.2)", "dense(3)"]),
}


def pair(text):
    sides = [int(side) for side in text.split("x")]
    return (sides[0], sides[-1])


def parse(text):
    """`(label, kind, numbers, options)` of a layer."""
    label, _, layer = text.rpartition(": ")
    kind, _, inside = layer.rstrip(")").partition("(")
    words = [word.strip() for word in inside.split(",") if word.strip()]
    options = dict(word.split("=") for word in words if "=" in word)
    return label, kind, [word for word in words if "=" not in word], options


class Network:
    """A model file as a function of a list of tensors."""

    def __init__(self, shape, layers, random):
        self.layers, self.parameters, self.trained = [parse(text) for text in layers], [], []
        self.labels = {label: i + 1 for i, (label, *_) in enumerate(self.layers) if label}
        self.random = random
        with torch.no_grad():
            self.run(torch.zeros(2, *shape, dtype=torch.float64), None, True)
        self.random = None

    def take(self, used, shape, scale, shift=0.0, trained=True):
        """The next parameter; made when the network is built."""
        if self.random is not None:
            values = (shift + scale * self.random.uniform(-1, 1, shape)).astype(np.float32)
            self.parameters.append(torch.from_numpy(values).double())
            self.trained.append(trained)
            return self.parameters[-1]
        return used.pop(0)

    def value(self, values, name):
        return values[self.labels[name] if name in self.labels else 0 if name == "input" else int(name)]

    def run(self, x, parameters, training):
        used, values = list(parameters or []), [x]
        for _, kind, numbers, options in self.layers:
            values.append(self.layer(kind, numbers, options, values, used, training))
        return values[-1]

    def layer(self, kind, numbers, options, values, used, training):
        x = values[-1]
        channels = x.shape[1]
        if kind == "conv":
            kernel, groups = pair(numbers[0]), int(options.get("groups", 1))
            shape = (int(numbers[1]), channels // groups, *kernel)
            weight = self.take(used, shape, 1.7 / (shape[1] * kernel[0] * kernel[1]) ** 0.5)
            bias = self.take(used, shape[:1], 0.2)
            stride, padding = pair(options.get("stride", "1")), pair(options.get("pad", "0"))
            return F.conv2d(x, weight, bias, stride, padding, 1, groups)
        if kind == "dense":
            weight = self.take(used, (int(numbers[0]), channels), 1.7 / channels**0.5)
            return F.linear(x, weight, self.take(used, (int(numbers[0]),), 0.2))
        if kind == "batchnorm":
            weight, bias = self.take(used, (channels,), 0.3, 1.0), self.take(used, (channels,), 0.3)
            mean, variance = self.take(used, (channels,), 0.3, 0.0, False), self.take(used, (channels,), 0.4, 0.8, False)
            if training:
                return F.batch_norm(x, None, None, weight, bias, True)
            return F.batch_norm(x, mean, variance, weight, bias, False)
        if kind == "ramp":
            cap, slope = self.take(used, (channels,), 0.3, 0.6), self.take(used, (1,), 0.0, 0.0625, False)
            cap = cap.reshape(1, -1, *[1] * (x.dim() - 2))
            inside = torch.minimum(torch.relu(x), torch.relu(cap))
            return inside + slope * (x - inside)
        if kind == "normalise":
            stats = torch.from_numpy(np.array(numbers, dtype=np.float32)).double().reshape(2, 1, -1, 1, 1)
            return (x - stats[0]) / stats[1]
        if kind in ("maxpool", "avgpool"):
            window = pair(numbers[0])
            stride = pair(options["stride"]) if "stride" in options else window
            if kind == "avgpool":
                return F.avg_pool2d(x, window, stride)
            return F.max_pool2d(x, window, stride, pair(options.get("pad", "0")))
        if kind == "add":
            return x + self.value(values, numbers[0])
        if kind == "from":
            return self.value(values, numbers[0])
        functions = {
            "relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "gelu": F.gelu,
            "leaky_relu": lambda x: F.leaky_relu(x, float(np.float32(numbers[0]))),
            "hardtanh": lambda x: F.hardtanh(x, *[float(np.float32(number)) for number in numbers or ["-1", "1"]]),
            "flatten": lambda x: x.flatten(1), "globalavgpool": lambda x: x.mean((2, 3)),
        }
        return functions[kind](x)


def compute(network, images, labels, training, rate):
    """The tensors of one mode."""
    parameters = [p.clone().requires_grad_(fits) for p, fits in zip(network.parameters, network.trained)]
    speeds, out = [torch.zeros_like(p) for p in parameters], {}
    x = images.clone().requires_grad_()
    for step in range(10):
        z = network.run(x, parameters, training)
        loss = F.cross_entropy(z, labels, reduction="none")
        learnt = [p for p in parameters if p.requires_grad]
        gradients = iter(torch.autograd.grad(loss.mean(), learnt, retain_graph=True))
        gradients = [next(gradients) if p.requires_grad else torch.zeros_like(p) for p in parameters]
        if step == 0:
            out["logits"], out["loss"] = z.detach(), loss.detach()
            out["gradient"] = torch.cat([g.flatten() for g in gradients])
            if not training:
                out["input"] = torch.autograd.grad(loss.sum(), x)[0]
        with torch.no_grad():
            for p, v, g in zip(parameters, speeds, gradients):
                v.mul_(0.9).add_(g)
                p.sub_(rate * v)
    out["steps"] = torch.cat([p.detach().flatten() for p in parameters])
    return out


def main():
    torch.set_num_threads(1)
    HERE.mkdir(exist_ok=True)
    for name, (seed, shape, layers) in CASES.items():
        random = np.random.default_rng(seed)
        network = Network(shape, layers, random)
        images = random.uniform(0, 1, (IMAGES, *shape)).astype(np.float32)
        classes = int(network.layers[-1][2][0])
        labels = (np.arange(IMAGES) * 3 % classes).astype(np.uint8)
        tensors = {"parameters": torch.cat([p.flatten() for p in network.parameters]), "images": torch.from_numpy(images)}
        rate = 0.0625
        modes = ["eval", "train"] if any(kind == "batchnorm" for _, kind, *_ in network.layers) else ["eval"]
        for mode in modes:
            found = compute(network, torch.from_numpy(images).double(), torch.from_numpy(labels).long(), mode == "train", rate)
            tensors |= {f"{mode}.{key}": value for key, value in found.items()}
        stored = {key: value.double().numpy().astype(np.float32) for key, value in tensors.items()}
        assert all(np.isfinite(array).all() for array in stored.values())
        stored["labels"] = labels
        facts = {"input": "x".join(map(str, shape)), "layers": "; ".join(layers), "sgd": str(rate), "torch": torch.__version__}
        write(HERE / f"{name}.safetensors", stored, facts)
        print(f"{name}: {(HERE / f'{name}.safetensors').stat().st_size} bytes, {len(stored['parameters'])} parameters")


if __name__ == "__main__":
    main()

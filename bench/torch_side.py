"""PyTorch's side of the comparison: reads jobs from stdin and writes JSON to stdout (see README.md)."""

import json
import pathlib
import resource
import sys
import time

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from torch import nn
from torch.nn import functional as F

import work

THREADS = 2
EPSILON, ROBUST_STEP, ROBUST_ITERATIONS = 0.4, 0.1, 11
PGD_EPSILON, PGD_STEP, PGD_ITERATIONS = 0.3, 0.01, 40
GENERAL_EPSILON, GENERAL_STEP = 8 / 255, 2 / 255


def network(name, folder):
    def features(k, a, b, act):
        return [("conv1", nn.Conv2d(1, a, k)), ("act1", act()), ("pool1", nn.MaxPool2d(2)),
                ("conv2", nn.Conv2d(a, b, k)), ("act2", act()), ("pool2", nn.MaxPool2d(2))]

    def dense(a, b, act):
        return [("fc1", nn.Linear(a, b)), ("act3", act()), ("fc2", nn.Linear(b, 10))]
    flat = [("flat", nn.Flatten())]
    layers = {"fair-cnn": lambda: features(3, 5, 10, nn.Tanh) + flat + dense(250, 100, nn.Tanh),
              "lenet": lambda: features(5, 20, 50, nn.ReLU) + flat + dense(800, 500, nn.ReLU),
              "logistic": lambda: flat + [("fc1", nn.Linear(784, 10))]}[name]()
    net = nn.Sequential()
    for key, layer in layers:
        net.add_module(key, layer)
    net.load_state_dict({k: torch.from_numpy(v) for k, v in load_file(folder / f"{name}.safetensors").items()})
    return net


class General(nn.Module):
    """The networks of work.NETWORKS with frozen statistics, as `models/*.toml` describes them."""

    MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)

    def __init__(self, name, folder):
        super().__init__()
        self.name = name
        convolutions, norms, dense = work.PLANES[name]
        # Stride and padding by the number of the layer.
        strides = {"resnet8": {4: 2, 6: 2, 7: 2, 9: 2}}.get(name, {3: 2})
        for i, (n, k, side) in enumerate(convolutions, 1):
            padding = 0 if name == "dm-large" or side == 1 else 1
            self.add_module(f"conv{i}", nn.Conv2d(k, n, side, strides.get(i, 1), padding))
        for i, n in enumerate(norms, 1):
            self.add_module(f"bn{i}", (nn.BatchNorm1d if n == 512 else nn.BatchNorm2d)(n))
        for i, (n, k) in enumerate(dense, 1):
            self.add_module(f"fc{i}", nn.Linear(k, n))
        self.register_buffer("mean", torch.tensor(self.MEAN).reshape(3, 1, 1), persistent=False)
        self.register_buffer("deviation", torch.tensor(self.DEVIATION).reshape(3, 1, 1), persistent=False)
        weights = {k: torch.from_numpy(v) for k, v in load_file(folder / f"{name}.safetensors").items()}
        missing, unexpected = self.load_state_dict(weights, strict=False)
        assert not unexpected and all(k.endswith("num_batches_tracked") for k in missing)
        self.eval()

    def layer(self, conv, norm, x):
        return getattr(self, f"bn{norm}")(getattr(self, f"conv{conv}")(x))

    def forward(self, x):
        if self.name == "dm-large":
            for i in range(1, 6):
                x = F.relu(getattr(self, f"conv{i}")(x))
            return self.fc2(F.relu(self.fc1(x.flatten(1))))
        x = (x - self.mean) / self.deviation
        if self.name == "cnn7":
            for i in range(1, 6):
                x = F.relu(self.layer(i, i, x))
            return self.fc2(F.relu(self.bn6(self.fc1(x.flatten(1)))))
        x = F.relu(self.layer(1, 1, x))
        x = F.relu(self.layer(3, 3, F.relu(self.layer(2, 2, x))) + x)
        x = F.relu(self.layer(5, 5, F.relu(self.layer(4, 4, x))) + self.conv6(x))
        x = F.relu(self.layer(8, 7, F.relu(self.layer(7, 6, x))) + self.conv9(x))
        return self.fc1(x.mean((2, 3)))


def data(folder, name):
    """Images in PyTorch's layout, float in [0, 1], converted once; labels; targets if there are any."""
    file = load_file(folder / f"{name}.safetensors")
    shape = (3, 32, 32) if name == "colour" else (1, 28, 28)
    x = torch.from_numpy(file["images"].astype(np.float32) / np.float32(255)).reshape(-1, *shape)
    return x, *(torch.from_numpy(file[k].astype(np.int64)) for k in ("labels", "targets") if k in file)


def flat_gradient(net):
    return torch.cat([p.grad.ravel() for p in net.parameters()])


class Pass:
    """Forward and backward over 18,000 images: the gradient of the mean loss."""

    def __init__(self, folder, model):
        self.x, self.y = data(folder, "fair")
        self.net = network(model, folder)
        self.last = None

    variants = ["whole", *(f"chunk-{n}" for n in (100, 200, 300, 600, 1200, 3000, 6000)), "channels_last-600"]

    def run(self, variant):
        kind, _, size = variant.partition("-")
        net, x, n = self.net, self.x, len(self.x)
        if kind == "channels_last":
            if self.last is None:
                self.last = (self.net.to(memory_format=torch.channels_last),
                             self.x.to(memory_format=torch.channels_last))
            net, x = self.last
        size = int(size or n)
        net.zero_grad()
        for i in range(0, n, size):
            (F.cross_entropy(net(x[i:i + size]), self.y[i:i + size], reduction="sum") / n).backward()

    def check(self):
        z = torch.cat([self.net(x) for x in self.x.split(600)]).detach()
        groups = F.cross_entropy(z, self.y, reduction="none").reshape(3, -1).mean(1)
        self.run("chunk-600")
        return {"losses": groups, "gradient": flat_gradient(self.net)}


class AdamSteps:
    """Steps of Adam on the largest-loss mixture of three groups of 200 images; 30 steps, one chunk after another."""

    variants = ["plain", "foreach", "fused"]
    steps = 30

    def __init__(self, folder):
        self.folder = folder
        self.x, self.y = data(folder, "fair")

    def run(self, variant, steps=steps):
        net = network("fair-cnn", self.folder)
        options = {} if variant == "plain" else {variant: True}
        adam = torch.optim.Adam(net.parameters(), lr=1e-4, **options)
        start = time.perf_counter()
        for k in range(steps):
            rows = [slice(6000 * g + 200 * k, 6000 * g + 200 * (k + 1)) for g in range(3)]
            x, y = torch.cat([self.x[r] for r in rows]), torch.cat([self.y[r] for r in rows])
            adam.zero_grad()
            groups = F.cross_entropy(net(x), y, reduction="none").reshape(3, 200).mean(1)
            t = project(groups.detach() / 0.1)
            (t * groups).sum().backward()
            adam.step()
        seconds = (time.perf_counter() - start) / steps
        return seconds, torch.cat([p.detach().ravel() for p in net.parameters()])

    def check(self):
        before = torch.cat([p.detach().ravel() for p in network("fair-cnn", self.folder).parameters()])
        return {"change": self.run("plain", 5)[1] - before}


def project(v):
    u = v.sort(descending=True).values
    excess = (u.cumsum(0) - 1) / torch.arange(1, len(v) + 1)
    return (v - excess[(u > excess).nonzero()[-1, 0]]).clamp(min=0)


class Robust:
    """One robust-training step: 640 images, 11 sign steps on z_j - z_y, then one training pass over the result."""

    variants = ["whole", "chunk-80", "chunk-160", "chunk-320", "channels_last-640"]

    def __init__(self, folder, worst):
        self.net = network("lenet", folder)
        self.x, self.y, self.j = data(folder, "robust")
        self.worst = worst

    def slope(self, x, y, j):
        x = x.detach().requires_grad_()
        z = self.net(x)
        return torch.autograd.grad((z.gather(1, j[:, None]) - z.gather(1, y[:, None])).sum(), x)[0]

    def attack(self, x0, y, j):
        x, low, high = x0, (x0 - EPSILON).clamp(min=0), (x0 + EPSILON).clamp(max=1)
        for _ in range(ROBUST_ITERATIONS):
            x = (x + ROBUST_STEP * self.slope(x, y, j).sign()).clamp(low, high)
        return x

    def run(self, variant):
        kind, _, size = variant.partition("-")
        self.net.to(memory_format=torch.channels_last if kind == "channels_last" else torch.contiguous_format)
        size = int(size or len(self.x))
        self.net.zero_grad()
        for i in range(0, len(self.x), size):
            y = self.y[i:i + size]
            x = self.attack(self.x[i:i + size], y, self.j[i:i + size])
            self.train(x, y).backward()

    def train(self, x, y):
        loss = F.cross_entropy(self.net(x), y, reduction="none")
        return loss.reshape(-1, 10).max(1).values.sum() / 64 if self.worst else loss.sum() / 640

    def check(self):
        self.net.zero_grad()
        self.train(self.x, self.y).backward()
        return {"slope": self.slope(self.x, self.y, self.j), "attacked images": self.attack(self.x, self.y, self.j),
                "gradient": flat_gradient(self.net)}


class Pgd:
    """PGD-40 on 1,000 images: cross-entropy, sign steps of 0.01, radius 0.3."""

    variants = ["whole", "chunk-100", "chunk-200", "chunk-500", "channels_last-1000"]

    def __init__(self, folder):
        self.net = network("lenet", folder)
        self.x, self.y = data(folder, "pgd")

    def attack(self, x0, y, iterations):
        x, low, high = x0, (x0 - PGD_EPSILON).clamp(min=0), (x0 + PGD_EPSILON).clamp(max=1)
        for _ in range(iterations):
            x = x.detach().requires_grad_()
            slope = torch.autograd.grad(F.cross_entropy(self.net(x), y, reduction="sum"), x)[0]
            x = (x + PGD_STEP * slope.sign()).clamp(low, high)
        return x.detach()

    def run(self, variant):
        kind, _, size = variant.partition("-")
        self.net.to(memory_format=torch.channels_last if kind == "channels_last" else torch.contiguous_format)
        size, correct = int(size or len(self.x)), 0
        for x, y in zip(self.x.split(size), self.y.split(size)):
            x = self.attack(x, y, PGD_ITERATIONS)
            with torch.no_grad():
                correct += int((self.net(x).argmax(1) == y).sum())
        return None, correct

    def check(self):
        """The first three steps; later, signs of nearly zero slopes differ by rounding."""
        return {"attacked images": self.attack(self.x, self.y, 3)}


class GeneralJob:
    """64 images through a network of general layers: forward, the gradient of the mean loss, that of a training step, which normalises
    by the statistics of the batch, or ten sign steps."""

    variants = ["whole", "channels_last"]
    steps = 10

    def __init__(self, folder, name, work_of):
        self.net = General(name, folder)
        self.x, self.y = data(folder, work.NETWORKS[name])
        self.work_of = work_of
        self.net.train(work_of == "train")

    def attack(self, iterations):
        x0, x = self.x, self.x
        low, high = (x0 - GENERAL_EPSILON).clamp(min=0), (x0 + GENERAL_EPSILON).clamp(max=1)
        for _ in range(iterations):
            x = x.detach().requires_grad_()
            slope = torch.autograd.grad(F.cross_entropy(self.net(x), self.y, reduction="sum"), x)[0]
            x = (x + GENERAL_STEP * slope.sign()).clamp(low, high)
        return x.detach()

    def gradient(self):
        self.net.zero_grad()
        F.cross_entropy(self.net(self.x), self.y).backward()

    def run(self, variant):
        layout = torch.channels_last if variant == "channels_last" else torch.contiguous_format
        self.net.to(memory_format=layout)
        self.x = self.x.contiguous(memory_format=layout)
        if self.work_of == "forward":
            with torch.no_grad():
                self.net(self.x)
        elif self.work_of in ("gradient", "train"):
            self.gradient()
        else:
            self.attack(self.steps)

    def check(self):
        if self.work_of == "forward":
            return {"logits": self.net(self.x)}
        if self.work_of in ("gradient", "train"):
            self.gradient()
            return {"gradient" if self.work_of == "gradient" else "training gradient": self.net.conv1.weight.grad}
        return {"attacked images": self.attack(3)}


JOBS = {
    **{f"{name}-{work_of}": lambda folder, name=name, work_of=work_of: GeneralJob(folder, name, work_of)
       for name in work.NETWORKS for work_of in ("forward", "gradient", "train", "pgd10")},
    "fair-pass": lambda folder: Pass(folder, "fair-cnn"),
    "fair-adam": AdamSteps,
    "robust-same": lambda folder: Robust(folder, worst=False),
    "robust-step": lambda folder: Robust(folder, worst=True),
    "pgd40": Pgd,
    "logistic-pass": lambda folder: Pass(folder, "logistic"),
}


def answer(jobs, folder, words):
    if words[0] == "about":
        return {"name": "PyTorch", "version": torch.__version__, "threads": torch.get_num_threads(),
                "isa": torch.backends.cpu.get_cpu_capability()}
    if words[0] == "memory":
        return {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    name = words[1]
    if name not in jobs:
        jobs.clear()
        jobs[name] = JOBS[name](folder)
    job = jobs[name]
    if words[0] == "variants":
        return {"variants": job.variants}
    if words[0] == "check":
        found = {k: v.detach().reshape(-1).numpy().astype(np.float32) for k, v in job.check().items()}
        save_file(found, folder / f"check-{name}-torch.safetensors")
        return {}
    seconds = []
    for _ in range(int(words[3])):
        start = time.perf_counter()
        result = job.run(words[2])
        own = result[0] if result else None
        seconds.append(own if own is not None else time.perf_counter() - start)
    return {"seconds": seconds}


def main():
    torch.set_num_threads(THREADS)
    folder, jobs = pathlib.Path(sys.argv[1]), {}
    for line in sys.stdin:
        print(json.dumps(answer(jobs, folder, line.split())), flush=True)


main()

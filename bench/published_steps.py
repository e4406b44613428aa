#!/usr/bin/env python3
"""The first steps of `experiments/robust-published.toml` beside the same steps in PyTorch: are the published settings in force?

    cargo build --release && bench/setup.sh && bench/.venv/bin/python bench/published_steps.py

Both start from the same weights and take three steps of 64 images in order, two at the first rate and one at the second. The two losses
of a step agree up to signs of slopes that are nearly zero, where an attacked pixel moves either way by rounding.
"""

import argparse
import gzip
import pathlib
import subprocess
import tempfile

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
EPS, SIZE, ATTACK, CLASSES, BATCH = 0.4, 0.1, 11, 10, 64


def entries(name, header):
    """The bytes of one of MNIST's files as a tensor."""
    content = gzip.open(ROOT / "data/mnist" / name).read()[header:]
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def network(w, x):
    x = F.max_pool2d(F.relu(F.conv2d(x, w["conv1.weight"], w["conv1.bias"])), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, w["conv2.weight"], w["conv2.bias"])), 2)
    x = F.relu(F.linear(x.flatten(1), w["fc1.weight"], w["fc1.bias"]))
    return F.linear(x, w["fc2.weight"], w["fc2.bias"])


def worst_loss(w, images, labels):
    """The mean over images of the largest loss of ten attacks, one towards each label."""
    clean = images.repeat_interleave(CLASSES, 0)
    own = labels.repeat_interleave(CLASSES)[:, None]
    towards = torch.arange(CLASSES).repeat(len(images))[:, None]
    x = clean
    for _ in range(ATTACK):
        x = x.detach().requires_grad_()
        z = network(w, x)
        (slope,) = torch.autograd.grad((z.gather(1, towards) - z.gather(1, own)).sum(), x)
        x = (clean + (x.detach() + SIZE * slope.sign() - clean).clamp(-EPS, EPS)).clamp(0, 1)
    losses = F.cross_entropy(network(w, x.detach()), own[:, 0], reduction="none")
    return losses.view(-1, CLASSES).max(1).values.mean()


def torch_steps(w, images, labels, stages):
    losses = []
    for rate, steps in stages:
        # The published code makes a new optimiser for each stage.
        optimiser = torch.optim.Adam(w.values(), lr=rate)
        for step in steps:
            at = slice(BATCH * step, BATCH * (step + 1))
            loss = worst_loss(w, images[at], labels[at])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--standoff", default=ROOT / "target/release/standoff", type=pathlib.Path)
    options = parser.parse_args()
    published = "experiments/robust-published.toml"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def train(name, *more):
            command = [options.standoff, "robust", "--config", published, "--out", folder / name, "--quiet", *more]
            subprocess.run([str(part) for part in command], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            loss = (folder / name / "epochs.csv").read_text().split("\n")[1].split(",")[1]
            return load_file(folder / name / "model.safetensors"), float(loss)

        # A step without an effect leaves the initial weights.
        start, _ = train("start", "--limit", 64, "--epochs", 1, "--lr", "1e-30")
        # The first epoch of n steps has the mean of their losses.
        means = []
        for count in (1, 2, 3):
            rates = ["--lr", "5e-4"] if count < 3 else []
            found, mean = train(f"steps{count}", "--limit", BATCH * count, "--epochs", 1, *rates)
            means.append(mean * count)
    images = entries("train-images-idx3-ubyte.gz", 16)[: 3 * BATCH * 784].view(-1, 1, 28, 28) / 255
    labels = entries("train-labels-idx1-ubyte.gz", 8)[: 3 * BATCH].long()
    w = {name: value.clone().requires_grad_() for name, value in start.items()}
    theirs = torch_steps(w, images, labels, [(5e-4, (0, 1)), (5e-5, (2,))])
    for step, loss in enumerate(theirs):
        own = means[step] - (means[step - 1] if step else 0)
        print(f"step {step + 1}: standoff {own:.5f}, PyTorch {loss:.5f}, difference {abs(own - loss) / loss:.1e} of it")
    moved = sum(float((found[name] - start[name]).square().sum()) for name in w) ** 0.5
    apart = sum(float((found[name] - w[name].detach()).square().sum()) for name in w) ** 0.5
    print(f"weights after three steps: moved by {moved:.3f}, apart by {apart:.3f}")


if __name__ == "__main__":
    main()

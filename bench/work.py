"""The input of both sides: images, labels, targets and weights, as safetensors files in a folder."""

import gzip
import pathlib

import numpy as np
from safetensors.numpy import save_file

DATA = pathlib.Path(__file__).parent.parent / "data"
SHAPES = {
    "fair-cnn": [("conv1", (5, 1, 3, 3)), ("conv2", (10, 5, 3, 3)), ("fc1", (100, 250)), ("fc2", (10, 100))],
    "lenet": [("conv1", (20, 1, 5, 5)), ("conv2", (50, 20, 5, 5)), ("fc1", (500, 800)), ("fc2", (10, 500))],
    "logistic": [("fc1", (10, 784))],
}


def idx(path, header):
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=header)


def read(folder, images, labels):
    return idx(DATA / folder / images, 16).reshape(-1, 784), idx(DATA / folder / labels, 8)


def weights(name):
    """Xavier-normal, biases 0.01."""
    random, out = np.random.default_rng(1), {}
    for layer, shape in SHAPES[name]:
        area = int(np.prod(shape[2:]))
        scale = (2 / (area * (shape[0] + shape[1]))) ** 0.5
        out[f"{layer}.weight"] = (random.standard_normal(shape) * scale).astype(np.float32)
        out[f"{layer}.bias"] = np.full(shape[0], 0.01, np.float32)
    return out


def make(folder):
    folder.mkdir(exist_ok=True)
    for name in SHAPES:
        save_file(weights(name), folder / f"{name}.safetensors")
    # 18,000 images of three categories, sorted by category: the groups are thirds.
    images, labels = read("fashion-tops", "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
    rows = np.concatenate([np.flatnonzero(labels == c)[:6000] for c in (0, 4, 6)])
    save_file({"images": images[rows], "labels": labels[rows]}, folder / "fair.safetensors")
    # 64 images towards each of ten targets, and 1,000 test images to attack.
    images, labels = read("mnist", "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
    targets = np.tile(np.arange(10, dtype=np.uint8), 64)
    save_file({"images": images[:64].repeat(10, 0), "labels": labels[:64].repeat(10), "targets": targets},
              folder / "robust.safetensors")
    images, labels = read("mnist", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")
    save_file({"images": images[:1000], "labels": labels[:1000]}, folder / "pgd.safetensors")

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

# Networks of general layers: files of the engine, weights by the names of both sides, and their input.
FOLDER = pathlib.Path(__file__).parent.parent / "models"
NETWORKS = {"resnet8": "colour", "cnn7": "colour", "dm-large": "digits"}
PLANES = {
    "resnet8": ([(16, 3, 3), (16, 16, 3), (16, 16, 3), (32, 16, 3), (32, 32, 3), (32, 16, 1), (64, 32, 3), (64, 64, 3), (64, 32, 1)],
                [16, 16, 16, 32, 32, 64, 64], [(10, 64)]),
    "cnn7": ([(64, 3, 3), (64, 64, 3), (128, 64, 3), (128, 128, 3), (128, 128, 3)], [64, 64, 128, 128, 128, 512],
             [(512, 32768), (10, 512)]),
    "dm-large": ([(64, 1, 3), (64, 64, 3), (128, 64, 3), (128, 128, 3), (128, 128, 3)], [], [(512, 6272), (10, 512)]),
}


def general_weights(name):
    """Weights of a deviation that keeps the size of activations, and population statistics near 0 and 1."""
    random, out = np.random.default_rng(2), {}
    convolutions, norms, dense = PLANES[name]

    def layer(key, shape):
        scale = (2 / np.prod(shape[1:])) ** 0.5
        out[f"{key}.weight"] = (random.standard_normal(shape) * scale).astype(np.float32)
        out[f"{key}.bias"] = np.full(shape[0], 0.01, np.float32)
    for i, (n, k, side) in enumerate(convolutions, 1):
        layer(f"conv{i}", (n, k, side, side))
    for i, n in enumerate(norms, 1):
        out[f"bn{i}.weight"], out[f"bn{i}.bias"] = (random.uniform(low, high, n).astype(np.float32)
                                                    for low, high in ((0.8, 1.2), (-0.1, 0.1)))
        out[f"bn{i}.running_mean"], out[f"bn{i}.running_var"] = (random.uniform(low, high, n).astype(np.float32)
                                                                 for low, high in ((-0.1, 0.1), (0.5, 2)))
    for i, shape in enumerate(dense, 1):
        layer(f"fc{i}", shape)
    return out


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
    for name in NETWORKS:
        save_file(general_weights(name), folder / f"{name}.safetensors")
        (folder / f"{name}.toml").write_text((FOLDER / f"{name}.toml").read_text())
    random = np.random.default_rng(3)
    save_file({"images": random.integers(0, 256, (64, 3072), np.uint8), "labels": random.integers(0, 10, 64, np.uint8)},
              folder / "colour.safetensors")
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
    save_file({"images": images[:64], "labels": labels[:64]}, folder / "digits.safetensors")

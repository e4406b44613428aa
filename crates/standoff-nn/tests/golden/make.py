"""Writes the golden files beside this script: what PyTorch computes for small networks, to compare the engine with.

    bench/.venv/bin/python crates/standoff-nn/tests/golden/make.py       (bench/setup.sh makes that environment)

Each file is a safetensors file. Every number in it was computed by PyTorch in float64 and rounded to float32 at the
end, so that it is the right answer and not PyTorch's rounding; how far PyTorch's own float32 is from it is in the
file's metadata, as `float32_error.NAME`, in the measure described under "Tensors".

What is too large to store is made from a hash by both sides, exactly. All arithmetic is in wrapping u32:

    fmix(x):  x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13; x *= 0xc2b2ae35; x ^= x >> 16
    hash(seed, i)   = fmix(fmix(seed) + i)                       hash(2, 0..3) = b5d455e1, 371fc43b, 2ceb5101
    parameter i     = ((hash(seed, i) >> 20) - 2048) / 2^shift   i: index in the flat parameter vector; metadata
                                                                 `seed`, and `shifts`, one per named tensor
    pixel i         = hash(2, i) >> 24                           0..255, i: index in the array of all images
    chosen(m, n)    = hash(3, m) % n                             m = 0..255: where a large tensor is looked at
    sign(d, i)      = 1 - 2 * (hash(16 + d, i) >> 31)            direction d = 0..15 for a large tensor

With `scale = raw` the network sees the pixels, with `unit` it sees them divided by 255 (in float32).

Tensors. A tensor of up to 512 numbers is stored whole, under its name. A larger one, NAME, is stored as
    NAME.norm       [1]    its Euclidean norm
    NAME.entries    [256]  its entries at chosen(0..255, n) of the flat tensor
    NAME.dots       [16]   its products with the directions sign(0..15, .)
The error of a small tensor is |ours - stored| / |stored| in the Euclidean norm; that of a large one the larger of
two estimates of the same: from the entries, sqrt(n / 256 * sum (difference)^2) / norm, and from the products,
sqrt(sum (difference)^2 / 16) / norm (a random sign vector's product with the error has the error's norm as its
standard deviation).

What is stored, for n images and c classes (u8: labels, groups, targets; all else f32):
    labels, groups, targets [n]  the class, the group, and another class (for the margin)
    weights [n]                  of the samples, a third of them zero
    probabilities [n, c]         p of the KL loss
    logits [n, c]
    loss.L [n]                   the loss of each sample, for L in
                                   ce      -log softmax(z)_y
                                   margin  z_target - z_y
                                   cw      max_{j != y} z_j - z_y
                                   dlr     -(z_y - max_{j != y} z_j) / (z_(1) - z_(3) + 1e-12), z_(k): k-th largest
                                   kl      sum_j p_j (log p_j - log softmax(z)_j)
    group.loss [groups]          mean cross-entropy of each group
    group.G.grad.PARAM           its gradient, G = 0, 1, ...; PARAM = conv1.weight, ...
    weighted.L.grad.PARAM        gradient of sum_i weights_i loss_i
    input.L                      [n, channels, height, width] gradient of each sample's loss in its input, as the
                                 network sees it (that is, in pixel / 255 for `unit`)
    train.GAME.OPTIMISER.PARAM   parameters after 10 full-batch steps, for GAME in
                                   minmax  sum_g t_g L_g, t = projection of L / 0.1 on the simplex, anew each step
                                   mean    mean over all samples
                                 and OPTIMISER in sgd (v = 0.9 v + g, x -= rate v; metadata `sgd` is the rate) and
                                 adam (rate 0.001, betas 0.9 and 0.999, epsilon 1e-8)
    train.GAME.OPTIMISER.losses  [10, groups] the groups' mean losses before each step
    train.minmax.OPTIMISER.t     [10, groups] the weights of each step
Metadata: input (channels x height x width), layers, scale, seed, shifts, images (n), groups, sgd, torch (version).
"""

import json
import pathlib
import struct

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).parent
WHOLE, ENTRIES, DOTS = 512, 256, 16
LOSSES = ["ce", "margin", "cw", "dlr", "kl"]


def spread(classes, n):
    """n labels cycling through the classes, unevenly: the groups must not be of one size."""
    order = classes + classes[:-1] + classes[1:]
    return [order[i % len(order)] for i in range(n)]


# The seeds were looked for: with others, a unit of float32's rounding can tip a max-pooling or a ReLU the other way
# during training, and no two programs would agree afterwards. The step of `raw` is as small as its inputs are large.
CASES = {
    "fair-cnn-unit": dict(
        input=(1, 28, 28),
        layers="conv(3, 5) tanh maxpool(2) conv(3, 10) tanh maxpool(2) flatten dense(100) tanh dense(3)",
        scale="unit", labels=spread([0, 1, 2], 30), groups=spread([0, 1, 2], 30), seed=123, sgd=0.01),
    "fair-cnn-raw": dict(
        input=(1, 28, 28),
        layers="conv(3, 5) tanh maxpool(2) conv(3, 10) tanh maxpool(2) flatten dense(100) tanh dense(10)",
        scale="raw", labels=spread([0, 4, 6], 30), groups=spread([0, 1, 2], 30), seed=120, sgd=1e-5),
    "lenet": dict(
        input=(1, 28, 28),
        layers="conv(5, 20) relu maxpool(2) conv(5, 50) relu maxpool(2) flatten dense(500) relu dense(10)",
        scale="unit", labels=[i * 7 % 10 for i in range(17)], groups=spread([0, 1, 2], 17), seed=111, sgd=0.01),
    "mlp": dict(
        input=(1, 28, 28),
        layers="flatten dense(50) relu dense(20) tanh dense(4)",
        scale="unit", labels=spread([0, 1, 2, 3], 19), groups=spread([0, 1, 2, 3], 19), seed=114, sgd=0.01),
    "logistic": dict(
        input=(1, 28, 28),
        layers="flatten dense(3)",
        scale="unit", labels=spread([0, 1, 2], 30), groups=spread([0, 1, 2], 30), seed=109, sgd=0.01),
    "odd": dict(
        input=(2, 19, 17),
        layers="conv(2, 3) relu conv(3, 4) maxpool(3) tanh conv(2, 6) tanh maxpool(2) flatten dense(7) relu dense(4)",
        scale="unit", labels=spread([0, 1, 2, 3], 17), groups=spread([0, 1, 1, 0], 17), seed=117, sgd=0.01),
}


def hashed(seed, n):
    """hash(seed, 0..n) as u32."""
    def fmix(x):
        x = (x ^ (x >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
        x = (x ^ (x >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
        return x ^ (x >> 16)
    return fmix((fmix(seed) + np.arange(n, dtype=np.uint64)) & 0xFFFFFFFF)


def build(case):
    """The network, its parameters named as ours are, and the shift of each."""
    net, shape = nn.Sequential(), case["input"]
    convs = denses = 0
    for word in case["layers"].replace(", ", ",").split():
        kind, _, numbers = word.rstrip(")").partition("(")
        numbers = [int(k) for k in numbers.split(",") if k]
        if kind == "conv":
            convs += 1
            net.add_module(f"conv{convs}", nn.Conv2d(shape[0], numbers[1], numbers[0]))
        elif kind == "dense":
            denses += 1
            net.add_module(f"fc{denses}", nn.Linear(shape[0], numbers[0]))
        else:
            layer = {"tanh": nn.Tanh, "relu": nn.ReLU, "flatten": nn.Flatten, "maxpool": nn.MaxPool2d}[kind]
            net.add_module(f"{kind}_{len(net)}", layer(*numbers))
        shape = tuple(net[-1](torch.zeros(1, *shape)).shape[1:])
    parameters = list(net.parameters())
    return net, [shift(case, index, len(parameters), p) for index, p in enumerate(parameters)]


def shift(case, index, count, tensor):
    """Weights uniform of about the standard deviation 1 / sqrt(fan in), biases in [-1/4, 1/4).

    A quarter of that in the last layer, so that the groups' losses are close and several have a weight; 1/128 of it
    in the first if it sees raw pixels, which would otherwise saturate every tanh.
    """
    last = 2 if index >= count - 2 else 0
    if tensor.dim() == 1:
        return 13 + last
    raw = 7 if case["scale"] == "raw" and index == 0 else 0
    return 11 + raw + last - round(np.log2((3.0 / tensor[0].numel()) ** 0.5))


def fill(net, shifts, case, dtype):
    net.to(dtype)
    flat = hashed(case["seed"], sum(p.numel() for p in net.parameters()))
    start = 0
    with torch.no_grad():
        for p, by in zip(net.parameters(), shifts):
            part = flat[start:start + p.numel()]
            start += p.numel()
            numbers = ((part >> 20).astype(np.int64) - 2048) / 2.0**by
            assert (numbers.astype(np.float32) == numbers).all()
            p.copy_(torch.from_numpy(numbers).reshape(p.shape))
    return net


def losses(kind, z, case):
    """Per sample."""
    y = case["y"]
    of_y = z.gather(1, y[:, None])[:, 0]
    others = z.masked_fill(F.one_hot(y, z.shape[1]).bool(), -torch.inf).max(1).values
    if kind == "ce":
        return F.cross_entropy(z, y, reduction="none")
    if kind == "margin":
        return z.gather(1, case["targets"][:, None])[:, 0] - of_y
    if kind == "cw":
        return others - of_y
    if kind == "dlr":
        top = z.sort(1, descending=True).values
        return -(of_y - others) / (top[:, 0] - top[:, 2] + 1e-12)
    p = case["probabilities"].to(z.dtype)
    return (p * (p.log() - F.log_softmax(z, 1))).sum(1)


def project(v):
    """The point of the simplex nearest to v."""
    u = v.sort(descending=True).values
    excess = (u.cumsum(0) - 1) / torch.arange(1, len(v) + 1, dtype=v.dtype)
    return (v - excess[(u > excess).nonzero()[-1, 0]]).clamp(min=0)


def means(per_sample, case):
    return torch.stack([per_sample[case["g"] == k].mean() for k in range(case["g"].max() + 1)])


def gradients(value, net, prefix, out):
    net.zero_grad()
    value.backward(retain_graph=True)
    for name, p in net.named_parameters():
        out[f"{prefix}.{name}"] = p.grad.clone()


def train(game, optimiser, net, x, case, out):
    steps = dict(sgd=lambda p: torch.optim.SGD(p, lr=case["sgd"], momentum=0.9),
                 adam=lambda p: torch.optim.Adam(p, lr=1e-3))
    step, history, weights = steps[optimiser](net.parameters()), [], []
    for _ in range(10):
        step.zero_grad()
        per_sample = losses("ce", net(x), case)
        group = means(per_sample, case)
        t = project(group.detach() / 0.1)
        (per_sample.mean() if game == "mean" else (t * group).sum()).backward()
        step.step()
        history.append(group.detach())
        weights.append(t)
    for name, p in net.named_parameters():
        out[f"train.{game}.{optimiser}.{name}"] = p.detach().clone()
    out[f"train.{game}.{optimiser}.losses"] = torch.stack(history)
    if game == "minmax":
        out[f"train.{game}.{optimiser}.t"] = torch.stack(weights)


def compute(case, dtype):
    """Everything there is to store, by name, before it is made smaller."""
    net, shifts = build(case)
    x = case["x"].to(dtype).requires_grad_()
    out = {}
    z = fill(net, shifts, case, dtype)(x)
    out["logits"] = z.detach()
    for kind in LOSSES:
        loss = losses(kind, z, case)
        out[f"loss.{kind}"] = loss.detach()
        gradients((case["weights"].to(dtype) * loss).sum(), net, f"weighted.{kind}.grad", out)
        out[f"input.{kind}"] = torch.autograd.grad(loss.sum(), x, retain_graph=True)[0]
    group = means(losses("ce", z, case), case)
    out["group.loss"] = group.detach()
    for k, value in enumerate(group):
        gradients(value, net, f"group.{k}.grad", out)
    for game in ["minmax", "mean"]:
        for optimiser in ["sgd", "adam"]:
            train(game, optimiser, fill(net, shifts, case, dtype), x.detach(), case, out)
    return out, shifts


def prepare(case):
    """The parts of a case that are made from the hash: images, targets, weights, probabilities."""
    n, classes = len(case["labels"]), int(case["layers"].split("(")[-1][:-1])
    size = int(np.prod(case["input"]))
    pixels = (hashed(2, n * size) >> 24).astype(np.float32)
    x = pixels if case["scale"] == "raw" else pixels / np.float32(255)
    case["x"] = torch.from_numpy(x).reshape(n, *case["input"])
    case["y"], case["g"] = torch.tensor(case["labels"]), torch.tensor(case["groups"])
    other = torch.from_numpy(hashed(4, n).astype(np.int64)) % (classes - 1)
    case["targets"] = (case["y"] + 1 + other) % classes
    weights = hashed(5, n)
    weights = np.where(weights % 3 == 0, 0, (weights >> 20) / 2.0**15)
    case["weights"] = torch.from_numpy(weights.astype(np.float32))
    p = torch.from_numpy(1.0 + (hashed(6, n * classes) >> 24).astype(np.float64)).reshape(n, classes)
    case["probabilities"] = (p / p.sum(1, keepdim=True)).float()


def shrink(tensors):
    """Large tensors become a norm, some entries and some products."""
    small = {}
    for name, tensor in tensors.items():
        flat = tensor.double().numpy().ravel()
        n = flat.size
        if n <= WHOLE:
            small[name] = tensor.double().numpy()
            continue
        signs = np.stack([1.0 - 2.0 * (hashed(16 + d, n) >> 31) for d in range(DOTS)])
        small[f"{name}.norm"] = np.array([np.linalg.norm(flat)])
        small[f"{name}.entries"] = flat[hashed(3, ENTRIES) % n]
        small[f"{name}.dots"] = signs @ flat
    return small


def error(name, ours, golden, sizes):
    """The measure of the header; golden and ours are shrunk."""
    if name in golden:
        return np.linalg.norm(ours[name] - golden[name]) / np.linalg.norm(golden[name])
    norm = golden[f"{name}.norm"][0]
    entries = np.linalg.norm(ours[f"{name}.entries"] - golden[f"{name}.entries"]) * (sizes[name] / ENTRIES) ** 0.5
    dots = np.linalg.norm(ours[f"{name}.dots"] - golden[f"{name}.dots"]) / DOTS**0.5
    return max(entries, dots) / norm


def write(path, tensors, metadata):
    """safetensors, by hand: names sorted, so that the same numbers make the same file."""
    header, data = {"__metadata__": dict(sorted(metadata.items()))}, b""
    for name, array in sorted(tensors.items(), key=lambda item: (item[1].dtype == np.uint8, item[0])):
        start, data = len(data), data + array.tobytes()
        kind = "U8" if array.dtype == np.uint8 else "F32"
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name, case in CASES.items():
        prepare(case)
        exact, shifts = compute(case, torch.float64)
        single, _ = compute(case, torch.float32)
        sizes = {key: tensor.numel() for key, tensor in exact.items()}
        golden, rounded = shrink(exact), shrink(single)
        assert all(np.isfinite(array).all() for array in golden.values())
        errors = {key: error(key, rounded, golden, sizes) for key in exact}
        stored = {key: array.astype(np.float32) for key, array in golden.items()}
        for key, source in [("labels", "y"), ("groups", "g"), ("targets", "targets")]:
            stored[key] = case[source].numpy().astype(np.uint8)
        stored["weights"], stored["probabilities"] = case["weights"].numpy(), case["probabilities"].numpy()
        metadata = {"input": "x".join(map(str, case["input"])), "layers": case["layers"], "scale": case["scale"],
                    "seed": str(case["seed"]), "shifts": " ".join(map(str, shifts)), "images": str(len(case["labels"])),
                    "groups": str(len(set(case["groups"]))), "sgd": f"{case['sgd']:g}",
                    "torch": torch.__version__.partition("+")[0]}
        metadata |= {f"float32_error.{key}": f"{value:.1e}" for key, value in errors.items()}
        write(HERE / f"{name}.safetensors", stored, metadata)
        worst = sorted(errors, key=errors.get)[-3:]
        print(f"{name}: losses {golden['group.loss'].round(3)}; float32 is off by at most "
              + ", ".join(f"{errors[key]:.1e} ({key})" for key in reversed(worst)))


if __name__ == "__main__":
    main()

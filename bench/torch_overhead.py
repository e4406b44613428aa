"""The cost of `standoff.torch.GroupMinMax` in a training step of a ResNet-8 (batch 128, one thread): plain cross-entropy and the objective in turns.

    bench/setup.sh && bench/.venv/bin/pip install --no-deps . && bench/.venv/bin/python bench/torch_overhead.py [TURNS]

The second table times the objective alone, forward and backward, as a share of the step: it is the sharper figure, because two steps of 200 ms
differ by more than the objective takes.
"""

import statistics
import sys
import time
from pathlib import Path

import torch

from standoff.torch import METHODS, GroupMinMax

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python/examples/torch"))
from resnet8 import images, resnet8  # noqa: E402


def step(model, optimizer, x, y, objective):
    losses = torch.nn.functional.cross_entropy(model(x), y, reduction="mean" if objective is None else "none")
    loss = losses if objective is None else objective(losses, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def alone(objective, y, count=200):
    """Seconds of the objective beyond those of a mean, forward and backward, for losses that are there already."""
    losses = torch.rand(len(y), requires_grad=True)
    plain = [seconds(lambda: losses.mean().backward()) for _ in range(count)]
    ours = [seconds(lambda: objective(losses, y).backward()) for _ in range(count)]
    return statistics.median(ours) - statistics.median(plain)


def main(turns=30):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x, y = images("train")
    x, y = x[:128], y[:128]
    model = resnet8()
    optimizer = torch.optim.Adam(model.parameters())
    # "plain again" shows how much two equal steps differ on this machine.
    contenders = {"plain": None, "plain again": None, "minmax-reg": GroupMinMax(3)}
    taken = {name: [] for name in contenders}
    for turn in range(turns + 2):
        names = list(contenders)
        for name in names[turn % 3 :] + names[: turn % 3]:  # each is first, second and last equally often
            one = seconds(lambda o=contenders[name]: step(model, optimizer, x, y, o))
            if turn >= 2:  # the first two warm up
                taken[name].append(one)
    base = statistics.median(taken["plain"])
    print(f"a plain step: {1e3 * base:.1f} ms, the median of {turns}")
    for name in ("plain again", "minmax-reg"):
        ratios = [100 * (b / a - 1) for a, b in zip(taken["plain"], taken[name], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"{name:<12} against plain, in turns: median {middle:+.2f} %, quartiles {low:+.2f} to {high:+.2f} %")
    print("method        objective alone   share of the plain step")
    for method in METHODS:
        extra = alone(GroupMinMax(3, method=method), y)
        print(f"{method:<12}  {1e6 * extra:8.0f} us       {100 * extra / base:6.2f} %")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

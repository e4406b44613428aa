"""Train a ResNet-8 for its worst class and print the test accuracy of each class: `python minmax.py [SEED] [EPOCHS] [WIDTH]`."""

import sys

import torch
from resnet8 import accuracies, images, resnet8

from standoff.torch import GroupMinMax


def main(seed=1, epochs=3, width=16):
    torch.manual_seed(seed)
    x, y = images("train")
    model = resnet8(width=width)
    objective = GroupMinMax(groups=3, lam=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * (len(x) // 128))
    for _ in range(epochs):
        for rows in torch.randperm(len(x))[: len(x) // 128 * 128].split(128):
            losses = torch.nn.functional.cross_entropy(model(x[rows]), y[rows], reduction="none")
            loss = objective(losses, y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    found = accuracies(model, *images("t10k"))
    print(f"seed {seed}: " + " ".join(f"{share:.3f}" for share in found) + f"  worst {min(found):.3f}", flush=True)
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

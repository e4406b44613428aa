"""Train a ResNet-8 in plain PyTorch and print the test accuracy of each class: `python plain.py [SEED] [EPOCHS] [WIDTH]`."""

import sys

import torch
from resnet8 import accuracies, images, resnet8


def main(seed=1, epochs=3, width=16):
    torch.manual_seed(seed)
    x, y = images("train")
    model = resnet8(width=width)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * (len(x) // 128))
    for _ in range(epochs):
        for rows in torch.randperm(len(x))[: len(x) // 128 * 128].split(128):
            loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    found = accuracies(model, *images("t10k"))
    print(f"seed {seed}: " + " ".join(f"{share:.3f}" for share in found) + f"  worst {min(found):.3f}", flush=True)
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""Prints the numbers of `golden.rs`: x after 10 steps of PyTorch's optimisers in float32, 6 at one rate and 4 at another."""

import torch

A = torch.tensor([1.5, -0.7, 2.1, 0.0])
B = torch.tensor([0.3, 1.1, -0.9, 0.2])
START = [0.5, -1.0, 2.0, 3.0]
CASES = {
    "descent": (torch.optim.SGD, {}),
    "momentum": (torch.optim.SGD, dict(momentum=0.9, weight_decay=0.01)),
    "nesterov": (torch.optim.SGD, dict(momentum=0.8, nesterov=True)),
    "adam": (torch.optim.Adam, {}),
    "adam, decay": (torch.optim.Adam, dict(betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1)),
    "adam, short memory": (torch.optim.Adam, dict(betas=(0.3, 0.99))),
}

for name, (kind, options) in CASES.items():
    x = torch.tensor(START, requires_grad=True)
    optimiser = kind([x], lr=0.1, **options)
    for step in range(10):
        optimiser.param_groups[0]["lr"] = 0.1 if step < 6 else 0.03
        optimiser.zero_grad()
        ((A * x - B) ** 2 / 2).mean().backward()
        optimiser.step()
    print(f"{name}: [{', '.join(f'{v:.9g}' for v in x.tolist())}]")

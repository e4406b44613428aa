"""Two ranks against one process, with and without batch normalisation. First one process, which writes a file, then the ranks, which compare:

python ranks.py one.pt
torchrun --standalone --nproc-per-node 2 ranks.py one.pt
"""

import gc
import sys

import torch
import torch.distributed as dist

from standoff.torch import GroupMinMax


def data(dtype):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, 8, generator=generator, dtype=torch.float64).to(dtype)
    group = torch.arange(64) % 3
    return x, (x[:, 0] + x[:, 1] * (group - 1) > 0).long(), group


def train(dtype, normalise, ranks):
    """Five steps; returns the losses and the parameters."""
    torch.manual_seed(1)
    layers = [torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16) if normalise else torch.nn.Identity(), torch.nn.Tanh(), torch.nn.Linear(16, 2)]
    model = torch.nn.Sequential(*layers).to(dtype)
    wrapped = torch.nn.parallel.DistributedDataParallel(model) if ranks > 1 else model
    own = slice(dist.get_rank(), None, ranks) if ranks > 1 else slice(None)
    x, y, group = (part[own] for part in data(dtype))
    objective, optimizer, found = GroupMinMax(groups=3, lam=0.1), torch.optim.SGD(model.parameters(), lr=0.3), []
    for _ in range(5):
        loss = objective(torch.nn.functional.cross_entropy(wrapped(x), y, reduction="none"), group)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(float(loss.detach()))
    return torch.tensor(found, dtype=torch.float64), torch.cat([p.detach().flatten().double() for p in model.parameters()])


def main(path):
    torch.set_num_threads(1)
    ranks = 1
    if dist.is_torchelastic_launched():
        dist.init_process_group("gloo")
        ranks = dist.get_world_size()
    cases = {"float64": (torch.float64, False), "float32": (torch.float32, False), "float32, BatchNorm": (torch.float32, True)}
    found = {name: train(*case, ranks) for name, case in cases.items()}
    if ranks == 1:
        torch.save(found, path)
        return
    expected = torch.load(path)
    if dist.get_rank() == 0:
        for name in cases:
            losses, weights = (float((a - b).abs().max()) for a, b in zip(found[name], expected[name], strict=True))
            print(f"{name:<20} losses differ by {losses:.1e}, parameters by {weights:.1e}")
    gc.collect()  # wrapped models hold the group
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])

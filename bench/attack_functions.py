"""Attacks on a module of PyTorch: the time beside the gradients alone, and the strength beside torchattacks.AutoAttack.

    python bench/attack_functions.py time                      seconds of an attack, and of its gradients in PyTorch alone
    python bench/attack_functions.py strength --images 100     images left by `autoattack`, by `standard` and by torchattacks (pip install torchattacks)
    python bench/attack_functions.py same --images 50 --dtype float64    outcomes of the module beside those of the built-in network

Run it at the root of the repository, with the package and PyTorch installed.
"""

import argparse
import time
import warnings

import numpy as np
import torch

import standoff


class LeNet(torch.nn.Module):
    """The preset `lenet`."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(1, 20, 5), torch.nn.Conv2d(20, 50, 5)
        self.fc1, self.fc2 = torch.nn.Linear(800, 500), torch.nn.Linear(500, 10)

    def forward(self, x):
        for layer in (self.conv1, self.conv2):
            x = torch.nn.functional.max_pool2d(torch.relu(layer(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def module(name):
    """A network of models/ as a module."""
    state = standoff.RobustClassifier.load(f"models/{name}.safetensors").state_dict()
    net = LeNet()
    net.load_state_dict({key: torch.from_numpy(value) for key, value in state.items()})
    return net.eval()


def digits(count):
    x, y = standoff.read_images("data/mnist/t10k-images-idx3-ubyte.gz", "data/mnist/t10k-labels-idx1-ubyte.gz")
    return x[:count, None] / np.float32(255), y[:count].astype(np.int64)


def timing(args):
    """PGD and APGD on images that no attack breaks, so that every step is of the same batch. Processor time of one thread."""
    torch.set_num_threads(1)
    net = module("madry")
    x, y = map(torch.from_numpy, digits(args.images))
    for name, steps in [("pgd200", 200), ("apgd-ce200", 200)]:
        own, plain = [], []
        for _ in range(args.repeat):
            begin = time.process_time()
            r = standoff.attack(net, x, y, eps=0.02, attacks=name, chain=False)
            own.append(time.process_time() - begin)
            gradients = r.attacks[0]["gradients"]
            begin = time.process_time()
            for _ in range(steps):
                for part, labels in zip(x.split(256), y.split(256), strict=True):
                    part = part.clone().requires_grad_()
                    loss = torch.nn.functional.cross_entropy(net(part), labels, reduction="sum")
                    torch.autograd.grad(loss, part)
            plain.append((time.process_time() - begin) * gradients / (steps * len(x)))
        attack = min(own)
        print(f"{name}: {len(x)} images, {gradients} gradients: attack {attack:.2f} s, gradients alone {min(plain):.2f} s, ratio {attack / min(plain):.2f}")


def published(net, eps, numbers):
    """AutoAttack of torchattacks, which gives APGD and FAB 10 steps by default; the paper gives them 100."""
    import torchattacks

    for steps in numbers:
        attack = torchattacks.AutoAttack(net, norm="Linf", eps=eps, version="standard", n_classes=10, seed=1)
        for part in attack._autoattack.attacks:
            if hasattr(part, "steps"):
                part.steps = steps
        yield f"torchattacks, {steps} steps", attack


def strength(args):
    """Images that are left, by standoff and by torchattacks. Processor time of one thread."""
    torch.set_num_threads(1)
    x, y = map(torch.from_numpy, digits(args.images))
    for name in args.networks:
        net = module(name)

        def report(who, left, begin, network=name):
            survivors = np.flatnonzero(left)
            print(f"{network}, eps {args.eps}, {who}: leaves {len(survivors)} of {len(x)}, {time.process_time() - begin:.0f} s", flush=True)
            return set(survivors.tolist())

        ours = {}
        for ensemble in args.ensembles:
            begin = time.process_time()
            built_in = standoff.evaluate(f"models/{name}.safetensors", x.numpy(), y.numpy(), eps=args.eps, n_jobs=1,
                                         attacks=None if ensemble == "standard" else [ensemble], chain=True)  # fmt: skip
            ours[ensemble] = report(f"standoff {ensemble}, built-in network", built_in.survives, begin)
            if args.built_in:
                continue
            begin = time.process_time()
            result = standoff.attack(net, x, y, eps=args.eps, attacks=ensemble, n_jobs=1)
            ours[ensemble] = report(f"standoff {ensemble}", result.survives, begin)
            differ = np.flatnonzero(result.survives != built_in.survives).tolist()
            print(f"    images that differ: {differ}", flush=True)
        for who, attack in published(net, args.eps, args.steps):
            begin = time.process_time()
            found = torch.cat([attack(a, b) for a, b in zip(x.split(100), y.split(100), strict=True)])
            outside = (found - x).abs().amax((1, 2, 3)) > args.eps + 1e-6
            with torch.no_grad():
                left = (net(found).argmax(1) == y) | outside
            theirs = report(who, left.numpy(), begin)
            for ensemble, survivors in ours.items():
                print(f"    {ensemble} alone breaks {sorted(theirs - survivors)}, torchattacks alone {sorted(survivors - theirs)}", flush=True)


def same(args):
    """Images whose outcome differs from that of the built-in network."""
    x, y = digits(args.images)
    dtype = getattr(torch, args.dtype)
    names = None if args.attacks == "standard" else args.attacks.split(",")
    for name in args.networks:
        built_in = standoff.evaluate(f"models/{name}.safetensors", x, y, eps=args.eps, attacks=names, chain=True)
        ours = standoff.attack(module(name).to(dtype), torch.from_numpy(x).to(dtype), y, eps=args.eps, attacks=names or "standard")
        differ = np.flatnonzero(ours.survives != built_in.survives).tolist()
        print(f"{name}, eps {args.eps}, {args.dtype}: the built-in network leaves {int(built_in.survives.sum())} of {len(x)}, "
              f"the module {int(ours.survives.sum())}; images that differ: {differ}", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["time", "strength", "same"])
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--eps", type=float, default=0.3)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--attacks", default="standard")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ensembles", nargs="+", default=["autoattack", "standard"])
    parser.add_argument("--steps", type=int, nargs="*", default=[10, 100])
    parser.add_argument("--networks", nargs="+", default=["madry"])
    parser.add_argument("--built-in", action="store_true", help="strength: attack the built-in network only, not the module")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    {"time": timing, "strength": strength, "same": same}[args.what](args)


if __name__ == "__main__":
    main()

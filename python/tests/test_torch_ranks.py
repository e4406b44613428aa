"""`standoff.torch` on several ranks: they compute what one process computes. Skipped without PyTorch."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from standoff.torch import GroupMinMax, RobustMax, certificate  # noqa: E402

torch.set_num_threads(1)
SETTINGS = [
    {"method": "minmax-reg"},
    {"method": "group-dro", "rate": 0.5, "momentum": 0.5},
    {"method": "cvar", "share": 0.3},
    {"method": "chi2", "radius": 0.3},
    {"method": "kl", "radius": 0.3},
]


def data(n=40):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    g = torch.arange(n) % 2
    g[0] = 2  # a group of one sample, which only one rank sees
    return x, (x[:, 0] + g > 0.3).long(), g


def steps(model, parts, objective, count=5):
    """`count` steps of gradient descent; one batch for each step. Returns the losses."""
    optimizer, found = torch.optim.SGD(model.parameters(), lr=0.3), []
    for _ in range(count):
        x, y, g = parts
        value = objective(torch.nn.functional.cross_entropy(model(x), y, reduction="none"), g)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        found.append(float(value.detach()))
    return found


def fresh():
    torch.manual_seed(1)
    return torch.nn.Linear(3, 2).double()


def rank(place, ranks, folder):
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=place, world_size=ranks)
    x, y, g = data()
    half = slice(0, 12) if place == 0 else slice(12, None)  # uneven on purpose
    every = []
    for settings in SETTINGS:
        model = torch.nn.parallel.DistributedDataParallel(fresh())
        found = steps(model, (x[half], y[half], g[half]), GroupMinMax(3, **settings))
        c = certificate(model, [(x[half], y[half], g[half])], losses_of, 3)
        every.append((found, model.module.state_dict(), tuple(c)))
    robust = torch.nn.parallel.DistributedDataParallel(RobustMax(fresh(), 0.1, bounds=(-9.0, 9.0), steps=3))
    own = slice(0, 20) if place == 0 else slice(20, None)  # a mean over images: equal parts
    every.append((robust_steps(robust, x[own], y[own]), robust.module.model.state_dict(), ()))
    torch.save(every, f"{folder}/{place}.pt")
    del model, robust
    leave()


def leave():
    """Ends the process group. Both ranks arrive first, and no model may hold the group: gloo's threads would outlive Python and abort it."""
    import torch.distributed as dist

    dist.barrier()
    gc.collect()
    dist.destroy_process_group()


def robust_steps(objective, x, y):
    optimizer, found = torch.optim.SGD(objective.parameters(), lr=0.3), []
    for _ in range(5):
        value = objective(x, y)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        found.append(value.detach())
    return found


def losses_of(outputs, y):
    return torch.nn.functional.cross_entropy(outputs, y, reduction="none")


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    torch.multiprocessing.spawn(rank, args=(2, str(folder)), nprocs=2)
    return [torch.load(folder / f"{place}.pt", weights_only=False) for place in range(2)]


@pytest.mark.parametrize("case", range(len(SETTINGS)), ids=lambda k: SETTINGS[k]["method"])
def test_two_ranks_compute_what_one_process_computes(ranks, case):
    model = fresh()
    found = steps(model, data(), GroupMinMax(3, **SETTINGS[case]))
    c = certificate(model, [data()], losses_of, 3)
    for place in range(2):
        losses, state, theirs = ranks[place][case]
        np.testing.assert_allclose(losses, found, rtol=0, atol=1e-10)
        for name, value in model.state_dict().items():
            np.testing.assert_allclose(state[name], value, rtol=0, atol=1e-10)
        np.testing.assert_allclose(theirs[:4], tuple(c)[:4], rtol=0, atol=1e-10)


def test_robust_training_on_two_ranks_is_that_of_one_process(ranks):
    x, y, _ = data()
    objective = RobustMax(fresh(), 0.1, bounds=(-9.0, 9.0), steps=3)
    found = robust_steps(objective, x, y)
    np.testing.assert_allclose((np.array(ranks[0][-1][0]) + np.array(ranks[1][-1][0])) / 2, found, rtol=0, atol=1e-10)
    for name, value in objective.model.state_dict().items():
        np.testing.assert_allclose(ranks[0][-1][1][name], value, rtol=0, atol=1e-10)


def torchrun(script, *arguments):
    """The output of a script under `torchrun --nproc-per-node 2` (gloo)."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_torchrun_with_a_group_that_one_rank_sees(tmp_path):
    """Every step ends, and the losses are those of one process: the group has its whole weight."""
    script = tmp_path / "steps.py"
    script.write_text(
        "import sys, torch, torch.distributed as dist\n"
        f"sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
        "from test_torch_ranks import data, fresh, leave, steps\n"
        "from standoff.torch import GroupMinMax\n"
        "dist.init_process_group('gloo')\n"
        "x, y, g = data()\n"
        "own = (g == 0) if dist.get_rank() == 0 else (g != 0)\n"  # no group is on both ranks
        "model = torch.nn.parallel.DistributedDataParallel(fresh())\n"
        "found = steps(model, (x[own], y[own], g[own]), GroupMinMax(3, lam=0.1))\n"
        "if dist.get_rank() == 0: print(*[f'{v:.17g}' for v in found])\n"
        "del model\n"
        "leave()\n"
    )
    found = [float(text) for text in torchrun(script).split()]
    np.testing.assert_allclose(found, steps(fresh(), data(), GroupMinMax(3, lam=0.1)), rtol=0, atol=1e-10)


def test_the_certificate_is_that_of_the_same_game_as_functions():
    x, y, g = data()
    model = fresh()
    c = certificate(model, [(x[:7], y[:7], g[:7]), (x[7:], y[7:], g[7:])], losses_of, 3)
    means = torch.stack([losses_of(model(x[g == k]), y[g == k]).mean() for k in range(3)])
    gradients = torch.autograd.grad(means.max(), list(model.parameters()))
    assert c.x_upper == pytest.approx(float(torch.cat([d.reshape(-1) for d in gradients]).norm()), rel=1e-12)
    assert c.y_upper == pytest.approx(0.0, abs=1e-12) and c.proof == "as-computed"

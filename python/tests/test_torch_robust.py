"""`standoff.torch.RobustMax`: the finite maximum of targeted attacks, Madry's attack and TRADES around any module. Skipped without PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.nn.functional import cross_entropy, log_softmax  # noqa: E402

import standoff as so  # noqa: E402
from standoff.torch import GroupMinMax, RobustMax  # noqa: E402

torch.set_num_threads(1)


def images(n=12, classes=4):
    generator = torch.Generator().manual_seed(0)
    return torch.rand(n, 6, generator=generator, dtype=torch.float64), torch.arange(n) % classes


def linear():
    torch.manual_seed(1)
    return torch.nn.Linear(6, 4).double()


def closed_form(model, x, y, eps):
    """The largest loss over all targets of a linear model, where the best attack towards label j is a corner of the box."""
    found = [cross_entropy(model(x), y, reduction="none")]
    for label in range(4):
        direction = (model.weight[label] - model.weight[y]).sign()
        found.append(cross_entropy(model((x + eps * direction).clamp(0, 1)), y, reduction="none"))
    return torch.stack(found)


def test_the_maximum_of_a_linear_model_is_exact():
    model, (x, y) = linear(), images()
    expected = closed_form(model, x, y, 0.2)
    found = RobustMax(model, 0.2, steps=4, reduction="none")(x, y)
    torch.testing.assert_close(found, expected.max(0).values, atol=1e-12, rtol=0)
    lam = 0.3
    regularised = RobustMax(model, 0.2, steps=4, lam=lam, reduction="none")(x, y)
    for k in range(len(x)):
        # The clean image is once among the corners of RobustMax; the closed form has it a second time, at its own label.
        corners = torch.cat([expected[:1, k], expected[1:, k][torch.arange(4) != y[k]]]).detach().numpy()
        t = so.Simplex(4).project(corners / lam)
        assert float(regularised[k].detach()) == pytest.approx(t @ corners - lam / 2 * t @ t, abs=1e-12)


def test_the_gradient_is_that_of_the_worst_image():
    model, (x, y) = linear(), images()
    objective = RobustMax(model, 0.2)
    objective(x, y).backward()
    found = model.weight.grad.clone()
    worst = objective.attack(x, y)
    (expected,) = torch.autograd.grad(cross_entropy(model(worst), y), model.weight)
    torch.testing.assert_close(found, expected)
    assert (worst - x).abs().max() <= 0.2 + 1e-12 and worst.min() >= 0 and worst.max() <= 1


def test_fewer_targets_never_find_more():
    model, (x, y) = torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.Tanh(), torch.nn.Linear(9, 4)).double(), images(40)
    losses = [RobustMax(model, 0.3, targets=k, reduction="none")(x, y).detach() for k in (1, 2, 3, "all")]
    for fewer, more in zip(losses, losses[1:], strict=False):
        assert (fewer <= more + 1e-12).all()
    torch.testing.assert_close(losses[2], losses[3])
    assert losses[1].mean() >= 0.95 * losses[3].mean()


def test_eps_zero_is_the_plain_loss():
    model, (x, y) = linear(), images()
    for method in ("paper", "madry", "trades"):
        torch.testing.assert_close(RobustMax(model, 0.0, method=method)(x, y), cross_entropy(model(x), y))


def test_madry_and_trades_are_their_formulas():
    model, (x, y) = linear(), images()
    for method in ("madry", "trades"):
        objective = RobustMax(model, 0.2, method=method, beta=3.0, reduction="none", generator=torch.Generator().manual_seed(5))
        found = objective(x, y)
        objective.generator.manual_seed(5)
        moved = objective.attack(x, y)
        assert (moved - x).abs().max() <= 0.2 + 1e-12
        p, q = log_softmax(model(x), 1), log_softmax(model(moved), 1)
        trades = cross_entropy(model(x), y, reduction="none") + 3.0 * (p.exp() * (p - q)).sum(1)
        torch.testing.assert_close(found, trades if method == "trades" else cross_entropy(model(moved), y, reduction="none"))
        assert (found > cross_entropy(model(x), y, reduction="none")).all()


def test_attacks_leave_batch_normalisation_and_modes_alone():
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.BatchNorm1d(5), torch.nn.Dropout(0.5), torch.nn.Linear(5, 4)).double()
    model[2].eval()  # a part that its owner has frozen
    x, y = images()
    objective = RobustMax(model, 0.1)
    objective.attack(x, y)
    assert int(model[1].num_batches_tracked) == 0 and [part.training for part in model] == [True, True, False, True]
    objective(x, y)
    assert int(model[1].num_batches_tracked) == 1, "only the loss itself moves the statistics"


def test_the_losses_of_images_go_into_the_objective_over_groups():
    model, (x, y) = linear(), images()
    value = GroupMinMax(4)(RobustMax(model, 0.1, reduction="none")(x, y), y)
    value.backward()
    assert torch.isfinite(value) and np.isfinite(model.weight.grad.numpy()).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "magic"}, "give one of paper, madry, trades"),
        ({"targets": 0}, "'all' or a number from 1"),
        ({"targets": "most"}, "'all' or a number from 1"),
        ({"eps": float("nan")}, "eps = nan"),
        ({"bounds": (1.0, 0.0)}, "low < high"),
        ({"reduction": "sum"}, "'mean' or 'none'"),
    ],
)
def test_bad_settings_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        RobustMax(linear(), **{"eps": 0.1, **settings})

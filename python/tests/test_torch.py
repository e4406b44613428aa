"""`standoff.torch.GroupMinMax`: exact weights, missing and overlapping groups, memory, bad input. Skipped without PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import standoff as so  # noqa: E402
from standoff.torch import METHODS, GroupMinMax, certificate  # noqa: E402

torch.set_num_threads(1)


def test_the_weights_are_the_best_answer_and_the_gradient_is_theirs():
    losses = torch.tensor([1.0, 3.0, 2.0, 0.5], dtype=torch.float64, requires_grad=True)
    groups = torch.tensor([0, 0, 1, 1])
    objective = GroupMinMax(2, lam=0.5)
    value = objective(losses, groups)
    means = np.array([2.0, 1.25])
    best = so.Simplex(2).project(means / 0.5)
    assert value.item() == pytest.approx(best @ means - 0.25 * best @ best)
    (gradient,) = torch.autograd.grad(value, losses)
    np.testing.assert_allclose(gradient, [best[0] / 2, best[0] / 2, best[1] / 2, best[1] / 2])


@pytest.mark.parametrize("method", METHODS)
def test_missing_groups_and_empty_batches_do_no_harm(method):
    objective = GroupMinMax(3, method=method)
    value = objective(torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0, 2]))
    assert torch.isfinite(value) and torch.isfinite(objective.weights).all()
    if method != "group-dro":
        assert objective.weights[1] == 0
    empty = objective(torch.zeros(0, requires_grad=True), torch.zeros(0, dtype=torch.long))
    empty.backward()
    assert torch.isfinite(empty) and torch.isfinite(objective.weights).all()


def test_excess_losses_are_means_within_groups():
    """A large group does not hide the excess of a small one, as it would if the mean were over all samples."""
    losses, reference = torch.tensor([1.0] * 98 + [5.0, 5.0]), torch.ones(100)
    groups = torch.tensor([0] * 98 + [1, 1])
    objective = GroupMinMax(2, method="minmax")
    assert float(objective(losses, groups, reference)) == 4.0 and objective.weights.tolist() == [0.0, 1.0]


def test_copies_of_a_group_do_not_change_the_excess_loss_as_they_do_in_published_code():
    """Published implementations of DoReMi divide by the weights of all samples: a domain with more samples in the batch counts more."""

    def published(losses, groups, reference, weights):
        return (weights[groups] * (losses - reference)).sum() / weights[groups].sum()

    losses, reference, groups = torch.tensor([2.0, 3.0, 6.0]), torch.tensor([1.0, 1.0, 2.0]), torch.tensor([0, 0, 1])
    more = torch.cat([torch.arange(2).repeat(10), torch.tensor([2])])  # ten copies of group 0
    objective = GroupMinMax(2, lam=5.0)
    ours = [float(objective(losses[p], groups[p], reference[p])) for p in (torch.arange(3), more)]
    theirs = [float(published(losses[p], groups[p], reference[p], objective.weights)) for p in (torch.arange(3), more)]
    assert ours[0] == pytest.approx(ours[1], rel=1e-6)
    assert theirs[0] - theirs[1] > 0.5


def test_a_sample_in_several_groups_counts_in_each():
    losses = torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64, requires_grad=True)
    member = torch.tensor([[1, 1, 0], [0, 1, 0], [1, 0, 0]], dtype=torch.bool)  # nobody is in the third group
    objective = GroupMinMax(3, lam=2.0)
    (gradient,) = torch.autograd.grad(objective(losses, member), losses)
    weights = so.Simplex(2).project(np.array([1.5, 2.0]) / 2.0)
    np.testing.assert_allclose(objective.weights, [*weights, 0.0], atol=1e-12)
    np.testing.assert_allclose(gradient, [weights.sum() / 2, weights[1] / 2, weights[0] / 2], atol=1e-12)
    ids = torch.tensor([0, 1, 0])
    as_matrix = torch.nn.functional.one_hot(ids, 3)
    assert float(objective(losses.detach(), ids)) == float(objective(losses.detach(), as_matrix))


@pytest.mark.parametrize("method", METHODS)
def test_no_number_is_copied_to_the_host(method):
    """Tensors of the device "meta" have no values: reading one fails."""
    objective = GroupMinMax(3, method=method, momentum=0.0).to("meta")
    losses = torch.zeros(8, device="meta", requires_grad=True)
    value = objective(losses, torch.zeros(8, device="meta", dtype=torch.long), torch.zeros(8, device="meta"))
    value.backward()
    assert value.device.type == "meta" and losses.grad.shape == (8,)
    with pytest.raises((RuntimeError, NotImplementedError)):
        float(value)


@pytest.mark.parametrize("method", METHODS)
def test_a_nan_is_shown_and_not_remembered(method):
    objective = GroupMinMax(2, method=method)
    groups = torch.tensor([0, 1, 1])
    objective(torch.tensor([1.0, 2.0, 3.0]), groups)
    before = objective.weights.clone()
    for bad in (float("nan"), float("inf"), float("-inf")):
        assert not torch.isfinite(objective(torch.tensor([1.0, bad, 2.0]), groups))
        assert torch.equal(objective.weights, before)


@pytest.mark.parametrize("method", METHODS)
def test_autocast_does_not_round_the_sums_to_half_precision(method):
    losses, groups = 1.0 + 0.001 * torch.arange(8), torch.arange(8) % 3
    for given in (groups, torch.nn.functional.one_hot(groups, 3).bool()):
        expected = float(GroupMinMax(3, method=method)(losses, given))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert float(GroupMinMax(3, method=method)(losses, given)) == expected


@pytest.mark.parametrize("method", METHODS)
def test_a_compiled_objective_is_one_graph_with_the_same_value(method):
    torch._dynamo.reset()
    losses, groups = torch.arange(8.0), torch.arange(8) % 3
    compiled = torch.compile(GroupMinMax(3, method=method), fullgraph=True, backend="eager")
    assert float(compiled(losses, groups)) == float(GroupMinMax(3, method=method)(losses, groups))
    with pytest.raises(RuntimeError, match="whole numbers from 0 to 2"):
        compiled(losses, groups + 1)


@pytest.mark.parametrize("method", METHODS)
def test_columns_of_a_matrix_are_taken_as_they_are(method):
    losses, groups = torch.arange(8.0), torch.arange(8) % 3
    pairs = torch.stack([losses, -losses], 1).requires_grad_()
    value = GroupMinMax(3, method=method)(pairs[:, 0], torch.stack([groups, 0 * groups], 1)[:, 0])
    value.backward()
    assert float(value.detach()) == float(GroupMinMax(3, method=method)(losses, groups)) and not pairs.grad[:, 1].any()


def test_half_precision_is_summed_in_float32():
    losses = torch.full((4096,), 1.0, dtype=torch.bfloat16, requires_grad=True)
    value = GroupMinMax(1)(losses, torch.zeros(4096, dtype=torch.long))
    value.backward()
    assert float(value.detach()) == pytest.approx(1.0 - 0.05) and losses.grad.dtype == torch.bfloat16


def test_weights_over_samples_are_reported_by_group():
    objective = GroupMinMax(2, method="cvar", share=0.5)
    losses = torch.tensor([4.0, 1.0, 3.0, 2.0], requires_grad=True)
    value = objective(losses, torch.tensor([0, 0, 1, 1]))
    value.backward()
    assert float(value.detach()) == 3.5 and losses.grad.tolist() == [0.5, 0.0, 0.5, 0.0] and objective.weights.tolist() == [0.5, 0.5]


def test_running_means_and_state_survive_a_save():
    objective = GroupMinMax(2, momentum=0.5)
    for loss in (4.0, 2.0):
        objective(torch.tensor([loss, 1.0]), torch.tensor([0, 1]))
    assert objective.means.tolist() == [3.0, 1.0]
    again = GroupMinMax(2, momentum=0.5)
    again.load_state_dict(objective.state_dict())
    assert again.means.tolist() == [3.0, 1.0] and torch.equal(again.weights, objective.weights)


def test_a_saved_objective_continues_with_the_same_bits():
    def run(objective, first, last):
        generator = torch.Generator().manual_seed(3)
        draws = torch.rand(10, 6, generator=generator, dtype=torch.float64)
        return [float(objective(losses, torch.arange(6) % 3)) for losses in draws[first:last]]

    whole = GroupMinMax(3, method="group-dro", rate=0.5, momentum=0.9)
    expected = run(whole, 0, 10)
    half = GroupMinMax(3, method="group-dro", rate=0.5, momentum=0.9)
    run(half, 0, 5)
    rest = GroupMinMax(3, method="group-dro", rate=0.5, momentum=0.9)
    rest.load_state_dict(half.state_dict())
    assert rest.weights.dtype == torch.float64 and run(rest, 5, 10) == expected[5:]


def test_running_means_keep_a_group_that_a_small_batch_misses():
    objective = GroupMinMax(3, method="minmax", momentum=0.5)
    objective(torch.tensor([1.0, 4.0]), torch.tensor([0, 1]))
    losses = torch.tensor([2.0], requires_grad=True)
    value = objective(losses, torch.tensor([0]))
    value.backward()
    assert objective.weights.tolist() == [0.0, 1.0, 0.0], "the group that was worst keeps its weight"
    assert float(value.detach()) == 4.0 and losses.grad.tolist() == [0.0]
    assert torch.isnan(objective.means[2]), "a group that was never seen has no mean"


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: GroupMinMax(2, method="magic"), ValueError, "give one of minmax-reg"),
        (lambda: GroupMinMax(2, lam=0.0), ValueError, "method='minmax'"),
        (lambda: GroupMinMax(2)(torch.tensor(1.0), torch.tensor(0)), ValueError, "reduction='none'"),
        (lambda: GroupMinMax(2)(torch.ones(2), torch.ones(2)), TypeError, "whole numbers from 0 to 1"),
        (lambda: GroupMinMax(2)(torch.ones(2), torch.tensor([0, 2])), ValueError, "from 0 to 2; give whole numbers from 0 to 1"),
        (lambda: GroupMinMax(2)(torch.ones(3), torch.ones(3, 4)), ValueError, "a matrix with 2 columns"),
        (lambda: GroupMinMax(2)(torch.ones(2), torch.tensor([0, 1]), torch.ones(3)), ValueError, "one for each of the 2 losses"),
        (lambda: GroupMinMax(2, method="cvar", share=0.0), ValueError, "above 0, at most 1"),
        (lambda: GroupMinMax(2, method="kl", momentum=0.5), ValueError, "leave momentum at 0"),
        (lambda: GroupMinMax(2, method="kl", radius=float("nan")), ValueError, "radius = nan"),
    ],
)
def test_bad_input_is_refused(call, kind, said):
    with pytest.raises(kind, match=said):
        call()


@pytest.mark.parametrize("method", ["minmax-reg", "cvar", "chi2", "kl"])
def test_gradients_of_exact_maxima_agree_with_finite_differences(method):
    losses = torch.tensor([1.0, 3.0, 2.0, 0.5, 1.7], dtype=torch.float64)
    groups, h = torch.tensor([0, 0, 1, 1, 2]), 1e-6

    def value(at):
        return GroupMinMax(3, lam=0.7, method=method, share=0.5, radius=0.3)(at, groups)

    (gradient,) = torch.autograd.grad(value(losses.requires_grad_()), losses)
    for k in range(5):
        step = torch.zeros(5, dtype=torch.float64)
        step[k] = h
        difference = (value(losses.detach() + step) - value(losses.detach() - step)) / (2 * h)
        assert float(gradient[k]) == pytest.approx(float(difference), abs=1e-5)

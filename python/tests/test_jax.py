"""`standoff.jax`: the objective of `standoff.torch` as pure functions, under jit, grad, vmap, pmap and shard_map. Skipped without JAX."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

import standoff as so  # noqa: E402
from standoff.jax import METHODS, group_minmax, group_state  # noqa: E402


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def batch(n=24, groups=3):
    rng = np.random.default_rng(0)
    g = np.arange(n) % groups
    x = rng.normal(size=(n, 4))
    return jnp.asarray(x), jnp.asarray((x[:, 0] > g - 1) * 1.0), jnp.asarray(g)


def losses(w, x, y):
    return jnp.logaddexp(0.0, x @ w) - y * (x @ w)


def objective(w, state, x, y, g, **settings):
    return group_minmax(losses(w, x, y), g, state, **settings)


W = np.array([0.3, -0.2, 0.1, 0.5])


@pytest.mark.parametrize("method", METHODS)
def test_values_weights_and_gradients_are_those_of_torch(method):
    torch = pytest.importorskip("torch")
    from standoff.torch import GroupMinMax

    settings = {"method": method, "momentum": 0.0 if method in ("cvar", "chi2", "kl") else 0.5, "rate": 0.3, "share": 0.3, "radius": 0.4}
    theirs, state, rng = GroupMinMax(3, **settings), group_state(3), np.random.default_rng(1)
    for _ in range(4):
        found, g, reference = rng.exponential(size=9), rng.integers(0, 3, size=9), rng.exponential(size=9)
        given = torch.tensor(found, requires_grad=True)
        value = theirs(given, torch.tensor(g), torch.tensor(reference))
        value.backward()
        (ours, state), gradient = jax.value_and_grad(
            lambda v, s=state, g=g, r=reference: group_minmax(v, jnp.asarray(g), s, reference_losses=jnp.asarray(r), **settings), has_aux=True
        )(jnp.asarray(found))
        assert float(ours) == pytest.approx(float(value.detach()), abs=1e-9)
        np.testing.assert_allclose(state.weights, theirs.weights, atol=1e-8)
        np.testing.assert_allclose(gradient, given.grad, atol=1e-8)


def test_the_weights_are_the_best_answer():
    value, state = group_minmax(jnp.array([1.0, 3.0, 2.0, 0.5]), jnp.array([0, 0, 1, 1]), group_state(2), lam=0.5)
    means = np.array([2.0, 1.25])
    best = so.Simplex(2).project(means / 0.5)
    assert float(value) == pytest.approx(best @ means - 0.25 * best @ best)
    np.testing.assert_allclose(state.weights, best, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_jit_gives_the_values_of_plain_calls(method):
    x, y, g = batch()
    plain, state = objective(W, group_state(3), x, y, g, method=method)
    fast, again = jax.jit(lambda w, s: objective(w, s, x, y, g, method=method))(W, group_state(3))
    assert float(plain) == pytest.approx(float(fast), abs=1e-12)
    np.testing.assert_allclose(state.weights, again.weights, atol=1e-12)


@pytest.mark.parametrize("method", ["minmax-reg", "cvar", "chi2", "kl"])
def test_derivatives_agree_with_finite_differences(method):
    x, y, g = batch()
    gradient = jax.grad(lambda w: objective(w, group_state(3), x, y, g, method=method, lam=0.5)[0])(W)
    for k in range(4):
        step = 1e-6 * np.eye(4)[k]
        ends = [float(objective(W + s, group_state(3), x, y, g, method=method, lam=0.5)[0]) for s in (step, -step)]
        assert float(gradient[k]) == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-5)


@pytest.mark.parametrize("method", ["minmax-reg", "minmax", "chi2", "kl"])
def test_vmap_over_models_is_a_loop_over_models(method):
    x, y, g = batch()
    many = np.random.default_rng(2).normal(size=(5, 4))
    fast = jax.vmap(lambda w: objective(w, group_state(3), x, y, g, method=method)[0])(jnp.asarray(many))
    np.testing.assert_allclose(fast, [objective(w, group_state(3), x, y, g, method=method)[0] for w in many], atol=1e-12)


def needs_two_devices():
    if len(jax.devices()) < 2:
        pytest.skip("JAX has started with one device: set XLA_FLAGS=--xla_force_host_platform_device_count=2")


def uneven():
    """Group 2 is in the second half only."""
    x, y, g = batch()
    return x, y, g.at[:12].set(g[:12] % 2)


SOME = ["minmax-reg", "group-dro", "cvar", "kl"]  # every way through the code; each costs seconds of compiling


@pytest.mark.parametrize("method", SOME)
def test_pmap_computes_the_objective_of_the_whole_batch(method):
    needs_two_devices()
    x, y, g = uneven()
    (value, state), gradient = jax.value_and_grad(lambda w: objective(w, group_state(3), x, y, g, method=method), has_aux=True)(W)

    def part(w, s, x, y, g):
        found, slope = jax.value_and_grad(lambda w: objective(w, s, x, y, g, method=method, axis_name="i"), has_aux=True)(w)
        return found, jax.lax.pmean(slope, "i")

    halves = [v.reshape(2, 12, *v.shape[1:]) for v in (x, y, g)]
    (values, states), slopes = jax.pmap(part, axis_name="i", in_axes=(None, None, 0, 0, 0))(W, group_state(3), *halves)
    for k in range(2):
        assert float(values[k]) == pytest.approx(float(value), abs=1e-12)
        np.testing.assert_allclose(states.weights[k], state.weights, atol=1e-12)
        np.testing.assert_allclose(slopes[k], gradient, atol=1e-12)


@pytest.mark.parametrize("method", SOME)
def test_shard_map_computes_the_objective_of_the_whole_batch(method):
    needs_two_devices()
    from jax.sharding import Mesh, PartitionSpec

    x, y, g = uneven()
    mesh, rows, whole = Mesh(np.array(jax.devices()[:2]), ("i",)), PartitionSpec("i"), PartitionSpec()
    part = jax.shard_map(
        lambda w, s, x, y, g: objective(w, s, x, y, g, method=method, axis_name="i"),
        mesh=mesh, in_specs=(whole, whole, rows, rows, rows), out_specs=whole,
    )  # fmt: skip
    (value, state), gradient = jax.jit(jax.value_and_grad(lambda w: part(w, group_state(3), x, y, g), has_aux=True))(jnp.asarray(W))
    (expected, one), slope = jax.value_and_grad(lambda w: objective(w, group_state(3), x, y, g, method=method), has_aux=True)(W)
    assert float(value) == pytest.approx(float(expected), abs=1e-12)
    np.testing.assert_allclose(state.weights, one.weights, atol=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-12)


def test_overlapping_groups_and_empty_groups():
    member = jnp.array([[1, 1, 0], [0, 1, 0], [1, 0, 0]])
    value, state = group_minmax(jnp.array([1.0, 3.0, 2.0]), member, group_state(3), lam=2.0)
    best = so.Simplex(2).project(np.array([1.5, 2.0]) / 2.0)
    np.testing.assert_allclose(state.weights, [*best, 0.0], atol=1e-12)
    assert np.isfinite(float(value))


@pytest.mark.parametrize("method", METHODS)
def test_a_nan_is_shown_and_not_remembered_and_an_empty_batch_is_zero(method):
    value, state = group_minmax(jnp.array([1.0, jnp.nan]), jnp.array([0, 1]), group_state(2), method=method)
    assert np.isnan(float(value)) and np.isfinite(state.weights).all()
    value, state = group_minmax(jnp.zeros(0), jnp.zeros(0, int), group_state(2), method=method)
    assert float(value) == 0.0 and np.isfinite(state.weights).all()


@pytest.mark.parametrize("method", METHODS)
def test_ids_outside_the_range_make_the_value_nan_inside_jit(method):
    call = jax.jit(lambda losses, groups: group_minmax(losses, groups, group_state(2), method=method)[0])
    losses = jnp.array([1.0, 2.0, 3.0])
    assert np.isfinite(float(call(losses, jnp.array([0, 1, 1]))))
    for outside in ([0, 1, 2], [0, -1, 1]):
        assert np.isnan(float(call(losses, jnp.array(outside))))


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: group_minmax(jnp.ones(2), jnp.array([0, 1]), group_state(2), method="magic"), ValueError, "give one of minmax-reg"),
        (lambda: group_minmax(jnp.ones(2), jnp.array([0, 1]), group_state(2), lam=0.0), ValueError, "method='minmax'"),
        (lambda: group_minmax(jnp.ones(2), jnp.ones(2), group_state(2)), TypeError, "whole numbers from 0 to 1"),
        (lambda: group_minmax(jnp.ones(2), jnp.ones((2, 3)), group_state(2)), ValueError, "a matrix with 2 columns"),
        (lambda: group_minmax(jnp.ones(2), jnp.array([0, 2]), group_state(2)), ValueError, "from 0 to 2; give whole numbers from 0 to 1"),
        (lambda: group_minmax(jnp.ones(2), jnp.array([-1, 1]), group_state(2)), ValueError, "from -1 to 1; give"),
        (lambda: group_state(0), ValueError, "give at least 1"),
    ],
)
def test_bad_input_is_refused(call, kind, said):
    with pytest.raises(kind, match=said):
        call()

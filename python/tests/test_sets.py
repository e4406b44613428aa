"""Every set's projection: against closed forms, and against what makes a projection one."""

import pickle

import numpy as np
import pytest

import standoff as so

A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
SETS = [
    so.Free(3),
    so.Box([-1, 0, -np.inf], [1, 0.5, 2]),
    so.Ball(0.7, [1, 0, -1]),
    so.L1Ball(3, 1.3),
    so.Simplex(3, 2.0),
    so.Halfspace([1, -2, 0.5], -0.3),
    so.Affine(A, [1, 2]),
    so.Polyhedron(A, [1, 2]),
    so.Product(so.Simplex(2), so.Box(0, 1)),
]


@pytest.mark.parametrize("s", SETS, ids=repr)
def test_a_projection_is_the_nearest_point(s):
    rng = np.random.default_rng(7)
    assert s.dim == 3
    for _ in range(50):
        v = rng.normal(size=3) * 3
        p = s.project(v)
        assert s.contains(p, 1e-7)
        np.testing.assert_allclose(s.project(p), p, atol=1e-7)
        assert s.distance(v) == pytest.approx(np.linalg.norm(v - p), abs=1e-9)
        # <v - p, z - p> <= 0 for every z of the set says that p is nearest.
        z = s.project(rng.normal(size=3) * 3)
        assert (v - p) @ (z - p) <= 1e-6


def test_a_set_of_ones_own_is_solved_over_like_the_built_in_one():
    def inside(v):
        return np.clip(v, -1, 0.5)

    def play(s):
        return so.solve(
            lambda x, y: float((x - 2) @ (x - 2) - y @ y), np.zeros(2), [1.0], s,
            grad_x=lambda x, y: 2 * (x - 2), grad_y=lambda x, y: -2 * y, eps=1e-6,
        )  # fmt: skip

    own, built_in = play(so.Projected(2, inside, diameter=3.0)), play(so.Box(-1, 0.5, n=2))
    assert own.success and own.gap.proves(1e-6)
    np.testing.assert_allclose(own.x, built_in.x, atol=1e-6)
    assert so.Projected(2, inside, diameter=3.0).diameter() == 3.0 and so.Product(so.Projected(1, inside), so.Box(0, 1)).dim == 2


def test_an_exception_in_a_projection_arrives_intact():
    thrown = RuntimeError("the very one")

    def broken(v):
        raise thrown

    bad = so.Projected(1, broken)
    for attempt in (
        lambda: bad.project([1.0]),
        lambda: so.Product(bad, so.Box(0, 1)).contains([1.0, 0.0]),
        lambda: so.solve(lambda x, y: float(x @ x - y @ y), [1.0], [1.0], bad, grad_x=lambda x, y: 2 * x, grad_y=lambda x, y: -2 * y),
    ):
        with pytest.raises(RuntimeError) as caught:
            attempt()
        assert caught.value is thrown
    with pytest.raises(ValueError, match=r"shape \(3,\), the set has shape \(2,\)"):
        so.Projected(2, lambda v: np.zeros(3)).project([1.0, 2.0])


def test_closed_forms():
    np.testing.assert_array_equal(so.Free(2).project([3, -4]), [3, -4])
    np.testing.assert_array_equal(so.Box(-1, 1, n=2).project([3, -4]), [1, -1])
    np.testing.assert_allclose(so.Ball(1, [1, 1]).project([4, 5]), [1.6, 1.8])
    np.testing.assert_allclose(so.L1Ball(2, 1).project([1, 0.5]), [0.75, 0.25])
    np.testing.assert_allclose(so.Simplex(2).project([1, 0.5]), [0.75, 0.25])
    np.testing.assert_allclose(so.Halfspace([3, 4], 0).project([3, 4]), [0, 0], atol=1e-15)
    np.testing.assert_allclose(so.Affine([[1, 1, 1]], [3]).project([0, 0, 0]), [1, 1, 1])
    np.testing.assert_allclose(so.Polyhedron([[1, 0], [0, 1]], [0, 0]).project([1, -1]), [0, -1], atol=1e-9)


@pytest.mark.parametrize("s", SETS, ids=repr)
def test_sets_pickle(s):
    v = np.array([0.3, -2.0, 5.0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(s)).project(v), s.project(v))


def test_the_argument_is_left_alone_and_keeps_its_shape():
    v = np.full((2, 2), 3.0)
    p = so.Simplex(4).project(v)
    assert p.shape == (2, 2) and (v == 3).all()
    out = np.empty((2, 2))
    assert so.Simplex(4).project(v, out=out) is out
    np.testing.assert_array_equal(out, p)


def test_other_types_and_strides_are_converted():
    v = np.arange(6, dtype=np.int32)[::2]
    np.testing.assert_array_equal(so.Box(0, 1, n=3).project(v), [0, 1, 1])
    np.testing.assert_array_equal(so.Box(0, 1, n=3).project(np.float32([2, 3, 0.5])), [1, 1, 0.5])


def test_nan_stays_visible():
    assert np.isnan(so.Simplex(2).project([np.nan, 1])).any()
    assert not so.Box(0, 1).contains([np.nan])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: so.Simplex(3).project([1, 2]), r"v has shape \(2,\), the set has shape \(3,\)"),
        (lambda: so.Box([0, 0], [1, 1, 1]), r"lower has shape \(2,\), upper has shape \(3,\)"),
        (lambda: so.Box(1, 0), "box"),
        (lambda: so.Ball(-1, [0]), "ball"),
        (lambda: so.Ball(1), "n, the number of coordinates"),
        (lambda: so.Simplex(0), "simplex"),
        (lambda: so.Free(0), "at least 1"),
        (lambda: so.Free(10**15), "free: dimension 1000000000000000 is too large; at most 100000000 is possible"),
        (lambda: so.Simplex(2**63), "simplex: dimension 9223372036854775808 is too large"),
        (lambda: so.L1Ball(2**63), "l1_ball: dimension 9223372036854775808 is too large"),
        (lambda: so.Ball(1, n=10**10), "ball: dimension 10000000000 is too large"),
        (lambda: so.Box(0, 1, n=10**10), "box: dimension 10000000000 is too large"),
        (lambda: so.Product(so.Free(10**8), so.Free(1)), "product: dimension 100000001 is too large"),
        (lambda: so.Polyhedron([[1, 0]], [1, 2]), r"A has shape \(1, 2\), b has shape \(2,\)"),
        (lambda: so.Polyhedron([1, 0], [1]), r"A has shape \(2,\)"),
        (lambda: so.Polyhedron([[1], [-1]], [0, -1]), "no point satisfies"),
        (lambda: so.Affine([[1, 0], [1, 0]], [0, 1]), "contradict"),
    ],
)
def test_bad_sets_are_refused_with_the_reason(make, said):
    with pytest.raises(ValueError, match=said):
        make()

"""Exceptions, Ctrl-C, the lock, and memory."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import standoff as so
from standoff import _core
from standoff._sets import flat

ENDLESS = {"eps": 1e-12, "max_grads": 1e15, "method": "gda", "check_every": 1000, "constants": {"l12": 1.0}}


class Mine(Exception):
    pass


def plain(x, y):
    return float(x[0] * y[0])


@pytest.mark.parametrize("after", [0, 1, 7])
@pytest.mark.parametrize("where", ["f", "grad_x", "grad_y"])
def test_an_exception_arrives_intact(where, after):
    calls = []
    thrown = Mine("the very one")

    def failing(name, result):
        def function(x, y):
            if name == where:
                calls.append(1)
                if len(calls) > after:
                    raise thrown
            return result(x, y)

        return function

    with pytest.raises(Mine) as caught:
        so.solve(
            failing("f", plain), [0.5], [0.5], so.Box(-1, 1), so.Box(-1, 1), eps=1e-12,
            grad_x=failing("grad_x", lambda x, y: y), grad_y=failing("grad_y", lambda x, y: x),
        )  # fmt: skip
    assert caught.value is thrown
    assert len(calls) == after + 1, "no function is called after one raised"
    assert any(entry.name == "function" for entry in caught.traceback)


def test_an_exception_in_the_callback_arrives_intact():
    def callback(record):
        raise Mine("here")

    with pytest.raises(Mine, match="here"):
        so.solve(so.zoo["kink"], callback=callback)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"grad_x": lambda x, y: [1.0, 2.0, 3.0]}, r"grad_x returned an array of shape \(3,\), but x has shape \(2,\)"),
        ({"grad_y": lambda x, y: [[1.0]] * 2}, r"grad_y returned an array of shape \(2, 1\), but y has shape \(1,\)"),
        ({"f": lambda x, y: x}, r"f returned an array of shape \(2,\), a number of shape \(\) was wanted"),
        ({"x_set": so.Simplex(3)}, r"x0 has shape \(2,\), but x_set has shape \(3,\)"),
        ({"y0": []}, r"y0 has shape \(0,\)"),
        ({"x0": [np.nan, 0.0]}, "not finite"),
        ({"eps": -1}, "eps = -1 is not allowed"),
        ({"method": "auot"}, "did you mean `auto`"),
        ({"max_grads": 1.5}, "max_grads = 1.5 is not allowed"),
        ({"time_limit": -1.0}, "time_limit = -1 is not allowed"),
        ({"f": lambda x, y: float("nan")}, "not finite at the start"),
    ],
)
def test_bad_input_is_a_value_error_that_says_what_was_got(changed, said):
    good = {"f": lambda x, y: float(x @ x - y @ y), "x0": [1.0, 1.0], "y0": [1.0]}
    good |= {"grad_x": lambda x, y: 2 * x, "grad_y": lambda x, y: -2 * y}
    with pytest.raises(ValueError, match=said):
        so.solve(**(good | changed))


@pytest.mark.parametrize("changed", [{"f": lambda x, y: None}, {"f": 3}, {"x_set": (0, 1)}])
def test_wrong_types_are_type_errors(changed):
    good = {"f": plain, "x0": [1.0], "y0": [1.0]}
    with pytest.raises(TypeError):
        so.solve(**(good | changed))


def interrupted_after(seconds, run):
    """The result of `run`, and how long after the signal it came."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    timer.start()
    try:
        result = run()
        return result, time.monotonic() - sent[0]
    finally:
        timer.join()


def test_ctrl_c_keeps_the_best_point_while_rust_computes():
    r, late = interrupted_after(0.3, lambda: so.solve(so.zoo["bilinear"], **ENDLESS))
    assert r.status == "interrupted" and not r.success and late < 1
    assert np.isfinite(r.fun) and r.gap.epsilon == pytest.approx(r.trace["gap"].min(), rel=1e-12)


def test_ctrl_c_keeps_the_best_point_while_python_computes():
    def f(x, y):
        time.sleep(0.001)
        return plain(x, y)

    def run():
        return so.solve(f, [0.5], [0.5], so.Box(-1, 1), so.Box(-1, 1), lambda x, y: y, lambda x, y: x, **(ENDLESS | {"check_every": 1}))

    r, late = interrupted_after(0.3, run)
    assert r.status == "interrupted" and late < 1
    assert np.isfinite(r.fun) and np.isfinite(r.trace["fun"]).all()


def test_the_lock_is_free_while_rust_computes():
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    so.solve(so.zoo["bilinear"], **ENDLESS, time_limit=0.3)
    done.set()
    thread.join()
    assert len(ticks) > 20


def test_a_game_is_used_by_one_run_at_a_time():
    game = so.zoo["kink"]
    with pytest.raises(RuntimeError, match="in use by another run"):
        game.solve(callback=lambda record: game.solve())
    assert game.solve().success


def test_ten_million_entries_cross_without_a_copy():
    v = np.ones(10**7)
    assert _core.address(flat(v)) == v.ctypes.data
    assert so.Box(0, 0.5, n=v.size).project(v, out=v).ctypes.data == v.ctypes.data and v[-1] == 0.5
    seen = set()

    def f(x, y):
        seen.add((x.ctypes.data, y.ctypes.data))
        return 0.0

    r = so.solve(f, v, [0.0], grad_x=lambda x, y: v, grad_y=lambda x, y: -y, max_iters=0)
    assert len(seen) == 1 and r.x.size == v.size


def test_ten_million_features_are_predicted_from_where_they_lie(monkeypatch):
    pytest.importorskip("sklearn")
    X = np.zeros((10**6, 10), dtype=np.float32)
    fair = so.FairClassifier("mlp", max_iter=1, random_state=0).fit(np.eye(10), [0, 1] * 5)
    seen = []
    real = _core.network_logits
    monkeypatch.setattr(_core, "network_logits", lambda x, *rest: (seen.append(_core.address(x)), real(x, *rest))[1])
    assert fair.predict(X).shape == (10**6,) and seen == [X.ctypes.data]


def test_what_the_function_keeps_stays_as_it_was():
    kept, copies, parts = [], [], []

    def f(x, y):
        kept.append(x)
        parts.append(y[:1])
        copies.append((x.copy(), y.copy()))
        return float(x @ x - y @ y)

    so.solve(f, [1.0, 2.0], [3.0, 4.0], grad_x=lambda x, y: 2 * x, grad_y=lambda x, y: -2 * y, eps=1e-6)
    assert len(kept) > 2
    for x, part, (was_x, was_y) in zip(kept, parts, copies, strict=True):
        np.testing.assert_array_equal(x, was_x)
        np.testing.assert_array_equal(part, was_y[:1])


def test_the_function_cannot_change_the_point():
    def f(x, y):
        x[0] = 7.0
        return 0.0

    with pytest.raises(ValueError, match="read-only"):
        so.solve(f, [1.0], [1.0])


def test_the_start_is_not_touched():
    x0 = np.array([5.0])
    so.solve(lambda x, y: float(x @ x - y @ y), x0, [1.0], so.Box(-1, 1), eps=1e-4)
    assert x0 == [5.0]


def test_the_function_may_use_the_start_while_it_is_called():
    x0, box = np.array([5.0]), so.Box(-1, 1)

    def f(x, y):
        box.project(x0, out=x0)
        return float(x @ x - y @ y)

    assert so.solve(f, x0, [1.0], box, eps=1e-4).success


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"x0": [1 + 0j]}, "x0"),
        ({"f": lambda x, y: 1j * x[0]}, "f returned"),
        ({"f": lambda x, y: np.complex64(x[0])}, "f returned"),
        ({"grad_x": lambda x, y: np.array([1j])}, "grad_x returned"),
        ({"grad_y": lambda x, y: [1j]}, "grad_y returned"),
    ],
)
def test_complex_numbers_are_refused(given, name):
    good = {"f": plain, "x0": [1.0], "y0": [1.0], "grad_x": lambda x, y: y, "grad_y": lambda x, y: x}
    with pytest.raises(TypeError, match=f"{name}.*complex"):
        so.solve(**(good | given))


def test_complex_sets_and_points_are_refused():
    for make in [lambda: so.Box(0, 1j), lambda: so.Ball(1.0, [1j]), lambda: so.Halfspace([1j], 0), lambda: so.Affine([[1j]], [0])]:
        with pytest.raises(TypeError, match="complex"):
            make()
    with pytest.raises(TypeError, match="complex"):
        so.Simplex(2).project([1j, 0])
    with pytest.raises(TypeError, match="complex"):
        so.certify(so.zoo["kink"], [1j], [0.0])


def square(x, y):
    return float(x @ x - y @ y)


@pytest.mark.parametrize(
    "bounds",
    [so.Box(-1, 1), [(-1, 1)] * 3, np.array([[-1, 1]] * 3), ((-1.0, 1),) * 3, SimpleNamespace(lb=-1, ub=1), SimpleNamespace(lb=[-1], ub=[1])],
)
def test_bounds_stretch_and_are_read_as_in_scipy(bounds):
    point = so.solve(square, [3.0, -3.0, 0.5], [1.0], bounds, max_iters=0, grad_x=lambda x, y: 2 * x, grad_y=lambda x, y: -2 * y)
    np.testing.assert_array_equal(point.x, [1.0, -1.0, 0.5])


def test_none_is_an_infinite_side_as_in_scipy():
    point = so.solve(square, [3.0, -3.0], [1.0], [(None, 1), (0, None)], max_iters=0)
    np.testing.assert_array_equal(point.x, [1.0, 0.0])
    optimize = pytest.importorskip("scipy.optimize")
    point = so.solve(square, [3.0, -3.0], [1.0], optimize.Bounds([-np.inf, 0], 1), max_iters=0)
    np.testing.assert_array_equal(point.x, [1.0, 0.0])


def test_bounds_of_the_wrong_length_or_kind_are_refused():
    with pytest.raises(ValueError, match="2 pairs of bounds, x0 has 3 entries"):
        so.solve(square, [0.0] * 3, [1.0], [(0, 1)] * 2)
    with pytest.raises(TypeError, match="x_set is a list"):
        so.solve(square, [0.0] * 3, [1.0], [0, 1, 2])
    with pytest.raises(ValueError, match=r"x_set has shape \(2,\)"):
        so.solve(square, [0.0] * 3, [1.0], so.Box(-1, 1, n=2))
    assert so.Box(-1, 1).dim == 1 and so.Product(so.Box(-1, 1), so.Simplex(2)).dim == 3

"""`standoff.attack` on functions of NumPy arrays, on networks in ONNX files, and on functions that are wrong."""

import subprocess
import sys

import numpy as np
import pytest

import standoff as so

PLANE = np.array([[1.0, -2.0, 0.5, 0.0], [-1.0, 1.0, 1.0, -1.0], [0.2, 0.4, -0.6, 0.8]])


def plane(x):
    """Three classes, linear."""
    return x.reshape(len(x), -1) @ PLANE.T


@pytest.fixture
def some():
    return np.random.default_rng(0).random((12, 4))


def test_a_function_of_arrays_is_attacked_by_queries(some):
    r = so.attack(plane, some, eps=0.1)
    assert [row["name"] for row in r.attacks] == ["square5000", "random100"]
    assert r.natural_accuracy == 1 and 0 < r.upper < 1 and np.isnan(r.lower) and r.certified is None
    assert r.warnings == [] and r.images.shape == (12, 4)
    labels = plane(some).argmax(1)
    broken = ~r.survives
    assert (plane(r.images)[broken].argmax(1) != labels[broken]).all()
    assert np.abs(r.images - some.astype(np.float32)).max() <= 0.1 + 1e-6 and r.images.min() >= 0 and r.images.max() <= 1
    # What a linear function allows is known.
    worst = []
    for x, y in zip(some, labels, strict=True):
        slopes = np.delete(PLANE - PLANE[y], y, 0)
        room = np.where(slopes > 0, np.minimum(0.1, 1 - x), np.minimum(0.1, x))
        worst.append((slopes @ x + (np.abs(slopes) * room).sum(1)).max())
    assert (r.survives == (np.array(worst) < 0)).all()


def test_the_same_seed_gives_the_same_images_and_order_does_not_matter(some):
    names = ["square200"]
    one, two = so.attack(plane, some, eps=0.1, attacks=names, seed=4), so.attack(plane, some, eps=0.1, attacks=names, seed=4, batch_size=5)
    assert (one.images == two.images).all()
    first = so.attack(plane, some[:5], eps=0.1, attacks=names, seed=4)
    assert (first.images == one.images[:5]).all()


def test_bounds_may_be_others_or_none(some):
    r = so.attack(plane, 255 * some, eps=60.0, bounds=(0, 255), attacks="square500")
    assert r.images.max() > 1 and r.images.max() <= 255 and np.abs(r.images - 255 * some).max() <= 60 + 1e-3
    free = so.attack(plane, some - 0.5, eps=0.4, bounds=None, attacks="square500")
    assert free.images.min() < -0.5 and np.abs(free.images - (some - 0.5)).max() <= 0.4 + 1e-6
    with pytest.raises(ValueError, match="bounds are 0 to 1: scale X, or give other bounds"):
        so.attack(plane, 255 * some, eps=0.1)
    with pytest.raises(ValueError, match="two numbers in order"):
        so.attack(plane, some, eps=0.1, bounds=(1, 0))


def test_every_norm_and_several_eps(some):
    for norm, length in [("l2", lambda d: np.sqrt((d**2).sum(1))), ("l1", lambda d: np.abs(d).sum(1)), ("inf", lambda d: np.abs(d).max(1))]:
        all_eps = so.attack(plane, some, eps=[0.0, 0.2, 0.8], norm=norm, attacks=["square300"])
        assert [r.eps for r in all_eps] == [0.0, 0.2, 0.8]
        assert all_eps[0].upper == 1 >= all_eps[1].upper >= all_eps[2].upper < 1
        assert (length(all_eps[2].images - some.astype(np.float32)) <= 0.8 + 1e-6).all()


def test_arrays_that_are_not_contiguous_or_are_bytes(some):
    r = so.attack(plane, some, eps=0.1, attacks="square100")
    wide = np.repeat(some, 2, 0)[::2]
    assert not wide.flags.c_contiguous
    assert (so.attack(plane, wide, eps=0.1, attacks="square100").images == r.images).all()
    assert (so.attack(plane, np.asfortranarray(some), eps=0.1, attacks="square100").images == r.images).all()
    assert so.attack(plane, (255 * some).astype(np.uint8), eps=0.1, attacks="square100").images.max() <= 1


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: plane(x)[:, 0], r"returned an array of shape \(8,\) for 8 inputs"),
        (lambda x: plane(x)[:-1], r"want logits \(8, classes\)"),
        (lambda x: plane(x)[:, :1], "1 logit"),
        (lambda x: plane(x) + np.random.default_rng().random(), "different logits for the same inputs"),
        (lambda x: plane(x) - plane(x).mean(0), "other logits in another batch"),
        (lambda x: plane(x) * np.nan, "attacking image 0: logit 0 of sample 0"),
        (lambda x: np.full((len(x), 3), np.inf), "attacking image 0"),
        (lambda x: np.array([["a", "b"]] * len(x)), "dtype"),
    ],
)
def test_a_wrong_function_is_refused(some, f, message):
    with pytest.raises(ValueError, match=message):
        so.attack(f, some, np.zeros(12, int), eps=0.1)


def test_wrong_arguments_are_refused(some):
    y = np.zeros(12, int)
    for match, arguments in [
        ("label 3 of input 1: f gives 3 logits", {"y": np.array([0, 3] + [0] * 10)}),
        ("label -1 of input 0", {"y": y - 1}),
        (r"y has shape \(11,\)", {"y": y[1:]}),
        ("y has dtype float64", {"y": y + 0.5}),
        ("unknown norm 'l3'", {"norm": "l3"}),
        ("eps = -0.1 is not allowed", {"eps": -0.1}),
        ("eps is 2: want a number from 0 to 1", {"eps": 2.0}),
        ("unknown attack `squar`.*did you mean `square`", {"attacks": "squar"}),
        ("needs gradients", {"attacks": "apgd-ce"}),
        ("needs gradients", {"attacks": "autoattack"}),
        ("unknown framework 'keras'", {"framework": "keras"}),
        ("batch_size = 0", {"batch_size": 0}),
    ]:
        with pytest.raises(ValueError, match=match):
            so.attack(plane, some, **({"y": y, "eps": 0.1} | arguments))
    with pytest.raises(ValueError, match=r"X has shape \(12,\)"):
        so.attack(plane, some[:, 0], y, eps=0.1)
    with pytest.raises(ValueError, match="no inputs"):
        so.attack(plane, some[:0], y[:0], eps=0.1)
    with pytest.raises(TypeError, match="f is a int"):
        so.attack(3, some, y, eps=0.1)
    with pytest.raises(ValueError, match="entry|pixel"):
        so.attack(plane, np.where(some > 0.9, np.nan, some), y, eps=0.1, bounds=None)


def test_an_exception_of_the_function_is_raised(some):
    calls = []

    def tired(x):
        calls.append(len(x))
        if len(calls) > 9:
            raise KeyError("no more")
        return plane(x)

    with pytest.raises(KeyError, match="no more"):
        so.attack(tired, some, eps=0.001, attacks="square1000")
    assert len(calls) == 10


def test_ctrl_c_in_a_function_ends_the_attack(some):
    calls = []

    def interrupted(x):
        calls.append(1)
        if len(calls) > 30:
            raise KeyboardInterrupt
        return plane(x)

    with pytest.raises(KeyboardInterrupt):
        so.attack(interrupted, some, eps=0.001, attacks="square1000")
    assert len(calls) == 31


def test_neither_pytorch_nor_jax_is_imported(some):
    code = (
        "import sys, numpy as np, standoff as so\n"
        "so.attack(lambda x: x @ np.ones((4, 2)), np.ones((3, 4)) / 2, [0, 0, 0], eps=0.1, attacks='square10')\n"
        "assert not {'torch', 'jax'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.fixture(scope="module")
def digits(root):
    folder = root / "data/mnist"
    x, y = so.read_images(folder / "t10k-images-idx3-ubyte.gz", folder / "t10k-labels-idx1-ubyte.gz")
    return x[:40], y[:40]


def test_a_network_of_a_file_has_the_outcomes_of_the_engine(root, digits, tmp_path):
    path = root / "models/madry.safetensors"
    network = so.Network.load(path)
    assert network.input_shape == (1, 28, 28) and network.outputs == 10 and "Network: input" in repr(network)
    network.save(tmp_path / "madry.onnx")
    again = so.Network.load(tmp_path / "madry.onnx")
    x, y = digits
    rows = (x / np.float32(255))[:, None]
    assert np.allclose(again(rows), network(rows), atol=1e-5)
    names = ["apgd-margin20", "fab10x3", "square100"]
    built_in = so.evaluate(path, x, y, eps=0.4, attacks=names, chain=True)
    ours = so.attack(again, rows, y, eps=0.4, attacks=names)
    assert (ours.natural == built_in.natural).all() and 0 < ours.upper < 1
    assert (ours.survives != built_in.survives).sum() <= 1


def test_pickles_are_refused_with_advice(root, tmp_path):
    (tmp_path / "model.pt").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(ValueError, match="(?s)pickle.*torch.onnx.export"):
        so.Network.load(tmp_path / "model.pt")
    with pytest.raises(ValueError, match="ends with .onnx"):
        so.Network.load(root / "models/madry.safetensors").save(tmp_path / "x.pt")


def test_the_smallest_change_of_each_input(some):
    network = so.Network.from_bytes(_linear())
    labels = plane(some).argmax(1)
    labels[0] = (labels[0] + 1) % 3
    for norm, dual in [("linf", 1), ("l2", 2), ("l1", np.inf)]:
        r = so.attack(network, some, labels, eps=[0.05, 0.3], norm=norm, minimal=True, bounds=None)
        assert r.distances[0] == 0 and not r.natural[0]
        for x, y, found in list(zip(some, labels, r.distances, strict=True))[1:]:
            slopes = np.delete(PLANE - PLANE[y], y, 0)
            want = min(-(slopes @ x) / np.linalg.norm(slopes, dual, axis=1))
            assert want - 1e-5 <= found <= 1.03 * want + 1e-5, (norm, found, want)
        assert list(r.accuracy) == [np.mean(r.distances > e) for e in (0.05, 0.3)] and "median" in repr(r)


def _linear():
    """`plane` as an ONNX file, written by hand."""

    def field(number, data):
        size, n = b"", len(data)
        while n >= 128:
            size, n = size + bytes([n & 127 | 128]), n >> 7
        return bytes([number << 3 | 2]) + size + bytes([n]) + data

    def value(name):
        dims = b"".join(field(1, bytes([0x08, d])) for d in (1, 4 if name == b"x" else 3))
        return field(1, name) + field(2, field(1, b"\x08\x01" + field(2, dims)))

    tensor = b"\x08\x04\x08\x03\x10\x01" + field(8, b"w") + field(9, PLANE.T.astype("<f4").tobytes())
    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"MatMul")
    graph = field(1, node) + field(5, tensor) + field(11, value(b"x")) + field(12, value(b"y"))
    return field(7, graph) + field(8, b"\x10\x0d")

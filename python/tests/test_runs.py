"""Run folders: resumed to the same bits, shown by the command, read as arrays."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

import standoff as so  # noqa: E402

TRAIN = """
import sys, numpy as np, standoff as so
sys.path.insert(0, {tests!r})
from test_runs import {make}
{make}(folder=sys.argv[1], resume=True, save_every=0.0)
"""


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    group = (rng.random(n) < 0.2).astype(int)
    return X, (np.where(group == 0, X[:, 0], X[:, 1]) > 0).astype(int), group


def pictures(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.clip(0.3 * rng.random((n, 16)) + 0.6 * np.eye(3).repeat(6, axis=1)[:, :16][y], 0, 1)
    return X.astype(np.float32), y


def fair(**options):
    X, y, group = table()
    options = {"max_iter": 3000, "batch_size": 100, "random_state": 5} | options
    return so.FairClassifier("mlp", **options).fit(X, y, sensitive_features=group)


def robust(**options):
    X, y = pictures()
    options = {"eps": 0.1, "epochs": 60, "batch_size": 20, "measured": 30, "random_state": 5} | options
    return so.RobustClassifier("mlp", "paper", **options).fit(X, y)


def same(one, two):
    np.testing.assert_array_equal(one.parameters_, two.parameters_)
    assert (one.loss_, one.n_iter_) == (two.loss_, two.n_iter_)
    np.testing.assert_array_equal(one.certificate_[:5], two.certificate_[:5])


@pytest.mark.parametrize("make", [fair, robust])
def test_a_folder_does_not_change_the_bits(make, tmp_path):
    short = {"max_iter": 40} if make is fair else {"epochs": 2}
    memory, kept = make(**short), make(folder=tmp_path / "run", **short)
    same(memory, kept)
    if make is robust:
        assert memory.standing_ == kept.standing_
    else:
        np.testing.assert_array_equal(memory.group_losses_, kept.group_losses_)
        np.testing.assert_array_equal(memory.group_weights_, kept.group_weights_)
    # A finished run is read, not made again.
    begun = time.monotonic()
    again = make(folder=tmp_path / "run", resume=True, **short)
    same(kept, again)
    assert time.monotonic() - begun < 5
    run = so.read_run(tmp_path / "run").runs[0]
    stored = so.load_safetensors(run.model)
    for name, values in kept.state_dict().items():
        np.testing.assert_array_equal(stored[name], values)
    assert any(file.name.startswith("events.out.tfevents") for file in run.folder.iterdir())


@pytest.mark.parametrize("make", [fair, robust])
def test_a_killed_process_is_resumed_to_the_same_bits(make, tmp_path):
    code = TRAIN.format(tests=os.path.dirname(__file__), make=make.__name__)
    whole = make()
    kills = 0
    for delay in (0.02, 0.1, 0.0, 0.05):
        child = subprocess.Popen([sys.executable, "-c", code, tmp_path / "run"], stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("run/**/checkpoint.safetensors")) and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(delay)
        child.kill()
        kills += child.wait() == -signal.SIGKILL
        child.stderr.close()
    assert kills > 0
    resumed = make(folder=tmp_path / "run", resume=True)
    same(whole, resumed)
    steps = so.read_run(tmp_path / "run").runs[0].metrics["step"]
    assert (np.diff(steps) > 0).all() and steps[-1] == whole.n_iter_


@pytest.mark.parametrize("make", [fair, robust])
def test_ctrl_c_saves_and_raises(make, tmp_path):
    def interrupt():
        while not list(tmp_path.glob("run/**/metrics.jsonl")):
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    long = {"max_iter": 30_000} if make is fair else {"epochs": 600}
    with pytest.raises(KeyboardInterrupt):
        make(folder=tmp_path / "run", **long)
    sender.join()
    assert list(tmp_path.glob("run/**/checkpoint.safetensors"))
    found = so.read_run(tmp_path / "run")
    assert not found.finished and found.results is None and found.runs[0].model is None
    assert len(found.runs[0].metrics["step"]) >= 1


def test_what_does_not_match_is_refused(tmp_path):
    fair(max_iter=20, folder=tmp_path / "run")
    with pytest.raises(FileExistsError, match="resume=True"):
        fair(max_iter=20, folder=tmp_path / "run")
    with pytest.raises(ValueError, match="cannot be resumed.*schedule"):
        fair(max_iter=21, folder=tmp_path / "run", resume=True)
    X, y, group = table(seed=1)
    other = so.FairClassifier("mlp", max_iter=20, batch_size=100, random_state=5, folder=tmp_path / "run", resume=True)
    with pytest.raises(ValueError, match="cannot be resumed.*data"):
        other.fit(X, y, sensitive_features=group)
    assert fair(max_iter=21, folder=tmp_path / "run", overwrite=True).n_iter_ == 21
    with pytest.raises(ValueError, match="folder="):
        fair(resume=True)
    with pytest.raises(ValueError, match="one of the two"):
        fair(folder=tmp_path / "run", resume=True, overwrite=True)
    with pytest.raises(ValueError, match="save_every = -1"):
        fair(folder=tmp_path / "other", save_every=-1.0)


def test_two_trainings_in_one_folder_are_refused(tmp_path):
    seen = []

    def second():
        while not list(tmp_path.glob("run/**/metrics.jsonl")):
            time.sleep(0.01)
        try:
            fair(folder=tmp_path / "run", resume=True, max_iter=6000)
        except RuntimeError as error:
            seen.append(str(error))

    other = threading.Thread(target=second)
    other.start()
    fair(folder=tmp_path / "run", max_iter=6000)
    other.join()
    assert len(seen) == 1 and "in use by process" in seen[0]


def test_samples_beside_training_are_measured(tmp_path):
    X, y, group = table()
    held = table(100, seed=7)
    model = so.FairClassifier(max_iter=60, random_state=1, folder=tmp_path / "run")
    model.fit(X, y, sensitive_features=group, eval_set=held)
    right = model.predict(held[0]) == held[1]
    np.testing.assert_allclose(model.eval_accuracy_, [right[held[2] == g].mean() for g in (0, 1)])
    metrics = so.read_run(tmp_path / "run").runs[0].metrics
    assert metrics["correct"][-1].sum() == right.sum()
    plain = so.FairClassifier(max_iter=60, random_state=1, solver="steps").fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(plain.parameters_, model.parameters_)
    with pytest.raises(ValueError, match="eval_set has 2 parts"):
        model.set_params(folder=None).fit(X, y, sensitive_features=group, eval_set=held[:2])
    X, y = pictures()
    robust = so.RobustClassifier("logistic", eps=0.05, epochs=2, batch_size=20, random_state=0, folder=tmp_path / "robust")
    robust.fit(X, y, eval_set=pictures(30, seed=3))
    result = so.read_run(tmp_path / "robust").results
    assert result["natural"]["total"] == 30 and 0 <= result["pgd"]["correct"] <= result["natural"]["correct"]


@pytest.mark.parametrize("make", [fair, robust])
def test_the_command_shows_the_run_and_does_not_resume_arrays(make, standoff, tmp_path):
    make(folder=tmp_path / "run", **({"max_iter": 20} if make is fair else {"epochs": 1}))
    standoff("report", tmp_path / "run", "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert ">NaN<" not in page and ("minmax-reg" if make is fair else "paper") in page
    program = os.environ.get("STANDOFF", "target/release/standoff")
    done = subprocess.run([program, make.__name__, "--resume", tmp_path / "run"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "arrays" in done.stderr and "Python" in done.stderr


def test_a_folder_of_the_command_is_read(standoff, root, tmp_path):
    standoff("fair", "--data", root / "examples/people.csv", "--label", "pay", "--group", "sex", "--method", "normal,minmax",
             "--seeds", 2, "--iterations", 24, "--out", tmp_path / "run")  # fmt: skip
    run = so.read_run(tmp_path / "run")
    assert run.kind == "fair" and run.finished and [r.name for r in run.runs] == [
        "minmax-seed-1", "minmax-seed-2", "normal-seed-1", "normal-seed-2",
    ]  # fmt: skip
    assert run.runs[0].metrics["losses"].shape[1] == 2 and run.runs[0].result["method"] == "minmax"
    assert run.config["columns"]["label"] == "pay"
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        so.read_run(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="not a run folder"):
        so.read_run(tmp_path / "empty")


def test_an_evaluation_has_the_numbers_of_the_command(standoff, root, tmp_path):
    folder = root / "data/mnist"
    X, y = so.read_images(folder / "t10k-images-idx3-ubyte.gz", folder / "t10k-labels-idx1-ubyte.gz")
    X, y = X[:60], y[:60]
    path = root / "models/ibp-lenet.safetensors"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = so.evaluate(path, X, y, eps=[0.1, 0.3], attacks=["pgd10", "square50"], seed=3)
    said = json.loads(standoff("attack", path, "--data", folder, "--limit", 60, "--eps", "0.1,0.3", "--attacks", "pgd10,square50",
                               "--seed", 3, "--json"))["budgets"]  # fmt: skip
    for ours, theirs in zip(found, said, strict=True):
        assert ours.eps == theirs["eps"] and ours.upper == theirs["worst_case"]["all"]["accuracy"]
        assert ours.natural_accuracy == theirs["natural"]["all"]["accuracy"]
        assert ours.lower == theirs["certified"]["all"]["accuracy"]
        assert [row["accuracy"] for row in ours.attacks] == [row["accuracy"]["all"]["accuracy"] for row in theirs["attacks"]]
        assert ours.lower <= ours.upper <= ours.natural_accuracy and ours.warnings == theirs["warnings"]
        assert not (ours.certified & ~ours.survives).any()
        assert ours.undecided == (ours.survives & ~ours.certified).sum()
        assert ours.images.shape == X.shape and np.abs(ours.images - X / 255).max() <= ours.eps + 1e-6
    with pytest.raises(ValueError, match="unknown protocol `strict`; there are standard, paper"):
        so.evaluate(path, X, y, protocol="strict")
    with pytest.raises(TypeError, match="model is a int"):
        so.evaluate(3, X, y)


def test_the_folder_of_an_attack_is_read_with_its_manifest(standoff, root, tmp_path):
    model = root / "models/ibp-lenet.safetensors"
    standoff("attack", model, "--data", root / "data/mnist", "--limit", 3, "--attacks", "fgsm", "--out", tmp_path / "a")
    run = so.read_run(tmp_path / "a")
    assert (run.kind, run.config, run.runs, run.finished) == ("attack", None, [], True)
    assert run.manifest["kind"] == "attack" and run.manifest["configuration"]["values"]["attacks"] == ["fgsm"]
    assert run.manifest["data"]["parts"]["model"] == hashlib.sha256(model.read_bytes()).hexdigest()


def test_an_evaluation_takes_classifiers_parameters_and_folders(tmp_path):
    X, y = pictures()
    network = robust(epochs=3, folder=tmp_path / "run")
    options = {"eps": 0.05, "attacks": ["pgd5"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = so.evaluate(network, X, y, **options)
        for other in (tmp_path / "run", network.state_dict()):
            again = so.evaluate(other, X.reshape(-1, 4, 4), y, **options)
            assert (again.lower, again.upper) == (first.lower, first.upper)
            np.testing.assert_array_equal(again.images.reshape(X.shape), first.images)
        late = so.evaluate(network, X, y, eps=0.05, time_limit=0.0)
    assert late.interrupted and np.isnan(late.lower)

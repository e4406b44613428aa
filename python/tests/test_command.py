"""Python and the command: the same seed gives the same bits, and each reads what the other wrote."""

import csv
import io
import json
import warnings

import numpy as np
import pytest

import standoff as so

KINK = 'objective = "0.25*cos(3*x) + y*(x - 0.5)"\n[min.x]\nlower = -2\nupper = 2\nstart = 0.0\n[max.y]\nlower = -1\nupper = 1\n'


def images(root, part, count):
    folder = root / "data/mnist"
    X, y = so.read_images(folder / f"{part}-images-idx3-ubyte.gz", folder / f"{part}-labels-idx1-ubyte.gz")
    return X[:count], y[:count]


@pytest.mark.parametrize("game", ["kink", "trap", "rps", "dirac-gan", "file"])
@pytest.mark.parametrize("method", ["auto", "gda"])
def test_a_solution_has_the_same_bits(standoff, tmp_path, game, method):
    if game == "file":
        path = tmp_path / "kink.toml"
        path.write_text(KINK)
        played, name = so.Game.from_file(path), str(path)
    else:
        played, name = so.zoo[game], f"zoo:{game}"
    r = played.solve(method=method, eps=1e-3, max_grads=3000, constants="estimate" if game == "file" else None, seed=5)
    said = json.loads(standoff("solve", name, "--method", method, "--eps", "1e-3", "--max-grads", "3000", "--json",
                               *(["--estimate", "--seed", "5"] if game == "file" else [])))  # fmt: skip
    numbers = lambda side: np.concatenate([np.ravel(v) for v in said[side].values()])  # noqa: E731
    np.testing.assert_array_equal(numbers("min"), r.x)
    np.testing.assert_array_equal(numbers("max"), r.y)
    assert said["value"] == r.fun
    counts = said["calls"]
    assert [counts["value"], counts["grad_x"], counts["grad_y"]] == [r.nfev, r.njev_x, r.njev_y]
    assert said["gap"]["x"]["upper"] == r.gap.x_upper and said["gap"]["y"]["upper"] == r.gap.y_upper


def fair_run(standoff, root, folder, *more):
    standoff("fair", "--data", root / "examples/people.csv", "--label", "pay", "--group", "sex", "--seed", 3, "--seeds", 1,
             "--out", folder, *more)  # fmt: skip


def people(root, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on small groups
        return so.read_table(root / "examples/people.csv", "pay", "sex", seed=3, **more)


@pytest.mark.parametrize(
    ("method", "folder", "more", "options"),
    [
        ("minmax-reg", "minmax-reg-0.1-seed-3", ("--solver", "steps"), {}),
        ("minmax", "minmax-seed-3", ("--solver", "steps"), {}),
        ("group-dro", "group-dro-seed-3", (), {}),
        ("minmax-reg", "minmax-reg-0.1-seed-3", ("--model", "mlp", "--batch", "64", "--iterations", "40"),
         {"model": "mlp", "batch_size": 64, "max_iter": 40}),
    ],
)  # fmt: skip
def test_a_fair_classifier_has_the_same_bits(standoff, root, tmp_path, method, folder, more, options):
    pytest.importorskip("sklearn")
    fair_run(standoff, root, tmp_path / "run", "--method", method, *more)
    theirs = so.load_safetensors(tmp_path / "run" / folder / "model.safetensors")
    table = people(root)
    ours = so.FairClassifier(method=method, random_state=3, solver="steps", **options).fit(table.X, table.y, sensitive_features=table.groups)
    state = ours.state_dict()
    assert state.keys() == theirs.keys()
    for name, values in theirs.items():
        np.testing.assert_array_equal(state[name], values)
    result = json.loads((tmp_path / "run" / folder / "result.json").read_text())
    np.testing.assert_array_equal(ours.group_losses_, result["train_losses"])
    np.testing.assert_array_equal(ours.group_weights_, result["weights"])
    assert [ours.certificate_.x_lower, ours.certificate_.x_upper] == result["x_gap"]


@pytest.mark.parametrize(
    ("method", "folder"),
    [("normal", "normal-seed-3"), ("reweight", "reweight-seed-3"), ("minmax", "minmax-seed-3"), ("minmax-reg", "minmax-reg-0.1-seed-3")],
)
def test_a_solved_classifier_has_the_same_bits(standoff, root, tmp_path, method, folder):
    pytest.importorskip("sklearn")
    fair_run(standoff, root, tmp_path / "run", "--method", method)
    theirs = so.load_safetensors(tmp_path / "run" / folder / "model.safetensors")
    table = people(root)
    ours = so.FairClassifier(method=method, C=np.inf).fit(table.X, table.y, sensitive_features=table.groups)
    for name, values in theirs.items():
        np.testing.assert_array_equal(ours.state_dict()[name], values)
    result = json.loads((tmp_path / "run" / folder / "result.json").read_text())
    np.testing.assert_allclose(ours.group_losses_, result["train_losses"], rtol=1e-5)
    np.testing.assert_allclose(ours.group_weights_, result["weights"], atol=1e-6)


def predictions(text):
    return [row["prediction"] for row in csv.DictReader(io.StringIO(text))]


def test_a_fair_classifier_crosses_over_and_predicts_the_same(standoff, root, tmp_path):
    pytest.importorskip("sklearn")
    fair_run(standoff, root, tmp_path / "run", "--method", "minmax-reg")
    file = tmp_path / "run/minmax-reg-0.1-seed-3/model.safetensors"
    data = root / "examples/people.csv"
    said = standoff("predict", file, "--data", data)
    loaded = so.FairClassifier.load(file)
    X = so.read_table(data, like=loaded).X
    assert list(loaded.predict(X)) == predictions(said)
    shares = [float(row["p(high)"]) for row in csv.DictReader(io.StringIO(said))]
    np.testing.assert_allclose(loaded.predict_proba(X)[:, list(loaded.classes_).index("high")], shares, atol=1e-6)
    # And the other way round: trained here, asked there, with the preparation of the table.
    table = people(root)
    names = np.array(table.classes)[table.y]
    ours = so.FairClassifier(max_iter=50, random_state=1).fit(table.X, names, sensitive_features=table.groups)
    ours.save(tmp_path / "ours.safetensors", preprocessing=table.preprocessing)
    assert predictions(standoff("predict", tmp_path / "ours.safetensors", "--data", data)) == list(ours.predict(X))


def test_a_classifier_of_plain_numbers_is_asked_by_the_names_of_its_features(standoff, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(60, 2)), columns=["age", "pay"])
    ours = so.FairClassifier(max_iter=50, random_state=1).fit(frame, np.where(frame["age"] > frame["pay"], "old", "rich"))
    ours.save(tmp_path / "plain.safetensors")
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert predictions(standoff("predict", tmp_path / "plain.safetensors", "--data", tmp_path / "new.csv")) == list(ours.predict(frame))


@pytest.mark.parametrize("method", ["paper", "madry", "trades", "ibp", "crown-ibp", "natural"])
def test_a_robust_network_has_the_same_bits(standoff, root, tmp_path, method):
    pytest.importorskip("sklearn")
    settings = {"steps": 3, "ramp": 0.5, "ramp_from": 0.1, "warmup": 0.25, "batch": 20, "eps": 0.2, "seed": 7, "limit": 100}
    text = "".join(f"{key} = {value}\n" for key, value in settings.items())
    model = "mlp"
    if method == "crown-ibp":
        model = str(tmp_path / "chain.toml")
        layers = ["conv(4, 3, stride=3)", "ramp", "flatten", "dense(10)"]
        (tmp_path / "chain.toml").write_text(f"input = [1, 28, 28]\nlayers = {json.dumps(layers)}\n")
    text += f'method = "{method}"\nmodel = "{model}"\nschedule = [[1, 1e-3], [1, 1e-4]]\nmeasure_images = 50\njudge_images = 20\n'
    (tmp_path / "tiny.toml").write_text(text)
    standoff("robust", "--config", tmp_path / "tiny.toml", "--data", root / "data/mnist", "--out", tmp_path / "run")
    X, y = images(root, "train", 100)
    ours = so.RobustClassifier(
        model, method, eps=0.2, attack_steps=3, ramp=0.5, ramp_from=0.1, warmup=0.25, schedule=[(1, 1e-3), (1, 1e-4)], batch_size=20,
        measured=50, random_state=7,
    ).fit(X, y)  # fmt: skip
    for name, values in so.load_safetensors(tmp_path / "run/model.safetensors").items():
        np.testing.assert_array_equal(ours.state_dict()[name], values)
    result = json.loads((tmp_path / "run/results.json").read_text())
    assert ours.loss_ == result["value"] and [ours.certificate_.x_lower, ours.certificate_.x_upper] == result["x_gap"]
    # What the command wrote is read here and gives the same answers, to attacks too.
    loaded = so.RobustClassifier.load(tmp_path / "run/model.safetensors")
    tests, labels = images(root, "t10k", 40)
    np.testing.assert_array_equal(loaded.predict(tests), ours.predict(tests))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on the weakness of an attack of five steps
        found = loaded.attack(tests, labels, 0.1, ["pgd5", "square20"], seed=2)
    said = json.loads(standoff("attack", tmp_path / "run/model.safetensors", "--data", root / "data/mnist", "--limit", 40,
                               "--eps", "0.1", "--attacks", "pgd5,square20", "--seed", 2, "--json"))["budgets"][0]  # fmt: skip
    assert found.accuracy == said["worst_case"]["all"]["accuracy"]
    assert [row["left"] for row in found.attacks] == [row["accuracy"]["all"]["correct"] for row in said["attacks"]]
    assert loaded.certify(tests, labels, 0.1).certified.sum() == said["certified"]["all"]["correct"]
    # And the other way round.
    ours.save(tmp_path / "ours.safetensors")
    again = json.loads(standoff("attack", tmp_path / "ours.safetensors", "--data", root / "data/mnist", "--limit", 40,
                                "--eps", "0.1", "--attacks", "pgd5,square20", "--seed", 2, "--json"))["budgets"][0]  # fmt: skip
    assert again["worst_case"] == said["worst_case"]


def test_a_race_has_the_same_numbers(standoff, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(KINK)
    r = so.race(["auto", "gda", "multistep"], ["kink", "trap"], families=["flat:1-2"], eps=[1e-1, 1e-3], max_grads=2000, seed=4)
    said = standoff("race", "--methods", "auto,gda,multistep", "--games", "kink,trap", "--family", "flat:1-2", "--eps",
                    "1e-1,1e-3", "--max-grads", "2000", "--seed", "4", "--csv", tmp_path / "race.csv")  # fmt: skip
    assert said
    rows = list(csv.DictReader((tmp_path / "race.csv").open()))
    for column, theirs in [("game", "game"), ("method", "method"), ("ending", "ending")]:
        assert list(r.entries[column]) == [row[theirs] for row in rows]
    for column, theirs in [("eps", "eps"), ("gradients", "gradients"), ("njev_y", "grad_y"), ("fun", "value"), ("gap_x", "x_upper")]:
        np.testing.assert_array_equal(r.entries[column], [float(row[theirs]) for row in rows])
    assert len(so.race("auto", so.Game.from_file(path), eps=1e-2).entries["eps"]) == 1

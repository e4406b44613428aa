"""Errors of files that are not there, and modules that are imported when they are used."""

import subprocess
import sys

import pytest
import standoff


@pytest.mark.parametrize(
    "read",
    [
        lambda name: standoff.read_table(name, label="x"),
        lambda name: standoff.read_images(name, name),
        lambda name: standoff.evaluate(name, [[0.0]], [0], eps=0.1),
        standoff.load_safetensors,
        standoff.Network.load,
        standoff.FairClassifier.load,
        standoff.RobustClassifier.load,
        standoff.Game.from_file,
    ],
)
def test_the_error_of_a_missing_file_names_it(read, tmp_path):
    with pytest.raises(FileNotFoundError, match="gone.file"):
        read(str(tmp_path / "gone.file"))


def test_a_formula_given_as_a_function_is_refused_with_what_reads_formulas():
    with pytest.raises(TypeError, match="Game.from_toml"):
        standoff.solve("x*y")


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_the_modules_for_torch_and_jax_need_no_import_of_their_own(name):
    pytest.importorskip(name)
    command = f"import standoff, sys; assert {name!r} not in sys.modules; print(standoff.{name}.METHODS[0])"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

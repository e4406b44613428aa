"""The examples for PyTorch run: plain loops, Lightning and the Trainer of Hugging Face. Skipped without PyTorch."""

import difflib
import importlib
import sys

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)


@pytest.fixture
def example(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "python/examples/torch"))
    for name in ("resnet8", "plain", "minmax", "lightning_module", "hf_trainer"):
        sys.modules.pop(name, None)
    return importlib.import_module


def test_the_loop_for_the_worst_class_differs_in_at_most_15_lines(root):
    plain, minmax = ((root / f"python/examples/torch/{name}.py").read_text().splitlines() for name in ("plain", "minmax"))
    changed = [line for line in difflib.unified_diff(plain, minmax, n=0, lineterm="") if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert 0 < len(changed) <= 15, changed


def test_the_plain_loops_run(example, monkeypatch):
    resnet8 = example("resnet8")
    whole = resnet8.images
    monkeypatch.setattr(resnet8, "images", lambda part: tuple(v[:256] for v in whole(part)))
    for name in ("plain", "minmax"):
        found = example(name).main(seed=1, epochs=1)
        assert len(found) == 3 and all(0 <= share <= 1 for share in found)


def test_lightning_reduces_the_loss_of_the_worst_group(example):
    pytest.importorskip("lightning")
    module = example("lightning_module")
    found = module.main()
    assert max(found) < 0.6, "equal weights of 0 give log 2 = 0.69"


def test_the_trainer_of_hugging_face_runs(example):
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    found = example("hf_trainer").main(epochs=2)
    assert len(found) == 2 and min(found) > 0.3

#!/usr/bin/env python3
"""What each ingredient of certified training gives on MNIST: one short training per row, measured on held-out training images.

    cargo build --release && python3 bench/record.py --out runs/scout
    python3 bench/record.py --list            # the rows and their commands
    python3 bench/record.py --only thresholds --threads 1 --epochs 10

The last 5,000 training images are held out, for the trainings and for the proofs; the test images are never read. Interrupted trainings
are continued, finished ones are not repeated. Only Python is needed.
"""

import argparse
import gzip
import json
import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HELD = 5000
SCOUT = ["--config", "experiments/robust-record-scout.toml"]
# Every row differs from the one it names by one ingredient.
ROWS = {
    "relu": ["--model", "models/dm-small-relu.toml"],
    "ramp": ["--model", "models/dm-small.toml"],
    "thresholds": ["--model", "models/dm-small-threshold.toml"],
    "thresholds of ReLU": ["--model", "models/threshold.toml"],
    "batchnorm": ["--model", "models/dm-small-threshold-batchnorm.toml"],
    "width": ["--model", "models/dm-medium-threshold.toml"],
    "crown-ibp": ["--model", "models/dm-small-threshold.toml", "--method", "crown-ibp"],
    "kappa 0": ["--model", "models/dm-small-threshold.toml", "--kappa", "0"],
}


def validation_folder(data, out):
    """A folder of IDX files whose test images are the held-out training images; the trainings never use them."""
    for kind, header in (("images-idx3", 16), ("labels-idx1", 8)):
        source = next(data.glob(f"train-{kind}-ubyte*"))
        read = gzip.open if source.suffix == ".gz" else open
        with read(source, "rb") as file:
            content = file.read()
        entry = (len(content) - header) // struct.unpack(">I", content[4:8])[0]
        body = content[header:]
        parts = {"train": body[: -HELD * entry], "t10k": body[-HELD * entry :]}
        for name, part in parts.items():
            count = struct.pack(">I", len(part) // entry)
            (out / f"{name}-{kind}-ubyte").write_bytes(content[:4] + count + content[8:header] + part)


def train(program, name, options, out):
    """Trains or resumes a row; a finished one is not repeated."""
    folder = out / name.replace(" ", "-")
    if not (folder / "results.json").exists():
        begun = (folder / "config.toml").exists()
        command = ["--resume", folder] if begun else [*SCOUT, *ROWS[name], "--out", folder]
        if options.epochs and not begun:
            command += ["--epochs", options.epochs, "--ramp", options.epochs / 2]
        run([program, "robust", *command, "--threads", options.threads])
    return folder


def proven(program, folder, data, threads):
    """The result of FGSM and of the proofs at 0.3 and 0.4 on the held-out images."""
    store = folder / "validation.json"
    if not store.exists():
        command = [program, "attack", "--model", folder / "model.safetensors", "--data", data, "--eps", "0.3,0.4"]
        command += ["--attacks", "fgsm", "--threads", threads, "--json"]
        store.write_bytes(run(command, stdout=subprocess.PIPE).stdout)
    return json.loads(store.read_text())


def run(command, **more):
    print("+", *command, file=sys.stderr)
    return subprocess.run([str(c) for c in command], check=True, cwd=ROOT, **more)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--standoff", default=ROOT / "target/release/standoff", type=pathlib.Path)
    parser.add_argument("--out", default=ROOT / "runs/scout", type=pathlib.Path)
    parser.add_argument("--data", default=ROOT / "data/mnist", type=pathlib.Path, help="the folder of MNIST's IDX files")
    parser.add_argument("--only", default=",".join(ROWS), help="rows, separated by commas")
    parser.add_argument("--epochs", type=float, help="epochs instead of 40; eps grows in the first half")
    parser.add_argument("--threads", default=2, type=int)
    parser.add_argument("--list", action="store_true", help="show the commands and stop")
    options = parser.parse_args()
    if options.list:
        for name, flags in ROWS.items():
            print(f"{name}: standoff robust", *SCOUT, *flags)
        return
    out = options.out.resolve()
    data = out / "validation"
    data.mkdir(parents=True, exist_ok=True)
    validation_folder(options.data, data)
    print("| row | epochs | minutes | natural | proven at 0.3 | at 0.4 |\n|---|---|---|---|---|---|")
    for name in filter(None, options.only.split(",")):
        folder = train(options.standoff.resolve(), name, options, out)
        result = json.loads((folder / "results.json").read_text())
        budgets = proven(options.standoff.resolve(), folder, data, options.threads)["budgets"]
        share = [budgets[0]["natural"], *(budget["certified"] for budget in budgets)]
        epochs = result["steps"] * 256 / (60_000 - HELD)
        cells = [name, f"{epochs:.0f}", f"{result['seconds'] / 60:.1f}"]
        print("|", *(f"{c} |" for c in cells + [f"{100 * s['all']['accuracy']:.2f}" for s in share]), flush=True)


if __name__ == "__main__":
    main()

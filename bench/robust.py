#!/usr/bin/env python3
"""Four ways to train a robust network with the same network, seed and time, measured by both protocols, in one table.

    cargo build --release && python3 bench/robust.py

Each training takes 20 to 25 minutes on two cores (the numbers of epochs are chosen for that), and is resumed where it was
interrupted. Then every network is measured by the published evaluation on all test images and by the
standard ensemble on the first 1,000. Extra networks to measure: --also NAME=FILE.safetensors.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMON = ["--model", "lenet", "--eps", "0.4", "--seed", "1"]
# Epochs by what one cost on two cores: 135 s, 41 s, 49 s and 18 s.
TRAININGS = {
    "paper": ["--config", "experiments/robust-paper.toml", "--epochs", "10"],
    "madry": ["--config", "experiments/robust-madry-035.toml", "--epochs", "34", "--steps", "10"],
    "trades": ["--config", "experiments/robust-trades-040.toml", "--epochs", "29"],
    "ibp": ["--config", "experiments/robust-ibp.toml", "--epochs", "82", "--ramp", "40"],
}


def train(program, name, out):
    """Trains or resumes a training; a finished one is not repeated."""
    folder = out / name
    if (folder / "results.json").exists():
        return folder
    command = ["--resume", folder] if (folder / "config.toml").exists() else [*TRAININGS[name], *COMMON, "--out", folder]
    run([program, "robust", *command], stdout=sys.stderr)
    return folder


def attack(program, model, store, protocol, eps, *more):
    """Result of an attack protocol on a network, read from `store` if it exists."""
    if not store.exists():
        arguments = ["attack", "--model", model, "--data", "mnist", "--eps", eps, "--protocol", protocol]
        answer = run([program, *arguments, *more, "--json"], stdout=subprocess.PIPE).stdout
        store.write_bytes(answer)
    return json.loads(store.read_text())


def run(command, **more):
    print("+", *command, file=sys.stderr)
    return subprocess.run([str(c) for c in command], check=True, cwd=ROOT, **more)


def percent(group):
    return f"{100 * group['all']['accuracy']:.2f}"


def row(name, published, standard, seconds):
    """One line of the table: the published figures, then the accuracy under the standard ensemble and the proven accuracy."""
    cells = [name, "-" if seconds is None else f"{seconds / 60:.1f}", percent(published["budgets"][0]["natural"])]
    cells += [percent(b["attacks"][k]["accuracy"]) for k in (0, 1) for b in published["budgets"]]
    cells += [percent(b["worst_case"]) for b in standard["budgets"]]
    cells += [percent(b["certified"]) for b in standard["budgets"]]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--standoff", default=ROOT / "target/release/standoff", type=pathlib.Path)
    parser.add_argument("--out", default=ROOT / "runs/compare", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(TRAININGS), help="trainings, separated by commas")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=FILE", help="a further network to measure")
    parser.add_argument("--limit", default=1000, type=int, help="images for the standard ensemble")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    networks = [(name, None) for name in options.only.split(",") if name]
    networks += [also.split("=", 1) for also in options.also]
    for name, file in networks:
        seconds = None
        if file is None:
            folder = train(options.standoff, name, out)
            seconds = json.loads((folder / "results.json").read_text())["seconds"]
            file = folder / "model.safetensors"
        published = attack(options.standoff, file, out / f"{name}-paper.json", "paper", "0.2,0.3,0.4")
        some = ["--limit", options.limit]
        standard = attack(options.standoff, file, out / f"{name}-standard.json", "standard", "0.3,0.4", *some)
        rows.append(row(name, published, standard, seconds))
    print("| | minutes | natural | FGSM .2 | .3 | .4 | PGD-40 .2 | .3 | .4 | standard .3 | .4 | proven .3 | .4 |")
    print("|" + "---|" * 13)
    print("\n".join(rows))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Changes accepted proof files at random and counts the checker's verdicts: no claim that no longer follows may be accepted.

    python3 tools/mutate_proofs.py [PROOF.json ...] [--model FILE.safetensors] [--count 1000] [--seed 1]

    python3 tools/mutate_proofs.py --standoff target/release/standoff     # proofs of properties of small networks, by the command

Without files, the made-up proofs of tests/examples.py are used. Every change is checked twice: with stale digests (always to be rejected)
and with new digests. For the latter a second evaluation in ordinary floating point, which shares nothing with the checker but the
reading of data files, decides whether the claim surely fails, surely holds, or is too close to decide. Exit code 1 if the checker
accepted a stale digest, a claim below E, or a claim that surely fails.
"""

import argparse
import base64
import copy
import json
import math
import os
import random
import re
import struct
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tests"))

import examples  # noqa: E402
import properties  # noqa: E402
from floating import CLOSE, FAILS, HOLDS, game_verdict, network_verdict  # noqa: E402
from writer import checked, digest, sealed, sealed_network  # noqa: E402

# Changes.


def changed_number(v):
    factor = 1 + random.choice((-1, 1)) * 10 ** random.uniform(-3, 0)
    return random.choice([-v, v * factor, v * 10 ** random.uniform(-3, 3), v + random.choice((-1, 1)) * 10 ** random.uniform(-3, 0)]) if v else (
        random.choice((-1, 1)) * 10 ** random.uniform(-3, 3))


def change_game(proof):
    lines = proof["game"]["toml"].split("\n")
    places = [(i, m) for i, line in enumerate(lines) if not line.lstrip().startswith(("#", "start", "name", "description"))
              for m in re.finditer(r"(?<![\w.])\d+\.?\d*(?:e[+-]?\d+)?(?![\w.])|[-+*/](?=[ \w(])|\b(?:sin|cos|exp|tanh|log1p|sum)\b", line.split("#")[0])
              if "objective" in line or m[0][0].isdigit()]
    i, m = random.choice(places)
    word = m[0]
    if word[0].isdigit():
        new = repr(abs(changed_number(float(word)))) if "dim" not in lines[i] and "[" + word + "]" not in lines[i] else str(int(word) + 1)
    elif word in "+-*/":
        new = random.choice([c for c in "+-*/" if c != word])
    else:
        new = random.choice([f for f in ("sin", "cos", "exp", "tanh", "mean", "sum") if f != word])
    lines[i] = lines[i][: m.start()] + new + lines[i][m.end() :]
    proof["game"]["toml"] = "\n".join(lines)


def change_point(proof):
    numbers = proof["point"][random.choice("xy")]
    i = random.randrange(len(numbers))
    numbers[i] = changed_number(numbers[i])


def change_multiplier(proof):
    entries = [part for p in "xy" for entry in proof["multipliers"][p] for part in entry.values()] + [s["slope"] for p in "xy" for s in proof["slopes"][p]]
    numbers = random.choice(entries)
    i = random.randrange(len(numbers))
    numbers[i] = changed_number(numbers[i] or 0.0)


def lower_claim(proof):
    name, bound = random.choice([(n, b) for n, b in zip("XY", proof.pop("bounds")) if b >= 0])
    lowered = random.choice([math.nextafter(bound, -math.inf), bound * (1 - 10 ** random.uniform(-15, 0)), -bound, bound / 2])
    proof["claim"][name] = lowered if lowered < bound else math.nextafter(bound, -math.inf)
    proof["claim"][name] = math.nextafter(proof["claim"][name], -math.inf)  # E is printed in 17 digits, half a unit off at most


def one_image(proof):
    proof["images"] = [random.choice(proof["images"])]


def change_pixels(proof):
    image = proof["images"][0]
    content = bytearray(base64.b64decode(image["pixels"]))
    for _ in range(random.choice((1, 5, 50))):
        struct.pack_into("<f", content, 4 * random.randrange(len(content) // 4), random.uniform(0, 1))
    image["pixels"] = base64.b64encode(bytes(content)).decode()


def lower_margin(proof):
    margins = proof["images"][0]["margins"]
    j = random.choice([j for j, v in enumerate(margins) if v is not None])
    margins[j] = random.choice([margins[j] * (1 + 10 ** random.uniform(-14, 0)), math.nextafter(math.nextafter(margins[j], -math.inf), -math.inf), margins[j] - 1])


def changed_model(model):
    size = 8 + struct.unpack("<Q", model[:8])[0]
    content = bytearray(model)
    for _ in range(random.choice((1, 10, 100))):
        place = size + 4 * random.randrange((len(model) - size) // 4)
        v = changed_number(struct.unpack_from("<f", content, place)[0])
        struct.pack_into("<f", content, place, v)
    return bytes(content)


# Counting.


class Table:
    def __init__(self):
        self.counts, self.wrong = {}, 0

    def add(self, kind, stale, code, verdict):
        row = self.counts.setdefault(kind, Counter())
        row["stale rejected" if stale != 0 else "STALE ACCEPTED"] += 1
        row[f"{verdict}, {'accepted' if code == 0 else 'rejected'}"] += 1
        self.wrong += (stale == 0) + (code == 0 and verdict == FAILS)

    def show(self):
        columns = ["stale rejected", "STALE ACCEPTED"] + [f"{v}, {c}" for v in (FAILS, CLOSE, HOLDS) for c in ("rejected", "accepted")]
        print("| change | " + " | ".join(columns) + " |")
        print("|---" * (len(columns) + 1) + "|")
        for kind, row in self.counts.items():
            print(f"| {kind} | " + " | ".join(str(row[c]) for c in columns) + " |")
        print(f"{self.wrong} wrongly accepted")


def mutate_game(proof, count, table):
    bounds = examples.bounds(proof)
    kinds = {"game changed": change_game, "point changed": change_point, "multiplier changed": change_multiplier, "claim lowered below E": lower_claim}
    for kind, change in kinds.items():
        for _ in range(count):
            new = copy.deepcopy(proof)
            if change is lower_claim:
                new["bounds"] = bounds
            while True:
                change(new)
                if {k: v for k, v in new.items() if k != "bounds"} != proof:
                    break
            stale, _ = checked(new)
            code, _ = checked(sealed(new))
            table.add(kind, stale, code, FAILS if change is lower_claim else game_verdict(new))


def mutate_network(proof, model, count, table):
    for kind, change in (("network changed", one_image), ("pixels changed", change_pixels), ("margin lowered below E", lower_margin)):
        for _ in range(count):
            new, content = copy.deepcopy(proof), model
            one_image(new)
            new = sealed_network(new)
            before = copy.deepcopy(new)
            if kind == "network changed":
                content = changed_model(model)
                stale, _ = checked(new, model=content)
                new["model"]["sha256"] = digest(content)
            else:
                change(new)
                stale, _ = checked(new, model=content) if new != before else (1, "")
            code, _ = checked(sealed_network(new), model=content)
            table.add(kind, stale, code, FAILS if change is lower_margin else network_verdict(content, new))


def small_proofs(standoff):
    """Proofs of properties of small networks by both kinds of splits, without splits, and counter-examples: with network, box and sets."""
    options = {2: ((), ("--bounds", "crown")), 14: ((), (), ("--bounds", "alpha"), ("--bounds", "interval"))}
    for seed in range(40):
        inputs = (2, 14)[seed % 2]
        given = properties.example(seed, inputs, ((8, 8), (6,))[seed % 3 == 2])
        if seed % 8 == 7:
            given = (*given[:2], [[(c, d - 0.2) for c, d in rows] for rows in given[2]])  # violated
        content, text = properties.onnx(given[0]), properties.vnnlib(*given[1:], 3)
        proof = properties.proof_of(standoff, content, text, options[inputs][seed // 2 % len(options[inputs])])
        if proof is not None:
            yield proof, given


def mutate_property(proof, given, count, table):
    content = properties.onnx(given[0])
    if properties.verdict_of(proof, content):
        sys.exit(f"error: an unchanged proof is not accepted: {proof['answer']}, {checked(proof, model=content)}")
    for kind, change in properties.CHANGES.items():
        for _ in range(count):
            new = copy.deepcopy(proof)
            layers, box, sets = change(new, *given)
            network = properties.onnx(layers)
            new["property"] = properties.vnnlib(box, sets, 3)
            if new == proof and network == content:
                continue
            stale = properties.verdict_of(new, network)
            code = properties.verdict_of(properties.sealed_property(new, network), network)
            found = properties.least(layers, box, sets)
            truth = FAILS if found < -1e-6 else CLOSE if found < 0.02 else HOLDS
            if new["answer"] == "falsified":
                x = properties.unpacked(new["input"], "d")
                inside = len(x) == len(box) and all(l <= v <= u for v, (l, u) in zip(x, box))
                value = min(properties.worst(layers, rows, x) for rows in sets) if inside else 1.0
                truth = FAILS if value > 1e-6 else CLOSE if value > -1e-6 else HOLDS
            if kind == "part of a tree left out" and new["answer"] == "proven" or new["answer"] == "unknown":
                truth = FAILS
            table.add(kind, stale, code, truth)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("proofs", nargs="*")
    parser.add_argument("--model")
    parser.add_argument("--standoff", help="the command, to make proofs of properties; nothing else is changed then")
    parser.add_argument("--count", type=int, default=1000, help="changes of each kind, over all proofs of a kind")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    model, table, proofs = None, Table(), []
    try:
        for path in arguments.proofs:
            with open(path) as file:
                proofs.append(json.load(file))
        if arguments.model:
            with open(arguments.model, "rb") as file:
                model = file.read()
    except (OSError, ValueError) as error:
        parser.error(f"a file cannot be read: {error}")
    if arguments.standoff:
        small = list(small_proofs(arguments.standoff))
        random.seed(arguments.seed)
        for proof, given in small:
            mutate_property(proof, given, -(-arguments.count // len(small)), table)
        print(f"{len(small)} proofs, {sum(p['answer'] == 'falsified' for p, _ in small)} of them counter-examples")
        table.show()
        sys.exit(1 if table.wrong else 0)
    if not proofs:
        model, small = examples.network()
        proofs = examples.games() + [small]
    random.seed(arguments.seed)
    for kind in ("game", "network"):
        chosen = [p for p in proofs if p["kind"] == kind]
        for proof in chosen:
            each = -(-arguments.count // len(chosen))
            code, output = checked(proof, model=model) if kind == "network" else checked(proof)
            if code:
                sys.exit(f"error: an unchanged proof is not accepted:\n{output}")
            mutate_game(proof, each, table) if kind == "game" else mutate_network(proof, model, each, table)
    table.show()
    sys.exit(1 if table.wrong else 0)


if __name__ == "__main__":
    main()

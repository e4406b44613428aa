"""Writes proof files and small networks for the tests; knows the format, not the mathematics."""

import base64
import contextlib
import hashlib
import io
import json
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import check_proof  # noqa: E402

sys.setrecursionlimit(10000)


def digest(content):
    return hashlib.sha256(content).hexdigest()


def packed(numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)


def sealed(proof):
    """A proof of a game with the digests of its content."""
    game, claim = proof["game"], proof["claim"]
    files = b"".join(n.encode() + b"\0" + base64.b64decode(c) + b"\0" for n, c in sorted(game["files"].items()))
    numbers = [0.0 if v is None else v for p in "xy" for entry in proof["multipliers"][p] for part in entry.values() for v in part]
    numbers += [v for p in "xy" for s in proof["slopes"][p] for v in (s["kink"], s["entry"], *s["slope"])]
    proof["sha256"] = {
        "game": digest(game["toml"].encode() + b"\0" + files),
        "point": digest(packed(proof["point"]["x"] + proof["point"]["y"])),
        "multipliers": digest(packed(numbers)),
        "claim": digest(packed([proof["radius"], claim["X"], claim["Y"], claim["outside"]["x"], claim["outside"]["y"]])),
    }
    return proof


def game_proof(toml, x, y, claims, multipliers=None, slopes=((), ()), outside=(0.0, 0.0), radius=1.0, files=None):
    """`multipliers`: one list of entries per player; zeros in one entry each when absent."""
    multipliers = multipliers or ([{"n": [0.0] * len(x)}], [{"n": [0.0] * len(y)}])
    encoded = {name: base64.b64encode(content).decode() for name, content in (files or {}).items()}
    return sealed({
        "format": "standoff-proof", "version": 1, "kind": "game", "game": {"toml": toml, "files": encoded}, "radius": radius,
        "point": {"x": list(x), "y": list(y)},
        "claim": {"X": claims[0], "Y": claims[1], "outside": {"x": outside[0], "y": outside[1]}},
        "multipliers": {"x": list(multipliers[0]), "y": list(multipliers[1])},
        "slopes": {p: [{"kink": k, "entry": e, "slope": s} for k, e, s in part] for p, part in zip("xy", slopes)},
    })


def sealed_network(proof):
    for image in proof["images"]:
        margins = packed([v or 0.0 for v in image["margins"]])
        image["sha256"] = digest(base64.b64decode(image["pixels"]) + struct.pack("<I", image["label"]) + margins)
    limits = struct.pack("<3f", proof["eps"], proof["least"], proof["most"])
    proof["sha256"] = digest(proof["model"]["sha256"].encode() + limits + "".join(i["sha256"] for i in proof["images"]).encode())
    return proof


def network_proof(model, images, eps, least=0.0, most=1.0):
    """`images`: (pixels, label, margins)."""
    return sealed_network({
        "format": "standoff-proof", "version": 1, "kind": "network", "model": {"sha256": digest(model)},
        "eps": eps, "least": least, "most": most,
        "images": [{"index": i, "label": label, "pixels": base64.b64encode(struct.pack(f"<{len(pixels)}f", *pixels)).decode(),
                    "margins": margins} for i, (pixels, label, margins) in enumerate(images)],
    })


def safetensors(description, tensors):
    """`tensors`: name -> (shape, numbers)."""
    header, body = {"__metadata__": {"standoff.model": description}}, b""
    for name, (shape, numbers) in tensors.items():
        content = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def checked(proof, *options, model=None):
    """Exit code and output of the checker for a proof (a dict, or bytes of the file)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "proof.json")
        with open(path, "wb") as file:
            file.write(proof if isinstance(proof, bytes) else json.dumps(proof).encode())
        words = [path, *options]
        if model is not None:
            with open(os.path.join(folder, "model.safetensors"), "wb") as file:
                file.write(model)
            words += ["--model", os.path.join(folder, "model.safetensors")]
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = check_proof.main(words)
        return code, output.getvalue()

#!/usr/bin/env python3
"""The initial weights that the authors of the paper published for their fair network, as files for `--init`.

    git clone https://github.com/optimization-for-data-driven-science/FairFashionMNIST authors
    python3 bench/authors_starts.py authors starts         # starts/init_0.safetensors ... init_49.safetensors
    standoff fair --config experiments/fair-adam-labels.toml --init starts/init_0.safetensors --seeds 1

The files are pickles. Only the types that they need are read; a pickle that names any other is refused, so that it can run no code.
"""

import argparse
import array
import json
import pathlib
import pickle
import struct

# The published name of each tensor, its name here, and its shape there.
TENSORS = [
    ("C1", "conv1.weight", (5, 1, 3, 3)),
    ("BC1", "conv1.bias", (5,)),
    ("C2", "conv2.weight", (10, 5, 3, 3)),
    ("BC2", "conv2.bias", (10,)),
    ("F1", "fc1.weight", (250, 100)),
    ("BF1", "fc1.bias", (100,)),
    ("F2", "fc2.weight", (100, 10)),
    ("BF2", "fc2.bias", (10,)),
]


class Weights:
    """The published object: its attributes are the tensors."""


def floats(stored):
    """The values of a stored tensor: they end its bytes, with their number in front."""
    for count in range(1, len(stored) // 4):
        at = len(stored) - 4 * count - 8
        if at > 0 and struct.unpack_from("<q", stored, at)[0] == count:
            return array.array("f", stored[at + 8 :])
    raise SystemExit("a tensor has no values")


def tensor(values, offset, shape, stride, *_):
    """A tensor that is stored without gaps."""
    size = 1
    for side, step in zip(reversed(shape), reversed(stride)):
        if step != size:
            raise SystemExit(f"a tensor of {shape} has the strides {stride}")
        size *= side
    return values[offset : offset + size], tuple(shape)


class Reader(pickle.Unpickler):
    """Reads the types of these files and no others."""

    KNOWN = {
        ("__main__", "Weights"): Weights,
        ("torch._utils", "_rebuild_tensor_v2"): tensor,
        ("torch.storage", "_load_from_bytes"): floats,
        ("collections", "OrderedDict"): dict,
    }

    def find_class(self, module, name):
        if (module, name) not in self.KNOWN:
            raise pickle.UnpicklingError(f"{module}.{name} is not expected here")
        return self.KNOWN[module, name]


def convert(source, target):
    with open(source, "rb") as file:
        weights = vars(Reader(file).load())
    header, body = {}, b""
    for theirs, ours, shape in TENSORS:
        values, found = weights[theirs]
        if found != shape:
            raise SystemExit(f"{source}: {theirs} is {found}, want {shape}")
        if theirs.startswith("F"):
            # Rows are inputs there, outputs here.
            inputs, outputs = shape
            values = array.array("f", (values[i * outputs + o] for o in range(outputs) for i in range(inputs)))
            shape = (outputs, inputs)
        data = values.tobytes()
        header[ours] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    target.write_bytes(struct.pack("<Q", len(text)) + text + body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, help="the folder with init_0.ckpt, init_1.ckpt, ...")
    parser.add_argument("target", type=pathlib.Path, help="the folder for the files")
    options = parser.parse_args()
    options.target.mkdir(parents=True, exist_ok=True)
    files = sorted(options.source.glob("init_*.ckpt"))
    for file in files:
        convert(file, options.target / f"{file.stem}.safetensors")
    print(f"{len(files)} files in {options.target}")


if __name__ == "__main__":
    main()

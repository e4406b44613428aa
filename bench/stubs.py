"""Lets PyTorch's Linux wheel run on the CPU without the gigabytes of CUDA packages it requires.

PyPI's wheel is linked against CUDA libraries even without a GPU: if they are missing, `import torch` fails, although
none of their functions is ever called. This script finds every missing library that the wheel's own libraries need
and builds an empty one of that name next to them, in which every required symbol exists with its version.
Nothing of PyTorch itself is changed. Needs `cc`, `nm` and `readelf`, which every Rust installation on Linux has.

    python stubs.py path/to/site-packages/torch/lib
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def missing(libraries):
    """Sonames needed by these libraries which the loader would not find."""
    names = set()
    for library in libraries:
        names.update(re.findall(r"(\S+) => not found", output("ldd", str(library))))
    return sorted(names - {"libcuda.so.1"})  # the driver: loaded only if there is one


def wanted(libraries):
    """The undefined symbols, as (name, version)."""
    symbols = set()
    for line in output("nm", "-D", "--undefined-only", *map(str, libraries)).splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "U":
            name, _, version = words[1].partition("@")
            symbols.add((name, version.lstrip("@")))
    return symbols


def build(soname, symbols, target):
    """One library: every symbol is a block of zeros; symbols without a version need no version script."""
    with tempfile.TemporaryDirectory() as scratch:
        source, script = pathlib.Path(scratch, "stub.c"), pathlib.Path(scratch, "stub.map")
        source.write_text("".join(f"char {name}[64];\n" for name, _ in symbols) or "char nothing;\n")
        flags = [f"-Wl,-soname,{soname}"]
        versions = sorted({version for _, version in symbols if version})
        if versions:
            nodes = []
            for version in versions:
                names = "".join(f" {name};" for name, of in symbols if of == version)
                nodes.append(f"{version} {{ global:{names} }};\n")
            script.write_text("".join(nodes))
            flags.append(f"-Wl,--version-script={script}")
        output("cc", "-shared", "-fPIC", "-o", str(target), *flags, str(source))


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    libraries = sorted(folder.glob("lib*.so*"))
    sonames = missing(libraries)
    symbols = wanted(libraries)
    # `cublas...@libcublas.so.13` belongs to `libcublas.so.13`: the version names the library, or the prefix does.
    for soname in sonames:
        stem = re.sub(r"^lib|(_host)?\.so.*", "", soname)
        own = {(name, version) for name, version in symbols if version == soname or (
            version not in sonames and re.match(stem, name, re.IGNORECASE) and not name.startswith("_Z"))}
        build(soname, sorted(own), folder / soname)
        print(f"stub {soname}: {len(own)} symbols")


main()

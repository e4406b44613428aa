#!/bin/sh
# Makes bench/.venv with PyTorch for the CPU, from PyPI only and without its CUDA packages. Does nothing if it exists.
set -eu
cd "$(dirname "$0")"
[ -e .venv/ready ] && exit 0
rm -rf .venv
"${PYTHON:-python3}" -m venv .venv
pip() { .venv/bin/pip --quiet --disable-pip-version-check "$@"; }
works() { .venv/bin/python -c 'import torch, numpy, safetensors' 2>/dev/null; }
pip install --no-deps -r requirements.txt
if ! works; then
    lib=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch/lib
    # If the stubs do not work, install all packages: some gigabytes more.
    .venv/bin/python stubs.py "$lib" >&2 && works || pip install --force-reinstall -r requirements.txt
fi
works && touch .venv/ready

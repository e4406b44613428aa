#!/bin/sh
# Makes bench/.venv with PyTorch for the CPU, from PyPI only and without its CUDA packages. Does nothing if it exists.
#
#   bench/setup.sh           for the benchmarks: PyTorch, NumPy, safetensors
#   bench/setup.sh --tests   for the tests too: JAX, onnxruntime, Lightning, Hugging Face transformers, Dask, Ray, pytest
set -eu
cd "$(dirname "$0")"
pip() { .venv/bin/pip --quiet --disable-pip-version-check "$@"; }
works() { .venv/bin/python -c 'import torch, numpy, safetensors' 2>/dev/null; }
if ! [ -e .venv/ready ]; then
    rm -rf .venv
    "${PYTHON:-python3}" -m venv .venv
    pip install --no-deps -r requirements.txt
    if ! works; then
        lib=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch/lib
        # If the stubs do not work, install all packages: some gigabytes more.
        .venv/bin/python stubs.py "$lib" >&2 && works || pip install --force-reinstall -r requirements.txt
    fi
    works && touch .venv/ready
fi
if [ "${1:-}" = --tests ] && ! cmp -s requirements-tests.txt .venv/tests-ready; then
    pip install --no-deps -r requirements-tests.txt
    .venv/bin/python -c 'import jax, onnxruntime, lightning, transformers, accelerate, pytest, sklearn'
    cp requirements-tests.txt .venv/tests-ready
fi

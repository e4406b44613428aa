#!/bin/sh
# PyTorch and the engine on the same work, in one run: installs, builds, checks, times. Arguments go to compare.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/setup.sh"
cd "$here/.."
cargo build --quiet --release -p standoff-nn --example bench_engine
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
exec "$here/.venv/bin/python" "$here/compare.py" "$target/release/examples/bench_engine" "$@"

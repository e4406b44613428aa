#!/bin/sh
# Installs, builds, checks and times PyTorch and the engine on the same work. Arguments go to compare.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/setup.sh"
cd "$here/.."
cargo build --quiet --release -p standoff-nn --example bench_engine
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
exec "$here/.venv/bin/python" "$here/compare.py" "$target/release/examples/bench_engine" "$@"

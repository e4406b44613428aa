#!/bin/sh
# Solves a game with x in a box and y in a simplex, 100,000 entries each, at several accuracies and radii.
#
#   cargo build --release && sh bench/simplex.sh [FOLDER]      FOLDER defaults to target/simplex
#
# The box has the diameter 2 sqrt(100,000) = 632.5, so radius 633 allows every step.
set -eu
folder=${1:-target/simplex}
mkdir -p "$folder"
cp bench/simplex.toml "$folder"
seq 100000 | awk '{ printf "%.6f\n", sin(0.7 * $1) }' > "$folder/c.csv"
for goal in '--eps 1e-3' '--eps 1e-5' '--eps 1e-1 --radius 633' '--eps 1e-2 --radius 633'; do
    echo "$goal"
    # The options are two or four words.
    # shellcheck disable=SC2086
    target/release/standoff solve "$folder/simplex.toml" $goal --max-grads 20000 --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
gap, calls = d["gap"], d["calls"]
largest = max(abs(x - float(c)) for x, c in zip(d["min"]["x"], open(sys.argv[1])))
print("  %s: X <= %.1e, Y <= %.1e, largest error of x %.2f, %d gradients, %.1f s"
      % (d["status"], gap["x"]["upper"], gap["y"]["upper"], largest, calls["grad_x"] + calls["grad_y"], d["seconds"]))' "$folder/c.csv"
done

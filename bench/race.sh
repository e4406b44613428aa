#!/bin/sh
# Races the methods that need no constants, and fastnash with estimated ones, on every family of random games.
#
#   sh bench/race.sh [COMMIT] [FOLDER]      COMMIT defaults to HEAD, FOLDER to target/race
#
# The seeds follow from the code: take the SHA-256 of the commit id (40 hexadecimal digits, no newline) and cut its first 60 hexadecimal digits
# into twelve integers of five digits each, in order. The code must be frozen before its seeds are known.
set -eu
id=$(git rev-parse "${1:-HEAD}")
folder=${2:-target/race}
digest=$(printf %s "$id" | sha256sum | cut -c1-60)
mkdir -p "$folder"
families=
for group in $(printf %s "$digest" | fold -w 5); do
    families="$families,all:$(printf %d "0x$group")"
done
families=${families#,}
echo "commit $id, seeds $families"
cargo build --release -p standoff-cli
target/release/standoff race --methods auto,multistep,extragradient,tiada,fastnash --family "$families" \
    --eps 1e-2,1e-4 --max-grads 1e5 --csv "$folder/race.csv" > "$folder/race.txt"
python3 bench/race_summary.py "$folder/race.csv"

#!/bin/sh
# Coverage of the 95 percent intervals of `standoff fair`, on Adult and Arrests: `bench/coverage.sh [SPLITS [FIRST [FOLDER]]]`, by default
# 200 splits from seed 1; FOLDER keeps the outcomes. About ten minutes of one core. Arrests must have been fetched: `standoff data fetch
# arrests`; ARRESTS names another copy.
set -e
cd "$(dirname "$0")/.."
splits=${1:-200} first=${2:-1} folder=${3:-}
arrests=${ARRESTS:-arrests}
# FILE LABEL GROUPS; models are solved as by `standoff fair`
run() {
    cargo run --release -q -p standoff-train --features bundled --example coverage -- \
        "$1" "$2" "$3" "$splits" solve "$first" ${folder:+"$folder"}
}
run data/adult/adult.csv.gz income sex+
run "$arrests" released colour+
run "$arrests" released colour

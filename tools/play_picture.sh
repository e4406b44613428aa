#!/usr/bin/env bash
# Makes docs/pictures/play.png, the picture of `standoff play` in the README: the page with its first game, by a real browser.
#
#   tools/play_picture.sh [STANDOFF]      the command; by default target/release/standoff
set -euo pipefail
cd "$(dirname "$0")/.."
standoff=${1:-target/release/standoff}
profile=$(mktemp -d)
"$standoff" --quiet play --no-open >"$profile/address" &
page=$!
trap 'kill -INT "$page" 2>/dev/null || true; wait "$page" || true; rm -rf "$profile"' EXIT
until [ -s "$profile/address" ]; do sleep 0.1; done
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile/chromium" --window-size=1200,920 \
    --virtual-time-budget=20000 --screenshot="$PWD/docs/pictures/play.png" "$(cat "$profile/address")" 2>/dev/null

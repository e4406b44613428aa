# Sourced by .ci/run and .ci/full: finds cargo, and prints each command with the seconds that it took.
# shellcheck shell=bash

# A login shell may not have cargo's folder in its path.
if ! command -v cargo >/dev/null && [ -f "$HOME/.cargo/env" ]; then . "$HOME/.cargo/env"; fi

step() {
    local begun=$SECONDS status=0
    echo "+ $*" >&2
    "$@" || status=$?
    echo "  ($((SECONDS - begun)) s, $((SECONDS / 60)) min since the start)" >&2
    return "$status"
}

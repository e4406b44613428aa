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

# What a run leaves out is collected in a file that its first script names; .ci/run prints it at the end.
note_skipped() {
    echo "skipped: $*" >&2
    if [ -n "${STANDOFF_SKIPPED:-}" ]; then echo "$*" >>"$STANDOFF_SKIPPED"; fi
}

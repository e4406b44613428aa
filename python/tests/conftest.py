"""Where the repository and its command are, for the tests that need them."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

# Two devices of the processor for JAX's pmap and shard_map, before a test starts JAX.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """What a shell starts in the background ignores Ctrl-C, and so would the tests of it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def standoff():
    """Runs the command: `$STANDOFF`, or the one that `cargo build --release` leaves."""
    program = Path(os.environ.get("STANDOFF", ROOT / "target/release/standoff"))
    if not program.is_file():
        pytest.skip("there is no command `standoff`: build it with `cargo build --release`, or name it in STANDOFF")

    def run(*arguments, cwd=None):
        done = subprocess.run([program, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=300)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return run

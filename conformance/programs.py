"""Programs that are started for a test and ended after it, and where others' lie."""

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
INTEROP = ROOT / "interop"
"""What they are made of."""
MADE = ROOT / "target/interop"
"""Where `scripts/interop` puts them."""
LOADSTONE = (sys.executable, "-m", "loadstone")
PATIENCE = 300.0
"""Seconds, after which a program that should have ended is ended."""


class MissingError(Exception):
    """A program of others is not here."""


def made(name: str) -> Path:
    """Give where the programs of a folder of interop/ are; it says why if they are not there."""
    if not (MADE / f"{name}.made").exists():
        raise MissingError(f"no {name} in {MADE}: 'scripts/interop {name}' says why")
    return MADE / name


@contextmanager
def running(command: Sequence[str | Path]) -> Iterator[subprocess.Popen[str]]:
    """Run a program until it is needed no more."""
    # A session of its own: Ctrl-C is for who started it, and ends it.
    with subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def address(process: subprocess.Popen[str]) -> str:
    """Wait until a program says where it listens, as HOST:PORT."""
    assert process.stdout is not None
    limit = threading.Timer(PATIENCE, process.kill)
    limit.start()
    try:
        for line in process.stdout:
            if line.startswith("listening on "):
                return line.split()[-1]
    finally:
        limit.cancel()
    raise SystemExit(f"conformance: it ended before it listened, and why is above: {process.args!r}")


def told(process: subprocess.Popen[str], given: str) -> str:
    """Give a program what it reads to its end, and what it prints until it has ended well."""
    try:
        said, _ = process.communicate(given, PATIENCE)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"conformance: it did not end within {PATIENCE:g} s: {process.args!r}") from None
    if process.returncode:
        raise SystemExit(f"conformance: it failed, and why is above: {process.args!r}")
    return said


@contextmanager
def edge(origin: str, *options: str) -> Iterator[str]:
    """Run an edge in front of an origin, both as HOST:PORT; it serves that of the name 127.0.0.1."""
    front = ("--listen", "127.0.0.1:0", "--origin", f"127.0.0.1=http://{origin}")
    with running([*LOADSTONE, "edge", *front, "--cache", "100000000", *options]) as process:
        yield address(process)

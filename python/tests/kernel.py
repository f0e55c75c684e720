"""Commands that need the kernel: run in processes of their own, as root or as nobody."""

import shlex
import subprocess
import sys

from conftest import Result, leave_out

LOADSTONE = [sys.executable, "-m", "loadstone"]
PATIENCE = 30
"""Seconds; longer than anything here takes."""

_ASK = "from loadstone._native import live_access; print(live_access() or '')"


def why_not() -> str:
    """Say why this process may not make namespaces, which another process finds out: asking can move the
    process that asks into namespaces of its own."""
    return subprocess.run(
        [sys.executable, "-c", _ASK], capture_output=True, text=True, check=True
    ).stdout.strip()


def result_of(process: "subprocess.CompletedProcess[str]") -> Result:
    return Result(process.returncode, process.stdout, process.stderr)


def run(*arguments: str, stdin: str | None = None) -> Result:
    """Run the command in a process of its own."""
    command = [*LOADSTONE, *arguments]
    return result_of(subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, input=stdin))


def as_nobody(tun_mode: str, command: list[str]) -> Result:
    """Run a command without privileges where /dev/net/tun has this mode; the machine's own keeps its mode,
    as the command has a file system of its own."""
    script = (
        f"mount -t tmpfs -o mode=755 none /dev/net && mknod -m {tun_mode} /dev/net/tun c 10 200 && "
        f"exec setpriv --reuid 65534 --regid 65534 --clear-groups {shlex.join(command)}"
    )
    alone = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    return result_of(subprocess.run(alone, capture_output=True, text=True, timeout=PATIENCE))


def need_nobody() -> None:
    """Leave a test out where it cannot be another user."""
    try:
        tried = as_nobody("0600", [*LOADSTONE, "--version"])
    except FileNotFoundError:
        leave_out("no unshare: install util-linux")
    if tried.code != 0:
        leave_out(f"the test has to be root, and this Python readable for all ({tried.err.strip()})")
